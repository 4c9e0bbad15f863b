// SPDX-License-Identifier: Apache-2.0
// Committed pages that the file hasn't got yet. A commit has its redo in the journal; its pages are for readers alone
// until a checkpoint, and as long as no other process reads, for those of this process. So a small transaction leaves
// them in memory: most are branches that the next one replaces, and never reach the file at all. A write-back cache,
// but for pages that are never changed in place: what is written once may be forgotten.
//
//   frame ──keep──▶ kept ──write──▶ leaving ──reclaim──▶ free buffer
//                    └────────remove (the place is free)────▲
//
//   kept      found by its number; its verification bit is not set, so readers come by here before they look at the
//             file. It stays at its address as long as its place is in use: whoever can reach it pins that.
//   leaving   the file has it, the bit is set, and nobody finds it here. Whoever found it before may still look at it:
//             the buffer waits until every reader that began before has ended.
//
// Pages must be written before anything but this process may look for them in the file: before a checkpoint reaches
// them, and before another process is told of their state. Readers find. Any thread may write, also while a transaction
// is open: `monitor` keeps that apart from what belongs to the writer's turn, which is everything else.

import CHornbeamShims
import Glibc
import Synchronization

/// A table of sets with eight places each; a set's numbers are one cache line.
final class UnwrittenPages: @unchecked Sendable {
    // Sendable: `numbers` is atomic, a page's address is constant while its number is there, numbers come and go and
    // `leaving` and `fileOrder` change under `monitor`, and the rest is guarded by the writer's turn.
    private let monitor = Monitor()
    let pageSize: Int
    /// By place; 0: free.
    private let numbers: UnsafeMutablePointer<Atomic<UInt64>>
    /// Their addresses, by place: constant while the number is there.
    private let addresses: UnsafeMutablePointer<Atomic<UInt>>
    private let setShift: UInt64
    private let capacity: Int
    /// One piece of memory, the system's pages of which are taken when a buffer is first used.
    private let memory: UnsafeMutableRawPointer
    /// Buffers of it that were in use before.
    @exclusivity(unchecked) private var spare: [UnsafeMutableRawPointer] = []
    /// Buffers of it from here on were never used.
    @exclusivity(unchecked) private var fresh = 0
    @exclusivity(unchecked) private var leaving: [(page: UnsafeMutableRawPointer, until: UInt64)] = []
    /// What is being written. Kept for its memory: at times each commit writes what it left.
    @exclusivity(unchecked) private var fileOrder: [UInt64] = []
    /// Pages that are kept. Any thread may ask.
    var count: Int { keptCount.load(ordering: .relaxed) }
    private let keptCount = Atomic<Int>(0)
    /// The first transaction since the last `writeAll` that kept any.
    private let firstState = Atomic<UInt64>(.max)

    private static var ways: Int { 8 }
    private static var mostSets: Int { 64 }

    /// Nil if `memoryBytes` is too little to be of use, or can't be had.
    init?(pageSize: Int, memoryBytes: Int) {
        var sets = Self.mostSets
        while sets > 1, sets * Self.ways * pageSize > memoryBytes { sets /= 2 }
        capacity = sets * Self.ways
        guard capacity * pageSize <= memoryBytes, let memory = hbs_map(-1, capacity * pageSize) else { return nil }
        self.memory = memory
        self.pageSize = pageSize
        setShift = UInt64(64 - sets.trailingZeroBitCount)
        // A set on one line.
        let raw = UnsafeMutableRawPointer.allocate(byteCount: 2 * capacity * 8, alignment: 64)
        numbers = raw.bindMemory(to: Atomic<UInt64>.self, capacity: capacity)
        addresses = (raw + capacity * 8).bindMemory(to: Atomic<UInt>.self, capacity: capacity)
        for place in 0..<capacity {
            (numbers + place).initialize(to: Atomic(0))
            (addresses + place).initialize(to: Atomic(0))
        }
    }

    deinit {
        munmap(memory, capacity * pageSize)
        UnsafeMutableRawPointer(numbers).deallocate()
    }

    // MARK: Reading: any thread

    /// The page, if it is kept: `pageSize` bytes whose checksum is not made yet. The caller has a view of a state that
    /// reaches it, and has found that its verification bit is not set.
    @inline(__always)
    func find(_ number: UInt64, birth: UInt64) -> UnsafeRawPointer? {
        guard let page = find(number) else { return nil }
        // Between two looks it may have been written and another one kept in its place, which is of a later birth.
        return UnsafeRawPointer(page).u64(PageLayout.birth) == birth ? UnsafeRawPointer(page) : nil
    }

    @inline(__always)
    private func find(_ number: UInt64) -> UnsafeMutableRawPointer? {
        let first = firstPlace(of: number)
        for place in first..<first &+ Self.ways
        // Acquiring: partner of the releasing store in `keep`.
        where numbers[place].load(ordering: .acquiring) == number {
            // Acquiring as well: another page may have come here since, whose bytes `find` looks at.
            return UnsafeMutableRawPointer(bitPattern: addresses[place].load(ordering: .acquiring))
        }
        return nil
    }

