// SPDX-License-Identifier: Apache-2.0
// Everything that only the holder of the writer's turn may touch: space, pins, frames, the state to build on, the
// header of the last durable checkpoint. Readers never see it.

import Synchronization

/// The space that an allocation must leave free. A checkpoint needs new places for changed space pages before it can
/// free anything. Transactions leave it that much, and recovery, which repeats transactions, has more than they had.
/// Free space is counted in places of node pages, because scattered free sectors are no use to a checkpoint.
enum SpaceReserve {
    /// For ordinary transactions. Leaves room for later deletions, because each page that loses an entry is copied
    /// before it is free.
    case transaction
    /// For a transaction that frees space, which may use the room for deletions.
    case freeing
    case recovery, checkpoint
}

/// The writer's state. Not thread-safe by itself: guarded by `PageStore.turn`.
final class WriterSide {
    let file: any StoreFile
    /// `file.isDurable`, without asking it for each page.
    let isDurable: Bool
    let verification: Verification
    @exclusivity(unchecked) var space: SpaceMap
    @exclusivity(unchecked) var retired = RetiredPages()
    /// The published commits that `PageStore.settle` works on.
    @exclusivity(unchecked) var settling: [PendingCommit] = []
    /// An empty array for the pages that the next transaction frees.
    @exclusivity(unchecked) var spareFreed: [RetiredPages.Page] = []
    /// An empty array for `releaseTogether`.
    @exclusivity(unchecked) private var spareRuns: [SectorRun] = []
    let frames: FrameTable
    let unplaced: UnplacedLeaves
    /// Former newest states that may still have readers. Each is pinned in `retired` once.
    @exclusivity(unchecked) var older: [PublishedState] = []
    /// The last durable checkpoint, and the places of its space pages.
    @exclusivity(unchecked) var header: HeaderSlot
    @exclusivity(unchecked) var spaceMaps: [PageReference] = []
    /// The checkpoint that the file was opened with.
    private let openedCheckpoint: UInt64
    /// Whether there were commits since the file was opened.
    var isChanged: Bool { header.checkpoint != openedCheckpoint || tip.transaction != header.transaction }
    /// Tells other processes the newest states. Nil if no other process can have the file open.
    let announcer: Announcer?
    /// The state that the next transaction builds on: the newest state, or that of the newest pending commit.
    @exclusivity(unchecked) var tip: PublishedState
    /// The newest state for which all earlier states with readers are in `older`.
    @exclusivity(unchecked) var settled: PublishedState
    /// The greatest transaction number that a page was written with. No number is used twice, not even after a commit
    /// was withdrawn, so that remains of its pages and records can't be taken for a later one's.
    @exclusivity(unchecked) var usedNumber: UInt64
    /// The running checkpoint.
    @exclusivity(unchecked) var run: CheckpointRun?
    let pace = CommitPace()
    /// `CommitPipeline.faultCount` when the last durable checkpoint began to write.
    var knownFaults = 0
    /// The pages that no durable checkpoint has.
    @exclusivity(unchecked) var dirtyPages = DirtyPages()
    /// Bytes of the page cache's budget that are borrowed for frames, including frames kept for the next transaction.
    @exclusivity(unchecked) private var borrowedBytes = 0
    /// Bytes of memory that the open transaction's pages take. Any thread reads it.
    let frameBytes = Atomic<Int>(0)
    /// Number of checkpoints in a row that found the journal nearly empty, and the resulting size of the ring in
    /// sectors.
    @exclusivity(unchecked) var quietCheckpoints = 0
    @exclusivity(unchecked) var wantedRing: UInt64?
    /// The space that commits need, and whether shrinking the file has failed.
    @exclusivity(unchecked) var shrinking = Shrinking()
    /// Numbers that the first checkpoint of an encrypted store's life skips: see `leap`.
    @exclusivity(unchecked) var checkpointLeap: UInt64
    /// `usedNumber` before the first transaction of an encrypted store's life.
    @exclusivity(unchecked) private var leaptNumber: UInt64?
    /// See `keepLeafRun`.
    @exclusivity(unchecked) private var leafRun: SectorRun?
    /// Number of commits by a checkpoint, since the ring last grew, for whose redo it was too small.
    @exclusivity(unchecked) var oversizedCommits = 0

