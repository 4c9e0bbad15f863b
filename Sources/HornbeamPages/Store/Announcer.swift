// SPDX-License-Identifier: Apache-2.0
// The writer's side of reading in other processes. It tells other processes the newest durable state, and keeps the
// pages of the states that they have snapshots of.
//
//   writer                                  reader (Follower)
//   1 tells the new state                   1 reads which state is told
//   2 asks for all pins                     2 pins it
//   3 lets go of states without a pin       3 looks again: the same state, or let go and begin anew
//
// If the reader's second look (3) still sees the former state, the writer had not finished its step 1, so its step 2
// comes after the pin and finds it. A pin that is found late, or a pin of a dead reader that the kernel has not removed
// yet, only delays the reuse of pages. The beginning of a writer's life counts as telling: the state is the
// checkpoint's then, and nothing is written (opening and closing a store leaves its file as it was), unless it must be
// recovered. Readers find that state in the header. Two rules follow. A header can be read before it is durable, so the
// writer writes the state before its first header. And a reader that doesn't look during this life trusts the state
// that the former life told, so the writer writes the state at once if that is another one.
//
// A durable commit's pages may still be in the writer's memory (see UnwrittenPages), and then the state can't be told.
// That is harmless while no reader has the file open. A reader that opens it must see every acknowledged commit.
//
//   writer                                  reader
//   1 says that it is in arrears            1 attends
//   2 looks whether anyone attends          2 looks whether the writer is in arrears
//     yes: writes, tells, is in arrears       yes: waits until it is so no more
//          no more
//
// Both are locks, and the kernel orders the calls of all processes: one of the two sees the other (Dekker's algorithm).
// If there are no more commits, the thread that checkpoints soon writes and tells. Without that thread, or while it
// waits for a transaction, the commit does so.
//
// A writer that opens a file may find readers of the life before. Their pages can be anywhere in the sectors that its
// space map has as free, because the former writer told states that no checkpoint had reached. So no sector that was
// free then is used until all of these readers have let go; until then the file grows.

import Synchronization

/// Announces states, and keeps each of them by a hold (`PublishedState.hold`). Nil if no other process can have the
/// file open.
final class Announcer: @unchecked Sendable {
    // Sendable: `sector` is touched with `known` locked only.
    private let file: any StoreFile
    private let cipher: (any PageCipher)?
    private let neighbours: any Neighbours
    private let sector: UnsafeMutableRawPointer
    private let known: Mutex<Known>
    /// Readers of the life before. Used in the writer's turn.
    private var inheritance: Inheritance?
    /// Whether there was a reader at the last look. If so, commits write their pages at once, to be announced.
    var isAttended: Bool { attended.load(ordering: .relaxed) }
    private let attended = Atomic<Bool>(false)
    /// Whether there is a durable state that others don't know of.
    var isInArrears: Bool { arrears.load(ordering: .sequentiallyConsistent) }
    private let arrears = Atomic<Bool>(false)

    /// The state of telling, and what other processes know.
    private struct Known {
        var newest: SharedRoot
        /// The newest state that other processes know of. Nil before they know any state of this life, and while there
        /// is an untold state and no reader of this one: a new reader then waits for the newer one.
        var told: PublishedState?
        /// The transaction of `told`, or of the last told state if that is nil.
        var toldTransaction: UInt64?
        /// The newest durable state if it is newer than `told`: some of its pages were not in the file when it became
        /// durable.
        var untold: PublishedState?
        /// States that were told earlier. Kept until no reader has them.
        var former: [PublishedState] = []
        /// Number of states at the start of `former` that other processes had pinned when `collect` looked last.
        var pinned = 0
        /// Whether it is unknown which of the announced states others see. If so, all are kept.
        var isUncertain = false
        /// Whether this life has written a state to the shared root.
        var hasTold = false
        /// Whether the lock tells others that there may be an untold state.
        var isArrearsLocked = false
        var hasBegun = false
    }

