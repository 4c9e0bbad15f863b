// SPDX-License-Identifier: Apache-2.0
// The paged file: bytes that survive. This is the facade; Commit, Checkpoint, Recovery and the folders do the work. It
// must never acknowledge a commit that could be lost, nor show a reader one.
//
// Invariants (tests and documents cite the numbers)
//  1  Nothing that the last durable checkpoint reaches is overwritten before the next one is durable in both slots.
//  2  Nothing that a snapshot reaches is overwritten while the snapshot is open. One rule decides 1 and 2: a retired
//     page is free when no pin p has birth <= p < death; the last durable checkpoint is a pin like any other.
//  3  Durable first, visible second: a state is published only after its commit is as durable as was asked.
//  4  Redo records enter the journal in commit order; recovery yields a prefix of the commits, and at least all those
//     that were acknowledged as durable.
//  5  The stored space map has exactly the sectors that its checkpoint reaches: header, shared area, journal, space and
//     live pages.
//  6  No byte of the file is trusted before it was verified: range, checksum, identity, structure.
//  7  A commit that throws anything but `.failed` left no trace: nothing of it is visible, now or after reopening.
//  8  After a failure whose outcome is unknown nothing is written again; reads go on.
//  9  Only calls of `StoreFile` change the file; one journal write and one checkpoint are in flight at a time.
//
// States
//
//   opening ──replay──▶ recovering ──checkpoint──▶ usable ──unknown outcome (fail)──▶ failed
//      │                                             │  ▲                               │
//      └──nothing to replay──────────────────────────┘  └─beginWrite/commit/checkpoint  │
//   usable ──close (checkpoint)──▶ closed ◀──close (no checkpoint)─────────────────────┘
//
//   opening     only the opener knows the store; nothing is written
//   recovering  there is no journal; replayed commits write pages that only a later checkpoint will reach
//   usable      header = last durable checkpoint; journal = the commits since; newest state = both together
//   failed      `CommitPipeline` has the failure; beginWrite and checkpoint refuse with it
//   closed      beginRead and beginWrite refuse; the lock is released

import CHornbeamShims
package import Synchronization

