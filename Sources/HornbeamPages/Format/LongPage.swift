// SPDX-License-Identifier: Apache-2.0
// The inside of a long value's page. Its data has checksums of its own, one for each block, so that a part of a value
// can be read and verified without the rest; the page's checksum covers the header and these.
//
//   offset         size
//        0           24  page header; its checksum ends where the data begins
//       24            8  size of the value
//       32   8 × blocks  XXH3-64 of each block, seeded with the page's number
//        …         size  the value, in one piece; then zeros up to the sector's end

/// Layout and checksums of long value pages.
package enum LongPage {
    /// The size of a block. The last one may be shorter.
    package static let blockSize = 65_536
    private static let size = 24
    private static let table = 32
    /// Sizes are below this, so that sums of them can't overflow.
    private static let sizeLimit: UInt64 = 1 << 32

    /// Blocks of a value of `size` bytes.
    package static func blocks(_ size: UInt64) -> Int {
        Int(truncatingIfNeeded: (size + UInt64(blockSize) - 1) / UInt64(blockSize))
    }

    /// The offset of the value in its page.
    package static func dataOffset(_ size: UInt64) -> Int { table + 8 * blocks(size) }

    /// The sectors of a page that holds a value of `size` bytes (below 2^32).
    package static func sectors(_ size: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: (size + UInt64(dataOffset(size)) + 4095) / 4096)
    }

    /// Notes the size of the value that is to follow at `dataOffset`.
    package static func setSize(_ size: UInt64, of page: UnsafeMutableRawPointer) { page.set(size, at: Self.size) }

    /// The bytes that the page's checksum ends before; nil if the page's own word of its size is impossible.
    static func checkedSize(_ page: Bytes) -> Int? {
        guard let size = valueSize(page) else { return nil }
        return dataOffset(size)
    }

    /// The value's size as the page has it, if it fits the page.
    package static func valueSize(_ page: Bytes) -> UInt64? {
        guard let size = statedSize(page), Int(sectors(size)) * FileFormat.sectorSize == page.count else { return nil }
        return size
    }

    /// Returns the size of the value as the page's first bytes state it. Returns nil if the page is too short, or the
    /// size is not below `sizeLimit`.
    static func statedSize(_ page: Bytes) -> UInt64? {
        guard let start = page.baseAddress, page.count >= table else { return nil }
        let size = start.u64(Self.size)
        return size < sizeLimit ? size : nil
    }

    /// The blocks' checksums, from a page's bytes before the value.
    static func checksums(_ head: Bytes, size: UInt64) -> [UInt64] {
        guard let start = head.baseAddress, head.count >= dataOffset(size) else { return [] }
        return (0..<blocks(size)).map { start.u64(table + 8 * $0) }
    }

    static func setChecksum(_ checksum: UInt64, _ block: Int, of page: UnsafeMutableRawPointer) {
        page.set(checksum, at: table + 8 * block)
    }

    /// Computes the checksums of all blocks.
    static func sealBlocks(_ page: UnsafeMutableRawBufferPointer, number: UInt64) {
        guard let start = page.baseAddress, let size = valueSize(Bytes(page)) else { return }
        for block in 0..<blocks(size) {
            start.set(checksum(of: block, Bytes(page), size: size, number: number), at: table + 8 * block)
        }
    }

    /// Returns what is wrong with a page whose own checksum holds, or nil if every block's checksum holds too.
    static func problem(_ page: Bytes, number: UInt64) -> String? {
        guard let size = valueSize(page) else { return "the size of its value doesn't fit it" }
        for block in 0..<blocks(size) {
            if let problem = problem(ofBlock: block, page, size: size, number: number) { return problem }
        }
        return nil
    }

    /// Returns the fault of one block of such a page, or nil if the block's checksum holds.
    static func problem(ofBlock block: Int, _ page: Bytes, size: UInt64, number: UInt64) -> String? {
        guard let start = page.baseAddress else { return "it is empty" }
        let isRight = start.u64(table + 8 * block) == checksum(of: block, page, size: size, number: number)
        return isRight ? nil : blockProblem(block)
    }

    static func blockProblem(_ block: Int) -> String { "the checksum of block \(block) of its value does not match" }

    private static func checksum(of block: Int, _ page: Bytes, size: UInt64, number: UInt64) -> UInt64 {
        let end = dataOffset(size) + Int(size)
        let first = dataOffset(size) + block * blockSize
        return Checksum.of(Bytes(rebasing: page[first..<min(first + blockSize, end)]), seed: number)
    }
}
