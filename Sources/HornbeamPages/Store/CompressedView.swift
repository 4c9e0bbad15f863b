// SPDX-License-Identifier: Apache-2.0
// Leaves of compressed trees in a view: raw, in the page cache. A leaf that didn't compress is read like any other
// page.

extension PageView {
    /// Returns the leaf that `pointer` names, raw. Its header states its size.
    func compressibleLeaf(
        _ pointer: UInt64, birth: UInt64, _ kind: PageKind, _ level: UInt8
    ) throws(StorageError) -> UnsafeRawPointer {
        if PagePointer.isUnplaced(pointer) { return try unplacedLeaf(pointer, birth: birth, kind) }
        let expected = Verification.Expectation(
            number: PagePointer.number(pointer), birth: birth, kind: kind, level: level,
            sectors: PagePointer.sectors(pointer), isCompressible: true)
        guard kind == .leaf, expected.sectors <= CompressedPage.maximumSectors else {
            throw .corrupt(
                Corruption(page: expected.number, reason: "a \(kind) can't have \(expected.sectors) sectors"))
        }
        if let mapping, store.verification.isVerified(expected) {
            let page = try store.verification.page(expected, in: mapping, newestBirth: newestBirth(of: expected))
            return try start(of: page, expected)
        }
        if let page = findHeld(expected) {
            try checkDecoded(page, expected)
            return UnsafeRawPointer(page.pointee.bytes)
        }
        if let frame = frames?.find(expected.number), birth >= frameBirth {
            return try ownLeaf(Bytes(frame.buffer), expected)
        }
        try store.verification.checkPlace(expected, newestBirth: newestBirth(of: expected))
        return try loadLeaf(expected)
    }

    /// A leaf of the open transaction that has no place yet.
    private func unplacedLeaf(
        _ pointer: UInt64, birth: UInt64, _ kind: PageKind
    ) throws(StorageError) -> UnsafeRawPointer {
        guard kind == .leaf, let leaf = unplaced?.find(pointer)?.baseAddress,
            PageHeader(reading: UnsafeRawPointer(leaf)).birth == birth
        else {
            throw .corrupt(
                Corruption(page: PagePointer.number(pointer), reason: "it is not a leaf of this transaction"))
        }
        return UnsafeRawPointer(leaf)
    }

    /// A leaf of the open transaction that has its place, but was not written there yet.
    private func ownLeaf(
        _ stored: Bytes, _ expected: Verification.Expectation
    ) throws(StorageError) -> UnsafeRawPointer {
        guard let bytes = stored.baseAddress, stored.count == expected.byteCount,
            PageHeader(reading: bytes).birth == expected.birth, PageHeader(reading: bytes).kind == PageKind.leaf.code
        else {
            throw .corrupt(Corruption(page: expected.number, reason: "the transaction's own page is of another kind"))
        }
        guard PageHeader(reading: bytes).flags != 0 else { return bytes }
        let verification = store.verification
        let size = CompressedPage.rawSize(of: stored) ?? 0
        let page = try PageCache.privatePage(size) { (buffer) throws(StorageError) in
            try verification.decode(stored, expected, into: buffer)
        }
        return UnsafeRawPointer(hold(page).pointee.bytes)
    }

    /// Checks a decoded page. Its header has the raw page's size, so only the rest is compared with the parent's
    /// statement.
    private func checkDecoded(_ page: CachedPage, _ expected: Verification.Expectation) throws(StorageError) {
        var raw = expected
        raw.sectors = UInt32(page.pointee.byteCount / FileFormat.sectorSize)
        try Verification.checkIdentity(page.pointee.buffer, raw)
    }

    private func loadLeaf(_ expected: Verification.Expectation) throws(StorageError) -> UnsafeRawPointer {
        if let loaded = try loadVerified(expected) { return UnsafeRawPointer(hold(loaded).pointee.bytes) }
        let verification = store.verification
        let cache = store.cache
        let loaded = try verification.withStored(expected) { (stored, isCompressed) throws(StorageError) in
            guard isCompressed else { return CachedPage?.none }
            let size = CompressedPage.rawSize(of: stored) ?? 0
            return try cache.load(expected.number, birth: expected.birth, size: size) {
                (buffer) throws(StorageError) in
                try verification.decode(stored, expected, into: buffer)
                verification.markLeaf(expected.number)
            }
        }
        if let loaded { return UnsafeRawPointer(hold(loaded).pointee.bytes) }
        return try start(of: fromFile(expected), expected)
    }

