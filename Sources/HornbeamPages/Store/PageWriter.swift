// SPDX-License-Identifier: Apache-2.0
// The page operations of the one write transaction. New pages are frames in memory at places already taken in the space
// map. They reach the file at `commit`, or earlier by `spill`, while nothing refers to them yet. The writer never
// changes a page from an earlier transaction or from before its newest savepoint: it copies it.
//
//   open ──commit──▶ ended   (committed, or aborted by an error, or the store has failed)
//     └────abort───▶ ended

/// Owned by the holder of the writer's turn; one thread at a time. Ends with `commit`, `abort` or its deinitializer.
package final class PageWriter {
    /// The snapshot it started from, and its own pages.
    package let view: PageView
    /// Birth of the pages that this writer makes: greater than `view.transaction`, and greater after each savepoint.
    /// Commit publishes the transaction under this number. (Not a stored property, and neither is `root`: other
    /// modules' accesses to one would be checked.)
    package internal(set) var birth: UInt64 {
        get { currentBirth }
        set { currentBirth = newValue }
    }
    @exclusivity(unchecked) private var currentBirth: UInt64
    /// Its pages from this birth on may be changed in place. Older pages belong to a savepoint or a snapshot.
    @exclusivity(unchecked) var ownBirth: UInt64
    /// The root that commit publishes.
    package var root: RootRecord {
        get { newRoot }
        set { newRoot = newValue }
    }
    @exclusivity(unchecked) private var newRoot: RootRecord
    /// Bytes of a redo that was left out because the journal's ring is too small for it; 0 if there is another reason.
    @exclusivity(unchecked) private(set) var missingRedo = 0

    let store: PageStore
    let side: WriterSide
    /// The frames of `side`. Kept here, because reaching them through it would count references each time.
    private let frames: FrameTable
    /// Pages of earlier transactions that this one no longer has, and its own pages that a savepoint still needs.
    @exclusivity(unchecked) var freed: [RetiredPages.Page] = []
    /// The savepoints that the transaction can go back to, the oldest first.
    @exclusivity(unchecked) var savepoints: [PageSavepoint] = []
    /// Unfinished long values. No page of the transaction refers to them.
    @exclusivity(unchecked) var openLongPages = OpenLongPages()
    /// The space that this transaction must leave free.
    @exclusivity(unchecked) private var reserve: SpaceReserve
    @exclusivity(unchecked) private var hasKeptLeafRun = false
    /// The change in the number of entries, which the tree layer notes before commit.
    @exclusivity(unchecked) var entryChange = EntryChange()
    @exclusivity(unchecked) private(set) var isOpen = true

    /// A transaction with this number, or a greater one if it makes savepoints, on top of `state`. The caller must have
    /// the turn.
    init(store: PageStore, side: WriterSide, state: PublishedState, number: UInt64, reserve: SpaceReserve) {
        self.store = store
        self.side = side
        frames = side.frames
        self.reserve = reserve
        view = PageView(
            store: store, state: state, number: number, frames: side.frames, unplaced: side.unplaced)
        currentBirth = number
        ownBirth = number
        newRoot = state.root
        side.space.restartNodeCursor()
        swap(&freed, &side.spareFreed)
        frames.unwrittenBound = UnwrittenPages.share(of: store.cache.budget - store.cache.keptBytes)
    }

    deinit { abort() }

    /// Size of its pages in memory.
    package var dirtyBytes: Int { frames.liveBytes + side.unplaced.liveBytes }

    /// Whether its pages are made at their final places, so that writing them early gains nothing.
    package var arePagesPlaced: Bool { frames.arePlaced }

    /// Whether its pages take more memory than allowed. If so, it should `spill` as soon as no address of a page is in
    /// use.
    package var isOverBudget: Bool {
        let allowed = Swift.max(0, store.options.cacheBytes - store.cache.keptBytes)
        // Half of what readers leave, and together with unwritten pages not more than that. A little is the writer's
        // even if others have taken all.
        return memoryBytes > allowed / 2
            || memoryBytes + frames.unwrittenBytes > allowed && memoryBytes > store.options.cacheBytes / 16
    }

    /// Whether commit has anything to write.
    private var hasChanges: Bool {
        dirtyBytes > 0 || frames.hasSpilled || !freed.isEmpty || root != view.root
    }

    /// Makes a new zeroed page with its header filled; `sectors` nil means a node page. The address is stable until
    /// `spill`, rollback, commit, abort, or its own `free`. Throws `.full` if no space is left.
    package func allocate(
        kind: PageKind, level: UInt8, sectors: UInt32? = nil
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        let frame = try newFrame(sectors: sectors)
        frame.buffer.initializeMemory(as: UInt8.self, repeating: 0)
        PageHeader.write(to: frame.bytes, birth: birth, kind: kind, level: level, sectors: frame.run.count)
        // It has another layout in an encrypted store.
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

    /// Called before a leaf of a compressed tree gets its place.
    func keepLeafRun() {
        guard reserve == .transaction, !hasKeptLeafRun else { return }
        // Once in a transaction: where there is no room each try takes a while.
        hasKeptLeafRun = true
        side.keepLeafRun()
    }

    func takeRun(_ sectors: UInt32) throws(StorageError) -> UInt64 {
        do throws(StorageError) {
            return try side.takeRun(sectors, keeping: reserve)
        } catch .full(let path) {
            if reserve != .freeing || !side.giveLeafRun() { try findRoom(path) }
            return try takeRun(sectors)
        }
    }

    /// Returns if there may be room now: because of a checkpoint, or because this transaction leaves less free from now
    /// on.
    private func findRoom(_ path: String) throws(StorageError) {
        guard reserve == .transaction || reserve == .freeing else { throw .full(path: path) }
        if try store.checkpoint(beneath: self) { return }
        guard reserve == .transaction else { throw .full(path: path) }
        reserve = .freeing
    }

    /// `isNode`: the page is raw, has the store's page size, and is at a multiple of it.
    func newFrame(_ run: SectorRun, isNode: Bool) -> Frame {
        let frame = Frame(run: run, bytes: frames.add(run, isNode: isNode), isLive: true)
        noteMemory()
        return frame
    }

    /// Bytes of memory that its pages take.
    private var memoryBytes: Int { frames.memoryBytes + side.unplaced.liveBytes }

    /// Updates the figures after memory was taken for a page.
    func noteMemory() {
        side.noteFrames(memoryBytes + frames.placedBytes)
        side.borrow(memoryBytes + frames.unwrittenBytes)
    }

    /// Returns the frame of a page of this transaction. Returns nil for any other page, and for a spilled one.
    package func frame(_ number: UInt64) -> UnsafeMutableRawPointer? { frames.find(number)?.bytes }

    /// Returns a node page of this transaction with `birth`, to be changed in place: its frame, which is restored if it
    /// was spilled. The address is as stable as that of a new page.
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
            throw .corrupt(Corruption(page: number, reason: "its parent marks it as a page of the open transaction"))
        }
        let bytes = newFrame(run, isNode: true).bytes
        bytes.copyMemory(from: source, byteCount: view.pageSize)
        // Zeros in place of an unreadable part must not become a page.
        try view.checkIsWhole()
        frames.forgetSpilled(run)
        // The bytes in the file are no longer the page.
        side.verification.clear(run)
        return bytes
    }

    /// Returns a page of this transaction with the content of `number`, to be changed; its birth is `self.birth`. It is
    /// the page itself if that may be changed in place. Otherwise it is a copy at a new place, and `number` is retired.
    /// `source`: the page, as the view has returned it. `unused`: offsets of bytes that need not be copied.
    package func copy(
        _ source: UnsafeRawPointer, of number: UInt64, birth: UInt64, kind: PageKind, level: UInt8, unused: Range<Int>
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        if birth >= ownBirth {
            let own = try ownPage(number, birth: birth, kind: kind, level: level)
            own.set(self.birth, at: PageLayout.birth)
            return (number, own)
        }
        // A verified leaf of another size. Only a forged parent takes it for a node page.
        guard Int(PageHeader(reading: source).sectors) == side.space.pageSectors else {
            throw .corrupt(Corruption(page: number, reason: "it doesn't have the size of a node"))
        }
        let frame = try newFrame(sectors: nil)
        frame.bytes.copyMemory(from: source, byteCount: unused.lowerBound)
        (frame.bytes + unused.upperBound).copyMemory(
            from: source + unused.upperBound, byteCount: view.pageSize - unused.upperBound)
        try view.checkIsWhole()
        PageHeader.write(to: frame.bytes, birth: self.birth, kind: kind, level: level, sectors: frame.run.count)
        try free(number, birth: birth, sectors: nil)
        return (frame.run.start, frame.bytes)
    }

    /// Frees a page: at once if it may be changed in place, otherwise when no snapshot or savepoint reaches it. Throws
    /// `.corrupt` for a page that is not in use or doesn't belong to a tree.
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
            throw .corrupt(Corruption(page: number, reason: "a tree refers to it, but the space map marks it as free"))
        }
        side.space.reserve(run)
        freed.append(RetiredPages.Page(run: run, birth: birth))
    }

    /// Frees a page of this transaction at once. Returns false if it is no such page. With `keepPlace` the place of a
    /// node page is kept for the next one.
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

    /// Writes its pages to their places and releases their memory. All addresses of frames end here. Nothing refers to
    /// these places before commit. After an error nothing has changed, and it may be tried again.
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

    /// Called before the file is written ahead of the commit. Throws after a failure, and in a forked child.
    func checkWritable() throws(StorageError) {
        try store.checkProcess()
        try store.pipeline.checkUsable()
    }

    /// Publishes the transaction and returns once it is as durable as asked. If `redo` is nil, as for a large
    /// transaction, it commits with a checkpoint. A transaction without changes makes earlier commits as durable.
    /// Always ends the writer. If it throws, nothing of the transaction is visible. After `.failed` the outcome is
    /// known once the store was reopened.
    package func commit(redo: Bytes?, durability: Durability) throws(StorageError) {
        try beginCommit(redo: redo, durability: durability).wait()
    }

    /// The first part of `commit`: ends the writer and gives the turn to the next one, which builds on this transaction
    /// although it is neither durable nor visible before `wait` has returned. `missing`: see `missingRedo`.
    package func beginCommit(
        redo: Bytes?, missing: Int = 0, durability: Durability
    ) throws(StorageError) -> CommitInFlight {
        guard isOpen else { throw .invalid("the transaction has ended") }
        missingRedo = missing
        do throws(StorageError) {
            try store.checkProcess()
            try view.checkIsWhole()
        } catch {
            abort()
            throw error
        }
        guard hasChanges else {
            // The state that it has seen may be pending, and may fail.
            let base = Result { () throws(StorageError) in try store.pipeline.base() }
            abort()
            return CommitInFlight(store: store, rest: .earlier(durability, after: try base.get()))
        }
        let commit = try enter(redo: redo, durability: durability)
        return CommitInFlight(store: store, rest: commit.map { .own($0) } ?? .nothing)
    }

    /// The part of a commit that needs the turn, which it gives on. The caller continues with `PageStore.complete`.
    /// Returns nil if the commit is done.
    func enter(redo: Bytes?, durability: Durability) throws(StorageError) -> PendingCommit? {
        if !savepoints.isEmpty { releaseSavepoints(from: 0) }
        // Before a checkpoint of this commit stores the map, where these places would be in use for ever.
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

    /// Adds the change in a tree's number of entries. Wraps on numbers that only damage can cause.
    package func note(addedEntries count: Int64) {
        if count < 0 { entryChange.removed &-= count } else { entryChange.added &+= count }
    }

    /// Throws if a transaction that used the reserve for freeing space takes more than before. It must free some, or
    /// take no more than before and remove entries or have no readers beside it. Half of the reserve may also be used
    /// for deletions whose data is kept elsewhere or in a change log, and for changes of pages that readers hold, which
    /// aren't free before they end.
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

    /// Returns the places of the transaction's own pages: `frames`, in file order, and spilled pages.
    func bornRuns(_ frames: [Frame]) -> [SectorRun] {
        var runs: [SectorRun] = []
        runs.reserveCapacity(min(frames.count, 16))
        for frame in frames { runs.join(frame.run) }
        self.frames.forEachSpilled { runs.join($0) }
        return runs
    }

    /// Publishes without a journal record. For recovery, whose records are in the journal already.
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

    /// Discards everything. Has no effect if the writer has ended.
    package func abort() {
        guard isOpen else { return }
        // In a forked child the places are the parent's, and another thread may have held a lock of this store.
        guard store.isHere else {
            isOpen = false
            return
        }
        let hadChanges = hasChanges
        // In this order, because some of the freed pages are its own.
        for page in freed { side.space.unreserve(page.run) }
        for frame in frames.inFileOrder() { side.release(frame.run) }
        frames.forEachSpilled { side.release($0) }
        releaseOpenLongPages(from: 0)
        releaseUnused()
        // A checkpoint beneath it has counted its pages.
        if hadChanges { store.noteStatistics() }
        end()
    }

    /// Gives up the unfinished long values that were begun at this birth or later.
    func releaseOpenLongPages(from birth: UInt64) {
        for run in openLongPages.removeAll(from: birth) { side.release(run) }
    }

    /// Frees the places that were kept for new pages.
    private func releaseUnused() {
        for place in frames.takeUnusedPlaces() { side.space.release(place) }
    }

    private func end() {
        // Values are invalid now, but the caller may still have the transaction object.
        view.unpin()
        releaseUnused()
        frames.removeAll()
        side.unplaced.removeAll()
        side.borrowKept()
        side.noteFrames(0)
        freed = []
        if !savepoints.isEmpty { savepoints.removeAll() }
        isOpen = false
        #if HORNBEAM_CHECKS
            side.space.checkInvariants()
        #endif
        // The state that it was built on may have been withdrawn, and the next transaction must not begin there.
        if store.pipeline.hasSettled { store.settle() }
        store.turn.give()
    }
}
