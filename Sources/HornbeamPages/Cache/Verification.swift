// SPDX-License-Identifier: Apache-2.0
// "Verified in this process": one bit a page, by its first sector. The first touch of a page checks all of it and sets
// the bit. After that the hot path trusts the page's inside, but never its identity: birth, kind and level are compared
// with the parent's statement each time (a hostile parent may name a verified page of another kind).
//
// A store that isn't mapped has no bits: pages in the page cache were verified when they were read.
//
// Stale reads are harmless: a reader that misses a bit just set verifies once more. The writer clears a bit only for
// sectors that no snapshot reaches. A reader beside a writer in another process is not told when sectors become free,
// so it uses no bits, but remembers the birth of each page that it verified.

import Glibc
import Synchronization

/// Verifies pages, in the mapping or as they are read. Any thread may use it.
final class Verification: Sendable {
    let file: any StoreFile
    /// Nil if pages are read into memory.
    let mapping: Mapping?
    let cache: PageCache
    /// The keys of an encrypted store, as it was opened, and its cipher.
    let keys: StoreKeys?
    let cipher: (any PageCipher)?
    /// Number of bytes that each page leaves empty for the cipher.
    var reserve: Int { PageSeal.reserve(cipher) }
    private let bitmap: Mapping?
    /// Whether any compressed leaf was ever marked.
    private let hasLeaves = Atomic(false)
    private let births: RememberedBirths?
    private let structure: StructureCheck
    /// Pages that are not in the file yet. Nil in a store that writes every page at once: a store without a mapping,
    /// unless it is encrypted, because encrypted pages would be read and decrypted again right after the commit.
    let unwritten: UnwrittenPages?
    /// Whether the store is memory of this process, mapped like a file. A raw node was never anywhere else, so it has
    /// no checksum. (Compressed pages, and long values, which are read by parts, always have checksums.)
    let isMemory: Bool
    /// Sectors in which no page of a tree can be.
    let foreign = ForeignSectors()
    private let turns = Turns()
    /// Sectors of the file, for range checks. Gets smaller only where no snapshot has pages.
    private let fileSectors = Atomic<UInt64>(0)

    /// `remembersBirths`: another process may write the file.
    init(
        file: any StoreFile, mapping: Mapping?, cache: PageCache, keys: StoreKeys? = nil,
        remembersBirths: Bool = false, structure: @escaping StructureCheck
    ) throws(StorageError) {
        self.file = file
        self.mapping = mapping
        self.cache = cache
        self.keys = keys
        cipher = keys?.cipher
        self.structure = structure
        isMemory = mapping != nil && !file.isDurable
        unwritten =
            file.isDurable && !remembersBirths && (mapping != nil || cipher != nil)
            ? UnwrittenPages(pageSize: cache.pageSize, memoryBytes: UnwrittenPages.share(of: cache.budget)) : nil
        guard let mapping else {
            bitmap = nil
            births = nil
            return
        }
        let bytes = 2 * (mapping.capacity / FileFormat.sectorSize / 8)
        let bitmap = try Mapping(descriptor: -1, wanted: bytes, minimum: bytes, path: file.path)
        births = remembersBirths ? try RememberedBirths(mapping: mapping, path: file.path) : nil
        mapping.setVerifiedBits(births?.memory ?? bitmap)
        self.bitmap = bitmap
    }

    deinit { mapping?.setVerifiedBits(nil) }

    /// Bits by sector number, in zeroed memory; `Atomic<UInt64>` has the layout of its value. Nil without a mapping.
    var words: UnsafeMutablePointer<Atomic<UInt64>>? { bitmap?.base.assumingMemoryBound(to: Atomic<UInt64>.self) }
    /// Number of sectors that have a bit.
    var capacity: UInt64 { UInt64((mapping?.capacity ?? 0) / FileFormat.sectorSize) }
    /// Number of sectors for which the bit alone decides.
    var directCapacity: UInt64 { births == nil ? capacity : 0 }