    /// Pins from before this life, and the pages that are kept for them.
    private struct Inheritance {
        var pins: [Range<UInt64>]
        /// The checkpoint that this life began with.
        var checkpoint: UInt64
        var sectors: [SectorRun]
    }

    init?(file: any StoreFile, cipher: (any PageCipher)?) {
        guard let neighbours = file.neighbours else { return nil }
        self.file = file
        self.cipher = cipher
        self.neighbours = neighbours
        let life = UInt64.random(in: 1..<FileLocks.lives)
        known = Mutex(Known(newest: SharedRoot(identity: SharedRoot.Identity(life: life, sequence: 0))))
        sector = .allocate(byteCount: FileFormat.sectorSize, alignment: 8)
    }

    deinit { sector.deallocate() }

    /// Begins this life of the file: from here on no process uses a state that an earlier writer told. The file must
    /// not have been changed before. The space map and the last checkpoint's pin must be in place. `isWhole`: the
    /// checkpoint has the newest state, so the journal is empty. In the writer's turn, before the store is shared.
    func begin(_ side: WriterSide, isWhole: Bool) throws(StorageError) {
        let state = side.tip
        let mustTell = isWhole ? try !isToldAlready(state) : false
        try known.withLock { (known) throws(StorageError) in
            if mustTell {
                known.newest.fileSectors = side.header.fileSectors
                known.newest.checkpoint = side.header.checkpoint
                known.newest.identity.sequence = 1
                known.newest.name(state)
                known.hasTold = true
            }
            if mustTell || !isWhole { try write(known.newest) }
            try neighbours.begin(life: known.newest.identity.life)
            known.hasBegun = true
            guard isWhole else { return }
            state.hold()
            known.told = state
            known.toldTransaction = state.transaction
        }
        let pins = try neighbours.pins()
        if !pins.isEmpty {
            let sectors = side.space.freeRuns()
            for run in sectors { side.space.retire(run) }
            side.retired.pin(side.header.transaction)
            inheritance = Inheritance(pins: pins, checkpoint: side.header.transaction, sectors: sectors)
        }
        neighbours.hasBegun()
    }

    /// Whether the last state that was told in this file is this one, or none was told. Otherwise a reader of the life
    /// before might go on with the other state, if this life ends before the reader looks again.
    private func isToldAlready(_ state: PublishedState) throws(StorageError) -> Bool {
        try SharedRoot.tells(nothingBut: state.transaction, in: FileReader(file, mapping: nil), cipher)
    }

    /// Announces a durable state, and takes over one of its holds. The state is kept until another one is announced and
    /// no reader has it. If that fails the commit still succeeds: others see an older state a little longer.
    func tell(_ state: PublishedState, _ figures: PageStatistics) {
        known.withLock { tell(state, figures, &$0) }
    }

    private func tell(_ state: PublishedState, _ figures: PageStatistics, _ known: inout Known) {
        guard known.hasBegun, known.toldTransaction.map({ $0 < state.transaction }) ?? true else {
            state.letGo()
            return
        }
        if let told = known.told { known.former.append(told) }
        known.told = state
        known.toldTransaction = state.transaction
        if let untold = known.untold, untold.transaction <= state.transaction {
            untold.letGo()
            known.untold = nil
        }
        known.newest.name(state)
        known.newest.note(figures)
        repeatNewest(&known)
        // If the lock can't be had either, a process that opens the file now doesn't wait.
        if known.isUncertain { try? beginArrears(&known) }
        settleArrears(&known)
    }

    /// Writes the state that others know of, unless this life has written one. Called before the header of another
    /// state is written: others would read that state there while it can still be lost.
    func tellBeginning(_ figures: PageStatistics) throws(StorageError) {
        try known.withLock { (known) throws(StorageError) in
            guard known.hasBegun, !known.hasTold, let state = known.told else { return }
            known.newest.identity.sequence += 1
            known.newest.name(state)
            known.newest.note(figures)
            known.isUncertain = true
            try write(known.newest)
            known.isUncertain = false
            known.hasTold = true
            settleArrears(&known)
        }
    }

