// SPDX-License-Identifier: Apache-2.0
// The write transaction's own pages. Pages in memory are seen by the writer alone until commit writes them to their
// places. Spilled pages were written to their places before, to make room. A page is in a frame or spilled, never both.
// Frames are cut from memory in the order of allocation, so pages that are neighbours in the file go out in one write.
// In a store in memory frames are at their places from the start: nobody reads a free place, and nothing has to be
// copied there.

/// One page born in the open transaction.
struct Frame {
    var run: SectorRun
    var bytes: UnsafeMutableRawPointer
    /// False once the page was freed. The place and memory of a freed node page then serve the next one.
    var isLive: Bool
    /// Whether its memory is a buffer of `UnwrittenPages`, which may keep it.
    var isKeepable = false

    var buffer: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: bytes, count: run.byteCount) }
    /// Birth of the page in the frame, while the frame is live.
    var birth: UInt64 { UnsafeRawPointer(bytes).u64(PageLayout.birth) }
}

/// All frames of the open transaction, by page number. Addresses are stable until `dropSpilled` or `removeAll`. Only
/// the holder of the writer's turn uses the table. Its properties do without the checks of exclusive access, which were
/// a fifth of the instructions of a sorted load.
final class FrameTable {
    @exclusivity(unchecked) private(set) var frames: [Frame] = []
    /// Node frames that were freed.
    @exclusivity(unchecked) private var reusable: [Int] = []
    /// A hash table with open addressing: a power of two of slots, at most half of them in use.
    @exclusivity(unchecked) private var slots: UnsafeMutablePointer<Slot>
    @exclusivity(unchecked) private var slotCount = FrameTable.initialSlots
    private let memory: FrameMemory
    private let unwritten: UnwrittenPages?
    /// `unwritten`, unmanaged: counting a reference for each new page waits for the thread that writes pages and
    /// changes other figures of the same cache line.
    private let unmanagedUnwritten: Unmanaged<UnwrittenPages>?
    /// Bytes of memory that `unwritten` may use in all, if that is less than it could.
    @exclusivity(unchecked) var unwrittenBound = Int.max
    /// Start of the store if it is in memory. Its pages are made at their places.
    private let places: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private(set) var liveBytes = 0
    /// Pages by the savepoint that was newest at their birth; the first level has those before any savepoint.
    @exclusivity(unchecked) private var levels = [Level()]

    private struct Slot {
        var number: UInt64 = 0
        /// The frame's index plus one; 0 in an empty slot.
        var place = 0
    }

    private struct Level {
        var firstBirth: UInt64 = 0
        /// The level's frames start at this one. Others are in `reused`: older frames that were used again since.
        var firstFrame = 0
        var reused: [Int] = []
        /// The level's spilled pages.
        var spilled = SectorSet()
    }

    private static let initialSlots = 128
    /// `keptBytes`: maximum of the memory that stays for the next transaction. `unwritten`: holds pages once they are
    /// committed. `places`: the property.
    init(
        keptBytes: Int = 8 << 20, unwritten: UnwrittenPages? = nil, places: UnsafeMutableRawPointer? = nil
    ) {
        memory = FrameMemory(keptBound: keptBytes)
        self.unwritten = unwritten
        unmanagedUnwritten = unwritten.map { .passUnretained($0) }
        self.places = places
        slots = Self.emptySlots(Self.initialSlots)
    }

    deinit { slots.deallocate() }

