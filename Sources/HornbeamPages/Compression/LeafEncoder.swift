// SPDX-License-Identifier: Apache-2.0
// Makes the stored form of a compressed tree's leaf (`BlockPage`). Blocks that the leaf's former version has too are
// copied as they are stored there.

/// Reuses its memory. Encodes one leaf at a time.
final class LeafEncoder {
    private let encoder = LZ4Encoder(capacity: FileFormat.maximumPageSize)
    /// Memory for the stored page, and for the raw former one.
    private let target: UnsafeMutableRawBufferPointer
    private let formerPage: UnsafeMutableRawBufferPointer
    /// Bytes at the end of a stored page that stay zero.
    private let reserve: Int

    init(reserve: Int) {
        self.reserve = reserve
        target = .allocate(byteCount: FileFormat.maximumPageSize, alignment: FileFormat.sectorSize)
        formerPage = .allocate(byteCount: FileFormat.maximumPageSize, alignment: FileFormat.sectorSize)
    }

    deinit {
        target.deallocate()
        formerPage.deallocate()
    }

    /// Returns the leaf with this stored form, decoded. Valid until the next call. Returns nil if it can't be decoded.
    func decode(former stored: Bytes, _ blocks: BlockPage) -> FormerLeaf? {
        let page = UnsafeMutableRawBufferPointer(rebasing: formerPage[..<blocks.rawSize])
        return CompressedPage.decode(stored, into: page) == nil ? FormerLeaf(blocks: blocks, raw: Bytes(page)) : nil
    }

    /// Returns the form in which a tree stores a raw leaf, without a checksum: `page` itself if compression saves no
    /// sector. Valid until the next call. Bytes in no part become zeros then.
    func encode(leafInFull page: UnsafeMutableRawBufferPointer, _ parts: LeafParts) -> UnsafeMutableRawBufferPointer {
        if let stored = encode(Bytes(page), parts) { return stored }
        parts.clearRest(of: page)
        return page
    }

    /// Returns the stored form of a raw leaf, without a checksum. Valid until the next call. Returns nil if compression
    /// saves no sector, or if the page can't be divided in this way. The bytes of `page` in kept blocks aren't read.
    func encode(
        _ page: Bytes, _ parts: LeafParts, former: FormerLeaf? = nil
    ) -> UnsafeMutableRawBufferPointer? {
        guard let start = target.baseAddress, let source = page.baseAddress, let end = fill(page, parts, former)
        else { return nil }
        let sectors = FileFormat.sectors(bytes: end + reserve)
        start.copyMemory(from: source, byteCount: PageLayout.headerSize)
        start.set(PageLayout.inBlocks, at: PageLayout.flags)
        start.set(UInt32(sectors), at: PageLayout.sectors)
        let size = sectors * FileFormat.sectorSize
        UnsafeMutableRawBufferPointer(rebasing: target[end..<size]).initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeMutableRawBufferPointer(rebasing: target[..<size])
    }

    /// Writes everything after the header. Returns the end, or nil as `encode` does.
    private func fill(_ page: Bytes, _ parts: LeafParts, _ former: FormerLeaf?) -> Int? {
        let count = parts.blocks.count
        let firstBlock = page.count - parts.tailSize - parts.blocks.reduce(0, +)
        guard let start = target.baseAddress, 1...LeafParts.maximumBlocks ~= count,
            parts.headEnd >= PageLayout.headerSize, parts.headEnd <= firstBlock,
            parts.blocks.allSatisfy({ 1...Int(UInt16.max) ~= $0 })
        else { return nil }
        let limit = page.count - FileFormat.sectorSize - reserve
        let head = page[PageLayout.headerSize..<parts.headEnd]
        let tail = page[(page.count - parts.tailSize)...]
        var place = BlockPage.table + BlockPage.tableEntry * count
        guard place + head.count + tail.count <= limit, max(head.count, tail.count) <= UInt16.max else { return nil }
        start.set(UInt32(page.count), at: CompressedPage.rawSize)
        start.set(UInt16(count), at: BlockPage.blockCount)
        start.set(UInt16(head.count), at: BlockPage.headSize)
        start.set(UInt16(parts.tailSize), at: BlockPage.tailSize)
        start.set(UInt16(0), at: BlockPage.tailSize + 2)
        for end in [head, tail] {
            UnsafeMutableRawBufferPointer(rebasing: target[place..<place + end.count])
                .copyMemory(from: Bytes(rebasing: end))
            place += end.count
        }
        guard let dictionary = dictionary(of: page, firstBlock, parts, former) else { return nil }
        var kept = parts.kept
        var raw = firstBlock
        for (index, size) in parts.blocks.enumerated() {
            let room = UnsafeMutableRawBufferPointer(rebasing: target[place..<limit])
            let stored: Int?
            if kept != 0 {
                stored = former.flatMap { copy(kept.trailingZeroBitCount, of: $0, size: size, into: room) }
                kept &= kept &- 1
            } else {
                // The first block is the dictionary of the others, and has none itself.
                if index == 0 { encoder.use(Bytes(rebasing: dictionary[..<0])) }
                if index == max(1, parts.kept.nonzeroBitCount) { encoder.use(dictionary) }
                let isLast = index == 0 || index == count - 1
                stored = encode(Bytes(rebasing: page[raw..<raw + size]), into: room, isLast: isLast)
            }
            guard let stored else { return nil }
            start.set(UInt16(size), at: BlockPage.table + BlockPage.tableEntry * index)
            start.set(UInt16(stored), at: BlockPage.table + BlockPage.tableEntry * index + 2)
            place += stored
            raw += size
        }
        return place
    }

    /// Returns the raw bytes of the leaf's first block. Returns nil if the blocks can't be kept: they need the
    /// dictionary that they were made with.
    private func dictionary(of page: Bytes, _ firstBlock: Int, _ parts: LeafParts, _ former: FormerLeaf?) -> Bytes? {
        let size = parts.blocks[0]
        if parts.kept == 0 { return Bytes(rebasing: page[firstBlock..<firstBlock + size]) }
        guard parts.kept & 1 != 0, parts.kept.nonzeroBitCount <= parts.blocks.count, let former,
            let place = former.range(of: 0), place.count == size
        else { return nil }
        return Bytes(rebasing: former.raw[place])
    }

    /// Copies a block's stored form. Returns its size, or nil if it isn't a block of `size` bytes or there is no room.
    private func copy(
        _ index: Int, of former: FormerLeaf, size: Int, into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard let (raw, stored) = former.blocks.place(of: index), raw.count == size,
            stored.count <= min(size, room.count)
        else { return nil }
        room.copyMemory(from: stored)
        return stored.count
    }

    /// Returns the stored size: that of the compressed block, or of the raw one if it is no larger. Returns nil if
    /// there is no room.
    private func encode(_ block: Bytes, into room: UnsafeMutableRawBufferPointer, isLast: Bool) -> Int? {
        let bounded = UnsafeMutableRawBufferPointer(rebasing: room[..<min(room.count, block.count - 1)])
        if let size = encoder.compress(block, into: bounded, isLast: isLast) { return size }
        guard block.count <= room.count else { return nil }
        room.copyMemory(from: block)
        return block.count
    }
}
