// SPDX-License-Identifier: Apache-2.0
// Committed pages that are not in the file yet. A commit has its redo in the journal. Its pages matter only to readers
// until the next checkpoint and, as long as no other process reads, only to readers in this process. So they stay in
// memory until a checkpoint writes them; a page that is replaced before that never reaches the file. It is a write-back
// cache for pages that are never changed in place: after a page is written, its copy here can go.
//
//   frame ──keep──▶ kept ──write──▶ leaving ──reclaim──▶ free buffer
//                    └────────remove (the place is free)────▲
//
//   kept      found by its number. Its verification bit is not set, so readers look here before they look at the file.
//             It stays at its address as long as its place is in use, which every reader that can reach it ensures.
//   leaving   the file has it, the bit is set, and no reader finds it here any more. A reader that found it before may
//             still use it, so the buffer waits until every reader that began before has ended.
//
// A page must be written before anything but this process may look for it in the file: before a checkpoint reaches it,
// and before another process is told of its state. Readers find pages. Any thread may write, also while commits keep
// and remove pages: `monitor` keeps the threads apart that write from the writer's turn, which does everything else. It
// is not held while the file is written. Pages on their way there (`inFlight`) stay until they have arrived, because
// their places must not go to other pages before.

import CHornbeamShims
import Glibc
import Synchronization

/// A table of sets with eight places each. The numbers of a set are one cache line.
final class UnwrittenPages: @unchecked Sendable {
    // Sendable: `numbers` is atomic; a page's address is constant while its number is there; changes of numbers and of
    // the pages on their way to the file are under `monitor`; the writer's turn guards the rest.
    private let monitor = Monitor()
    let pageSize: Int
    /// Page numbers by place, 0 if the place is free.
    private let numbers: UnsafeMutablePointer<Atomic<UInt64>>
    /// Addresses of the pages, by place: constant while the number is there.
    private let addresses: UnsafeMutablePointer<Atomic<UInt>>
    private let places: Int
    private let setShift: UInt64
    /// Number of pages that there are buffers for.
    let capacity: Int
    /// One piece of memory, mapped for the first buffer: a store that is only read needs none. The system provides its
    /// pages when a buffer is first used.
    @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer?
    /// Buffers that were in use before.
    @exclusivity(unchecked) private var spare: [UnsafeMutableRawPointer] = []
    /// The index of the first buffer that was never used.
    @exclusivity(unchecked) private var fresh = 0
    @exclusivity(unchecked) private var leaving: [(page: UnsafeMutableRawPointer, until: UInt64)] = []
    /// Whether a thread is writing, and its pages on their way to the file, in order.
    @exclusivity(unchecked) private var isWriting = false
    @exclusivity(unchecked) private var inFlight: [UInt64] = []
    /// Number of kept pages. Any thread may ask.
    var count: Int { keptCount.load(ordering: .relaxed) }
    private let keptCount = Atomic<Int>(0)
    /// The first transaction with a kept page whose writing has not begun, and the first one with a kept page whose
    /// writing has begun.
    @exclusivity(unchecked) private var firstState = UInt64.max
    @exclusivity(unchecked) private var firstListed = UInt64.max

    /// The memory that pages may take, as a part of the memory that readers leave.
    static func share(of bytes: Int) -> Int { Swift.max(0, bytes) / 4 * 3 }

    private static var ways: Int { 8 }
    private static var fewest: Int { 8 }

    /// Maps the table. Returns nil if `memoryBytes` is too little to be of use, or if the table can't be mapped.
    init?(pageSize: Int, memoryBytes: Int) {
        capacity = memoryBytes / pageSize
        // At most half full, so that hardly any set is full.
        var sets = 1
        while sets * Self.ways < 2 * capacity { sets *= 2 }
        places = sets * Self.ways
        // The zeros are no page numbers. Each set is one cache line.
        guard capacity >= Self.fewest, let table = hbs_map(-1, 2 * places * 8) else { return nil }
        self.pageSize = pageSize
        setShift = UInt64(64 - sets.trailingZeroBitCount)
        numbers = table.bindMemory(to: Atomic<UInt64>.self, capacity: places)
        addresses = (table + places * 8).bindMemory(to: Atomic<UInt>.self, capacity: places)
    }

    /// The size of the tables of numbers and addresses.
    private var tableBytes: Int { 2 * places * 8 }

    deinit {
        if let memory { munmap(memory, capacity * pageSize) }
        munmap(UnsafeMutableRawPointer(numbers), tableBytes)
    }

    // MARK: Reading: any thread

    /// Returns the page, if it is kept: `pageSize` bytes whose checksum is not made yet. The caller must have a view of
    /// a state that reaches it, and must have found its verification bit not set.
    @inline(__always)
    func find(_ number: UInt64, birth: UInt64) -> UnsafeRawPointer? {
        guard let page = find(number) else { return nil }
        // Between two looks it may have been written, and another one kept in its place. That one has a later birth.
        return UnsafeRawPointer(page).u64(PageLayout.birth) == birth ? UnsafeRawPointer(page) : nil
    }