    private static func emptySlots(_ count: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)
        slots.initialize(repeating: Slot(), count: count)
        return slots
    }

    /// Bytes of memory in use, including freed pages, without the store's own memory.
    var memoryBytes: Int { memory.takenBytes + keepableBytes }
    @exclusivity(unchecked) private var keepableBytes = 0
    /// Bytes of memory that committed pages take or have taken, in addition to `memoryBytes`.
    var unwrittenBytes: Int {
        (unmanagedUnwritten?._withUnsafeGuaranteedRef { $0.memoryBytes } ?? 0) - keepableBytes
    }
    /// Bytes of frames that are at their places.
    @exclusivity(unchecked) private(set) var placedBytes = 0
    /// Whether all frames are at their places.
    var arePlaced: Bool { places != nil }

    /// The live frame of a page.
    func find(_ number: UInt64) -> Frame? {
        guard let index = index(of: number) else { return nil }
        return frames[index].isLive ? frames[index] : nil
    }

    /// Bytes of memory that stay from one transaction to the next.
    var keptBytes: Int { memory.keptBytes + (unwritten?.memoryBytes ?? 0) }

    /// A frame for a new page at `run`, its bytes undefined. `isNode`: the page is raw, has the store's page size, and
    /// is at a multiple of it. A long value or a leaf of a compressed tree may be as large, but is read in another way.
    func add(_ run: SectorRun, isNode: Bool) -> UnsafeMutableRawPointer {
        let size = run.byteCount
        liveBytes &+= size
        let frame: Frame
        if let places {
            frame = Frame(run: run, bytes: places + Int(truncatingIfNeeded: run.byteOffset), isLive: true)
            placedBytes &+= size
        } else if isNode, let buffer = keepableBuffer(run) {
            frame = Frame(run: run, bytes: buffer, isLive: true, isKeepable: true)
            keepableBytes &+= size
        } else {
            frame = Frame(run: run, bytes: memory.take(size), isLive: true)
        }
        if let index = index(of: run.start) {
            giveBack(frames[index])
            // The place of a long value that this transaction freed.
            frames[index] = frame
            noteReused(index)
        } else {
            frames.append(frame)
            insert(frames.count - 1)
        }
        return frame.bytes
    }

    private func keepableBuffer(_ run: SectorRun) -> UnsafeMutableRawPointer? {
        unmanagedUnwritten?._withUnsafeGuaranteedRef { unwritten in
            run.byteCount == unwritten.pageSize ? unwritten.takeBuffer(within: unwrittenBound) : nil
        }
    }

    private func giveBack(_ frame: Frame) {
        if frame.isKeepable { unwritten?.giveBack(frame.bytes) }
    }

    /// Leaves a page to `UnwrittenPages`, if that has room. The frame stays until the end of the transaction.
    func keep(_ frame: Frame, unwritten: UnwrittenPages) -> Bool {
        guard frame.isKeepable, let index = index(of: frame.run.start), unwritten.keep(frame.run.start, frame.bytes)
        else { return false }
        frames[index].isKeepable = false
        return true
    }

    /// A freed node page to use again, its bytes undefined.
    func reuse() -> Frame? {
        guard let index = reusable.popLast() else { return nil }
        frames[index].isLive = true
        liveBytes += frames[index].run.byteCount
        noteReused(index)
        return frames[index]
    }

    private func noteReused(_ index: Int) {
        let last = levels.count - 1
        if index < levels[last].firstFrame { levels[last].reused.append(index) }
    }

    /// Marks a live page as freed. With `keepPlace` its place is kept for `reuse`.
    func free(_ number: UInt64, keepPlace: Bool) {
        guard let index = index(of: number), frames[index].isLive else { return }
        frames[index].isLive = false
        liveBytes -= frames[index].run.byteCount
        if keepPlace { reusable.append(index) }
    }

    /// Places that are kept for `reuse`.
    var unusedPlaces: [SectorRun] { reusable.map { frames[$0].run } }

    /// Returns `unusedPlaces` and keeps them no longer.
    func takeUnusedPlaces() -> [SectorRun] {
        guard !reusable.isEmpty else { return [] }
        defer { reusable.removeAll(keepingCapacity: true) }
        return unusedPlaces
    }

    /// Live frames, in any order.
    @inline(__always)
    func forEachLive(_ body: (Frame) -> Void) {
        for index in frames.indices where frames[index].isLive { body(frames[index]) }
    }

    /// Live frames in the order of their places in the file.
    func inFileOrder() -> [Frame] {
        var live: [Frame] = []
        live.reserveCapacity(frames.count)
        for frame in frames where frame.isLive { live.append(frame) }
        live.sort { $0.run.start < $1.run.start }
        return live
    }

    func removeAll() {
        removeFrames(keepsMemory: false)
        if levels.count > 1 || !levels[0].spilled.isEmpty { levels = [Level()] }
    }

    private func removeFrames(keepsMemory: Bool) {
        clearSlots()
        // The first one goes last, so that it is taken first again: neighbours in memory stay neighbours, and go out
        // together.
        if keepableBytes > 0 {
            for frame in frames.reversed() { giveBack(frame) }
        }
        keepableBytes = 0
        placedBytes = 0
        frames.removeAll(keepingCapacity: keepsMemory || frames.count < 4096)
        reusable.removeAll(keepingCapacity: true)
        for level in levels.indices where levels[level].firstFrame != 0 || !levels[level].reused.isEmpty {
            levels[level].firstFrame = 0
            levels[level].reused.removeAll()
        }
        liveBytes = 0
        memory.reset(keepsChunks: keepsMemory)
    }

    /// Clearing costs a small transaction only its own slots. The table of a large one is freed.
    private func clearSlots() {
        guard slotCount <= 16 * Self.initialSlots else {
            slots.deallocate()
            slotCount = Self.initialSlots
            slots = Self.emptySlots(slotCount)
            return
        }
        guard frames.count < slotCount / 8 else { return slots.update(repeating: Slot(), count: slotCount) }
        // In reverse order: entries on the probe path of a slot were inserted before it.
        for frame in frames.reversed() {
            var place = slot(frame.run.start)
            while slots[place].place != 0, slots[place].number != frame.run.start {
                place = (place &+ 1) & (slotCount &- 1)
            }
            slots[place] = Slot()
        }
    }

    @inline(__always)
    private func slot(_ number: UInt64) -> Int {
        let shift = UInt64(truncatingIfNeeded: slotCount.leadingZeroBitCount &+ 1)
        return Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }

    @inline(__always)
    private func index(of number: UInt64) -> Int? {
        var place = slot(number)
        while slots[place].place != 0 {
            if slots[place].number == number { return slots[place].place &- 1 }
            place = (place &+ 1) & (slotCount &- 1)
        }
        return nil
    }

    private func insert(_ index: Int) {
        if frames.count * 2 > slotCount {
            slots.deallocate()
            slotCount *= 2
            slots = Self.emptySlots(slotCount)
            for earlier in 0..<index { place(earlier) }
        }
        place(index)
    }

    private func place(_ index: Int) {
        let number = frames[index].run.start
        var place = slot(number)
        while slots[place].place != 0 { place = (place + 1) & (slotCount - 1) }
        slots[place] = Slot(number: number, place: index + 1)
    }
}