    init(
        file: any StoreFile, verification: Verification, space: SpaceMap, header: HeaderSlot, state: PublishedState,
        cacheBytes: Int
    ) {
        self.file = file
        isDurable = file.isDurable
        self.verification = verification
        self.space = space
        self.header = header
        openedCheckpoint = header.checkpoint
        announcer = Announcer(file: file, cipher: verification.cipher)
        tip = state
        settled = state
        usedNumber = state.transaction
        checkpointLeap = verification.cipher == nil ? 0 : .random(in: 1...1 << 32)
        // Even of a small budget some memory stays for the next transaction.
        frames = FrameTable(
            keptBytes: Swift.min(Swift.max(0, cacheBytes) / 4, 8 << 20), unwritten: verification.unwritten,
            places: verification.isMemory ? verification.mapping?.base : nil)
        unplaced = UnplacedLeaves(
            keptBound: Swift.min(Swift.max(0, cacheBytes) / 2, 2 << 20), reserve: verification.reserve)
    }
}

// MARK: Copies of a file

extension WriterSide {
    /// In an encrypted store each life numbers its transactions and checkpoints from a random start on. A page of a
    /// copy of the file that is also written to, under this key, has another birth and is refused here. The numbers
    /// last for 2^30 lives.
    ///
    /// Called after recovery, which repeats transactions under their own numbers.
    func leap() {
        guard verification.cipher != nil else { return }
        usedNumber += .random(in: 1...1 << 32)
        leaptNumber = usedNumber
    }

    /// Whether transactions with greater numbers than the newest state's may have written something.
    var mayHaveFallen: Bool { usedNumber != tip.transaction && usedNumber != leaptNumber }

    /// The number of the next checkpoint.
    var nextCheckpoint: UInt64 { header.checkpoint + 1 + checkpointLeap }
}

// MARK: Memory

extension WriterSide {
    /// Bytes of memory that always belong to the writer. It borrows at least this much more at a time.
    private static var unborrowedBytes: Int { 1 << 20 }

    /// Borrows this much of the page cache's budget for the open transaction, in place of what it has borrowed, unless
    /// that is nearly as much.
    func borrow(_ bytes: Int) {
        if bytes > borrowedBytes + Self.unborrowedBytes { setBorrowed(bytes) }
    }

    /// While no transaction is open: borrows the memory that stays for the next one.
    func borrowKept() {
        let kept = frames.keptBytes + unplaced.keptBytes
        setBorrowed(kept > Self.unborrowedBytes ? kept : 0)
    }

    private func setBorrowed(_ bytes: Int) {
        guard bytes != borrowedBytes else { return }
        verification.cache.lend(bytes - borrowedBytes)
        borrowedBytes = bytes
    }
}

// MARK: Figures

extension WriterSide {
    /// Sets the number of bytes of memory that the open transaction's pages take.
    func noteFrames(_ bytes: Int) { frameBytes.store(bytes, ordering: .relaxed) }

    /// Number of sectors in use, without the journal's ring.
    var liveSectors: Int { space.liveSectors - (isDurable ? Int((run?.plan.journal ?? header.journal).count) : 0) }
    var liveBytes: Int { liveSectors << FileFormat.sectorShift }

    /// Number of sectors of the retired pages that the last durable checkpoint holds and no newer snapshot does.
    var checkpointRetiredSectors: UInt64 {
        header.checkpoint > 0 ? retired.sectors(heldBy: header.transaction) : 0
    }
}

// MARK: Pins

extension WriterSide {
    /// Drops the pins of states that have no readers any more, so that their pages can be used again.
    func collectPins() {
        announcer?.collect(self)
        // Removing none costs more than looking.
        guard older.contains(where: \.isForgotten) else { return }
        older.removeAll { state in
            guard state.isForgotten else { return false }
            unpin(state.transaction)
            return true
        }
    }

    func unpin(_ number: UInt64) {
        releaseTogether { runs in retired.unpin(number) { runs.append($0) } }
    }

    /// Retires pages that are no longer in the newest state. They stay as long as a pin holds them.
    func retire(_ pages: [RetiredPages.Page], death: UInt64) {
        releaseTogether { runs in
            for page in pages {
                dirtyPages.note(page)
                if retired.add(page, death: death) { space.retire(page.run) } else { runs.append(page.run) }
            }
        }
    }

    /// The capacity of arrays up to which their memory is kept for the next use.
    private static var spareBound: Int { 1024 }

