// SPDX-License-Identifier: Apache-2.0
// A checkpoint makes a state reachable from the header, so that the journal before it is no longer needed.
//
//   1 begin    in the turn: no commit is pending; new places for changed space pages, and for the journal if it grows
//              (may run out of space: undone); the space pages' bytes; the state is pinned
//   2 write    without the turn: pages that are only in memory, space pages, zeros for a new ring; the first state for
//              readers in other processes, if none was told (see Announcer)
//   3 sync     all that the new header will reach is durable
//   4 header   slot 0 through, slot 1 through
//   5 end      in the turn: the former pin goes, pages that only the former checkpoint reached are free, and so is the
//              journal's part before the new position
//
// A transaction that finds no room checkpoints the state that it builds on while it stays open: the checkpoint doesn't
// have its pages.
//
// Commits go on during 2 to 4: their pages take free places, and their records follow the records of the state. All
// that the former checkpoint reaches stays until 5, so after a crash before that either checkpoint is whole, with the
// journal's chain after it. `CheckpointRun.Outcome` lists the results of failures.

import Synchronization

extension PageStore {
    /// Makes the newest state durable without the journal. Waits for the writer's turn, but gives it back while it
    /// writes. Throws `.readOnly` in a read-only store, and an error if the checkpoint was not made.
    package func checkpoint() throws(StorageError) {
        try checkProcess()
        guard !options.readOnly else { throw .readOnly("\(file.path) is open read-only: open it for writing") }
        guard let begun = try beginOwnCheckpoint() else { return }
        begun.write(to: self)
        try takeTurn(briefly: true)
        defer { turn.give() }
        // A writer that needed the checkpoint's end may have ended it.
        if side.run === begun, let error = concludeRun() { throw error }
    }

    private func beginOwnCheckpoint() throws(StorageError) -> CheckpointRun? {
        try takeTurn(briefly: true)
        defer { turn.give() }
        try checkUsable()
        try checkNumbers(transaction: side.usedNumber, checkpoint: side.nextCheckpoint)
        return try beginCheckpoint()
    }

    /// Checkpoints unless the file has the newest state already. The caller must have the turn.
    func checkpointIfNeeded() throws(StorageError) {
        guard let run = try beginCheckpoint() else { return }
        run.write(to: self)
        if let error = concludeRun() { throw error }
    }

    /// In the turn: the change of the ring by a checkpoint that commits have made due; nil if none is due.
    func dueCheckpoint() -> RingChange? {
        guard file.isDurable, !isClosed, side.run?.isWritten ?? true else { return nil }
        let (used, capacity, isNearlyFull) = pipeline.journalUse
        let asked = UInt64(Swift.max(0, options.checkpointBytes)) >> FileFormat.sectorShift
        guard
            isNearlyFull || asked > 0 && used >= asked
                || side.dirtyPages.newSectors << FileFormat.sectorShift > options.checkpointDirtyBytes
        else { return nil }
        let ring = used > capacity / 2 ? side.grownRing : side.wantedRing
        return ring.map { .new($0) } ?? RingChange.keep
    }

    /// In the turn: bytes of pages that commits should make at most while a checkpoint is running. They take space in
    /// addition to the pages of both checkpoints.
    private var boundMeanwhile: Int { Swift.max(16 << 20, side.liveBytes / 4) }

    /// In the turn, after a commit, which must not fail any more. After an error the journal stays as it is until the
    /// next commit.
    func checkpointNow(journal: RingChange) {
        guard let run = tryToBegin(journal) else { return }
        run.write(to: self)
        _ = concludeRun()
    }

    /// In the turn: begins a checkpoint. Reports a failure as an event. Returns nil then, and if the file has the
    /// newest state.
    private func tryToBegin(_ journal: RingChange = .keep) -> CheckpointRun? {
        do throws(StorageError) {
            return try beginCheckpoint(journal: journal)
        } catch {
            options.events?(.checkpointFailed(error))
            return nil
        }
    }

    /// For the background thread. A failure is retried on the next occasion. `isIdle`: there has been no commit for a
    /// while.
    package func checkpointInBackground(isIdle: Bool = false) {
        worker.beginWork()
        defer { worker.endWork() }
        let begun = inThreadsTurn { (try? checkUsable()) == nil ? nil : tryToBegin() }
        guard case let begun?? = begun else { return }
        begun.write(to: self)
        // If the thread ends before that, the next caller that needs the checkpoint's end ends it.
        inThreadsTurn {
            if side.run === begun { _ = concludeRun() }
            if isIdle { side.noteQuiet(begun.ringUse) }
            reclaimUnread(isIdle: isIdle)
        }
        resizeRing()
    }

    /// Whether there are commits that no checkpoint has.
    var needsCheckpoint: Bool { pipeline.journalUse.used > 0 && (try? checkUsable()) != nil }

    /// Checkpoints `state`, which the space map already describes, and whose own pages are written or kept. No commit
    /// may be pending. `keys`: the new key slots, if they change. Throws if the checkpoint was not made; `.failed` if
    /// the outcome is unknown.
    func checkpoint(
        _ state: PublishedState, journal: RingChange = .keep, keys: KeySlots? = nil
    ) throws(StorageError) {
        let run = try begin(state, journal: journal, keys: keys)
        run.write(to: self)
        let error = concludeRun()
        if case .half = run.outcome { return }
        if let error { throw error }
    }
}