// MARK: Spilled pages

extension FrameTable {
    var hasSpilled: Bool { levels.contains { !$0.spilled.isEmpty } }

    func isSpilled(_ run: SectorRun) -> Bool { levels.contains { $0.spilled.contains(run) } }

    /// Notes a page that was written to its place without ever having a frame.
    func addSpilled(_ run: SectorRun) { levels[levels.count - 1].spilled.insert(run) }

    /// Drops the frames after every live page was written to its place. No place is kept for `reuse`.
    func dropSpilled() {
        for frame in frames where frame.isLive {
            let birth = frame.birth
            let level = levels.lastIndex { $0.firstBirth <= birth } ?? 0
            levels[level].spilled.insert(frame.run)
        }
        removeFrames(keepsMemory: true)
    }

    /// Forgets a page that is in a frame again, or was freed.
    func forgetSpilled(_ run: SectorRun) {
        for level in levels.indices { levels[level].spilled.remove(run) }
    }

    func forEachSpilled(_ body: (SectorRun) -> Void) {
        for level in levels { level.spilled.forEachRun(body) }
    }
}

// MARK: Savepoints

extension FrameTable {
    /// Begins a savepoint, to which all pages born from `birth` on belong.
    func beginSavepoint(firstBirth birth: UInt64) {
        levels.append(Level(firstBirth: birth, firstFrame: frames.count))
    }

    /// Gives the pages of the savepoints from the `first`-th on to the level before it.
    func mergeSavepoints(from first: Int) {
        while levels.count > first + 1 {
            let last = levels.removeLast()
            levels[levels.count - 1].spilled.formUnion(last.spilled)
            for index in last.reused { noteReused(index) }
        }
    }

    /// Forgets all pages of the `savepoint`-th savepoint, which stays, and of those after it. Passes their places to
    /// `release`. The cost depends on the changes since the savepoint, not on those before.
    func rollBack(to savepoint: Int, release: (SectorRun) -> Void) {
        let firstBirth = levels[savepoint + 1].firstBirth
        for index in levels[savepoint + 1].firstFrame..<frames.count { forget(index, from: firstBirth, release) }
        while levels.count > savepoint + 1 {
            let level = levels.removeLast()
            for index in level.reused { forget(index, from: firstBirth, release) }
            level.spilled.forEachRun(release)
        }
        beginSavepoint(firstBirth: firstBirth)
    }

    private func forget(_ index: Int, from birth: UInt64, _ release: (SectorRun) -> Void) {
        guard frames[index].isLive, frames[index].birth >= birth else { return }
        frames[index].isLive = false
        liveBytes -= frames[index].run.byteCount
        release(frames[index].run)
    }
}