    /// Keeps the memory of retired pages' array for the next transaction.
    func keepMemory(of pages: inout [RetiredPages.Page]) {
        guard pages.capacity <= Self.spareBound else { return }
        swap(&pages, &spareFreed)
        spareFreed.removeAll(keepingCapacity: true)
    }

    /// Frees the sectors. A later page there is verified anew, and pages kept for them are forgotten.
    func release(_ run: SectorRun) { release(CollectionOfOne(run)) }

    private func release(_ runs: some Collection<SectorRun>) {
        for run in runs { space.release(run) }
        verification.clear(runs)
        #if HORNBEAM_CHECKS
            // A reader that still uses the freed page must notice.
            guard verification.isMemory, let places = verification.mapping?.base else { return }
            for run in runs {
                let page = UnsafeMutableRawBufferPointer(start: places + Int(run.byteOffset), count: run.byteCount)
                page.initializeMemory(as: UInt8.self, repeating: 0xDB)
            }
        #endif
    }

    /// Frees the runs that `body` adds: the lock of the pages kept in memory is taken once for all.
    private func releaseTogether(_ body: (inout [SectorRun]) -> Void) {
        var runs: [SectorRun] = []
        swap(&runs, &spareRuns)
        body(&runs)
        release(runs)
        guard runs.capacity <= Self.spareBound else { return }
        runs.removeAll(keepingCapacity: true)
        swap(&runs, &spareRuns)
    }
}

// MARK: Allocation

extension WriterSide {
    /// Number of free sectors in the emptiest extent below which growing the file is better than scattering a
    /// transaction.
    private static var worthwhileExtent: Int { 16 }

    func takeNode(keeping reserve: SpaceReserve) throws(StorageError) -> UInt64 {
        let page = try findNode(keeping: reserve)
        noteTaken(SectorRun(start: page, count: UInt32(space.pageSectors)))
        return page
    }

    private func findNode(keeping reserve: SpaceReserve) throws(StorageError) -> UInt64 {
        let wanted = space.pageSectors
        if let page = space.takeNode(minimumFree: Self.worthwhileExtent), keeps(reserve, taking: node(page)) {
            return page
        }
        return try growing(by: wanted, reserve) { (_) in
            space.takeNode(minimumFree: wanted).map { node($0) }
        }
    }

    /// Grows the file until `take` finds a place that leaves the reserve: in small steps, so that a small file stays
    /// small. The argument of `take` says whether the disk is full, so that this is the last try.
    private func growing(
        by first: Int, _ reserve: SpaceReserve, _ take: (_ isFull: Bool) -> SectorRun?
    ) throws(StorageError) -> UInt64 {
        var needed = first
        while true {
            var isFull = false
            do throws(StorageError) { try grow(by: needed) } catch .full { isFull = true }
            if let run = take(isFull), keeps(reserve, taking: run) { return run.start }
            if isFull { throw .full(path: file.path) }
            // There is room for the run now; the reserve needs the rest.
            needed = space.pageSectors
        }
    }

    private func node(_ page: UInt64) -> SectorRun { SectorRun(start: page, count: UInt32(space.pageSectors)) }

    func takeRun(
        _ count: UInt32, _ place: SpaceMap.RunPlace = .anywhere, keeping reserve: SpaceReserve
    ) throws(StorageError) -> UInt64 {
        let start = try findRun(count, place, keeping: reserve)
        noteTaken(SectorRun(start: start, count: count))
        return start
    }

    /// Notes that a page of a tree may be there from now on. A page that a failed commit wrote there may count as
    /// verified; the next one, for instance a compressed leaf, must not pass for it.
    private func noteTaken(_ run: SectorRun) {
        // In memory the store has no places of its own, and no commit fails after it has written.
        if verification.isMemory { return }
        verification.foreign.remove(run)
        verification.unmark(run)
    }

    private func findRun(
        _ count: UInt32, _ place: SpaceMap.RunPlace, keeping reserve: SpaceReserve
    ) throws(StorageError) -> UInt64 {
        if let start = space.takeRun(count, place), keeps(reserve, taking: SectorRun(start: start, count: count)) {
            return start
        }
        // A run may begin and end within places of node pages.
        return try growing(by: Int(count) + 2 * space.pageSectors, reserve) { isFull in
            space.takeRun(count, isFull ? .lowestSparingNodes : place).map { SectorRun(start: $0, count: count) }
        }
    }

