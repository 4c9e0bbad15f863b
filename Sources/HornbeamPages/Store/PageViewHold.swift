// SPDX-License-Identifier: Apache-2.0
// A view's hold on pages of the page cache. Mapped pages need no hold: then all of this costs one look at a number.
//
// Code that walks pages has three ways to end with them: it lets them go (`letGo`, in a recursion to a mark), takes
// them over (`takeHeld`), or returns a value and keeps it, with the pages of its path, as long as values live (`keep`).

import Synchronization

extension PageView {
    /// Whether the running operation holds pages of the cache. If so, a value that it returns must be kept.
    @inlinable package var holdsPages: Bool {
        @inline(__always) get { heldCount != 0 }
    }

    /// Ends an operation that returns no value.
    @inlinable @inline(__always)
    package func letGo() {
        if heldCount != 0 { letGo(to: 0) }
    }

    /// Releases the pages that were looked at since `heldCount` was `mark`.
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

    /// Number of pages held. Serves as a mark up to which later ones are released.
    @inlinable package var heldMark: Int {
        @inline(__always) get { heldCount }
    }

    /// Takes over the page accessed last, if it is a cached one. The caller must pass it to `release`.
    package func takeHeld() -> PagePin? {
        guard heldCount > 0 else { return nil }
        heldCount -= 1
        return PagePin(page: held[heldCount])
    }

    /// Releases a page that was taken over.
    package func release(_ pin: PagePin) {
        // The view may have ended before its cursor.
        if hold == nil { unpin(pin.page) } else { letGo(pin.page) }
    }

    /// Ends the operation and keeps `value`, which is in the page accessed last, as long as values live. The view also
    /// keeps the pages of its path, and finds them without the cache from then on. If a page can't be kept, it is
    /// released and the value copied.
    package func keep(_ value: Bytes) -> Bytes {
        guard heldCount > 0 else { return value }
        hold?.dropExpired(store.cache)
        heldCount -= 1
        let result = keep(value, in: held[heldCount])
        keepHeld()
        return result
    }

    /// Ends an operation that returns no value, but may use its pages again: keeps them.
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
        // A whole page outside of the budget would be too much for a value of a few bytes.
        if page.pointee.isPrivate, value.count >= page.pointee.byteCount / 4 {
            hold.keep(page)
            return value
        }
        let copy = hold.copy(value)
        letGo(page)
        return copy
    }

    /// Keeps the page in the view if possible, and returns whether it did. Keeps only pages of committed states: their
    /// places are not reused while the view is open, so a number always means the same page.
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

    /// Returns a committed page for which checking its identity is enough: a page that the view keeps, a leaf of a
    /// compressed tree that is stored raw and mapped, or a cached page, which is held then. Returns nil for all other
    /// pages, and if it isn't the requested page.
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

    /// Whether a verified page is the one that the parent refers to. If `sectors` is nil, it may have any size.
    @inline(__always)
    static func isMeant(
        _ page: UnsafeRawPointer, _ birth: UInt64, _ kind: PageKind, _ level: UInt8, _ sectors: UInt32?
    ) -> Bool {
        page.u64(PageLayout.birth) == birth && page.u8(PageLayout.kind) == kind.code
            && page.u8(PageLayout.level) == level
            && page.u32(PageLayout.sectors) == sectors ?? page.u32(PageLayout.sectors)
    }

    /// Begins a change, which may still turn out to change nothing. Releases held pages.
    package func beginChange() {
        if hold != nil { letGo(to: 0) }
    }

    /// Notes that something was changed: values that were kept before may go from now on.
    package func endChange() { hold?.expire(&kept) }

    /// Ends the hold at the end of the view.
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

    /// Returns the page, held: from the cache, or read into it.
    func held(_ expected: Verification.Expectation, newestBirth: UInt64) throws(StorageError) -> Bytes {
        if let page = findHeld(expected) {
            try Verification.checkIdentity(page.pointee.buffer, expected)
            return Bytes(page.pointee.buffer)
        }
        return Bytes(hold(try load(expected, newestBirth)).pointee.buffer)
    }

    /// Returns the page, held, if it is in the cache. The caller must compare its identity with the parent's reference.
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
        // A long value is read for one reader only: it would drive out hundreds of pages that others want.
        if expected.kind == .longValue { return try PageCache.privatePage(expected.byteCount, fill: fill) }
        return try store.cache.load(expected.number, birth: expected.birth, size: expected.byteCount, fill: fill)
    }
}
