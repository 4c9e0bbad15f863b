// SPDX-License-Identifier: Apache-2.0
// Compaction in place: half-empty leaves are filled up, the file's last pages are copied to free places below a limit,
// and its end is given back to the file system. It runs in short transactions between those of others, and doesn't
// hinder readers. Each of them leaves a whole store, so that compaction can be stopped at any moment and begun again.

import Glibc
package import HornbeamPages

/// The progress of a compaction. Sizes in bytes.
package struct CompactionProgress: Sendable {
    /// Bytes moved so far, and bytes to move when this pass over the trees began.
    package var movedBytes: UInt64 = 0
    package var totalBytes: UInt64 = 0
    package var fileBytes: UInt64 = 0
}

/// The outcome of a compaction. Sizes in bytes.
package struct CompactionResult: Sendable, Equatable {
    package var bytesBefore: UInt64 = 0
    package var bytesAfter: UInt64 = 0
    package var movedBytes: UInt64 = 0
    /// False if it was stopped before the file was as short as possible.
    package var isFinished = true
}

extension TreeStore {
    /// Shortens the file to little more than the size in use. `progress` is called after each short transaction,
    /// without the writer's turn, and stops the compaction by returning false. It must leave no write transaction open.
    /// If it stops the compaction while long values are being moved out of the way, the file may be longer by their
    /// size until the next one. Pages that open readers still see stay where they are; a later compaction frees them.
    /// One transaction moves at most `stepPages` pages. Throws `.busy` if a compaction is running already.
    @discardableResult
    package func compact(
        stepPages: Int = 256, progress: (CompactionProgress) -> Bool = { _ in true }
    ) throws(StorageError) -> CompactionResult {
        var compaction = Compaction(store: self, limit: try pages.beginCompaction(), stepPages: stepPages)
        defer { pages.endCompaction() }
        return try compaction.run(progress)
    }

    /// Runs when the store is closed: moves the few pages at the file's end, so that closing can cut it off. If it
    /// can't continue because of a lack of room, a writer or an unreadable page, the file keeps its length. Throws only
    /// if the store has failed.
    func compactEnd() throws(StorageError) {
        do throws(StorageError) {
            guard let limit = try pages.beginEndCompaction() else { return }
            defer { pages.endCompaction(.no) }
            var pass = CompactionPass(pages, writing, limit: limit, stepPages: 256, wait: .no)
            _ = try pass.run { _ in true }
            try pages.settleCompaction(limit, .no)
            _ = try pages.cutTail(.no)
        } catch {
            // Closing finds out itself whether the store can be closed.
            if case .busy = error { return }
            if pages.hasFailed { throw error }
        }
    }
}

extension TreeWriting {
    /// Number of pages that one transaction of `giveBack` moves. It takes about as long as a durable commit.
    private static var smallStep: Int { 64 }
    private static var mostPasses: Int { 8 }

    /// Runs in the store's thread, after a checkpoint: if much of the file's end is free, moves its last pages to free
    /// sectors and cuts the end off. Works beside readers and commits, in short transactions between theirs. If it
    /// fails, because of a lack of room or a failed call, the next run tries again.
    func giveBack(in pages: PageStore, isIdle: Bool) {
        defer { if isIdle { forgetMemory() } }
        if isIdle { pack(in: pages) }
        guard let limit = try? pages.beginShrinking(isIdle: isIdle) else { return }
        defer { pages.endCompaction(.inThread) }
        do throws(StorageError) {
            guard try move(in: pages, to: limit, isIdle: isIdle) else { return }
            try pages.settleCompaction(limit, .inThread)
            pages.noteShrunk(from: limit, to: try pages.cutTail(.inThread))
        } catch .busy {
            // The thread is to end.
            return
        } catch {
            pages.options.events?(.shrinkingFailed(error))
            pages.noteShrunk(from: limit, to: nil)
        }
    }

