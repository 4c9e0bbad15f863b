// SPDX-License-Identifier: Apache-2.0
// A view's hold on pages of the page cache. Mapped pages need no hold: then all of this costs one look at a number.
//
// Code that walks pages either lets them go when it is done (`letGo`, or to a mark in a recursion), or takes them over
// (`takeHeld`), or hands a value out and keeps it, with the pages of the way to it, for the life that was promised
// (`keep`).

import Synchronization

extension PageView {
    /// Whether the running operation holds pages of the cache: then what it hands out must be kept.
    @inlinable package var holdsPages: Bool {
        @inline(__always) get { heldCount != 0 }
    }

    /// The operation is done and hands out nothing.
    @inlinable @inline(__always)
    package func letGo() {
        if heldCount != 0 { letGo(to: 0) }
    }

    /// The operation is done with the pages it has looked at since `heldCount` was `mark`.
    @usableFromInline
    package func letGo(to mark: Int) {
        while heldCount > mark { letGoLast() }
    }

    private func letGoLast() {
        heldCount -= 1
        letGo(held[heldCount])
    }

    private func letGo(_ page: CachedPage) {
        figures.pointee.count(page, -1)
        unpin(page)
    }

    @inline(__always)
    private func unpin(_ page: CachedPage) {
        if let former = page.unpin() { store.cache.lastPinMayBeGone(page, former) }
    }

    /// Number of pages held. Serves as a mark, to let later ones go.
    @inlinable package var heldMark: Int {
        @inline(__always) get { heldCount }
    }

    /// Takes over the page accessed last, if it is a cached one. The caller must give it to `release`.
    package func takeHeld() -> PagePin? {
        guard heldCount > 0 else { return nil }
        heldCount -= 1
        return PagePin(page: held[heldCount])
    }

    /// Lets a page go that was taken over.
    package func release(_ pin: PagePin) {
        // The view may have ended before its cursor.
        if hold == nil { unpin(pin.page) } else { letGo(pin.page) }
    }

    /// Ends the operation and keeps `value`, which is in the page accessed last, as long as values live. The view also
    /// keeps the pages of its path, and finds them without the cache from then on. A page that can't be kept is
    /// released, and the value copied.
    package func keep(_ value: Bytes) -> Bytes {
        guard heldCount > 0 else { return value }
        hold?.dropExpired(store.cache)
        heldCount -= 1
        let result = keep(value, in: held[heldCount])
        keepHeld()
        return result
    }

    /// Ends an operation that hands out nothing, but may come by the same pages again.
    package func keepWay() {
        hold?.dropExpired(store.cache)
        keepHeld()
    }

    private func keepHeld() {
        while heldCount > 0 {
            if keepPage(held[heldCount - 1]) { heldCount -= 1 } else { letGoLast() }
        }
    }

    private func keep(_ value: Bytes, in page: CachedPage) -> Bytes {
        if keepPage(page) { return value }
        guard let start = value.baseAddress, page.pointee.contains(start), let hold else {
            letGo(page)
            return value
        }
        // For a value of a few bytes a whole page beside the budget would be too much.
        if page.pointee.isPrivate, value.count >= page.pointee.byteCount / 4 {
            hold.keep(page)
            return value
        }
        let copy = hold.copy(value)
        letGo(page)
        return copy
    }

    /// Keeps the page in the view if possible, and returns whether it did. Only pages of committed states: their places
    /// are not reused while the view is open, so that a number means the same page all the time.
    private func keepPage(_ page: CachedPage) -> Bool {
        let size = page.pointee.byteCount
        guard !page.pointee.isPrivate, page.pointee.birth.load(ordering: .relaxed) < frameBirth,
            kept.byteCount &+ size <= kept.grantedBytes || isGranted(size)
        else { return false }
        return kept.insert(page)
    }

    private func isGranted(_ size: Int) -> Bool {
        kept.grantedBytes += store.cache.grant(size, of: kept.grantedBytes)
        return kept.byteCount + size <= kept.grantedBytes
    }