    var sectorCount: UInt64 { fileSectors.load(ordering: .acquiring) }

    func noteFileSize(sectors: UInt64) { fileSectors.store(sectors, ordering: .releasing) }

    /// Has the system provide the bits of the file's first half gigabyte at once. That costs less than a fault for each
    /// of their pages, some of which almost every reader touches.
    func provideBits() {
        guard births == nil, let bitmap else { return }
        bitmap.provide(Int(Swift.min(sectorCount / 8, 4 << FileFormat.sectorShift)))
    }

    private func isVerified(_ number: UInt64) -> Bool {
        guard let words, number < capacity else { return false }
        return words[Int(number >> 6)].load(ordering: .acquiring) >> (number & 63) & 1 == 1
    }

    func isVerified(_ expected: Expectation) -> Bool {
        births?.holds(expected.birth, of: expected.number) ?? isVerified(expected.number)
    }

    private func mark(_ expected: Expectation) {
        guard let births else { return mark(expected.number) }
        // The birth of a space page is a checkpoint's number, which could be mistaken for a transaction's.
        if expected.kind != .spaceMap, expected.kind != .spaceDirectory {
            births.remember(expected.birth, of: expected.number)
        }
    }

    /// Forgets which pages are verified, and all cached pages. For another life of the file, which may have given other
    /// pages the same numbers and births.
    func forgetBirths() {
        births?.forgetAll()
        var start: UInt64 = 0
        let end = fileSectors.load(ordering: .acquiring)
        while start < end {
            let count = Swift.min(end - start, 1 << 24)
            cache.remove(SectorRun(start: start, count: UInt32(count)))
            start += count
        }
    }

    /// Whether the compressed leaf that is stored there was verified with its content, so that it may be decoded by
    /// parts.
    func isVerifiedLeaf(_ number: UInt64) -> Bool {
        guard births == nil, let words, number < capacity else { return false }
        return words[leafWord(of: number)].load(ordering: .acquiring) >> (number & 63) & 1 == 1
    }

    func markLeaf(_ number: UInt64) {
        guard births == nil, let words, number < capacity else { return }
        hasLeaves.store(true, ordering: .relaxed)
        words[leafWord(of: number)].bitwiseOr(1 << (number & 63), ordering: .releasing)
    }

    /// The first word of the bits of compressed leaves, which follow the others: a compressed leaf must not pass for a
    /// raw page.
    private func leafWord(of number: UInt64) -> Int { Int(capacity >> 6) + Int(number >> 6) }

    /// Marks a page that this process made and has just written.
    func mark(_ number: UInt64) {
        words?[Int(number >> 6)].bitwiseOr(1 << (number & 63), ordering: .releasing)
    }

    /// Forgets pages in sectors that become free, so that a later page there is verified anew.
    func clear(_ run: SectorRun) { clear(CollectionOfOne(run)) }

    func clear(_ runs: some Collection<SectorRun>) {
        // Before the cache, because pages on their way to the file go there.
        unwritten?.remove(runs)
        for run in runs {
            unmark(run)
            cache.remove(run)
        }
    }

    /// Marks pages in these sectors as not verified.
    func unmark(_ run: SectorRun) {
        guard let words else { return }
        Self.clear(run, in: words)
        if hasLeaves.load(ordering: .relaxed) { Self.clear(run, in: words + leafWord(of: 0)) }
    }

    private static func clear(_ run: SectorRun, in words: UnsafeMutablePointer<Atomic<UInt64>>) {
        var sector = run.start
        while sector < run.end {
            let low = sector & 63
            let count = min(64 - low, run.end - sector)
            let mask = SpaceMap.mask(low: Int(low), count: Int(count))
            let word = words + Int(sector >> 6)
            if word.pointee.load(ordering: .relaxed) & mask != 0 {
                word.pointee.bitwiseAnd(~mask, ordering: .relaxed)
            }
            sector += count
        }
    }

