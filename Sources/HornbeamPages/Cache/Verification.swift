// SPDX-License-Identifier: Apache-2.0
// "Verified in this process": one bit a page, by its first sector. The first touch of a page checks all of it and sets
// the bit; after that the hot path trusts the page's inside, but never its identity: birth, kind and level are compared
// with what the parent says each time (a hostile parent may name a verified page of another kind).
//
// What may be stale, and why it is harmless: a reader that misses a bit just set verifies once more. A bit is cleared
// (by the writer) only for sectors that no snapshot reaches. A reader beside a writer in another process is not told
// when sectors become free: it remembers the birth of each page that it verified, and goes by no bits.

import Synchronization

/// Verifies pages of the mapping. Any thread.
final class Verification: Sendable {
    let mapping: Mapping
    private let bitmap: Mapping
    private let births: RememberedBirths?
    private let structure: PageStore.StructureCheck
    /// Sectors of the file, for range checks. Shrinks only where no snapshot has pages.
    private let fileSectors = Atomic<UInt64>(0)

    /// `remembersBirths`: another process may write the file.
    init(
        mapping: Mapping, path: String, remembersBirths: Bool = false, structure: @escaping PageStore.StructureCheck
    ) throws(StorageError) {
        self.mapping = mapping
        self.structure = structure
        let bytes = mapping.capacity / FileFormat.sectorSize / 8
        bitmap = try Mapping(descriptor: -1, wanted: bytes, minimum: bytes, path: path)
        births = remembersBirths ? try RememberedBirths(mapping: mapping, path: path) : nil
        mapping.setVerifiedBits(births?.memory ?? bitmap)
    }

    deinit { mapping.setVerifiedBits(nil) }

    /// Bits by sector number, in zeroed memory; `Atomic<UInt64>` is laid out as its value.
    var words: UnsafeMutablePointer<Atomic<UInt64>> { bitmap.base.assumingMemoryBound(to: Atomic<UInt64>.self) }
    /// Sectors that have a bit.
    var capacity: UInt64 { UInt64(mapping.capacity / FileFormat.sectorSize) }
    /// Sectors whose bit alone may be gone by.
    var directCapacity: UInt64 { births == nil ? capacity : 0 }

    func noteFileSize(sectors: UInt64) { fileSectors.store(sectors, ordering: .releasing) }

    func isVerified(_ number: UInt64) -> Bool {
        number < capacity && words[Int(number >> 6)].load(ordering: .acquiring) >> (number & 63) & 1 == 1
    }

    private func isVerified(_ expected: Expectation) -> Bool {
        births?.holds(expected.birth, of: expected.number) ?? isVerified(expected.number)
    }

    private func mark(_ expected: Expectation) {
        guard let births else { return mark(expected.number) }
        // The birth of a space page is a checkpoint's number and could be taken for a transaction's.
        if expected.kind != .spaceMap, expected.kind != .spaceDirectory {
            births.remember(expected.birth, of: expected.number)
        }
    }

    /// No page counts as verified any more; for pages of another life of the file.
    func forgetBirths() { births?.forgetAll() }

    /// For a page whose bytes this process made and has just written.
    func mark(_ number: UInt64) {
        words[Int(number >> 6)].bitwiseOr(1 << (number & 63), ordering: .releasing)
    }

    /// The sectors become free: whatever lies there next is verified anew.
    func clear(_ run: SectorRun) {
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

    /// What a parent says of a page.
    struct Expectation {
        var number: UInt64
        var birth: UInt64
        var kind: PageKind
        var level: UInt8
        var sectors: UInt32
    }

    /// Checks identity, and on the first touch everything. Returns the page's bytes.
    func page(_ expected: Expectation, newestBirth: UInt64) throws(StorageError) -> Bytes {
        try mapping.checkIsWhole()
        guard isInFile(expected) else {
            throw Self.corrupt(expected, "it lies outside of the file (\(expected.sectors) sectors)")
        }
        let page = mapping.bytes(
            at: expected.number << FileFormat.sectorShift, count: Int(expected.sectors) * FileFormat.sectorSize)
        guard let start = page.baseAddress else { throw Self.corrupt(expected, "it is empty") }
        if isVerified(expected) {
            try checkIdentity(PageHeader(reading: start), expected)
            return page
        }
        guard expected.birth <= newestBirth else {
            throw Self.corrupt(expected, "its birth \(expected.birth) is after its snapshot \(newestBirth)")
        }
        try checkWhole(page, start, expected)
        mark(expected)
        return page
    }

    /// Checksum, identity and structure, whether or not the page was verified before.
    func checkWhole(_ expected: Expectation) throws(StorageError) {
        guard isInFile(expected) else {
            throw Self.corrupt(expected, "it lies outside of the file (\(expected.sectors) sectors)")
        }
        let page = mapping.bytes(
            at: expected.number << FileFormat.sectorShift, count: Int(expected.sectors) * FileFormat.sectorSize)
        if let start = page.baseAddress { try checkWhole(page, start, expected) }
    }

    /// The structure's fault of a node page that the writer is about to publish, or nil.
    func structureProblem(_ page: Bytes, _ kind: PageKind) -> String? { structure(page, kind) }

    private func isInFile(_ expected: Expectation) -> Bool {
        let end = fileSectors.load(ordering: .acquiring)
        return expected.sectors > 0 && expected.sectors <= FileFormat.maximumPageSectors
            && expected.number >= FileFormat.reservedSectors && expected.number < end
            && UInt64(expected.sectors) <= end - expected.number
    }

    private func checkWhole(
        _ page: Bytes, _ start: UnsafeRawPointer, _ expected: Expectation
    ) throws(StorageError) {
        mapping.watch(page)
        do throws(StorageError) {
            try checkContent(page, start, expected)
        } catch {
            // That the page can't be read comes before what its zeros look like.
            try mapping.endWatch()
            throw error
        }
        try mapping.endWatch()
    }

    private func checkContent(
        _ page: Bytes, _ start: UnsafeRawPointer, _ expected: Expectation
    ) throws(StorageError) {
        let header = PageHeader(reading: start)
        guard header.checksum == PageHeader.checksum(of: page, number: expected.number) else {
            throw Self.corrupt(expected, "its checksum does not match its content")
        }
        try checkIdentity(header, expected)
        switch expected.kind {
        case .leaf, .branch:
            if let problem = structure(page, expected.kind) { throw Self.corrupt(expected, problem) }
        case .longValue:
            if let problem = LongPage.problem(page, number: expected.number) { throw Self.corrupt(expected, problem) }
        case .spaceMap, .spaceDirectory: break
        }
    }

    private func checkIdentity(_ header: PageHeader, _ expected: Expectation) throws(StorageError) {
        guard header.kind == expected.kind.code else {
            throw Self.corrupt(expected, "it is of kind \(header.kind), not \(expected.kind)")
        }
        guard header.birth == expected.birth else {
            throw Self.corrupt(expected, "it was born in \(header.birth), its parent says \(expected.birth)")
        }
        guard header.level == expected.level else {
            throw Self.corrupt(expected, "it has level \(header.level), not \(expected.level)")
        }
        guard header.sectors == expected.sectors else {
            throw Self.corrupt(expected, "it has \(header.sectors) sectors, not \(expected.sectors)")
        }
    }

    private static func corrupt(_ expected: Expectation, _ reason: String) -> StorageError {
        .corrupt(Corruption(page: expected.number, reason: reason))
    }
}