    /// A committed page for which checking its identity is enough: one that the view keeps; a compressed tree's leaf
    /// that is stored raw, in the mapping; a cached one, which is held then. Returns nil for all others, and for one
    /// that isn't the requested page.
    @inline(__always)
    func knownPage(_ pointer: UInt64, birth: UInt64, kind: PageKind, level: UInt8) -> UnsafeRawPointer? {
        let number = PagePointer.number(pointer)
        let isCompressible = PagePointer.sectors(pointer) != 0
        let sectors = UInt32(truncatingIfNeeded: pageSize &>> Int(FileFormat.sectorShift))
        if let page = kept.find(number) {
            guard Self.isMeant(page, birth, kind, level, isCompressible ? nil : sectors) else { return nil }
            HoldFigures.increment(figures.pointee.hits)
            return page
        }
        if isCompressible, number < capacity,
            verified[Int(truncatingIfNeeded: number &>> 6)].load(ordering: .acquiring) & (1 &<< (number & 63)) != 0
        {
            let page = base + Int(truncatingIfNeeded: number &<< FileFormat.sectorShift)
            return Self.isMeant(page, birth, kind, level, PagePointer.sectors(pointer)) ? page : nil
        }
        guard isCompressible || mapping == nil, let page = cached.find(number) else { return nil }
        guard page.pin(number, birth: birth) else {
            unpin(page)
            return nil
        }
        let bytes = UnsafeRawPointer(page.pointee.bytes)
        guard Self.isMeant(bytes, birth, kind, level, isCompressible ? nil : sectors) else {
            unpin(page)
            return nil
        }
        if hold == nil { takeHold() }
        HoldFigures.increment(figures.pointee.hits)
        push(page)
        return bytes
    }

    /// Whether a verified page is the one that the parent refers to; with `sectors` nil it may have any size.
    @inline(__always)
    static func isMeant(
        _ page: UnsafeRawPointer, _ birth: UInt64, _ kind: PageKind, _ level: UInt8, _ sectors: UInt32?
    ) -> Bool {
        page.u64(PageLayout.birth) == birth && page.u8(PageLayout.kind) == kind.code
            && page.u8(PageLayout.level) == level
            && page.u32(PageLayout.sectors) == sectors ?? page.u32(PageLayout.sectors)
    }

    /// A change begins: pages that were not let go are let go. It may still turn out to change nothing.
    package func beginChange() {
        if hold != nil { letGo(to: 0) }
    }

    /// Something was changed: values that were kept before may go from now on.
    package func endChange() { hold?.expire(&kept) }

    /// The view ends.
    func endHold() {
        guard let hold else { return }
        letGo(to: 0)
        let cache = store.cache
        hold.partial?.close()
        hold.drop(&kept, cache)
        hold.dropAll(cache)
        hold.held = held
        hold.pages = kept
        held = HeldPages.none
        kept = KeptPages()
        figures = HoldFigures.none
        self.hold = nil
        cache.giveBack(hold)
    }

    func takeHold() {
        let hold = store.cache.takeHold(isWriter: frameBirth != .max)
        held = hold.held
        kept = hold.pages
        figures = hold.figures
        self.hold = hold
    }

    @inline(__always)
    private func push(_ page: CachedPage) {
        held.push(page, at: heldCount)
        heldCount &+= 1
        figures.pointee.count(page, 1)
    }

    /// The page, read by way of the cache and held.
    func held(_ expected: Verification.Expectation, newestBirth: UInt64) throws(StorageError) -> Bytes {
        if let page = findHeld(expected) {
            try Verification.checkIdentity(page.pointee.buffer, expected)
            return Bytes(page.pointee.buffer)
        }
        return Bytes(hold(try load(expected, newestBirth)).pointee.buffer)
    }

    /// The page, held, if it is in the cache. The caller must compare its identity with the parent's record.
    func findHeld(_ expected: Verification.Expectation) -> CachedPage? {
        guard let page = store.cache.find(expected.number, birth: expected.birth) else { return nil }
        if hold == nil { takeHold() }
        HoldFigures.increment(figures.pointee.hits)
        push(page)
        return page
    }

    /// Holds a page that was just loaded.
    func hold(_ page: CachedPage) -> CachedPage {
        if hold == nil { takeHold() }
        HoldFigures.increment(figures.pointee.misses)
        push(page)
        return page
    }

    private func load(
        _ expected: Verification.Expectation, _ newestBirth: UInt64
    ) throws(StorageError) -> CachedPage {
        let verification = store.verification
        try verification.checkPlace(expected, newestBirth: newestBirth)
        let fill = { (buffer: UnsafeMutableRawBufferPointer) throws(StorageError) in
            try verification.read(expected, into: buffer)
        }
        // A long value is read for one reader: it would drive out hundreds of pages that others want.
        if expected.kind == .longValue { return try PageCache.privatePage(expected.byteCount, fill: fill) }
        return try store.cache.load(expected.number, birth: expected.birth, size: expected.byteCount, fill: fill)
    }
}
