// SPDX-License-Identifier: Apache-2.0
// A leaf as a compressed tree stores it. Its page pointer says in how many sectors, so that it takes no more than it
// needs; a leaf that doesn't save a sector is stored as it is.
//
//   offset size
//        0   24  page header: flag 0 set, the size that of the stored page
//       24    4  size of the raw page in bytes
//       28    4  size of the block that follows
//       32       LZ4 block: the raw page from byte 24 on; then zeros up to the sector's end

/// A page number together with the sectors of a compressed tree's leaf.
@usableFromInline
package enum PagePointer {
    /// The bits above hold the sectors; 0 for a node page.
    @inlinable static var shift: UInt64 { 48 }
    /// In place of the sectors: the leaf has no place yet.
    @inlinable static var unplaced: UInt64 { 0xFFFF }

    package static func make(_ number: UInt64, sectors: UInt32) -> UInt64 { number | UInt64(sectors) << shift }
    /// The number of a leaf that has no place yet.
    static func makeUnplaced(_ serial: UInt64) -> UInt64 { serial | unplaced << shift }

    @inlinable package static func number(_ pointer: UInt64) -> UInt64 { pointer & (1 << shift - 1) }
    /// Of a compressed tree's leaf that has its place; 0 for a node page.
    @inlinable package static func sectors(_ pointer: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: pointer >> shift) }
    @inlinable package static func isUnplaced(_ pointer: UInt64) -> Bool { pointer >> shift == unplaced }

    /// Whether a page in the file may refer to a page by it; only a reference to a leaf may give a size. Pointers of
    /// leaves without a place never leave memory.
    package static func isStored(_ pointer: UInt64, isLeaf: Bool) -> Bool {
        number(pointer) != 0 && sectors(pointer) <= (isLeaf ? CompressedPage.maximumSectors : 0)
    }
}

enum CompressedPage {
    private static let rawSize = 24
    private static let blockSize = 28
    private static let block = 32

    /// Of a new leaf, raw. Half the size costs a fifth more space, twice the size twice the work of each change.
    static var leafSize: Int { 32_768 }
    /// Largest stored leaf in sectors: that of the largest node, raw.
    static var maximumSectors: UInt32 { UInt32(FileFormat.maximumPageSize / FileFormat.sectorSize) }

    /// Writes the compressed form of `page` to `target`, which has the same size. The sectors it takes, sealed but for
    /// the checksum; nil if it saves none.
    static func make(_ page: Bytes, into target: UnsafeMutableRawBufferPointer) -> UInt32? {
        guard let source = page.baseAddress, let start = target.baseAddress,
            page.count > FileFormat.sectorSize + block
        else { return nil }
        let content = Bytes(rebasing: page[PageLayout.headerSize...])
        let room = UnsafeMutableRawBufferPointer(rebasing: target[block..<page.count - FileFormat.sectorSize])
        guard let size = LZ4.compress(content, into: room) else { return nil }
        let sectors = FileFormat.sectors(bytes: block + size)
        let end = sectors * FileFormat.sectorSize
        start.copyMemory(from: source, byteCount: PageLayout.headerSize)
        start.set(PageLayout.compressed, at: PageLayout.flags)
        start.set(UInt32(sectors), at: PageLayout.sectors)
        start.set(UInt32(page.count), at: rawSize)
        start.set(UInt32(size), at: blockSize)
        UnsafeMutableRawBufferPointer(rebasing: target[block + size..<end]).initializeMemory(
            as: UInt8.self, repeating: 0)
        return UInt32(sectors)
    }

    /// Hands out the page as a compressed tree stores it, but for the checksum: compressed, or itself if that saves no
    /// sector.
    static func withStored<Result>(
        _ page: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let target = UnsafeMutableRawBufferPointer.allocate(
            byteCount: page.count, alignment: FileFormat.sectorSize)
        defer { target.deallocate() }
        guard let sectors = make(Bytes(page), into: target) else { return try body(page) }
        return try body(UnsafeMutableRawBufferPointer(rebasing: target[..<(Int(sectors) * FileFormat.sectorSize)]))
    }

    /// The size of the raw page that a stored one says it holds; nil if it can't.
    static func rawSize(of stored: Bytes) -> Int? {
        guard let start = stored.baseAddress, stored.count >= FileFormat.sectorSize else { return nil }
        let size = Int(start.u32(rawSize))
        guard FileFormat.isValid(pageSize: size), size > stored.count, Int(start.u32(blockSize)) <= stored.count - block
        else { return nil }
        return size
    }

    /// Fills `page` with the raw page; what is wrong with the stored one, or nil.
    static func decode(_ stored: Bytes, into page: UnsafeMutableRawBufferPointer) -> String? {
        guard let size = rawSize(of: stored), size == page.count, let source = stored.baseAddress,
            let target = page.baseAddress
        else { return "the sizes of its compressed content are impossible" }
        let compressed = Bytes(rebasing: stored[block..<block + Int(source.u32(blockSize))])
        let content = UnsafeMutableRawBufferPointer(rebasing: page[PageLayout.headerSize...])
        guard LZ4.decompress(compressed, into: content) else { return "its content can't be decompressed" }
        target.copyMemory(from: source, byteCount: PageLayout.headerSize)
        target.set(UInt16(0), at: PageLayout.flags)
        target.set(UInt32(size / FileFormat.sectorSize), at: PageLayout.sectors)
        return nil
    }
}