    /// Keeps a durable state that can't be announced yet, and takes over one of its holds. Marks that for processes
    /// that open the file from here on. Returns false if a process has the file open already, or may have it: then the
    /// state must be announced now.
    func keep(_ state: PublishedState) -> Bool {
        known.withLock { known in
            let newest = max(known.toldTransaction ?? 0, known.untold?.transaction ?? 0)
            guard known.hasBegun, newest < state.transaction else {
                state.letGo()
                return true
            }
            known.untold?.letGo()
            known.untold = state
            do throws(StorageError) {
                try beginArrears(&known)
                let isAttended = try neighbours.attendsAny()
                attended.store(isAttended, ordering: .relaxed)
                if isAttended || known.isUncertain { return !isAttended }
                known.told?.letGo()
                known.told = nil
                return true
            } catch {
                return false
            }
        }
    }

    /// The newest durable state that can't be announced yet.
    var kept: PublishedState? { known.withLock { $0.untold } }

    /// Announces a state that `kept` returned, now that all its pages are in the file, unless a newer one has taken its
    /// place.
    func tellKept(_ state: PublishedState, _ figures: PageStatistics) {
        known.withLock { known in
            guard known.untold === state else { return }
            known.untold = nil
            tell(state, figures, &known)
        }
    }

    /// Whether another process has the file open. True if that is unknown.
    func attendsAny() -> Bool { (try? neighbours.attendsAny()) ?? true }

    private func beginArrears(_ known: inout Known) throws(StorageError) {
        arrears.store(true, ordering: .sequentiallyConsistent)
        if !known.isArrearsLocked { try neighbours.beginArrears() }
        known.isArrearsLocked = true
    }

    private func settleArrears(_ known: inout Known) {
        guard isInArrears, known.untold == nil, !known.isUncertain else { return }
        arrears.store(false, ordering: .sequentiallyConsistent)
        if known.isArrearsLocked { neighbours.endArrears() }
        known.isArrearsLocked = false
    }

    /// Announces again states that others may not have received. Returns whether they have now.
    func repeatUncertain() -> Bool {
        known.withLock { known in
            repeatUncertain(&known)
            return !known.isUncertain
        }
    }

    private func repeatUncertain(_ known: inout Known) {
        guard known.isUncertain else { return }
        repeatNewest(&known)
        settleArrears(&known)
    }

    /// Checks again whether there are readers, if there were any.
    func renewAttendance() {
        guard isAttended else { return }
        attended.store(attendsAny(), ordering: .relaxed)
    }

    private func repeatNewest(_ known: inout Known) {
        known.newest.identity.sequence += 1
        do throws(StorageError) {
            try write(known.newest)
            known.isUncertain = false
            known.hasTold = true
        } catch {
            known.isUncertain = true
        }
    }

    private func write(_ root: SharedRoot) throws(StorageError) {
        root.write(to: sector)
        try SectorSeal.seal(sector, with: cipher)
        try file.write(Bytes(start: sector, count: FileFormat.sectorSize), at: SharedRoot.offset)
    }

    /// Releases the states that no reader in another process has any more. In the writer's turn.
    func collect(_ side: WriterSide) {
        // Released outside of the lock, because `UnwrittenPages` has a lock of its own, under which this one may be
        // asked for.
        let free = known.withLock { known -> Inheritance? in
            repeatUncertain(&known)
            guard !known.isUncertain, !known.former.isEmpty || inheritance != nil,
                let pins = try? neighbours.pins()
            else { return nil }
            known.former.removeAll { state in
                if pins.contains(where: { $0.contains(state.transaction) }) { return false }
                state.letGo()
                return true
            }
            known.pinned = known.former.count
            guard let inheritance, !pins.contains(where: { pin in inheritance.pins.contains { $0.overlaps(pin) } })
            else { return nil }
            self.inheritance = nil
            return inheritance
        }
        guard let free else { return }
        for run in free.sectors { side.release(run) }
        side.unpin(free.checkpoint)
    }

