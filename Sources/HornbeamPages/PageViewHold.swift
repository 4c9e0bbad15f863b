// SPDX-License-Identifier: Apache-2.0
// What a view holds of the page cache. Mapped pages need no hold: then all of this costs one look at a number.
//
// Whoever walks pages either lets them go when it is done (`letGo`, or to a mark in a recursion), or takes them over
// (`takeHeld`), or hands a value out and keeps it for the life that was promised (`keep`).

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
        guard let hold, heldCount > mark else { return }
        hold.release(from: mark, to: heldCount)
        heldCount = mark
    }

    /// How many pages are held, to let later ones go.
    @inlinable package var heldMark: Int {
        @inline(__always) get { heldCount }
    }

    /// Takes over the page looked at last, if it is one of the cache. To be given to `release`.
    package func takeHeld() -> PagePin? {
        guard let hold, heldCount > 0 else { return nil }
        heldCount -= 1
        return PagePin(page: hold.held[heldCount])
    }

    /// Lets a page go that was taken over.
    package func release(_ pin: PagePin) {
        if let hold { hold.letGo(pin.page) } else { store.cache.unpin(pin.page) }
    }

    /// Ends the operation and keeps `value` for as long as values live: copies it, or keeps the page looked at last if
    /// that is private and the value's.
    package func keep(_ value: Bytes) -> Bytes {
        guard let hold, heldCount > 0 else { return value }
        let last = hold.held[heldCount - 1]
        let result: Bytes
        if last.pointee.isPrivate, let start = value.baseAddress, last.pointee.contains(start) {
            heldCount -= 1
            hold.keep(last)
            result = value
        } else {
            result = hold.copy(value)
        }
        letGo(to: 0)
        return result
    }

    /// A change begins: pages that were not let go are let go. It may still turn out to change nothing.
    package func beginChange() { letGo() }

    /// Something was changed: values that were kept before may go from now on.
    package func endChange() { hold?.expire() }

    /// The view ends.
    func endHold() {
        guard let hold else { return }
        hold.end(heldCount: heldCount)
        heldCount = 0
        self.hold = nil
    }

    /// The page, read by way of the cache and held.
    func held(_ expected: Verification.Expectation, newestBirth: UInt64) throws(StorageError) -> Bytes {
        if let page = findHeld(expected) {
            try Verification.checkIdentity(page.pointee.buffer, expected)
            return Bytes(page.pointee.buffer)
        }
        return Bytes(hold(try load(expected, newestBirth)).pointee.buffer)
    }

    private func usedHold() -> PageHold {
        let hold = self.hold ?? PageHold(cache: store.cache, isWriter: frameBirth != .max)
        self.hold = hold
        return hold
    }

    /// The page, held, if it is in the cache. What it is must be compared with what the parent says.
    func findHeld(_ expected: Verification.Expectation) -> CachedPage? {
        guard let page = store.cache.find(expected.number, birth: expected.birth) else { return nil }
        let hold = usedHold()
        PageHold.increment(hold.hits)
        hold.push(page, at: heldCount)
        heldCount += 1
        return page
    }

    /// Holds a page that was just loaded.
    func hold(_ page: CachedPage) -> CachedPage {
        let hold = usedHold()
        PageHold.increment(hold.misses)
        hold.push(page, at: heldCount)
        heldCount += 1
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