// MARK: A full disk

extension PageStore {
    /// For an open transaction that finds no room. Checkpoints the state that it builds on, which frees the pages that
    /// only the former checkpoint reaches. The stored space map has the transaction's own pages free, as after an
    /// abort. Returns whether anything became free. Throws if the transaction can't commit any more.
    func checkpoint(beneath writer: PageWriter) throws(StorageError) -> Bool {
        // In a forked child the file is the parent's.
        try checkProcess()
        guard file.isDurable else { return false }
        let free = side.space.freeSectors
        try clearWay(whileOpen: true)
        guard side.tip.transaction != side.header.transaction,
            let run = try? begin(side.tip, journal: .keep, without: writer.ownRuns)
        else { return side.space.freeSectors > free }
        run.write(to: self)
        if case .failed(let cause)? = concludeRun() { throw .failed(cause: cause) }
        return side.space.freeSectors > free
    }
}

// MARK: The steps

extension PageStore {
    /// In the turn, while no transaction is open: begins a checkpoint of the newest state. Returns nil if the file has
    /// it.
    func beginCheckpoint(journal: RingChange = .keep) throws(StorageError) -> CheckpointRun? {
        guard file.isDurable else { return nil }
        try clearWay()
        guard side.tip.transaction != side.header.transaction else { return nil }
        return try begin(side.tip, journal: journal)
    }

    /// In the turn: ends the running checkpoint, and waits until no commit is pending. `isOpen`: as in `settle`.
    func clearWay(whileOpen isOpen: Bool = false) throws(StorageError) {
        // A checkpoint that was undone is no obstacle.
        if let error = concludeRun(), side.run != nil { throw error }
        try pipeline.checkUsable()
        try pipeline.drain { show($0, isDurable: $1) }
        settle(whileOpen: isOpen)
    }

    /// `own`: places of an open transaction's pages, which are not part of the state.
    func begin(
        _ state: PublishedState, journal: RingChange, without own: [SectorRun] = [], keys: KeySlots? = nil
    ) throws(StorageError) -> CheckpointRun {
        let faults = pipeline.faultCount
        // After a failed write-through the next checkpoint writes all pages since the last one again. This checkpoint
        // would leave out those that the transaction has written early.
        guard own.isEmpty || faults == side.knownFaults else { throw .busy("a transaction is open") }
        let plan = try CheckpointPlan(side: side, journal: journal)
        let space = own.isEmpty ? side.space : side.space.withheld(own)
        let mark = pipeline.closeJournalSector()
        var header = plan.header(of: state, after: side.header, fileSectors: side.space.sectorCount, mark: mark)
        if let keys { header.keys = keys }
        side.dirtyPages.begin(state.transaction, inUse: space.liveSectors - Int(plan.journal.count))
        let use = pipeline.journalUse
        let run = CheckpointRun(
            state: state, former: side.header, header: header, plan: plan, images: plan.images(space), mark: mark,
            ringUse: use.used, dirtyBytes: side.dirtyPages.sectors << FileFormat.sectorShift,
            faults: faults, rewrites: faults != side.knownFaults, cipher: verification.cipher)
        side.retired.pin(state.transaction)
        side.run = run
        // Most pages were written while the ring was prepared: this one doesn't show how long a byte takes.
        let bytes = if case .prepared = journal { 0 } else { run.dirtyBytes }
        side.pace.begin(bytes: bytes, bound: boundMeanwhile, journal: (use.used, use.capacity))
        return run
    }

    /// In the turn: waits until the running checkpoint is written, and ends it. Returns nil if there is none or it is
    /// durable in both slots, otherwise the reason. If `side.run` is still set then, it waits for its second slot.
    func concludeRun() -> StorageError? {
        guard let run = side.run else { return nil }
        if case .half = run.outcome { run.writeSecondSlot(to: file, pipeline) }
        switch run.outcome {
        case .durable:
            side.run = nil
            advance(run)
            options.events?(run.event)
            return nil
        case .half(let error):
            // Slot 1 may not lead to later commits. Without a journal there are none until it does.
            if !run.isReachedByFormer { pipeline.setJournal(nil) }
            return error
        case .undone(let error):
            side.run = nil
            side.dirtyPages.end(isDurable: false)
            run.plan.undo(side)
            side.unpin(run.state.transaction)
            noteStatistics()
            options.events?(.checkpointFailed(error))
            return error
        case .failed(let error):
            side.run = nil
            return pipeline.fail(error)
        }
    }

    private func advance(_ run: CheckpointRun) {
        side.header = run.header
        keySlots.withLock { $0 = run.header.keys }
        side.checkpointLeap = 0
        side.spaceMaps = run.plan.maps
        side.knownFaults = run.faults
        side.dirtyPages.end(isDurable: true)
        side.shrinking.note(peak: side.occupiedSectors)
        for dropped in run.plan.dropped { side.release(dropped) }
        if run.former.checkpoint > 0 { side.unpin(run.former.transaction) }
        if run.header.generation == run.former.generation, let mark = run.mark, pipeline.hasJournal {
            pipeline.advanceJournal(to: mark.position, transaction: run.state.transaction)
        } else {
            pipeline.setJournal(JournalWriter(after: run.header, verification.cipher))
        }
        side.noteRingUse(run.ringUse)
        noteStatistics()
        tellCheckpoint(run.state)
    }
}