    /// Whether `run`, which was just taken, leaves the reserve. If not, the run is freed again.
    private func keeps(_ reserve: SpaceReserve, taking run: SectorRun) -> Bool {
        if has(reserve) { return true }
        space.release(run)
        return false
    }

    /// Whether as much space is free as the reserve needs.
    func has(_ reserve: SpaceReserve) -> Bool {
        space.freeNodes >= nodes(of: reserve) && hasDirectoryPlace(reserve)
    }

    /// Number of node pages that an ordinary transaction may take before the file grows.
    var spareNodes: Int { Swift.max(0, space.freeNodes - nodes(of: .transaction)) }

    /// Free sectors that a file has besides those that a transaction needs: for copies of branches and space pages that
    /// are kept together with the originals for a while, and so that the next commit doesn't make the file grow.
    var slack: UInt64 { Swift.max(128, UInt64(2 * sectors(of: .transaction))) }

    private func sectors(of reserve: SpaceReserve) -> Int { nodes(of: reserve) * space.pageSectors }

    /// The reserve as a number of node pages.
    private func nodes(of reserve: SpaceReserve) -> Int {
        let forFreeing = reserve == .transaction ? freeingNodes : 0
        guard isDurable else { return forFreeing }
        return switch reserve {
        case .transaction, .freeing: 2 * space.checkpointNodes + forFreeing
        case .recovery: space.checkpointNodes
        case .checkpoint: 0
        }
    }

    /// Number of node pages that are kept for transactions that free space: as many as a deletion changes in a store
    /// with a few dozen trees. A small store has fewer pages.
    private var freeingNodes: Int {
        // A forged header may name a ring that is not in the map.
        Swift.max(0, Swift.min(64, (space.liveSectors - Int(ringSectors)) / space.pageSectors))
    }

    /// Whether half of the room for freeing is left.
    var hasRoomForFreeing: Bool { space.freeNodes >= nodes(of: .freeing) + freeingNodes / 2 }

    /// Keeps some sectors in a row for the leaves of compressed trees that a deletion in a full file writes anew: with
    /// free sectors here and there, as the other reserves have them, a leaf may find no place. The run is held, so no
    /// page goes there, but belongs to no state. Does nothing if there is one, or no room.
    func keepLeafRun() {
        let count = Swift.min(Self.leafRunSectors, freeingNodes * space.pageSectors)
        guard leafRun == nil, isDurable, space.limit == nil, count > 0,
            let first = try? takeRun(UInt32(count), .lowest, keeping: .transaction)
        else { return }
        let run = SectorRun(start: first, count: UInt32(count))
        space.retire(run)
        leafRun = run
    }

    /// Frees the run, for such a deletion, or because the file is to become shorter. Returns whether there was one.
    @discardableResult
    func giveLeafRun() -> Bool {
        guard let run = leafRun else { return false }
        leafRun = nil
        space.release(run)
        return true
    }

    /// Enough for four leaves that hardly compress.
    private static var leafRunSectors: Int { 4 * (CompressedPage.leafSize / FileFormat.sectorSize + 1) }

    /// Whether there is a place for the directory. It is one run. If it is longer than a node page (in a file of a
    /// hundred gigabytes and more), it needs a place of its own.
    private func hasDirectoryPlace(_ reserve: SpaceReserve) -> Bool {
        guard space.directorySectors > space.pageSectors, isDurable, reserve != .checkpoint else { return true }
        return space.hasRun(space.directorySectors)
    }

    /// Grows the file by a part of its size, and at least by `needed`. If the disk has no room for that, grows it by
    /// the least.
    private func grow(by needed: Int) throws(StorageError) {
        let former = space.sectorCount
        let part = former < FileFormat.extentSectors ? former / 4 : former / 32
        let least = FileFormat.fileSectors(with: former + UInt64(needed))
        let wanted = Swift.max(least, FileFormat.fileSectors(within: former + part))
        do throws(StorageError) {
            try grow(to: wanted)
        } catch .full(let path) {
            guard wanted > least else { throw .full(path: path) }
            try grow(to: least)
        }
    }

    private func grow(to sectors: UInt64) throws(StorageError) {
        try file.grow(to: sectors << FileFormat.sectorShift)
        space.grow(to: sectors)
        verification.noteFileSize(sectors: sectors)
    }
}
