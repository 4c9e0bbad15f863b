// SPDX-License-Identifier: Apache-2.0
// A leaf as a compressed tree stores it. Its page pointer states its number of sectors, so that it takes only as many
// as it needs. A leaf that doesn't save a sector is stored as it is. Compressed leaves are in blocks (`BlockPage`), so
// that reading one value decodes one or two of them. Older files have leaves compressed in one piece, which are read
// but no longer made:
//
//   offset size
//        0   24  page header: flag 0 set, the size that of the stored page
//       24    4  size of the raw page in bytes
//       28    4  size of the block that follows
//       32       LZ4 block: the raw page from byte 24 on; then zeros up to the sector's end

/// A page number together with the sectors of a compressed tree's leaf.
@usableFromInline
package enum PagePointer {
    /// The bits from this one up hold the number of sectors; 0 for a node page.
    @inlinable static var shift: UInt64 { 48 }
    /// Stands in place of the number of sectors while the leaf has no place.
    @inlinable static var unplaced: UInt64 { 0xFFFF }

    package static func make(_ number: UInt64, sectors: UInt32) -> UInt64 { number | UInt64(sectors) << shift }
    /// The number of a leaf that has no place yet.
    static func makeUnplaced(_ serial: UInt64) -> UInt64 { serial | unplaced << shift }

    @inlinable package static func number(_ pointer: UInt64) -> UInt64 { pointer & (1 << shift - 1) }
    /// Number of sectors of a compressed tree's leaf that has its place, 0 for a node page.
    @inlinable package static func sectors(_ pointer: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: pointer >> shift) }
    @inlinable package static func isUnplaced(_ pointer: UInt64) -> Bool { pointer >> shift == unplaced }

    /// Whether a page in the file may use this pointer. Only a pointer to a leaf may give a size. Pointers to leaves
    /// without a place never leave memory.
    package static func isStored(_ pointer: UInt64, isLeaf: Bool) -> Bool {
        number(pointer) != 0 && sectors(pointer) <= (isLeaf ? CompressedPage.maximumSectors : 0)
    }
}

enum CompressedPage {
    /// The offset of the raw page's size in both layouts.
    static let rawSize = 24
    private static let blockSize = 28
    private static let block = 32

    /// Size of a new leaf, raw. Half the size costs a fifth more space. Twice the size costs twice the work of each
    /// change.
    static var leafSize: Int { 32_768 }
    /// Sectors of the largest stored leaf, which has the size of the largest raw node.
    static var maximumSectors: UInt32 { UInt32(FileFormat.maximumPageSize / FileFormat.sectorSize) }

    static func isCompressed(flags: UInt16) -> Bool { flags == PageLayout.compressed || flags == PageLayout.inBlocks }

    /// The size of the raw page as the stored page states it; nil if that size is impossible.
    static func rawSize(of stored: Bytes) -> Int? {
        guard let start = stored.baseAddress, stored.count >= FileFormat.sectorSize else { return nil }
        let size = Int(start.u32(rawSize))
        return FileFormat.isValid(pageSize: size) && size > stored.count ? size : nil
    }

    /// Fills `page` with the raw page. Returns the fault of the stored page, or nil.
    static func decode(_ stored: Bytes, into page: UnsafeMutableRawBufferPointer) -> String? {
        guard let size = rawSize(of: stored), size == page.count, let source = stored.baseAddress else {
            return "the sizes of its compressed content are impossible"
        }
        if PageHeader(reading: source).flags == PageLayout.inBlocks {
            guard let blocks = BlockPage(stored) else { return "the sizes of its blocks are impossible" }
            blocks.fillEnds(of: page)
            for index in 0..<blocks.count where !blocks.decode(index, into: page) {
                return "its block \(index) can't be decompressed"
            }
            return nil
        }
        guard Int(source.u32(blockSize)) <= stored.count - block else {
            return "the size of its compressed content is impossible"
        }
        let compressed = Bytes(rebasing: stored[block..<block + Int(source.u32(blockSize))])
        let content = UnsafeMutableRawBufferPointer(rebasing: page[PageLayout.headerSize...])
        guard LZ4.decompress(compressed, into: content) else { return "its content can't be decompressed" }
        fillHeader(of: page, from: source)
        return nil
    }

    /// Writes the raw page's header: the stored one with other flags and another size.
    static func fillHeader(of page: UnsafeMutableRawBufferPointer, from stored: UnsafeRawPointer) {
        guard let target = page.baseAddress else { return }
        target.copyMemory(from: stored, byteCount: PageLayout.headerSize)
        target.set(UInt16(0), at: PageLayout.flags)
        target.set(UInt32(page.count / FileFormat.sectorSize), at: PageLayout.sectors)
    }
}