    /// A leaf that was verified before, decoded from the mapping.
    private func loadVerified(_ expected: Verification.Expectation) throws(StorageError) -> CachedPage? {
        guard let mapping, let stored = storedLeaf(expected), let size = CompressedPage.rawSize(of: stored) else {
            return nil
        }
        return try store.cache.load(expected.number, birth: expected.birth, size: size) {
            (buffer) throws(StorageError) in
            let problem = CompressedPage.decode(stored, into: buffer)
            // Zeros in place of unreadable bytes must not become a page of the cache.
            try mapping.checkIsWhole()
            if let problem { throw Verification.corrupt(expected, problem) }
        }
    }

    /// The stored form of a committed compressed leaf in the mapping, if it was verified and is the leaf that its
    /// parent refers to.
    private func storedLeaf(_ expected: Verification.Expectation) -> Bytes? {
        guard let mapping, expected.birth < frameBirth, store.verification.isVerifiedLeaf(expected.number),
            expected.sectors > 0, expected.sectors <= CompressedPage.maximumSectors,
            expected.number < capacity, UInt64(expected.sectors) <= capacity - expected.number
        else { return nil }
        let bytes = mapping.bytes(at: expected.byteOffset, count: expected.byteCount)
        guard let start = bytes.baseAddress, Self.isMeant(start, expected.birth, .leaf, 0, expected.sectors),
            CompressedPage.isCompressed(flags: PageHeader(reading: start).flags)
        else { return nil }
        return bytes
    }

    /// The stored form of the leaf that `pointer` names, under these conditions.
    func storedLeaf(_ pointer: UInt64, birth: UInt64) -> Bytes? {
        if PagePointer.isUnplaced(pointer) { return nil }
        return storedLeaf(
            Verification.Expectation(
                number: PagePointer.number(pointer), birth: birth, kind: .leaf, level: 0,
                sectors: PagePointer.sectors(pointer), isCompressible: true))
    }
}

// MARK: - By parts

extension PageView {
    /// The leaf that `pointer` names, raw, if it is committed and available as a whole without reading.
    package func knownLeaf(_ pointer: UInt64, birth: UInt64) -> UnsafeRawPointer? {
        birth < frameBirth ? knownPage(pointer, birth: birth, kind: .leaf, level: 0) : nil
    }

    /// A leaf that isn't available as a whole, to be decoded by parts. For reading one value. Returns nil for a leaf
    /// that should be read as a whole with `page`: a leaf that is not verified yet or not stored in blocks, and every
    /// eighth leaf. These go to the cache, so that frequently read leaves are there soon. If the cache is full, it is
    /// one in 32: a whole leaf costs as much as four values, and random reads of more leaves than fit took a quarter
    /// longer.
    package func partialLeaf(_ pointer: UInt64, birth: UInt64) throws(StorageError) -> PartialLeaf? {
        // As in `unverifiedPage`.
        try store.checkProcess()
        guard let stored = storedLeaf(pointer, birth: birth) else { return nil }
        if hold == nil { takeHold() }
        guard let hold else { return nil }
        hold.partialReads &+= 1
        let readsForOne = store.cache.isFull ? Self.readsForOneIfFull : Self.readsForOne
        guard hold.partialReads % readsForOne != 0 else { return nil }
        let leaf = hold.madePartial()
        guard leaf.open(stored, pointer: pointer, birth: birth) else { return nil }
        HoldFigures.increment(figures.pointee.misses)
        return leaf
    }

    private static var readsForOne: Int { 8 }
    private static var readsForOneIfFull: Int { 32 }

    /// Copies bytes to the view's own memory, where they live as long as other values.
    package func keepCopy(of value: Bytes) -> Bytes {
        guard let hold else { return value }
        hold.dropExpired(store.cache)
        return hold.copy(value)
    }
}