    /// The properties of a page as its parent states them.
    struct Expectation {
        var number: UInt64
        var birth: UInt64
        var kind: PageKind
        var level: UInt8
        var sectors: UInt32
        /// The leaf of a compressed tree. Its parent states its size, its own flag says whether it is compressed.
        var isCompressible = false

        var byteOffset: UInt64 { number << FileFormat.sectorShift }
        var byteCount: Int { Int(sectors) * FileFormat.sectorSize }
    }

    /// Checks the page's identity and, on the first touch, everything. Returns the page's bytes in `mapping`.
    func page(_ expected: Expectation, in mapping: Mapping, newestBirth: UInt64) throws(StorageError) -> Bytes {
        try mapping.checkIsWhole()
        try checkIsInFile(expected)
        let page = mapping.bytes(at: expected.byteOffset, count: expected.byteCount)
        guard let start = page.baseAddress else { throw Self.corrupt(expected, "it is empty") }
        if !isVerified(expected) {
            try checkBirth(expected, newestBirth)
            try checkIsTrees(expected)
            try verify(page, start, expected, in: mapping)
        }
        do throws(StorageError) {
            try Self.checkIdentity(PageHeader(reading: start), expected)
        } catch {
            // The mapping may have been lost at this very look.
            try mapping.checkIsWhole()
            throw error
        }
        return page
    }

    /// Locks for verifying a page in the mapping, chosen by its number. In one piece of memory, because every store
    /// makes them when it is opened.
    private final class Turns: Sendable {
        private nonisolated(unsafe) let locks: UnsafeMutablePointer<Mutex<Void>>
        private static var bits: UInt64 { 6 }
        private static var count: Int { 1 << bits }

        init() {
            locks = .allocate(capacity: Self.count)
            for lock in 0..<Self.count { (locks + lock).initialize(to: Mutex(())) }
        }

        deinit {
            locks.deinitialize(count: Self.count)
            locks.deallocate()
        }

