// SPDX-License-Identifier: Apache-2.0
// A leaf compressed in blocks. The parts that a search reads first, the raw page's start and end, are stored as they
// are. The part between is divided in blocks, each of which is decoded by itself with the first block as its
// dictionary. So all blocks together are as small as one piece would be. (Dictionaries for small blocks: Collet, LZ4;
// also in Zstandard and RocksDB.)
//
//   offset size
//        0   24  page header: flag 1 set, the size that of the stored page
//       24    4  size of the raw page in bytes
//       28    2  number of blocks, 1 to 64
//       30    2  bytes of the raw page from byte 24 on that are stored as they are: its head
//       32    2  bytes of the raw page's end that are stored as they are: its tail
//       34    2  zero
//       36    4  of each block: its size u16 in the raw page, and its stored size u16; if equal, it is not compressed
//                then head, tail, blocks; zeros up to the sector's end
//
// The blocks lie side by side in the raw page, and end where its tail begins. The gap between head and blocks is zero.

/// The division of a raw leaf into parts.
package struct LeafParts {
    /// The offset at which the head ends.
    package var headEnd: Int
    package var tailSize: Int
    /// The blocks' sizes, in the order of their places.
    package var blocks: [Int]
    /// A bit for each block of the leaf's former version: whether the leaf has it unchanged. The leaf's first blocks
    /// are those blocks, in the order of the bits.
    package var kept: UInt64

    package init(headEnd: Int, tailSize: Int, blocks: [Int], kept: UInt64 = 0) {
        self.headEnd = headEnd
        self.tailSize = tailSize
        self.blocks = blocks
        self.kept = kept
    }

    /// Zeros the bytes that are in no part of the leaf.
    package func clearRest(of leaf: UnsafeMutableRawBufferPointer) {
        let end = leaf.count - tailSize - blocks.reduce(0, +)
        UnsafeMutableRawBufferPointer(rebasing: leaf[headEnd..<end]).initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Sizes of the first block, which is the dictionary, and of the others. Only the last block is smaller than half
    /// of its size. A large entry makes its block larger.
    package static var dictionarySize: Int { 2048 }
    package static var blockSize: Int { 3072 }
    package static var maximumBlocks: Int { 64 }
}

/// The committed version of a leaf that a transaction has changed: raw, and with its blocks. Valid as long as the bytes
/// of both.
package struct FormerLeaf {
    let blocks: BlockPage
    package let raw: Bytes

    package var blockCount: Int { blocks.count }

    /// Returns the range of a block in the raw page. The page may be in a mapping of a file that another process
    /// changes: returns nil if the sizes have become impossible, and they may be others in the next call.
    package func range(of index: Int) -> Range<Int>? { blocks.place(of: index)?.raw }
}

/// A stored page whose sizes were checked: with any bytes in the blocks, nothing is read or written outside of it or of
/// the raw page. Valid as long as the page's bytes.
struct BlockPage {
    private let stored: UnsafeRawPointer
    private let storedCount: Int
    /// The size of the raw page in bytes.
    let rawSize: Int
    let count: Int
    private let headSize: Int
    let tailSize: Int
    /// The offset at which the raw page's head ends.
    var headEnd: Int { PageLayout.headerSize + headSize }
    /// The offset in the raw page at which the blocks begin.
    private let firstBlock: Int

    static let blockCount = 28
    static let headSize = 30
    static let tailSize = 32
    static let table = 36
    static let tableEntry = 4

    /// Reads a stored page. Returns nil if it is not stored in blocks, or its sizes are impossible.
    init?(_ page: Bytes) {
        guard let size = CompressedPage.rawSize(of: page), let start = page.baseAddress,
            PageHeader(reading: start).flags == PageLayout.inBlocks
        else { return nil }
        stored = start
        storedCount = page.count
        rawSize = size
        count = Int(start.u16(Self.blockCount))
        headSize = Int(start.u16(Self.headSize))
        tailSize = Int(start.u16(Self.tailSize))
        guard 1...LeafParts.maximumBlocks ~= count else { return nil }
        var raw = 0
        var compressed = 0
        for index in 0..<count {
            let entry = Self.table + Self.tableEntry * index
            let size = Int(start.u16(entry))
            guard size > 0, start.u16(entry + 2) <= size else { return nil }
            raw += size
            compressed += Int(start.u16(entry + 2))
        }
        guard PageLayout.headerSize + headSize + raw + tailSize <= size,
            Self.table + Self.tableEntry * count + headSize + tailSize + compressed <= page.count
        else { return nil }
        firstBlock = size - tailSize - raw
    }

    /// Writes the header, the head and the tail of the raw page, and the zeros behind the head.
    func fillEnds(of page: UnsafeMutableRawBufferPointer) {
        guard let target = page.baseAddress, page.count == rawSize else { return }
        CompressedPage.fillHeader(of: page, from: stored)
        let head = stored + (Self.table + Self.tableEntry * count)
        (target + PageLayout.headerSize).copyMemory(from: head, byteCount: headSize)
        (target + (rawSize - tailSize)).copyMemory(from: head + headSize, byteCount: tailSize)
        UnsafeMutableRawBufferPointer(rebasing: page[headEnd..<firstBlock]).initializeMemory(
            as: UInt8.self, repeating: 0)
    }

    /// Returns the block with the raw page's byte at `offset`, or nil if it is in none.
    func index(of offset: Int) -> Int? {
        guard offset >= firstBlock else { return nil }
        var end = firstBlock
        for index in 0..<count {
            end += Int(stored.u16(Self.table + Self.tableEntry * index))
            if offset < end { return index }
        }
        return nil
    }

    /// Returns the range of a block in the raw page, and its stored bytes. Returns nil if the sizes have changed since
    /// `init`: the page may be in a mapping of a file that another process changes.
    func place(of index: Int) -> (raw: Range<Int>, stored: Bytes)? {
        guard 0..<count ~= index else { return nil }
        var raw = firstBlock
        var start = Self.table + Self.tableEntry * count + headSize + tailSize
        for earlier in 0..<index {
            raw += Int(stored.u16(Self.table + Self.tableEntry * earlier))
            start += Int(stored.u16(Self.table + Self.tableEntry * earlier + 2))
        }
        let entry = Self.table + Self.tableEntry * index
        let (size, storedSize) = (Int(stored.u16(entry)), Int(stored.u16(entry + 2)))
        guard raw + size <= rawSize - tailSize, start + storedSize <= storedCount else { return nil }
        return (raw..<raw + size, Bytes(start: stored + start, count: storedSize))
    }

    /// Decodes a block to its place in the raw page. The first block must be there before any other is decoded. Returns
    /// false if the block can't be decoded.
    func decode(_ index: Int, into page: UnsafeMutableRawBufferPointer) -> Bool {
        guard page.count == rawSize, let first = place(of: 0), let (raw, bytes) = place(of: index) else { return false }
        let dictionary = index == 0 ? raw.lowerBound..<raw.lowerBound : first.raw
        return Self.decode(
            bytes, into: UnsafeMutableRawBufferPointer(rebasing: page[raw]),
            dictionary: Bytes(rebasing: Bytes(page)[dictionary]))
    }

    static func decode(_ bytes: Bytes, into target: UnsafeMutableRawBufferPointer, dictionary: Bytes) -> Bool {
        if bytes.count == target.count {
            target.copyMemory(from: bytes)
            return true
        }
        return LZ4.decompress(bytes, into: target, dictionary: dictionary)
    }
}