    /// The transactions whose states other processes had pinned when `collect` looked last.
    var pinned: Set<UInt64> {
        known.withLock { $0.pinned == 0 ? [] : Set($0.former.prefix($0.pinned).map(\.transaction)) }
    }
}

extension PageStore {
    /// Announces the newest state, which is durable, to other processes. If some of its pages are only in memory and no
    /// other process reads, that is put off.
    func tellNewest() {
        guard let announcer = side.announcer else { return }
        let state = newest.withLock { newest in
            newest.state.hold()
            return newest.state
        }
        if verification.unwritten?.isWritten(state: state.transaction) ?? true {
            announcer.tell(state, told)
            announcer.renewAttendance()
        } else if !announcer.keep(state) || !worker.isReady {
            catchUp()
        }
    }

    /// Writes pages that are only in memory, and announces states that couldn't be announced before. Any thread. If
    /// writing fails, others see an older state a little longer, and new readers wait. Commits meanwhile leave more to
    /// announce. Returns false if a state could be neither written nor announced, or if the store has failed: then
    /// nothing is written.
    @discardableResult
    func catchUp() -> Bool {
        guard let announcer = side.announcer, announcer.isInArrears else { return true }
        if pipeline.hasFailed { return false }
        if let kept = announcer.kept {
            do throws(StorageError) { try writeUnwritten() } catch { return false }
            announcer.tellKept(kept, told)
        }
        return announcer.repeatUncertain()
    }

    /// Whether there is a state to announce and another process has the file open.
    var isAwaited: Bool { isInArrears && side.announcer?.attendsAny() ?? false }

    /// The sizes that are told with the newest state.
    private var told: PageStatistics {
        var figures = newest.withLock { $0.statistics }
        figures.fileBytes = verification.sectorCount << FileFormat.sectorShift
        return figures
    }

    /// Whether other processes would have to wait for `catchUp`.
    var isInArrears: Bool { side.announcer?.isInArrears ?? false }

    /// Announces the state that this life of the file began with, if no state was written yet.
    func tellBeginning() throws(StorageError) { try side.announcer?.tellBeginning(told) }

    /// Announces the state of a checkpoint, which is pinned, to other processes. In the writer's turn, after
    /// `noteStatistics`.
    func tellCheckpoint(_ state: PublishedState) {
        guard let announcer = side.announcer else { return }
        // It may no longer be the newest, and may be kept only by the checkpoint's pin.
        side.retired.pin(state.transaction)
        side.older.append(state)
        state.hold()
        announcer.tell(state, newest.withLock { $0.statistics })
    }
}

extension SharedRoot {
    fileprivate mutating func name(_ state: PublishedState) {
        transaction = state.transaction
        root = state.root
    }

    /// Copies the sizes that are told with the state.
    fileprivate mutating func note(_ figures: PageStatistics) {
        fileSectors = figures.fileBytes >> FileFormat.sectorShift
        usedSectors = figures.usedBytes >> FileFormat.sectorShift
        journalSectors = figures.journalBytes >> FileFormat.sectorShift
        retiredSectors = figures.retiredBytes >> FileFormat.sectorShift
        checkpoint = figures.checkpoint
    }
}

extension SpaceMap {
    /// All free sectors, in order.
    func freeRuns() -> [SectorRun] {
        var runs: [SectorRun] = []
        for word in words.indices {
            SectorRun.forEach(in: freeBits(word), from: UInt64(word) << 6) { runs.join($0) }
        }
        return runs
    }
}
