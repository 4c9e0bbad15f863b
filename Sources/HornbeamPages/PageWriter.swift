// SPDX-License-Identifier: Apache-2.0
// The page operations of the one write transaction. New pages are frames in memory at places already taken in the space
// map; nothing reaches the file before `commit`. It never changes a page of an earlier transaction: it copies it.
//
//   open ──commit──▶ ended   (committed, or aborted by an error, or the store has failed)
//     └────abort───▶ ended

/// Owned by whoever has the writer's turn; one thread at a time. Ends by `commit`, `abort` or its deinitializer.
package final class PageWriter {
    /// The snapshot it started from, and its own pages.
    package let view: PageView
    /// Of the pages it makes: greater than `view.transaction`.
    package let birth: UInt64
    /// The root that commit publishes.
    package var root: RootRecord

    let store: PageStore
    let side: WriterSide
    /// Pages of earlier transactions that this one does without.
    private(set) var freed: [RetiredPages.Page] = []
    /// Sectors that this transaction must leave free, so that a checkpoint can always be written.
    private let reserve: SpaceReserve
    private(set) var isOpen = true

    /// A transaction with this number on top of `state`. The caller has the turn.
    init(store: PageStore, side: WriterSide, state: PublishedState, number: UInt64, reserve: SpaceReserve) {
        self.store = store
        self.side = side
        self.reserve = reserve
        view = PageView(
            store: store, state: state, number: number, frames: side.frames, unplaced: side.unplaced)
        birth = number
        root = state.root
        side.space.restartNodeCursor()
    }

    deinit { abort() }

    /// Bytes of its pages in memory.
    package var dirtyBytes: Int { side.frames.liveBytes + side.unplaced.liveBytes }

    /// Whether commit has anything to write.
    var hasChanges: Bool { dirtyBytes > 0 || !freed.isEmpty || root != view.root }

    /// A new zeroed page with its header filled; `sectors` nil means a node page. The address is stable until commit,
    /// abort, or its own `free`. Throws `.full` when no space is left.
    package func allocate(
        kind: PageKind, level: UInt8, sectors: UInt32? = nil
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        let frame = try newFrame(sectors: sectors)
        frame.buffer.initializeMemory(as: UInt8.self, repeating: 0)
        PageHeader.write(to: frame.bytes, birth: birth, kind: kind, level: level, sectors: frame.run.count)
        return (frame.run.start, frame.bytes)
    }

    private func newFrame(sectors: UInt32?) throws(StorageError) -> Frame {
        guard isOpen else { throw .invalid("the transaction has ended") }
        guard let sectors else {
            if let frame = side.frames.reuse() { return frame }
            let number = try side.takeNode(keeping: reserve)
            let run = SectorRun(start: number, count: UInt32(side.space.pageSectors))
            return Frame(run: run, bytes: side.frames.add(run), isLive: true)
        }
        guard sectors > 0, sectors <= FileFormat.maximumPageSectors else {
            throw .tooLarge(
                what: "a page", size: Int(sectors) * FileFormat.sectorSize,
                limit: Int(FileFormat.maximumPageSectors) * FileFormat.sectorSize)
        }
        let run = SectorRun(start: try takeRun(sectors), count: sectors)
        return Frame(run: run, bytes: side.frames.add(run), isLive: true)
    }

    func takeRun(_ sectors: UInt32) throws(StorageError) -> UInt64 {
        try side.takeRun(sectors, keeping: reserve)
    }

    /// The frame of a page born in this transaction; nil for any other page.
    package func frame(_ number: UInt64) -> UnsafeMutableRawPointer? { side.frames.find(number)?.bytes }

    /// A new page with the content of `number`, which is retired. A page of this transaction is returned as it is.
    package func copy(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        let source = try view.page(number, birth: birth, kind: kind, level: level)
        if birth == self.birth, let own = frame(number) { return (number, own) }
        // A verified leaf of another size, which only a forged parent takes for a node page.
        guard Int(PageHeader(reading: source).sectors) == side.space.pageSectors else {
            throw .corrupt(Corruption(page: number, reason: "it is not of a node page's size"))
        }
        let frame = try newFrame(sectors: nil)
        frame.bytes.copyMemory(from: source, byteCount: view.pageSize)
        PageHeader.write(to: frame.bytes, birth: self.birth, kind: kind, level: level, sectors: frame.run.count)
        try free(number, birth: birth, sectors: nil)
        return (frame.run.start, frame.bytes)
    }

    /// Frees a page: at once if it is this transaction's own, else when no snapshot reaches it. A page that is not in
    /// use, or not a tree's, is `.corrupt`.
    package func free(_ number: UInt64, birth: UInt64, sectors: UInt32?) throws(StorageError) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        if PagePointer.isUnplaced(number) {
            guard side.unplaced.find(number) != nil else {
                throw .corrupt(Corruption(page: number, reason: "a tree refers to a leaf that is not in memory"))
            }
            return side.unplaced.free(number)
        }
        if PagePointer.sectors(number) > 0 {
            return try free(PagePointer.number(number), birth: birth, sectors: PagePointer.sectors(number))
        }
        let run = SectorRun(start: number, count: sectors ?? UInt32(side.space.pageSectors))
        if birth == self.birth, let frame = side.frames.find(number), frame.run == run {
            side.frames.free(number, keepPlace: sectors == nil)
            if sectors != nil { side.space.release(run) }
            return
        }
        guard birth <= view.transaction, side.space.isOwned(run) else {
            throw .corrupt(Corruption(page: number, reason: "a tree refers to it, but the space map has it free"))
        }
        side.space.reserve(run)
        freed.append(RetiredPages.Page(run: run, birth: birth))
    }

    /// Publishes the transaction and returns once it is as durable as asked. `redo` nil: a large transaction, which
    /// commits by a checkpoint. One without changes makes earlier commits as durable. Ends the writer, always. When it
    /// throws, nothing of the transaction is visible; after `.failed` the outcome is known once the store was reopened.
    package func commit(redo: Bytes?, durability: Durability) throws(StorageError) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        guard hasChanges else {
            abort()
            return try store.makeDurable(durability)
        }
        if let commit = try enter(redo: redo, durability: durability) { try store.complete(commit) }
    }

    /// The part of a commit that needs the turn, which it gives to the next: the caller goes on with
    /// `PageStore.complete`. Nil: the commit is done.
    func enter(redo: Bytes?, durability: Durability) throws(StorageError) -> PendingCommit? {
        // Before a checkpoint of this commit stores the map: these places would be in use for ever.
        releaseUnused()
        let commit: PendingCommit?
        do throws(StorageError) {
            commit = try store.enter(self, redo: redo, durability: durability)
        } catch {
            abort()
            throw error
        }
        end()
        return commit
    }

    /// Where its own pages lie, in file order.
    var bornRuns: [SectorRun] {
        var runs: [SectorRun] = []
        for frame in side.frames.inFileOrder() {
            if let last = runs.last, last.end == frame.run.start,
                last.count <= UInt32.max - frame.run.count
            {
                runs[runs.count - 1].count += frame.run.count
            } else {
                runs.append(frame.run)
            }
        }
        return runs
    }

    /// Publishes without a journal record: for recovery, whose records are in the journal already.
    func commitReplayed() throws(StorageError) {
        releaseUnused()
        do throws(StorageError) {
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
        for frame in side.frames.inFileOrder() { side.space.release(frame.run) }
        for page in freed { side.space.unreserve(page.run) }
        end()
    }

    /// Frees the places that were kept for new pages.
    private func releaseUnused() {
        for place in side.frames.takeUnusedPlaces() { side.space.release(place) }
    }

    private func end() {
        releaseUnused()
        side.frames.removeAll()
        side.unplaced.removeAll()
        freed.removeAll()
        isOpen = false
        #if HORNBEAM_CHECKS
            side.space.checkInvariants()
        #endif
        // What it was built on may have been withdrawn meanwhile: the next one must not begin there.
        store.settle()
        store.turn.give()
    }
}