    /// Fills up the leaves that deletions have left half empty, as long as `goesOn` returns true after each step.
    func pack(in pages: PageStore, while goesOn: () -> Bool = { true }) {
        let sum = removed.sum
        guard sum >= RemovedEntries.worthLooking else { return }
        var pass = CompactionPass(
            pages, self, limit: nil, stepPages: Self.smallStep, packing: .byItself, stopsAtCommits: true,
            wait: .inThread)
        let isWhole = try? pass.run { _ in
            pages.relieveThread()
            return goesOn()
        }
        if isWhole == true { removed.forget(sum: sum) }
    }

    /// Moves pages below the limit. Returns false if it was stopped: for a requested compaction, or because commits go
    /// on, which need more room.
    private func move(
        in pages: PageStore, to limit: CompactionLimit, isIdle: Bool
    ) throws(StorageError) -> Bool {
        for _ in 0..<Self.mostPasses {
            var pass = CompactionPass(
                pages, self, limit: limit, stepPages: Self.smallStep, stopsAtCommits: isIdle, wait: .inThread)
            let isWhole = try pass.run { _ in
                pages.relieveThread()
                return !pages.isShrinkingUnwanted
            }
            guard isWhole else { return false }
            // Without the turn, so that the moved pages are written before commits have to wait for the rest. Their old
            // sectors are free then.
            pages.checkpointInBackground()
            guard pass.lackedSectors > 0, pass.movedBytes > 0 else { break }
        }
        pages.moveRing(for: limit)
        return true
    }
}

private struct Compaction {
    let store: TreeStore
    private let stepPages: Int
    private var limit: CompactionLimit
    private var result = CompactionResult()
    /// Whether this pass makes room for long values, and the length of the file when a pass last did.
    private var isClearing = false
    private var clearedAt = UInt64.max

    /// Maximum number of passes. Each raises the limit or moves something; no file needs nearly as many.
    private static let maximumPasses = 24
    /// Number of passes in a row that moved nothing.
    private var idlePasses = 0
    private static let mostIdlePasses = 2

    init(store: TreeStore, limit: CompactionLimit, stepPages: Int) {
        self.store = store
        self.stepPages = stepPages
        self.limit = limit
        result.bytesBefore = limit.fileSectors * UInt64(FileFormat.sectorSize)
        result.bytesAfter = result.bytesBefore
    }

    mutating func run(_ progress: (CompactionProgress) -> Bool) throws(StorageError) -> CompactionResult {
        guard try pack(progress) else { return result }
        for number in 0..<Self.maximumPasses where limit.fileSectors > limit.sectors {
            var pass = CompactionPass(
                store.pages, store.writing, limit: limit, stepPages: stepPages, isClearing: isClearing,
                wait: .behindOthers)
            do throws(StorageError) {
                result.isFinished = try pass.run(progress)
            } catch {
                // On a full disk there is no room for the values that should move out of the way.
                guard isClearing, case .full = error else { throw error }
            }
            result.movedBytes += pass.movedBytes
            // Free space is given back even if it was stopped.
            try store.pages.settleCompaction(limit, .inOrder)
            limit.fileSectors = try store.pages.cutTail()
            result.bytesAfter = limit.fileSectors * UInt64(FileFormat.sectorSize)
            guard result.isFinished, limit.fileSectors > limit.sectors || isClearing else { break }
            // The journal may be where it is only because the last checkpoint held the room before it.
            idlePasses = pass.movedBytes > 0 || pass.stuckSectors > 0 || isClearing ? 0 : idlePasses + 1
            guard pass.lackedSectors > 0 || idlePasses <= Self.mostIdlePasses else { break }
            limit = try nextLimit(pass, mayClear: number + 2 < Self.maximumPasses)
        }
        return result
    }