    @inline(__always)
    private func find(_ number: UInt64) -> UnsafeMutableRawPointer? {
        let first = firstPlace(of: number)
        for place in first..<first &+ Self.ways
        // Acquiring: partner of the releasing store in `keep`.
        where numbers[place].load(ordering: .acquiring) == number {
            // Acquiring too: another page may be here by now, whose bytes `find` looks at.
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

    /// Memory for a page that may be kept; nil if all of it is in use, if it would be more than `bytes` in all, or if
    /// the system has none. Goes back through `keep` or `giveBack`.
    func takeBuffer(within bytes: Int) -> UnsafeMutableRawPointer? {
        if let buffer = spare.popLast() { return buffer }
        if memory == nil { memory = hbs_map(-1, capacity * pageSize) }
        guard fresh < capacity, (fresh + 1) * pageSize <= bytes, let memory else { return nil }
        defer { fresh += 1 }
        return memory + fresh * pageSize
    }

    func giveBack(_ buffer: UnsafeMutableRawPointer) {
        #if HORNBEAM_CHECKS
            // A reader that still uses the freed page must notice.
            memset(buffer, 0xDB, pageSize)
        #endif
        spare.append(buffer)
    }

    /// Bytes of memory that it has used so far.
    var memoryBytes: Int { fresh * pageSize }

    /// Runs `body`, which keeps pages of this state. The state is not visible yet.
    func keeping(of state: UInt64, _ body: () -> Void) {
        monitor.locked {
            firstState = min(firstState, state)
            body()
        }
    }

    /// Keeps a page in a buffer from `takeBuffer`. Returns false if there is no slot for it. Must be called within
    /// `keeping`.
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

    /// Removes the pages kept for sectors that are free now: nobody can reach them. Waits for pages on their way to the
    /// file.
    func remove(_ runs: some Collection<SectorRun>) {
        // No other thread adds pages meanwhile, so a page that isn't found isn't here.
        guard count > 0, runs.contains(where: { places(of: $0).contains { find($0) != nil } }) else { return }
        monitor.locked {
            for run in runs {
                for number in places(of: run) where find(number) != nil {
                    while inFlight.contains(number) { monitor.wait() }
                    if let buffer = take(number) { giveBack(buffer) }
                }
            }
        }
    }

    /// The places of node pages in a run, which may begin within one.
    private func places(of run: SectorRun) -> StrideTo<UInt64> {
        let sectors = UInt64(pageSize / FileFormat.sectorSize)
        return stride(from: (run.start + sectors - 1) / sectors * sectors, to: run.end, by: Int(sectors))
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

    enum Part {
        case all
        /// The pages with the older births.
        case olderHalf
    }

    /// Whether there is little room left.
    var isNearlyFull: Bool { count > capacity / 4 * 3 }

    /// Writes the kept pages, or a part of them, to their places, in the order of the file. `write` gets adjacent,
    /// sealed pages, and notes that the file has them. `newest` returns the newest visible state: readers of states up
    /// to that still find written pages here. Later readers find them in the file, or in `cache`, which saves
    /// decrypting them. After an error unwritten pages are kept.
    func write(
        _ part: Part, newest: () -> UInt64, cipher: (any PageCipher)?, cache: PageCache? = nil,
        _ write: (UInt64, UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) {
        let list = begin(part)
        let staging = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 64)
        defer { staging.deallocate() }
        var place = 0
        do throws(StorageError) {
            while place < list.count {
                let piece = nextPiece(of: list, from: &place, into: staging)
                guard !piece.isEmpty else { continue }
                let pages = UnsafeMutableRawBufferPointer(rebasing: staging[..<(piece.count * pageSize)])
                for (index, number) in piece.enumerated() {
                    let page = pages[index * pageSize..<(index + 1) * pageSize]
                    try PageHeader.seal(
                        UnsafeMutableRawBufferPointer(rebasing: page), number: number, with: cipher)
                }
                try write(piece[0], pages)
                if let cache { copy(piece, to: cache) }
                end(piece, newest)
            }
        } catch {
            end([], newest)
            endWriting(isWhole: false)
            throw error
        }
        endWriting(isWhole: part == .all)
    }

    private static var pieceBytes: Int { 1 << 17 }

    /// Waits until no other thread writes. Returns the pages' numbers in the order of the file. Pages may be kept and
    /// removed meanwhile: those that are not listed are of later states, and `nextPiece` doesn't find those that are
    /// gone.
    private func begin(_ part: Part) -> [UInt64] {
        monitor.locked {
            while isWriting { monitor.wait() }
            isWriting = true
            swap(&firstListed, &firstState)
        }
        var pages: [(number: UInt64, birth: UInt64)] = []
        pages.reserveCapacity(count)
        // In portions, because the writer waits for the lock, and looking at births is slow.
        for first in stride(from: 0, to: places, by: Self.listedPlaces) {
            monitor.locked {
                for place in first..<min(first + Self.listedPlaces, places) {
                    let number = numbers[place].load(ordering: .relaxed)
                    let page = UnsafeRawPointer(bitPattern: addresses[place].load(ordering: .relaxed))
                    guard number != 0, let page else { continue }
                    pages.append((number, part == .all ? 0 : page.u64(PageLayout.birth)))
                }
            }
        }
        if part == .olderHalf, !pages.isEmpty {
            let median = pages.map(\.birth).sorted()[pages.count / 2]
            pages.removeAll { $0.birth > median }
        }
        return pages.map(\.number).sorted()
    }

    /// A multiple of `ways`.
    private static var listedPlaces: Int { 64 }

    /// Copies pages that are adjacent in the file. Works on copies because a transaction may be reading the originals.
    /// Returns no pages if the next one is gone.
    private func nextPiece(
        of list: [UInt64], from place: inout Int, into staging: UnsafeMutableRawBufferPointer
    ) -> [UInt64] {
        var pages: [UnsafeMutableRawPointer] = []
        let piece = monitor.locked {
            let sectors = UInt64(pageSize / FileFormat.sectorSize)
            inFlight.removeAll(keepingCapacity: true)
            while place < list.count, (pages.count + 1) * pageSize <= staging.count {
                if let last = inFlight.last, list[place] != last + sectors { break }
                let page = find(list[place])
                if page != nil { inFlight.append(list[place]) }
                place += 1
                guard let page else { break }
                pages.append(page)
            }
            return inFlight
        }
        // Without the lock, which the writer takes to free pages: those on their way stay where they are.
        for (index, page) in pages.enumerated() {
            UnsafeMutableRawBufferPointer(rebasing: staging[(index * pageSize)...])
                .copyMemory(from: UnsafeRawBufferPointer(start: page, count: pageSize))
        }
        return piece
    }

    /// Copies pages that are on their way to the file, and so stay at their addresses, to the cache.
    private func copy(_ pages: [UInt64], to cache: PageCache) {
        for number in pages {
            if let page = find(number) { cache.keep(number, Bytes(start: page, count: pageSize)) }
        }
    }

    /// Notes that the file has these pages, or (without pages) that none is on its way there any more.
    private func end(_ written: [UInt64], _ newest: () -> UInt64) {
        monitor.locked {
            let pages = written.compactMap { take($0) }
            // Read after the pages can no longer be found here.
            let state = pages.isEmpty ? 0 : newest()
            for page in pages { leaving.append((page, state)) }
            leavingCount.store(leaving.count, ordering: .relaxed)
            inFlight.removeAll(keepingCapacity: true)
            monitor.broadcast()
        }
    }

    private func endWriting(isWhole: Bool) {
        monitor.locked {
            if !isWhole { firstState = min(firstState, firstListed) }
            firstListed = .max
            isWriting = false
            monitor.broadcast()
        }
    }

    /// Whether there may be states with pages here.
    var hasStates: Bool { !isWritten(state: .max - 1) }

    /// Whether all pages of a visible state are in the file. Any thread.
    func isWritten(state: UInt64) -> Bool { monitor.locked { state < min(firstState, firstListed) } }

    /// Whether buffers wait for readers to end. Read without the lock: a missed change only delays their next use.
    var isWaiting: Bool { leavingCount.load(ordering: .relaxed) > 0 }
    private let leavingCount = Atomic<Int>(0)

    /// Frees buffers, knowing that no reader has or will get a state before `state`. If nothing is kept then, memory
    /// goes back to the system; with `isIdle` all of it. In the writer's turn.
    func reclaim(before state: UInt64, isIdle: Bool = false) {
        monitor.locked {
            leaving.removeAll { page, until in
                guard until < state else { return false }
                giveBack(page)
                return true
            }
            leavingCount.store(leaving.count, ordering: .relaxed)
            let staying = isIdle ? 0 : Self.stayingBytes
            guard count == 0, leaving.isEmpty, spare.count == fresh, memoryBytes > staying, let memory else { return }
            spare.removeAll()
            fresh = 0
            madvise(memory + staying, capacity * pageSize - staying, MADV_DONTNEED)
            // Reads as zeros, as at the start: a look-up at this moment finds that the page isn't here.
            if isIdle { madvise(UnsafeMutableRawPointer(numbers), tableBytes, MADV_DONTNEED) }
        }
    }

    /// Bytes that stay, because the next commits need as many.
    private static var stayingBytes: Int { 1 << 20 }
}
