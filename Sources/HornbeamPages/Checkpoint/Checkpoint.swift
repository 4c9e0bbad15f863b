// SPDX-License-Identifier: Apache-2.0
// A checkpoint makes a state reachable from the header, so that the journal before it is no longer needed.
//
//   1 plan     new places for changed space pages, and for the journal if it grows. May run out of space: undone.
//   2 write    pages of a large transaction, space pages, zeros for a new ring
//   3 sync     all that the new header will reach is durable
//   4 header   slot 0 through, slot 1 through
//   5 advance  the pin moves; what only the former checkpoint reached is free; the journal is empty
//
// A failure in 2 to 4 leaves open which checkpoint the file has: the store fails, and reopening tells.

import Synchronization

extension PageStore {
    /// Checkpoints unless the file has that state already. The caller has the turn.
    func checkpointIfNeeded(_ state: PublishedState) throws(StorageError) {
        guard file.isDurable, state.transaction != side.header.transaction else { return }
        try checkpoint(state, growJournal: false) {}
    }

    /// After a commit: keeps the journal below its bound. The commit is done and must not fail any more: running out
    /// of space leaves the journal as it is until the next commit, any other error is kept as the store's failure.
    func checkpointIfDue() {
        guard let journal = side.journal else { return }
        let half = journal.ring.count / 2
        let asked = UInt64(Swift.max(0, options.checkpointBytes)) >> FileFormat.sectorShift
        guard journal.usedSectors > half || (asked > 0 && journal.usedSectors >= asked) else { return }
        let state = newest.withLock { $0.state }
        try? checkpoint(state, growJournal: journal.usedSectors > half) {}
    }

    /// Checkpoints `state`, which the space map already describes. `.full` leaves everything as it was; any other
    /// error is `.failed`.
    func checkpoint(
        _ state: PublishedState, growJournal: Bool, moveJournal: Bool = false,
        writePages: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let plan = try CheckpointPlan(side: side, growJournal: growJournal, moveJournal: moveJournal)
        let header = plan.header(of: state, after: side.header, fileSectors: side.space.sectorCount)
        do throws(StorageError) {
            try writePages()
            try plan.write(side: side)
            try file.sync()
            try Self.writeHeader(header, to: file)
        } catch {
            throw side.fail(error)
        }
        advance(to: header, plan)
    }

    private static func writeHeader(_ header: HeaderSlot, to file: any StoreFile) throws(StorageError) {
        try header.encoded().withBytes { (bytes) throws(StorageError) in
            for slot in 0..<FileFormat.headerSlotCount {
                try file.writeThrough(bytes, at: slot << FileFormat.sectorShift)
            }
        }
    }

    private func advance(to header: HeaderSlot, _ plan: CheckpointPlan) {
        let former = side.header
        side.header = header
        side.spaceMaps = plan.maps
        for run in plan.dropped { side.release(run) }
        side.retired.pin(header.transaction)
        if former.checkpoint > 0 { side.unpin(former.transaction) }
        side.journal = JournalWriter(after: header)
        side.announcer?.tell(header.transaction, header.root, side)
        noteStatistics()
    }
}

extension HeaderSlot {
    /// The header of the checkpoint after this one, for `state`; places are the caller's to set.
    func next(_ state: PublishedState) -> HeaderSlot {
        var header = self
        header.checkpoint += 1
        header.transaction = state.transaction
        header.root = state.root
        // Random, so that nobody can put bytes into a value that pass as a record of the coming generation.
        header.generation = UInt64.random(in: 1...UInt64.max)
        return header
    }
}