    @inline(__always)
    private func firstPlace(of number: UInt64) -> Int {
        // A shift by 64 gives 0: the one set.
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> setShift) &* Self.ways
    }

    // MARK: Buffers, and what is kept: in the writer's turn

    /// Memory for a page that may be kept; nil if all of it is in use. Goes back by `keep` or `giveBack`.
    func takeBuffer() -> UnsafeMutableRawPointer? {
        if let buffer = spare.popLast() { return buffer }
        guard fresh < capacity else { return nil }
        defer { fresh += 1 }
        return memory + fresh * pageSize
    }

    func giveBack(_ buffer: UnsafeMutableRawPointer) {
        #if HORNBEAM_CHECKS
            // Whoever still reads a page that has gone shall notice.
            memset(buffer, 0xDB, pageSize)
        #endif
        spare.append(buffer)
    }

    /// Whether pages that the next transactions hardly replace may be kept too.
    var hasPlenty: Bool { count < capacity / 2 }

    /// Bytes of memory that it has used so far.
    var memoryBytes: Int { fresh * pageSize }

    /// Whatever `body` keeps is of this state, which is not visible yet. Nobody writes meanwhile.
    func keeping<Result>(of state: UInt64, _ body: () -> Result) -> Result {
        monitor.locked {
            if firstState.load(ordering: .relaxed) == .max { firstState.store(state, ordering: .releasing) }
            return body()
        }
    }

    /// Keeps a page in a buffer of `takeBuffer`'s; false if there is no place for it. Within `keeping`.
    func keep(_ number: UInt64, _ buffer: UnsafeMutableRawPointer) -> Bool {
        let first = firstPlace(of: number)
        for place in first..<first + Self.ways where numbers[place].load(ordering: .relaxed) == 0 {
            addresses[place].store(UInt(bitPattern: buffer), ordering: .releasing)
            numbers[place].store(number, ordering: .releasing)
            keptCount.add(1, ordering: .relaxed)
            return true
        }
        return false
    }

    /// The sectors are free: nobody can reach what was kept for them.
    func remove(_ run: SectorRun) {
        guard count > 0 else { return }
        monitor.lock()
        defer { monitor.unlock() }
        let sectors = UInt64(pageSize / FileFormat.sectorSize)
        // The run may begin within a place of a node page.
        var number = (run.start + sectors - 1) / sectors * sectors
        while number < run.end {
            if let buffer = take(number) { giveBack(buffer) }
            number += sectors
        }
    }

    private func take(_ number: UInt64) -> UnsafeMutableRawPointer? {
        let first = firstPlace(of: number)
        for place in first..<first + Self.ways where numbers[place].load(ordering: .relaxed) == number {
            numbers[place].store(0, ordering: .relaxed)
            keptCount.subtract(1, ordering: .relaxed)
            return UnsafeMutableRawPointer(bitPattern: addresses[place].load(ordering: .relaxed))
        }
        return nil
    }

    // MARK: Writing: any thread

    /// Writes all pages to their places, in the order of the file, each by `write`. What is written stays for readers
    /// of states up to `newest`, which tells the newest visible one: those that begin later find it in the file. After
    /// an error what was not written is kept.
    func writeAll(
        newest: () -> UInt64, _ write: (UInt64, UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) {
        try monitor.locked { () throws(StorageError) in
            fileOrder.removeAll(keepingCapacity: true)
            for place in 0..<capacity {
                let number = numbers[place].load(ordering: .relaxed)
                if number != 0 { fileOrder.append(number) }
            }
            fileOrder.sort()
            let first = leaving.count
            defer {
                // Asked when nobody finds them here any more.
                let until = leaving.count > first ? newest() : 0
                for place in first..<leaving.count { leaving[place].until = until }
            }
            for number in fileOrder {
                guard let page = find(number) else { continue }
                try write(number, UnsafeMutableRawBufferPointer(start: page, count: pageSize))
                if take(number) != nil { leaving.append((page, .max)) }
            }
            firstState.store(.max, ordering: .releasing)
        }
    }

    /// Whether there may be states with pages here.
    var hasStates: Bool { firstState.load(ordering: .relaxed) != .max }

    /// Whether all pages of a visible state are in the file. Any thread.
    func isWritten(state: UInt64) -> Bool { state < firstState.load(ordering: .acquiring) }

    /// Whether buffers wait for readers to end.
    var isWaiting: Bool { monitor.locked { !leaving.isEmpty } }

    /// No reader has a state before `state` any more, nor will. In the writer's turn.
    func reclaim(before state: UInt64) {
        monitor.locked {
            leaving.removeAll { page, until in
                guard until < state else { return false }
                giveBack(page)
                return true
            }
        }
    }
}