/// A store's pages. Any thread may begin transactions; one writes at a time.
package final class PageStore: @unchecked Sendable {
    // Sendable: only the holder of `turn` touches `side`, except for its atomic and self-guarding parts; everything
    // else is constant or guards itself.

    /// Applies one journal record's payload in a writer and sets its root. Must neither commit nor abort.
    package typealias Replay = @Sendable (Bytes, PageWriter) throws(StorageError) -> Void

    /// Size of a node page in bytes.
    package let pageSize: Int
    /// Number of bytes that each page leaves empty: 0 unless the store is encrypted.
    package let reserve: Int
    /// The key slots of an encrypted store, which `rekey` changes.
    let keySlots: Mutex<KeySlots?>
    package let options: StoreOptions
    let file: any StoreFile
    let verification: Verification
    let cache: PageCache
    let turn = WriterTurn()
    let side: WriterSide
    let pipeline: CommitPipeline
    let newest: Mutex<Newest>
    /// The address of the newest state, 0 once the store is closed. Stored under `newest`'s lock.
    private let newestAddress: Atomic<UInt>
    let worker = CheckpointWorker()
    /// Runs in the store's thread after each checkpoint that the thread made. The argument says whether the checkpoint
    /// was made after a while without commits.
    package typealias Maintenance = @Sendable (PageStore, Bool) -> Void
    package let maintenance = Mutex<Maintenance?>(nil)
    /// Whether a compaction ended without removing its limit.
    let leftLimit = Atomic(false)
    /// Whether the store's thread should stop giving space back.
    let shrinkingIsUnwanted = Atomic(false)
    /// Reads beside a writer in another process. Nil in a store that writes, and without a file.
    let follower: Follower?
    /// The process that opened it: see `checkProcess`.
    private let generation = hbs_fork_generation()

    /// A store whose newest state is `side`'s.
    init(file: any StoreFile, options: StoreOptions, side: WriterSide, follower: Follower? = nil) {
        self.file = file
        self.follower = follower
        self.options = options
        self.side = side
        pipeline = CommitPipeline(file: file, cipher: side.verification.cipher, events: options.events)
        verification = side.verification
        cache = side.verification.cache
        reserve = side.verification.reserve
        keySlots = Mutex(side.verification.keys?.slots)
        pageSize = Int(side.header.pageSize)
        newest = Mutex(Newest(state: side.tip))
        newestAddress = Atomic(Self.address(of: side.tip))
        verification.noteFileSize(sectors: side.space.sectorCount)
    }

    deinit { file.close() }

    /// The keys for a copy (a backup) of an encrypted store. Any thread.
    func keysOfCopy() throws(StorageError) -> StoreKeys? {
        guard let keys = verification.keys else { return nil }
        // Another process may have changed the key slots that this one was opened with.
        let slots = follower == nil ? keySlots.withLock { $0 } : try Self.headerBesideWriter(file, keys.cipher).keys
        return try keys.ofCopy(slots ?? keys.slots)
    }

    // MARK: Reading

    /// Pins the newest committed state. Never waits for a writer.
    package func beginRead() throws(StorageError) -> PageView {
        PageView(store: self, pinned: try pinNewest())
    }

    /// Pins the newest committed state in a view whose read has ended. Never waits for a writer. Returns true if the
    /// view sees the state that it saw before.
    package func beginRead(again view: PageView) throws(StorageError) -> Bool {
        try checkProcess()
        if view.renew() { return true }
        let version = view.transaction
        view.renew(try pinNewest())
        return view.transaction == version
    }

    private static func address(of state: PublishedState) -> UInt {
        UInt(bitPattern: Unmanaged.passUnretained(state).toOpaque())
    }

    /// Pins a state that the caller has kept since an earlier read, if it is still the newest. Takes no lock and no
    /// memory that another thread writes. Returns nil if it isn't the newest any more.
    ///
    /// Counts first and looks second, while the writer stores the new address first and looks at the counts of older
    /// states second, all in one order: either the writer sees the pin, or this sees the new address (`StripedCount`).
    /// The state is alive, so no other has its address.
    @inline(__always)
    func pin(again state: PublishedState) -> StripedCount.Stripe? {
        guard follower == nil else { return nil }
        let stripe = state.readers.mine
        stripe.enter()
        if newestAddress.load(ordering: .sequentiallyConsistent) == Self.address(of: state) { return stripe }
        stripe.leave()
        return nil
    }

    /// Makes the state visible to new readers.
    func show(_ state: PublishedState) {
        newest.withLock { newest in
            newest.state = state
            // A commit that another thread entered before the store was closed may still become visible.
            if newest.isClosed { return }
            newestAddress.store(Self.address(of: state), ordering: .sequentiallyConsistent)
        }
    }

    private func pinNewest() throws(StorageError) -> PinnedState {
        try checkProcess()
        if let follower { return try follower.begin().pin() }
        let pinned = newest.withLock { $0.isClosed ? nil : $0.state.pin() }
        guard let pinned else { throw .invalid("the store is closed") }
        return pinned
    }

    /// Whether two states with one transaction number are equal. They may not be beside a writer in another process,
    /// which may begin the file anew.
    package var knowsStatesByNumber: Bool { follower == nil }

    /// Unpins the view. It and its pages must not be used afterwards.
    package func endRead(_ view: PageView) { view.unpin() }

    /// Releases a view's pin of its state. Not called in a forked child, where the pin is the parent's.
    func unpin(_ state: PublishedState, _ stripe: StripedCount.Stripe) {
        // First, because a follower closes once it has no snapshot, and then no reader may be counted.
        stripe.leave()
        follower?.end(state)
    }

    // MARK: Processes

    /// False in a forked child of the process that opened the store.
    var isHere: Bool { hbs_fork_generation() == generation }

    /// Throws in a forked child. Comes before any lock: another thread may have held it when the process was forked.
    package func checkProcess() throws(StorageError) {
        guard isHere else {
            throw .invalid("\(file.path) was opened before this process was forked: open it anew in the child")
        }
    }

    // MARK: Writing

    /// Begins the one write transaction, in the writer's turn. Throws `.busy` if it may not wait for the turn and would
    /// have to, or if it waits as a thread that is to end. Throws `.invalid` if it would wait for a transaction begun
    /// by this thread, `.failed` after an earlier failure, `.readOnly` in a read-only store.
    package func beginWrite(_ wait: TurnWait = .inOrder) throws(StorageError) -> PageWriter {
        try checkProcess()
        guard !options.readOnly else { throw .readOnly("\(file.path) is open read-only: open it for writing") }
        try takeTurn(wait)
        do throws(StorageError) {
            try checkUsable()
            settle()
            let number = side.usedNumber + 1
            // One if there is no room, two for the commit, one for `close`, one for recovery instead of that.
            try checkNumbers(transaction: number, checkpoint: side.header.checkpoint + 5)
            return PageWriter(store: self, side: side, state: side.tip, number: number, reserve: .transaction)
        } catch {
            turn.give()
            throw error
        }
    }

    /// Waits for the turn. Throws `.invalid` if it would wait for this thread itself, which the store's own thread
    /// never does. In a forked child the holder may be gone.
    func takeTurn(_ wait: TurnWait = .inOrder, briefly: Bool = false) throws(StorageError) {
        try checkProcess()
        switch wait {
        case .no:
            guard turn.tryTake() else { throw .busy("another write transaction is open") }
        case .inOrder:
            guard turn.take(briefly: briefly) else { throw Self.ownTurn }
        case .behindOthers:
            guard turn.takeBehindOthers() else { throw Self.ownTurn }
        case .inThread:
            guard takeThreadsTurn() else { throw .busy("the store is being closed") }
        }
    }

    static var ownTurn: StorageError {
        .invalid("this thread has a write transaction already, open or waiting: use its context, or end it first")
    }

    /// Runs `body` for the write transaction that another thread has open, and that waits for it. Beginning a write
    /// transaction in `body` is `.invalid`, as in that thread.
    package func helping<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try turn.helping(body)
    }

    /// Whether this thread has a write transaction open, or works for one.
    package var isWriting: Bool { turn.isMine }

    func checkUsable() throws(StorageError) {
        if isClosed { throw .invalid("the store is closed") }
        try pipeline.checkUsable()
    }

    /// Whether nothing can be committed any more. If so, changes that were not durable may be lost.
    package var hasFailed: Bool {
        do throws(StorageError) { try pipeline.checkUsable() } catch { return true }
        return false
    }

    /// Refuses numbers that opening would refuse: a store must not write data that it can't read again. No store
    /// reaches these numbers by itself, but a file may claim them.
    func checkNumbers(transaction: UInt64, checkpoint: UInt64) throws(StorageError) {
        guard transaction < FileFormat.maximumNumber, checkpoint < FileFormat.maximumNumber else {
            throw .unsupported("\(file.path) has used up its transaction or checkpoint numbers: copy it to a new store")
        }
    }

    /// The largest redo that a commit may carry; a larger transaction passes nil. 0 in memory, where no redo is needed.
    package var maximumRedoSize: Int {
        let capacity = Int(newest.withLock { $0.statistics.journalCapacityBytes })
        return Swift.max(0, JournalRecord.maximumPayload(ringBytes: capacity) - verification.reserve)
    }

    // MARK: Closing

    /// Checkpoints, ends the store's thread and releases the file. Throws `.busy` while transactions are open; then
    /// nothing has happened. After any other error the file is released all the same, and commits in the journal will
    /// be recovered. Throws `.failed` if the store has failed before: commits that were not durable may be lost.
    package func close() throws(StorageError) {
        try checkProcess()
        shrinkingIsUnwanted.store(true, ordering: .relaxed)
        guard turn.tryTake() else { throw .busy("a write transaction is open") }
        var failure: StorageError?
        do {
            defer { turn.give() }
            // The file is released already, and settling may write to it.
            if isClosed { return }
            settle()
            try noteClosed()
            failure = writeBack()
            // Drops the run that a failed store leaves unfinished, whichever thread drives it: nothing ends it later.
            _ = side.run?.outcome
            side.run = nil
        }
        // Without the turn, and before the file is released, because the thread may be writing.
        endThread()
        pipeline.close()
        file.close()
        if let failure { throw failure }
    }

    /// Set in the turn, and never reset.
    var isClosed: Bool { newest.withLock { $0.isClosed } }

    /// Prevents new transactions. Throws `.busy` if one is open.
    private func noteClosed() throws(StorageError) {
        let isIdle = newest.withLock { newest -> Bool in
            // Beside a writer in another process the follower has the snapshots.
            guard follower?.close() ?? true else { return false }
            // First, as in `show`: a thread that pins the newest again must see it or be seen.
            newestAddress.store(0, ordering: .sequentiallyConsistent)
            guard !newest.state.isRead, !side.older.contains(where: \.isRead) else {
                newestAddress.store(Self.address(of: newest.state), ordering: .sequentiallyConsistent)
                return false
            }
            newest.isClosed = true
            return true
        }
        guard isIdle else { throw .busy("read transactions are open") }
    }

    /// Checkpoints a store that is being closed. If it has failed before, commits that aren't durable may be lost.
    private func writeBack() -> StorageError? {
        if options.readOnly { return nil }
        do throws(StorageError) {
            try pipeline.checkUsable()
            try checkpointIfNeeded()
            side.giveLeafRun()
            try shrinkRing()
            try cutGrownTail()
            try dropGrowth()
        } catch {
            return error
        }
        noteCleanEnd()
        return nil
    }

    /// Writes the mark that saves the next opening the search of the ring. A file that was not changed stays as it is.
    private func noteCleanEnd() {
        // Records of withdrawn commits may have been written, with later numbers.
        guard file.isDurable, side.run == nil, side.isChanged, !side.mayHaveFallen,
            pipeline.hasJournal, pipeline.journalUse.used == 0
        else { return }
        CleanEnd.write(side.header, to: file, verification.cipher)
    }

    /// Cuts a file in which nothing was committed since it was opened to the length in its header, if transactions
    /// without a result have made it grow. This is the last change of the file.
    private func dropGrowth() throws(StorageError) {
        guard file.isDurable, !side.isChanged, side.space.sectorCount > side.header.fileSectors else { return }
        try file.shrink(to: side.header.fileSectors << FileFormat.sectorShift)
    }

    /// Shrinks a large ring, which was made for a load that is over. The ring stays if there is no space for another
    /// one, or if the file was not changed.
    private func shrinkRing() throws(StorageError) {
        guard file.isDurable, side.isChanged, side.run == nil, side.header.journal.count > side.quietRing else {
            return
        }
        do throws(StorageError) {
            try checkpoint(side.tip, journal: .new(side.quietRing))
        } catch .full {
            return
        }
    }

    /// Ends the thread that checkpoints, and waits for it. The holder of the turn may call this too. The thread keeps
    /// the store alive, so code that drops a store which was opened by its path and not closed must call this first.
    /// Commits checkpoint from here on.
    package func endThread() {
        // A forked child has no such thread.
        guard isHere else { return }
        turn.endThread()
        worker.stop()
    }

    /// Whether any view, in this or another process, has a state pinned. Must be called in the turn.
    var isAnythingRead: Bool {
        side.tip.isRead || side.older.contains(where: \.isRead) || side.announcer?.pinned.isEmpty == false
    }

    // MARK: Figures

    package var statistics: PageStatistics {
        guard isHere else { return PageStatistics() }
        var figures = newest.withLock { newest in
            var figures = newest.statistics
            figures.transaction = newest.state.transaction
            return figures
        }
        figures.writerBytes = UInt64(Swift.max(0, side.frameBytes.load(ordering: .relaxed)))
        figures.cache = cache.figures
        figures.isEncrypted = verification.cipher != nil
        if let follower {
            figures.pageSize = pageSize
            follower.fill(&figures)
        }
        return figures
    }

    /// Reads header slots and journal with system calls, never in the mapping: an unreadable sector must be an error
    /// there, because the zeros that the guard puts in its place look like the journal's end.
    var fileReader: FileReader { FileReader(file, mapping: nil) }

    /// Updates the figures. The caller must have the turn.
    func noteStatistics() {
        var figures = PageStatistics()
        figures.fileBytes = side.space.sectorCount << FileFormat.sectorShift
        figures.usedBytes = UInt64(side.space.liveSectors) << FileFormat.sectorShift
        let free = UInt64(side.space.freeSectors) << FileFormat.sectorShift
        figures.retiredBytes = figures.fileBytes - free - figures.usedBytes
        let pinned = side.older.isEmpty ? [] : side.announcer?.pinned ?? []
        if !pinned.isEmpty || side.older.contains(where: \.isRead) {
            // A state may be among the older ones twice.
            let read = Set(side.older.lazy.filter(\.isRead).map(\.transaction))
            let held = read.union(pinned)
            figures.snapshotBytes = side.retired.sectors(heldByAnyOf: held) << FileFormat.sectorShift
            figures.olderSnapshots = read.count
        }
        side.dirtyPages.count(inUse: side.liveSectors)
        let journal = pipeline.journalUse
        side.pace.note(newer: side.dirtyPages.newSectors << FileFormat.sectorShift, journalUse: journal.used)
        figures.dirtyBytes = file.isDurable ? UInt64(side.dirtyPages.sectors) << FileFormat.sectorShift : 0
        figures.checkpointRetiredBytes = side.checkpointRetiredSectors << FileFormat.sectorShift
        figures.journalBytes = journal.used << FileFormat.sectorShift
        figures.journalCapacityBytes = file.isDurable ? UInt64(side.header.journal.byteCount) : 0
        figures.pageSize = pageSize
        figures.checkpoint = side.header.checkpoint
        newest.withLock { $0.statistics = figures }
    }
}
