// SPDX-License-Identifier: Apache-2.0
// What a transaction sees of the pages: a frozen state. Readers use the mapping, or the page cache where there is none;
// the writer's view also finds the frames of its own transaction. This file holds the hottest code of the module.
// What a view holds of the cache is in PageViewHold.swift.

import CHornbeamShims
public import Synchronization

/// A snapshot. Belongs to one thread at a time; pins its state until `PageStore.endRead` (or its deinitializer).
@usableFromInline
package final class PageView {
    /// Bytes of a node page.
    package let pageSize: Int
    /// The newest transaction it sees.
    package let transaction: UInt64
    /// The snapshot's root.
    package let root: RootRecord

    @usableFromInline let base: UnsafeRawPointer
    /// Sectors that have a verification bit; 0 without a mapping.
    @usableFromInline let capacity: UInt64
    @usableFromInline let verified: UnsafeMutablePointer<Atomic<UInt64>>
    /// Pages of the cache that the running operation holds.
    @exclusivity(unchecked) @usableFromInline var heldCount = 0
    /// Made when the cache is first used.
    var hold: PageHold?
    /// Births of pages that lie in frames: the open transaction's; no page's in a reader.
    @usableFromInline let frameBirth: UInt64

    let frames: FrameTable?
    let unplaced: UnplacedLeaves?
    /// Keeps the mapping and the bits alive.
    let store: PageStore
    let mapping: Mapping?
    /// The pinned state; nil once it is unpinned, and in the writer's view.
    private var pinned: PublishedState?

    /// A reader's view of a state whose reader count already includes it.
    init(store: PageStore, pinned state: PublishedState) {
        self.store = store
        pageSize = store.pageSize
        transaction = state.transaction
        root = state.root
        let pages = Self.mapped(store)
        base = pages.base
        capacity = pages.capacity
        verified = pages.verified
        mapping = store.verification.mapping
        frameBirth = .max
        frames = nil
        unplaced = nil
        pinned = state
    }

    /// The writer's view. It needs no pin: only its own commit could free what it sees.
    init(
        store: PageStore, state: PublishedState, number: UInt64, frames: FrameTable, unplaced: UnplacedLeaves
    ) {
        self.store = store
        pageSize = store.pageSize
        transaction = state.transaction
        root = state.root
        let pages = Self.mapped(store)
        base = pages.base
        capacity = pages.capacity
        verified = pages.verified
        mapping = store.verification.mapping
        frameBirth = number
        self.frames = frames
        self.unplaced = unplaced
        pinned = nil
    }

    deinit { unpin() }

    /// What the hot path goes by. Without a mapping its test fails before it looks at anything.
    private static func mapped(
        _ store: PageStore
    ) -> (base: UnsafeRawPointer, capacity: UInt64, verified: UnsafeMutablePointer<Atomic<UInt64>>) {
        guard let mapping = store.verification.mapping, let words = store.verification.words else {
            return (UnsafeRawPointer(nothing), 0, nothing)
        }
        return (UnsafeRawPointer(mapping.base), store.verification.capacity, words)
    }

    private static nonisolated(unsafe) let nothing: UnsafeMutablePointer<Atomic<UInt64>> = {
        let word = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: 1)
        word.initialize(to: Atomic(0))
        return word
    }()

    /// Lets go of the state and of all pages. Without effect the second time.
    func unpin() {
        endHold()
        // Releasing: what was read through this view happened before the writer sees the count and reuses pages.
        pinned?.readers.subtract(1, ordering: .releasing)
        pinned = nil
    }

    /// The node page's bytes after verification, header first, `pageSize` bytes. They live as long as the view is not
    /// ended; a frame of the writer, until its commit or abort. Throws `.corrupt` for a page that is not what the
    /// parent says.
    @inlinable @inline(__always)
    package func page(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> UnsafeRawPointer {
        if birth != frameBirth, number < capacity {
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

    /// The other ways to a node page: a frame, the first touch, a refusal.
    @usableFromInline
    package func unverifiedPage(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) -> UnsafeRawPointer {
        if PagePointer.sectors(number) != 0 { return try compressibleLeaf(number, birth: birth, kind, level) }
        let sectors = UInt32(pageSize / FileFormat.sectorSize)
        let expected = Verification.Expectation(
            number: number, birth: birth, kind: kind, level: level, sectors: sectors)
        return UnsafeRawPointer(try start(of: bytes(expected), expected))
    }

    /// Whether pages are read where the file is mapped.
    package var isMapped: Bool { mapping != nil }

    /// Asks the processor for the first `lines` cache lines of a page that will soon be looked at. Any number is
    /// harmless.
    package func prefetch(_ number: UInt64, lines: Int) {
        guard number < capacity else { return }
        let page = base + Int(truncatingIfNeeded: number &<< FileFormat.sectorShift)
        for line in 0..<lines { hbs_prefetch(page + line &* 64) }
    }

    /// A long value's page: its whole bytes, header included.
    package func longPage(
        _ number: UInt64, birth: UInt64, sectors: UInt32
    ) throws(StorageError) -> UnsafeRawBufferPointer {
        try bytes(
            Verification.Expectation(number: number, birth: birth, kind: .longValue, level: 0, sectors: sectors))
    }

    private func bytes(_ expected: Verification.Expectation) throws(StorageError) -> Bytes {
        if expected.birth == frameBirth, let frame = frames?.find(expected.number) {
            let header = PageHeader(reading: UnsafeRawPointer(frame.bytes))
            guard frame.run.count == expected.sectors, header.kind == expected.kind.code,
                header.level == expected.level
            else {
                throw .corrupt(
                    Corruption(page: expected.number, reason: "the transaction's own page is of another kind"))
            }
            return Bytes(frame.buffer)
        }
        guard let mapping else { return try held(expected) }
        return try store.verification.page(expected, in: mapping, newestBirth: transaction)
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
