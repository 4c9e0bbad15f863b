// SPDX-License-Identifier: Apache-2.0
// A transaction's view of the pages: a frozen state. Readers use the mapping, or the page cache if there is none. The
// writer's view also finds the frames of its own transaction. This file has the hottest code of the module. A view's
// hold on the cache is in PageViewHold.swift.

public import Synchronization

/// A snapshot. Belongs to one thread at a time. Pins its state until `PageStore.endRead` (or its deinitializer).
@usableFromInline
package final class PageView {
    /// Size of a node page in bytes.
    @usableFromInline package let pageSize: Int
    /// The newest transaction it sees. (Not a stored property: other modules' accesses to one would be checked.)
    package var transaction: UInt64 { newest }
    @exclusivity(unchecked) private var newest: UInt64
    /// The snapshot's root.
    package var root: RootRecord { newestRoot }
    @exclusivity(unchecked) private var newestRoot: RootRecord

    @usableFromInline let base: UnsafeRawPointer
    /// Number of sectors that have a verification bit; 0 without a mapping.
    @usableFromInline let capacity: UInt64
    /// The store's bits; during a count of pages bits of which none is set (see PageCounter.swift).
    @exclusivity(unchecked) @usableFromInline var verified: UnsafeMutablePointer<Atomic<UInt64>>
    @exclusivity(unchecked) var counter: PageCounter?
    /// Number of pages of the cache that the running operation holds.
    @exclusivity(unchecked) @usableFromInline var heldCount = 0
    /// Set at the first use of the cache. The next three properties belong to it then.
    @exclusivity(unchecked) var hold: PageHold?
    /// The stack of held pages.
    @exclusivity(unchecked) var held = HeldPages.none
    /// Cached pages that stay pinned, because values are in them.
    @exclusivity(unchecked) var kept = KeptPages()
    @exclusivity(unchecked) var figures = HoldFigures.none
    let cached: CacheSlots
    /// Pages from this birth on belong to the open transaction, in frames or spilled. A reader has none.
    @usableFromInline let frameBirth: UInt64

    /// Not 0 once trusted bytes could not be read.
    @usableFromInline let lost: UnsafeMutablePointer<Atomic<UInt32>>

    /// The store's unwritten pages. Unmanaged, because each look at an optional reference counts it, three times for
    /// each page.
    private let unwritten: Unmanaged<UnwrittenPages>?
    let frames: FrameTable?
    /// `frames` for `ownNode`, unmanaged for the same reason as `unwritten`.
    private let unmanagedFrames: Unmanaged<FrameTable>?
    let unplaced: UnplacedLeaves?
    /// Keeps the mapping and the bits alive.
    let store: PageStore
    /// The size of the file as it is known now, in bytes.
    package var fileSize: UInt64 { store.verification.sectorCount << FileFormat.sectorShift }
    /// Number of bytes that each page of the store leaves empty.
    package var reserve: Int { store.reserve }
    let mapping: Mapping?
    /// The state that it sees, or has seen last, retained. Nil in the writer's view. (Unmanaged, because each look at a
    /// variable counts references: twelve times in a read transaction with one get.)
    @exclusivity(unchecked) private var state: Unmanaged<PublishedState>?
    /// The stripe that counts it as a reader of the state, whichever thread ends it. Nil if it doesn't pin the state.
    @exclusivity(unchecked) private var pin: StripedCount.Stripe?

    /// A reader's view of a state whose reader count already includes it.
    init(store: PageStore, pinned: PinnedState) {
        let state = pinned.state
        self.store = store
        pageSize = store.pageSize
        newest = state.transaction
        newestRoot = state.root
        let pages = Self.mapped(store)
        cached = store.cache.lookup
        base = pages.base
        capacity = pages.capacity
        verified = pages.verified
        mapping = store.verification.mapping
        lost = mapping?.lost ?? Self.neverLost
        frameBirth = .max
        unwritten = store.verification.unwritten.map { .passUnretained($0) }
        frames = nil
        unmanagedFrames = nil
        unplaced = nil
        self.state = .passRetained(state)
        pin = pinned.stripe
    }

    /// The writer's view. It needs no pin, because only its own commit could free pages that it sees.
    init(
        store: PageStore, state: PublishedState, number: UInt64, frames: FrameTable, unplaced: UnplacedLeaves
    ) {
        self.store = store
        pageSize = store.pageSize
        newest = state.transaction
        newestRoot = state.root
        let pages = Self.mapped(store)
        cached = store.cache.lookup
        base = pages.base
        capacity = pages.capacity
        verified = pages.verified
        mapping = store.verification.mapping
        lost = mapping?.lost ?? Self.neverLost
        frameBirth = number
        unwritten = store.verification.unwritten.map { .passUnretained($0) }
        self.frames = frames
        unmanagedFrames = .passUnretained(frames)
        self.unplaced = unplaced
        self.state = nil
        pin = nil
    }

    deinit {
        unpin()
        state?.release()
    }

    /// Makes this the view of another state, whose reader count already includes it. Its own state must be unpinned.
    func renew(_ pinned: PinnedState) {
        newest = pinned.state.transaction
        newestRoot = pinned.state.root
        state?.release()
        state = .passRetained(pinned.state)
        pin = pinned.stripe
    }

    /// Pins the state that it has seen last again, if that is still the newest. Returns whether it is.
    @inline(__always)
    func renew() -> Bool {
        guard let state else { return false }
        pin = state._withUnsafeGuaranteedRef { store.pin(again: $0) }
        return pin != nil
    }

    /// Throws if trusted bytes could not be read (a file that was cut short, a fault of the medium): they may have been
    /// read as zeros. Called after bytes were read and before they are used. (`page` does so too, because its bits are
    /// lost then.)
    @inlinable @inline(__always)
    package func checkIsWhole() throws(StorageError) {
        if lost.pointee.load(ordering: .relaxed) != 0 { try refuse() }
    }

    @usableFromInline
    package func refuse() throws(StorageError) { try mapping?.checkIsWhole() }

    /// Returns the fields that the hot path uses. Without a mapping its test fails before it reads a page.
    private static func mapped(
        _ store: PageStore
    ) -> (base: UnsafeRawPointer, capacity: UInt64, verified: UnsafeMutablePointer<Atomic<UInt64>>) {
        guard let mapping = store.verification.mapping, let words = store.verification.words else {
            return (UnsafeRawPointer(nothing), 0, nothing)
        }
        return (UnsafeRawPointer(mapping.base), store.verification.directCapacity, words)
    }

    private static nonisolated(unsafe) let nothing: UnsafeMutablePointer<Atomic<UInt64>> = {
        let word = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: 1)
        word.initialize(to: Atomic(0))
        return word
    }()

    private static nonisolated(unsafe) let neverLost: UnsafeMutablePointer<Atomic<UInt32>> = {
        let flag = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 1)
        flag.initialize(to: Atomic(0))
        return flag
    }()

    /// Releases the state and all pages. Has no effect the second time.
    func unpin() {
        // In a forked child the pin is the parent's, and another of its threads may have held the cache's lock.
        guard store.isHere else {
            pin = nil
            return
        }
        if hold != nil { endHold() }
        guard let pin, let state else { return }
        self.pin = nil
        state._withUnsafeGuaranteedRef { store.unpin($0, pin) }
    }

    /// Returns the node page's bytes after verification: `pageSize` bytes from the header on. They are valid as long as
    /// the view is not ended; a frame of the writer, until its commit or abort. Throws `.corrupt` if the page is not as
    /// its parent states.
    @inlinable @inline(__always)
    package func page(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> UnsafeRawPointer {
        if birth < frameBirth, number < capacity {
            let word = verified[Int(truncatingIfNeeded: number &>> 6)].load(ordering: .acquiring)
            let page = base + Int(truncatingIfNeeded: number &<< FileFormat.sectorShift)
            let identity = UInt16(kind.code) | UInt16(level) &<< 8
            if word & (1 &<< (number & 63)) != 0,
                UInt64(littleEndian: page.load(fromByteOffset: 8, as: UInt64.self)) == birth,
                UInt16(littleEndian: page.load(fromByteOffset: 16, as: UInt16.self)) == identity
            {
                return page
            }
        }
        return try unverifiedPage(number, birth: birth, kind: kind, level: level)
    }

    /// Finds a node page in other ways: as a frame, as an unwritten page, in the cache, or by its first touch.
    @usableFromInline
    package func unverifiedPage(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> UnsafeRawPointer {
        if let counter { counter.note(number) }
        if birth >= frameBirth, let page = ownNode(number, birth, kind, level) { return page }
        if birth < frameBirth, let page = unwrittenPage(number, birth, kind, level) { return page }
        if birth < frameBirth, let page = knownPage(number, birth: birth, kind: kind, level: level) { return page }
        // A forked child may find the locks below taken by a thread that it doesn't have.
        try store.checkProcess()
        if PagePointer.sectors(number) != 0 { return try compressibleLeaf(number, birth: birth, kind, level) }
        let sectors = UInt32(pageSize / FileFormat.sectorSize)
        let expected = Verification.Expectation(
            number: number, birth: birth, kind: kind, level: level, sectors: sectors)
        return UnsafeRawPointer(try start(of: bytes(expected), expected))
    }

    /// A node page of the open transaction, if it is in a frame.
    @inline(__always)
    private func ownNode(
        _ number: UInt64, _ birth: UInt64, _ kind: PageKind, _ level: UInt8
    ) -> UnsafeRawPointer? {
        unmanagedFrames?._withUnsafeGuaranteedRef { (frames) -> UnsafeRawPointer? in
            guard let frame = frames.find(number), frame.run.byteCount == pageSize else { return nil }
            let page = UnsafeRawPointer(frame.bytes)
            guard page.u64(PageLayout.birth) == birth, page.u8(PageLayout.kind) == kind.code,
                page.u8(PageLayout.level) == level
            else { return nil }
            return page
        }
    }

    /// A committed page that is not in the file yet.
    @inline(__always)
    private func unwrittenPage(
        _ number: UInt64, _ birth: UInt64, _ kind: PageKind, _ level: UInt8
    ) -> UnsafeRawPointer? {
        unwritten?._withUnsafeGuaranteedRef { (unwritten) -> UnsafeRawPointer? in
            guard unwritten.count > 0, let page = unwritten.find(number, birth: birth) else { return nil }
            return page.u8(PageLayout.kind) == kind.code && page.u8(PageLayout.level) == level ? page : nil
        }
    }

    /// Whether pages are read in a mapping of the file.
    package var isMapped: Bool { mapping != nil }

    /// Whether bytes of a page are in the mapping.
    package func isMapped(_ bytes: UnsafeRawPointer) -> Bool {
        bytes >= base && bytes < base + Int(truncatingIfNeeded: capacity &<< FileFormat.sectorShift)
    }

    /// The bytes of a raw node page if it is in the mapping, unverified: for prefetching, not for reading.
    package func mappedPage(_ number: UInt64) -> Bytes? {
        guard number < capacity else { return nil }
        return Bytes(start: base + Int(truncatingIfNeeded: number &<< FileFormat.sectorShift), count: pageSize)
    }

    /// Prefetches the parts of a node that a search reads: the header and the arrays after it, and the common prefix at
    /// the page's end. That is one wait instead of four, each of which would depend on the one before. Any number is
    /// harmless.
    @inlinable @inline(__always)
    package func prefetchNode(_ number: UInt64) {
        guard number < capacity else { return }
        let page = base + Int(truncatingIfNeeded: number &<< FileFormat.sectorShift)
        (page + (pageSize &- 64)).prefetch()
        for line in 0..<6 { (page + line &* 64).prefetch() }
    }

    /// Returns all bytes of a long value's page, header included.
    package func longPage(
        _ number: UInt64, birth: UInt64, sectors: UInt32
    ) throws(StorageError) -> UnsafeRawBufferPointer {
        try bytes(
            Verification.Expectation(number: number, birth: birth, kind: .longValue, level: 0, sectors: sectors))
    }

    /// The open transaction's own page, if it is in a frame.
    func ownPage(_ expected: Verification.Expectation) -> Bytes? {
        guard expected.birth >= frameBirth, let frame = frames?.find(expected.number),
            frame.run.count == expected.sectors, PageHeader(reading: frame.bytes).kind == expected.kind.code,
            frame.birth == expected.birth
        else { return nil }
        return Bytes(frame.buffer)
    }

    private func bytes(_ expected: Verification.Expectation) throws(StorageError) -> Bytes {
        if let counter { counter.note(expected.number) }
        guard expected.birth >= frameBirth, let frames else {
            return try fromFile(expected)
        }
        if let frame = frames.find(expected.number) {
            let header = PageHeader(reading: UnsafeRawPointer(frame.bytes))
            guard frame.run.count == expected.sectors, header.kind == expected.kind.code,
                header.level == expected.level, header.birth == expected.birth
            else {
                throw .corrupt(
                    Corruption(page: expected.number, reason: "the transaction's own page is of another kind"))
            }
            return Bytes(frame.buffer)
        }
        return try fromFile(expected)
    }

    /// A page that is in no frame.
    func fromFile(_ expected: Verification.Expectation) throws(StorageError) -> Bytes {
        let newest = newestBirth(of: expected)
        guard let mapping else { return try held(expected, newestBirth: newest) }
        return try store.verification.page(expected, in: mapping, newestBirth: newest)
    }

    /// The newest birth that the page may have at its place. A page of the transaction may be there if it was spilled.
    func newestBirth(of expected: Verification.Expectation) -> UInt64 {
        guard expected.birth >= frameBirth, let frames,
            frames.isSpilled(SectorRun(start: expected.number, count: expected.sectors))
        else { return transaction }
        return expected.birth
    }

    func start(
        of bytes: Bytes, _ expected: Verification.Expectation
    ) throws(StorageError) -> UnsafeRawPointer {
        guard let start = bytes.baseAddress else {
            throw .corrupt(Corruption(page: expected.number, reason: "it has no bytes"))
        }
        return start
    }
}