    /// Fills up leaves that deletions have left half empty, so that less space is in use. Goes on as long as there is
    /// room and leaves can be read. Returns false if it was stopped.
    private mutating func pack(_ progress: (CompactionProgress) -> Bool) throws(StorageError) -> Bool {
        var pass = CompactionPass(
            store.pages, store.writing, limit: limit, stepPages: stepPages, packing: .compact, wait: .behindOthers)
        do throws(StorageError) {
            result.isFinished = try pass.run(progress)
        } catch {
            switch error {
            case .full, .corrupt: break
            default: throw error
            }
        }
        if pass.movedBytes > 0 {
            result.movedBytes += pass.movedBytes
            limit = try store.pages.renewCompaction(extra: 0)
        }
        return result.isFinished
    }

    /// Returns the limit of the next pass. Free room may be in pieces, but a long value needs one piece. So everything
    /// else is moved below a limit that leaves out the values that found no room. These move beyond the file's end
    /// first, and then into the room that was cleared. That writes them twice, so it is done only once for each length
    /// of the file, and only if the file gets shorter by an eighth of their size. Otherwise they stay where they are,
    /// and the limit is raised.
    private mutating func nextLimit(
        _ pass: CompactionPass, mayClear: Bool
    ) throws(StorageError) -> CompactionLimit {
        if isClearing {
            isClearing = false
            return try store.pages.renewCompaction(extra: Int64(FileFormat.extentSectors))
        }
        let gain = limit.fileSectors - limit.sectors
        if mayClear, pass.stuckSectors > 0, limit.fileSectors < clearedAt, gain >= pass.stuckSectors / 8 {
            isClearing = true
            clearedAt = limit.fileSectors
            return try store.pages.renewCompaction(extra: -Int64(pass.stuckSectors))
        }
        // A pass that moved something has also made room.
        let lacked = pass.movedBytes > 0 ? 0 : pass.lackedSectors
        return try store.pages.renewCompaction(extra: Int64(pass.stuckSectors + lacked))
    }
}

/// One walk over all trees, the catalogue last: it moves pages below the limit, or fills up half-empty leaves.
private struct CompactionPass {
    private enum Place {
        case tree([UInt8], from: [UInt8]?)
        case catalogue(from: [UInt8]?)
        case end
    }

    /// Number of node places that a transaction leaves for the paths of trees and the catalogue.
    private static let spareNodes = 24

    private let pages: PageStore
    private let writing: TreeWriting
    /// The limit below which pages are moved. Nil if leaves are filled up in the background.
    private let limit: CompactionLimit?
    private let packing: PackingAim?
    /// Whether long values that find no room move beyond the file's end.
    private let isClearing: Bool
    /// Maximum number of pages that one transaction moves.
    private let stepPages: Int
    /// The way in which a step waits for other writers.
    private let wait: TurnWait
    private(set) var movedBytes: UInt64 = 0
    /// Number of sectors beyond the limit that found no room below it: of long values, and (below) of nodes.
    private(set) var stuckSectors: UInt64 = 0
    private(set) var lackedSectors: UInt64 = 0
    private var place = Place.tree([], from: nil)
    /// Whether it stops if others commit between the steps, and the state after the last step.
    private let stopsAtCommits: Bool
    private var lastState: UInt64?

    init(
        _ pages: PageStore, _ writing: TreeWriting, limit: CompactionLimit?, stepPages: Int, isClearing: Bool = false,
        packing: PackingAim? = nil, stopsAtCommits: Bool = false, wait: TurnWait
    ) {
        self.pages = pages
        self.writing = writing
        self.limit = limit
        self.stepPages = stepPages
        self.isClearing = isClearing
        self.packing = packing
        self.stopsAtCommits = stopsAtCommits
        self.wait = wait
    }

    /// Returns false if it was stopped.
    mutating func run(_ progress: (CompactionProgress) -> Bool) throws(StorageError) -> Bool {
        while true {
            if case .end = place { return true }
            guard try step() else { return false }
            let figures = CompactionProgress(
                movedBytes: movedBytes, totalBytes: (limit?.toMove ?? 0) * UInt64(FileFormat.sectorSize),
                fileBytes: (limit?.fileSectors ?? 0) * UInt64(FileFormat.sectorSize))
            guard progress(figures) else { return false }
        }
    }

