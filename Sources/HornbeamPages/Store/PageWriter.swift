// SPDX-License-Identifier: Apache-2.0
// The page operations of the one write transaction. New pages are frames in memory at places already taken in the space
// map; they reach the file at `commit`, or before it by `spill`, where nothing leads to them yet. It never changes a
// page of an earlier transaction, nor one from before its newest savepoint: it copies it.
//
//   open ──commit──▶ ended   (committed, or aborted by an error, or the store has failed)
//     └────abort───▶ ended

/// Owned by the holder of the writer's turn; one thread at a time. Ends by `commit`, `abort` or its deinitializer.
package final class PageWriter {
    /// The snapshot it started from, and its own pages.
    package let view: PageView
    /// Birth of the pages that this writer makes: greater than `view.transaction`, and greater after each savepoint.
    /// Commit publishes the transaction under this number.
    @exclusivity(unchecked) package internal(set) var birth: UInt64
    /// Its pages from this birth on may be changed where they are; older ones are a savepoint's, or a snapshot's.
    @exclusivity(unchecked) var ownBirth: UInt64
    /// The root that commit publishes.
    @exclusivity(unchecked) package var root: RootRecord

    /// Bytes of a redo that is not there because the journal's ring is too small for it; 0: there is another reason.
    @exclusivity(unchecked) package var missingRedo = 0

    let store: PageStore
    let side: WriterSide
    /// `side`'s: found through it, it would be counted each time.
    private let frames: FrameTable
    /// Pages of earlier transactions that this one does without, and its own that a savepoint still needs.
    @exclusivity(unchecked) var freed: [RetiredPages.Page] = []
    /// The savepoints that the transaction can go back to, the oldest first.
    @exclusivity(unchecked) var savepoints: [PageSavepoint] = []
    /// Long values on their way; no page of the transaction refers to them.
    @exclusivity(unchecked) var openLongPages = OpenLongPages()
    /// Space that this transaction must leave free.
    @exclusivity(unchecked) private var reserve: SpaceReserve
    /// Noted by the tree layer before commit.
    @exclusivity(unchecked) var entryChange = EntryChange()
    @exclusivity(unchecked) private(set) var isOpen = true

    /// A transaction with this number, or a greater one if it makes savepoints, on top of `state`. The caller has the
    /// turn.
    init(store: PageStore, side: WriterSide, state: PublishedState, number: UInt64, reserve: SpaceReserve) {
        self.store = store
        self.side = side
        frames = side.frames
        self.reserve = reserve
        view = PageView(
            store: store, state: state, number: number, frames: side.frames, unplaced: side.unplaced)
        birth = number
        ownBirth = number
        root = state.root
        side.space.restartNodeCursor()
        freed.reserveCapacity(8)
    }

    deinit { abort() }

    /// Bytes of its pages in memory.
    package var dirtyBytes: Int { frames.liveBytes + side.unplaced.liveBytes }

    /// Whether its pages are made where they stay, so that there is nothing to gain by writing them early.
    package var arePagesPlaced: Bool { frames.arePlaced }

    /// Whether its pages take more memory than allowed, which is half of the memory that readers don't keep: time to
    /// `spill`, as soon as no address of one is in use.
    package var isOverBudget: Bool {
        let allowed = Swift.max(0, store.options.cacheBytes - store.cache.keptBytes)
        // Readers and pages that are not written yet may have all of it: then a little is the writer's nevertheless.
        return memoryBytes > allowed / 2
            || memoryBytes + frames.unwrittenBytes > allowed && memoryBytes > store.options.cacheBytes / 16
    }

    /// Whether commit has anything to write.
    private var hasChanges: Bool {
        dirtyBytes > 0 || frames.hasSpilled || !freed.isEmpty || root != view.root
    }

    /// A new zeroed page with its header filled; `sectors` nil means a node page. The address is stable until `spill`,
    /// rollback, commit, abort, or its own `free`. Throws `.full` when no space is left.
    package func allocate(
        kind: PageKind, level: UInt8, sectors: UInt32? = nil
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        let frame = try newFrame(sectors: sectors)
        frame.buffer.initializeMemory(as: UInt8.self, repeating: 0)
        PageHeader.write(to: frame.bytes, birth: birth, kind: kind, level: level, sectors: frame.run.count)
        // Its layout is another one in an encrypted store.
        if kind == .longValue, store.reserve > 0 { frame.bytes.set(PageLayout.sealed, at: PageLayout.flags) }
        return (frame.run.start, frame.bytes)
    }

    private func newFrame(sectors: UInt32?) throws(StorageError) -> Frame {
        guard isOpen else { throw .invalid("the transaction has ended") }
        guard let sectors else {
            if let frame = frames.reuse() { return frame }
            let number = try takeNode()
            let run = SectorRun(start: number, count: UInt32(side.space.pageSectors))
            return newFrame(run, isNode: true)
        }
        guard sectors > 0, sectors <= FileFormat.maximumPageSectors else {
            throw .tooLarge(
                what: "a page", size: Int(sectors) * FileFormat.sectorSize,
                limit: Int(FileFormat.maximumPageSectors) * FileFormat.sectorSize)
        }
        let run = SectorRun(start: try takeRun(sectors), count: sectors)
        return newFrame(run, isNode: false)
    }

    private func takeNode() throws(StorageError) -> UInt64 {
        do throws(StorageError) {
            return try side.takeNode(keeping: reserve)
        } catch .full(let path) {
            try findRoom(path)
            return try takeNode()
        }
    }

    func takeRun(_ sectors: UInt32) throws(StorageError) -> UInt64 {
        do throws(StorageError) {
            return try side.takeRun(sectors, keeping: reserve)
        } catch .full(let path) {
            try findRoom(path)
            return try takeRun(sectors)
        }
    }

    /// Returns if there may be room now: by a checkpoint, or because this transaction leaves less free from now on.
    private func findRoom(_ path: String) throws(StorageError) {
        guard reserve == .transaction || reserve == .freeing else { throw .full(path: path) }
        if try store.checkpoint(beneath: self) { return }
        guard reserve == .transaction else { throw .full(path: path) }
        reserve = .freeing
    }

    /// `isNode`: of the store's page size, raw, and at a multiple of it.
    func newFrame(_ run: SectorRun, isNode: Bool) -> Frame {
        let frame = Frame(run: run, bytes: frames.add(run, isNode: isNode), isLive: true)
        noteMemory()
        return frame
    }

    /// Memory that its pages take.
    private var memoryBytes: Int { frames.memoryBytes + side.unplaced.liveBytes }

    /// After it has taken memory for a page.
    func noteMemory() {
        side.noteFrames(memoryBytes + frames.placedBytes)
        let taken = memoryBytes + frames.unwrittenBytes
        if taken > side.lentBytes + Self.unlentBytes { lend(taken) }
    }

    /// The amount of memory that is always the writer's.
    private static var unlentBytes: Int { 1 << 20 }

    private func lend(_ wanted: Int) {
        guard wanted != side.lentBytes else { return }
        store.cache.lend(wanted - side.lentBytes)
        side.lentBytes = wanted
    }

    /// The frame of a page of this transaction; nil for any other page, and for one that was spilled.
    package func frame(_ number: UInt64) -> UnsafeMutableRawPointer? { frames.find(number)?.bytes }

    /// A node page of this transaction with `birth`, to be changed where it is: in its frame, brought back into one if
    /// it was spilled. The address is as stable as that of a new page.
    package func ownPage(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> UnsafeMutableRawPointer {
        if let frame = frames.find(number), frame.run.count == UInt32(side.space.pageSectors) {
            let header = PageHeader(reading: UnsafeRawPointer(frame.bytes))
            if header.birth == birth, header.kind == kind.code, header.level == level { return frame.bytes }
        }
        return try bringBack(number, birth: birth, kind: kind, level: level)
    }

    private func bringBack(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> UnsafeMutableRawPointer {
        let run = SectorRun(start: number, count: UInt32(side.space.pageSectors))
        let source = try view.page(number, birth: birth, kind: kind, level: level)
        guard frames.isSpilled(run) else {
            throw .corrupt(Corruption(page: number, reason: "its parent takes it for the open transaction's"))
        }
        let bytes = newFrame(run, isNode: true).bytes
        bytes.copyMemory(from: source, byteCount: view.pageSize)
        // Zeros in place of a part that could not be read must not become a page.
        try view.checkIsWhole()
        frames.forgetSpilled(run)
        // The bytes in the file are not the page any more.
        side.verification.clear(run)
        return bytes
    }

    /// A page of this transaction's with the content of `number`, to be changed; its birth is `self.birth`. A copy at a
    /// new place, and `number` is retired, unless the page may be changed where it is.
    package func copy(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        if birth >= ownBirth {
            let own = try ownPage(number, birth: birth, kind: kind, level: level)
            own.set(self.birth, at: PageLayout.birth)
            return (number, own)
        }
        let source = try view.page(number, birth: birth, kind: kind, level: level)
        // A verified leaf of another size, which only a forged parent takes for a node page.
        guard Int(PageHeader(reading: source).sectors) == side.space.pageSectors else {
            throw .corrupt(Corruption(page: number, reason: "it is not of a node page's size"))
        }
        let frame = try newFrame(sectors: nil)
        frame.bytes.copyMemory(from: source, byteCount: view.pageSize)
        try view.checkIsWhole()
        PageHeader.write(to: frame.bytes, birth: self.birth, kind: kind, level: level, sectors: frame.run.count)
        try free(number, birth: birth, sectors: nil)
        return (frame.run.start, frame.bytes)
    }

    /// Frees a page: at once if it may be changed where it is, else when no snapshot or savepoint reaches it. A page
    /// that is not in use, or not a tree's, is `.corrupt`.
    package func free(_ number: UInt64, birth: UInt64, sectors: UInt32?) throws(StorageError) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        if PagePointer.isUnplaced(number) {
            guard let leaf = side.unplaced.find(number)?.baseAddress,
                PageHeader(reading: UnsafeRawPointer(leaf)).birth == birth
            else {
                throw .corrupt(Corruption(page: number, reason: "a tree refers to a leaf that is not in memory"))
            }
            return side.unplaced.free(number)
        }
        if PagePointer.sectors(number) > 0 {
            return try free(PagePointer.number(number), birth: birth, sectors: PagePointer.sectors(number))
        }
        let run = SectorRun(start: number, count: sectors ?? UInt32(side.space.pageSectors))
        if birth >= ownBirth, freeOwn(run, keepPlace: sectors == nil) { return }
        guard birth < ownBirth, side.space.isOwned(run) else {
            throw .corrupt(Corruption(page: number, reason: "a tree refers to it, but the space map has it free"))
        }
        side.space.reserve(run)
        freed.append(RetiredPages.Page(run: run, birth: birth))
    }

    /// Frees a page of this transaction at once. Returns false if it is no such page. With `keepPlace` a node page's
    /// place may serve the next one.
    func freeOwn(_ run: SectorRun, keepPlace: Bool) -> Bool {
        if let frame = frames.find(run.start), frame.run == run {
            frames.free(run.start, keepPlace: keepPlace)
            if !keepPlace { side.space.release(run) }
            return true
        }
        guard frames.isSpilled(run) else { return false }
        frames.forgetSpilled(run)
        side.release(run)
        return true
    }

    /// Writes its pages to their places and releases their memory: all addresses of frames end here. Nothing leads to
    /// these places before commit. After an error everything is as it was, and may be tried again.
    package func spill() throws(StorageError) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        try checkWritable()
        releaseUnused()
        #if HORNBEAM_CHECKS
            try store.checkFrames()
        #endif
        side.usedNumber = Swift.max(side.usedNumber, birth)
        try store.writePages(startsWriteBack: true)
        frames.dropSpilled()
        side.noteFrames(memoryBytes)
    }

    /// Before the file is written ahead of the commit: after a failure nothing is, nor by a forked child.
    func checkWritable() throws(StorageError) {
        try store.checkProcess()
        try store.pipeline.checkUsable()
    }

    /// Publishes the transaction and returns once it is as durable as asked. With `redo` nil, for a large transaction,
    /// it commits by a checkpoint. A transaction without changes makes earlier commits as durable. Always ends the
    /// writer. If it throws, nothing of the transaction is visible; after `.failed` the outcome is known once the store
    /// was reopened.
    package func commit(redo: Bytes?, durability: Durability) throws(StorageError) {
        try beginCommit(redo: redo, durability: durability).wait()
    }

    /// The first part of `commit`: ends the writer and gives the turn to the next one, which builds on this
    /// transaction though it is neither durable nor visible before `wait` has returned.
    package func beginCommit(redo: Bytes?, durability: Durability) throws(StorageError) -> CommitInFlight {
        guard isOpen else { throw .invalid("the transaction has ended") }
        do throws(StorageError) {
            try store.checkProcess()
            try view.checkIsWhole()
        } catch {
            abort()
            throw error
        }
        guard hasChanges else {
            // The state that it has seen may be pending, and fail.
            let base = Result { () throws(StorageError) in try store.pipeline.base() }
            abort()
            return CommitInFlight(store: store, rest: .earlier(durability, after: try base.get()))
        }
        let commit = try enter(redo: redo, durability: durability)
        return CommitInFlight(store: store, rest: commit.map { .own($0) } ?? .nothing)
    }

    /// The part of a commit that needs the turn, which it passes on: the caller continues with `PageStore.complete`.
    /// Returns nil if the commit is done.
    func enter(redo: Bytes?, durability: Durability) throws(StorageError) -> PendingCommit? {
        if !savepoints.isEmpty { releaseSavepoints(from: 0) }
        // Before a checkpoint of this commit stores the map: these places would be in use for ever.
        releaseOpenLongPages(from: 0)
        releaseUnused()
        let commit: PendingCommit?
        do throws(StorageError) {
            try checkGrowth()
            commit = try store.enter(self, redo: redo, durability: durability)
        } catch {
            abort()
            throw error
        }
        end()
        return commit
    }

    /// Adds the change in a tree's number of entries. Wraps on numbers that only damage can make.
    package func note(addedEntries count: Int64) {
        if count < 0 { entryChange.removed &-= count } else { entryChange.added &+= count }
    }

    /// A transaction that used the reserve for freeing space must free some, or take no more than before. Half of the
    /// reserve may also be used for deletions of which data is kept elsewhere or in a change log, and for changes of
    /// pages that readers hold, which aren't free before they end.
    private func checkGrowth() throws(StorageError) {
        // A rollback may have given the reserved space back.
        guard reserve == .freeing, !side.has(.transaction) else { return }
        let born = ownRuns.reduce(0) { $0 + Int($1.count) }
        let gone = freed.reduce(0) { $0 + Int($1.run.count) }
        let removes = entryChange.removed > 0 && entryChange.added <= entryChange.removed
        if born < gone || born == gone && (removes || !store.isAnythingRead) { return }
        guard entryChange.removed > 0 || born == gone, side.hasRoomForFreeing else { throw .full(path: side.file.path) }
    }

    /// All places that are free again if it aborts.
    var ownRuns: [SectorRun] {
        bornRuns(frames.inFileOrder()) + frames.unusedPlaces + openLongPages.runs
    }

    /// Returns the places of the transaction's own pages: `frames`, in file order, and those that were spilled.
    func bornRuns(_ frames: [Frame]) -> [SectorRun] {
        var runs: [SectorRun] = []
        runs.reserveCapacity(min(frames.count, 16))
        for frame in frames { runs.join(frame.run) }
        self.frames.forEachSpilled { runs.join($0) }
        return runs
    }

    /// Publishes without a journal record: for recovery, whose records are in the journal already.
    func commitReplayed() throws(StorageError) {
        do throws(StorageError) {
            try view.checkIsWhole()
            try store.publishReplayed(self)
        } catch {
            abort()
            throw error
        }
        end()
    }

    /// Discards everything. Without effect when the writer has ended.
    package func abort() {
        guard isOpen else { return }
        // In a forked child the places are the parent's, and another thread may have held a lock of this store.
        guard store.isHere else {
            isOpen = false
            return
        }
        // In this order: some of the freed pages are its own.
        for page in freed { side.space.unreserve(page.run) }
        for frame in frames.inFileOrder() { side.release(frame.run) }
        frames.forEachSpilled { side.release($0) }
        releaseOpenLongPages(from: 0)
        end()
    }

    /// Gives up the long values on their way that were begun at this birth or later.
    func releaseOpenLongPages(from birth: UInt64) {
        for run in openLongPages.removeAll(from: birth) { side.release(run) }
    }

    /// Frees the places that were kept for new pages.
    private func releaseUnused() {
        for place in frames.takeUnusedPlaces() { side.space.release(place) }
    }

    private func end() {
        // Values are invalid now; the caller may still have the transaction itself.
        view.unpin()
        releaseUnused()
        frames.removeAll()
        side.unplaced.removeAll()
        // Memory that the next transaction finds again still counts.
        let kept = frames.keptBytes + side.unplaced.keptBytes
        lend(kept > Self.unlentBytes ? kept : 0)
        side.noteFrames(0)
        freed = []
        if !savepoints.isEmpty { savepoints.removeAll() }
        isOpen = false
        #if HORNBEAM_CHECKS
            side.space.checkInvariants()
        #endif
        // The state that it was built on may have been withdrawn meanwhile: the next one must not begin there.
        store.settle()
        store.turn.give()
    }
}