        func withTurn(
            for number: UInt64, _ body: () throws(StorageError) -> Void
        ) throws(StorageError) {
            let lock = Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> (64 - Self.bits))
            try locks[lock].withLock { (_) throws(StorageError) in try body() }
        }
    }

    /// Checks everything, unless another thread does so first, and notes that. One thread at a time may watch the page,
    /// because zeros in place of an unreadable sector would be reported to one watcher alone.
    private func verify(
        _ page: Bytes, _ start: UnsafeRawPointer, _ expected: Expectation, in mapping: Mapping
    ) throws(StorageError) {
        try turns.withTurn(for: expected.number) { () throws(StorageError) in
            if isVerified(expected) { return }
            file.fetch(at: expected.byteOffset, count: expected.byteCount)
            mapping.watch(page)
            do throws(StorageError) {
                try checkContent(page, start, expected)
            } catch {
                // If the page can't be read, that error comes before the result of checking its zeros.
                try mapping.endWatch(page)
                throw error
            }
            try mapping.endWatch(page)
            mark(expected)
        }
    }

    /// Checks that the page can be there at all. Called before memory is taken for it.
    func checkPlace(_ expected: Expectation, newestBirth: UInt64) throws(StorageError) {
        try checkIsInFile(expected)
        try checkBirth(expected, newestBirth)
        try checkIsTrees(expected)
    }

    /// Reads the page into `buffer`, which has its size, and checks the rest.
    func read(_ expected: Expectation, into buffer: UnsafeMutableRawBufferPointer) throws(StorageError) {
        if !copyUnwritten(expected, into: buffer) {
            try file.read(into: buffer, at: expected.byteOffset)
            try open(buffer, expected)
        }
        if let start = buffer.baseAddress { try checkContent(Bytes(buffer), UnsafeRawPointer(start), expected) }
    }

    /// Checks checksum, identity and structure of a page, whether or not it was verified before. The bytes are valid
    /// until `body` returns. They are read with a system call: other threads may trust the page where it is mapped, and
    /// an unreadable sector must be an error of this page alone.
    func withWhole<Result>(
        _ expected: Expectation, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try checkIsInFile(expected)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: expected.byteCount, alignment: FileFormat.sectorSize)
        defer { buffer.deallocate() }
        try readStored(expected, into: buffer)
        guard let start = buffer.baseAddress else { throw Self.corrupt(expected, "it is empty") }
        try checkContent(Bytes(buffer), UnsafeRawPointer(start), expected)
        return try body(Bytes(buffer))
    }

    /// The fault in the structure of a node page that the writer is about to publish, or nil.
    func structureProblem(_ page: Bytes, _ kind: PageKind) -> String? { structure(page, kind) }

    func checkIsInFile(_ expected: Expectation) throws(StorageError) {
        let end = fileSectors.load(ordering: .acquiring)
        guard expected.sectors > 0, expected.sectors <= FileFormat.maximumPageSectors,
            expected.number >= FileFormat.reservedSectors, expected.number < end,
            UInt64(expected.sectors) <= end - expected.number
        else { throw Self.corrupt(expected, "it lies outside of the file (\(expected.sectors) sectors)") }
    }

    func checkIsTrees(_ expected: Expectation) throws(StorageError) {
        let run = SectorRun(start: expected.number, count: expected.sectors)
        guard !foreign.containsAny(of: run) else {
            throw Self.corrupt(expected, "a tree refers to it, but its sectors are free or hold the store's own data")
        }
    }

    func checkBirth(_ expected: Expectation, _ newestBirth: UInt64) throws(StorageError) {
        guard expected.birth <= newestBirth else {
            throw Self.corrupt(
                expected, "it belongs to transaction \(expected.birth), after its snapshot \(newestBirth)")
        }
    }

    private func checkContent(
        _ page: Bytes, _ start: UnsafeRawPointer, _ expected: Expectation
    ) throws(StorageError) {
        let header = try checkStored(page, start, expected)
        if header.flags != 0, expected.kind != .longValue {
            try checkCompressed(page, expected)
            return
        }
        switch expected.kind {
        case .leaf, .branch: try checkStructure(page, expected)
        case .longValue:
            // The blocks were authenticated.
            if cipher != nil { return }
            if let problem = LongPage.problem(page, number: expected.number) { throw Self.corrupt(expected, problem) }
        case .spaceMap, .spaceDirectory: break
        }
    }

    /// Checks the inside of a raw node page.
    func checkStructure(_ page: Bytes, _ expected: Expectation) throws(StorageError) {
        if let problem = structure(page, expected.kind) { throw Self.corrupt(expected, problem) }
    }

    /// Checks checksum and identity: all that can be checked of a page as it is stored.
    @discardableResult
    private func checkStored(
        _ page: Bytes, _ start: UnsafeRawPointer, _ expected: Expectation
    ) throws(StorageError) -> PageHeader {
        let header = PageHeader(reading: start)
        let isUnsealed = isMemory && header.kind != PageKind.longValue.code && header.flags == 0
        guard isUnsealed || cipher != nil || header.checksum == PageHeader.checksum(of: page, number: expected.number)
        else {
            throw Self.corrupt(expected, "its checksum does not match its content")
        }
        try Self.checkIdentity(header, expected)
        let isLong = cipher != nil && header.kind == PageKind.longValue.code && header.flags == PageLayout.sealed
        guard header.flags == 0 || isLong || expected.isCompressible && CompressedPage.isCompressed(flags: header.flags)
        else { throw Self.corrupt(expected, "it has flags \(header.flags)") }
        return header
    }

    private func checkCompressed(_ page: Bytes, _ expected: Expectation) throws(StorageError) {
        let size = CompressedPage.rawSize(of: page) ?? 0
        let raw = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: FileFormat.sectorSize)
        defer { raw.deallocate() }
        try decode(page, expected, into: raw)
    }

    /// Fills `raw` with the leaf that the stored page holds, and checks its structure.
    func decode(
        _ page: Bytes, _ expected: Expectation, into raw: UnsafeMutableRawBufferPointer
    ) throws(StorageError) {
        if let problem = CompressedPage.decode(page, into: raw) ?? structure(Bytes(raw), expected.kind) {
            throw Self.corrupt(expected, problem)
        }
    }

    /// Passes the page as it is stored to `body`, and whether it is compressed. Checks its checksum and identity. The
    /// bytes are valid until `body` returns. They are read with a system call, so that the bytes that are decoded are
    /// those that were checked, and an unreadable sector is an error of this page alone.
    func withStored<Result>(
        _ expected: Expectation, _ body: (Bytes, Bool) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: expected.byteCount, alignment: FileFormat.sectorSize)
        defer { buffer.deallocate() }
        try readStored(expected, into: buffer)
        let page = Bytes(buffer)
        guard let start = page.baseAddress else { throw Self.corrupt(expected, "it is empty") }
        let header = try checkStored(page, start, expected)
        return try body(page, header.flags != 0)
    }

    /// Fills `buffer` with the page, decrypted in an encrypted store. Reads with a system call, mapped or not.
    private func readStored(
        _ expected: Expectation, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) {
        if copyUnwritten(expected, into: buffer) { return }
        try readByCall(into: buffer, at: expected.byteOffset)
        try open(buffer, expected)
    }

    /// Decrypts a page that was read. Its checksum needs no check, because authentication detects more.
    private func open(_ page: UnsafeMutableRawBufferPointer, _ expected: Expectation) throws(StorageError) {
        guard let cipher else { return }
        try Self.checkIdentity(page, expected)
        if let problem = PageSeal.open(page, number: expected.number, with: cipher) {
            throw Self.corrupt(expected, problem)
        }
    }

    /// Copies a page of a snapshot that is not in the file yet, in its final form. Returns false if the file has it.
    private func copyUnwritten(_ expected: Expectation, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let unwritten, unwritten.count > 0, !isVerified(expected.number), buffer.count == unwritten.pageSize,
            let page = unwritten.find(expected.number, birth: expected.birth)
        else { return false }
        // Without the checksum, which the writer may be computing.
        let rest = PageLayout.checksum + 8
        let copy = UnsafeMutableRawBufferPointer(rebasing: buffer[rest...])
        copy.copyMemory(from: Bytes(start: page + rest, count: copy.count))
        PageHeader.seal(buffer, number: expected.number)
        return true
    }

    /// Reads bytes with a system call, even if they are mapped. In a mapped store a file that was cut short is a read
    /// error, however it shows.
    func readByCall(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        do throws(StorageError) {
            try file.read(into: buffer, at: offset)
        } catch {
            guard mapping != nil, case .corrupt = error else { throw error }
            throw .io(operation: "reading the file (was it cut short?)", path: file.path, errno: EIO)
        }
    }

    /// Whether a verified page is the one that the parent refers to.
    static func checkIdentity(
        _ page: UnsafeMutableRawBufferPointer, _ expected: Expectation
    ) throws(StorageError) {
        guard let start = page.baseAddress else { throw corrupt(expected, "it is empty") }
        try checkIdentity(PageHeader(reading: UnsafeRawPointer(start)), expected)
    }

    static func checkIdentity(_ header: PageHeader, _ expected: Expectation) throws(StorageError) {
        guard header.kind == expected.kind.code else {
            throw corrupt(expected, "it is of kind \(header.kind), not \(expected.kind)")
        }
        guard header.birth == expected.birth else {
            throw corrupt(expected, "transaction \(header.birth) wrote it, its parent says \(expected.birth)")
        }
        guard header.level == expected.level else {
            throw corrupt(expected, "it has level \(header.level), not \(expected.level)")
        }
        guard header.sectors == expected.sectors else {
            throw corrupt(expected, "it has \(header.sectors) sectors, not \(expected.sectors)")
        }
    }

    static func corrupt(_ expected: Expectation, _ reason: String) -> StorageError {
        .corrupt(Corruption(page: expected.number, reason: reason))
    }
}