    /// Makes one transaction. Returns false if the pass has to stop before it.
    private mutating func step() throws(StorageError) -> Bool {
        let transaction = try writing.begin(pages, wait)
        defer { transaction.abort() }
        // A crash undoes the moves, and nothing else.
        transaction.durability = .none
        guard let writer = transaction.writer else { return false }
        if stopsAtCommits, let lastState, writer.view.transaction != lastState { return false }
        guard var work = work(writer) else {
            lackedSectors += UInt64(Self.spareNodes * writer.pageSize / FileFormat.sectorSize)
            place = .end
            return true
        }
        while !work.isSpent {
            if case .end = place { break }
            place = try next(transaction, &work)
        }
        // A step that moves nothing makes no state.
        lastState = work.movedBytes > 0 ? writer.birth : writer.view.transaction
        try transaction.commit()
        movedBytes += UInt64(work.movedBytes)
        stuckSectors += work.stuckSectors
        if packing != nil, work.movedBytes > 0 { try checkpoint() }
        return true
    }

    /// Makes a checkpoint. It frees the former sectors of filled-up leaves, and keeps recovery from repeating later
    /// changes in the former leaves, of which there were more.
    private func checkpoint() throws(StorageError) {
        if case .inThread = wait { pages.checkpointInBackground() } else { try pages.checkpoint() }
    }

    /// Returns the work of a step, or nil if there is no room to move pages to.
    private func work(_ writer: TreeWriter) -> (any CompactionWork)? {
        if let packing {
            let budget = min(stepPages, max(Packing.least, writer.pages.spareNodes / 2))
            return Packing(writer: writer, aim: packing, budget: budget, reads: 4 * stepPages)
        }
        // Each moved page may need a copy of its branch, and each tree a path. The rest is for the catalogue.
        let room = writer.pages.nodesBelowLimit(enough: 2 * stepPages + Self.spareNodes) - Self.spareNodes
        guard room > 1 else { return nil }
        return Relocation(
            writer: writer, budget: min(stepPages, room / 2), reads: 8 * stepPages, isClearing: isClearing)
    }

    /// Works in the tree at `place`. Returns the place to continue at.
    private func next(
        _ transaction: Transaction, _ step: inout any CompactionWork
    ) throws(StorageError) -> Place {
        switch place {
        case .end: return .end
        case .catalogue(let key):
            let resume = try work(in: transaction.catalogue(), of: transaction, from: key, &step)
            return resume.map { .catalogue(from: $0) } ?? .end
        case .tree(let name, let key):
            guard let (record, found) = try transaction.firstTree(from: name) else { return .catalogue(from: nil) }
            let tree = try transaction.open(record, found)
            let resume = try work(in: tree, of: transaction, from: found == name ? key : nil, &step)
            // The next possible name.
            return resume.map { .tree(found, from: $0) } ?? .tree(found + [0], from: nil)
        }
    }

    private func work(
        in tree: OpenTreePointer, of transaction: Transaction, from key: [UInt8]?, _ step: inout any CompactionWork
    ) throws(StorageError) -> [UInt8]? {
        do throws(StorageError) {
            return try step.tree(tree, from: key)
        } catch {
            throw transaction.named(error, tree)
        }
    }
}

extension Transaction {
    /// The first tree whose name is not less than `name`.
    fileprivate func firstTree(
        from name: [UInt8]
    ) throws(StorageError) -> (record: CatalogueRecord, name: [UInt8])? {
        var cursor = Cursor(self, try catalogue())
        guard try name.isEmpty ? cursor.first() : cursor.seek(name) else { return nil }
        return (try CatalogueRecord(cursor.value, transaction: view.transaction), Array(cursor.key))
    }
}
