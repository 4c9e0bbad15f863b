// SPDX-License-Identifier: Apache-2.0
// Makes the stored form of a compressed tree's leaf (`BlockPage`). Blocks that are in the leaf's former version are
// taken over as they are: a transaction that changes one entry of a leaf encodes one block of it.

/// Reuses its memory; one leaf at a time.
final class LeafEncoder {
    private let encoder = LZ4Encoder()
    /// For the stored page, and for a block of the former one.
    private let target: UnsafeMutableRawBufferPointer
    private let formerBlock: UnsafeMutableRawBufferPointer

    init() {
        target = .allocate(byteCount: FileFormat.maximumPageSize, alignment: FileFormat.sectorSize)
        formerBlock = .allocate(byteCount: Int(UInt16.max), alignment: 16)
    }

    deinit {
        target.deallocate()
        formerBlock.deallocate()
    }

    /// The page as a compressed tree stores it, but for the checksum: compressed, or itself if that saves no sector.
    /// The bytes are good until the next call. `former`: the stored form of the leaf that this one came of.
    func encode(
        _ page: UnsafeMutableRawBufferPointer, _ parts: LeafParts, former: Bytes? = nil
    ) -> UnsafeMutableRawBufferPointer {
        guard let end = fill(Bytes(page), parts, former.flatMap { BlockPage($0) }),
            let start = target.baseAddress,
            let source = page.baseAddress
        else { return page }
        let sectors = FileFormat.sectors(bytes: end)
        start.copyMemory(from: UnsafeRawPointer(source), byteCount: PageLayout.headerSize)
        start.set(PageLayout.inBlocks, at: PageLayout.flags)
        start.set(UInt32(sectors), at: PageLayout.sectors)
        let size = sectors * FileFormat.sectorSize
        UnsafeMutableRawBufferPointer(rebasing: target[end..<size]).initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeMutableRawBufferPointer(rebasing: target[..<size])
    }

    /// Writes all behind the header; where that ends. Nil if it saves no sector, or the page can't be divided so.
    private func fill(_ page: Bytes, _ parts: LeafParts, _ former: BlockPage?) -> Int? {
        let count = parts.blocks.count
        let firstBlock = page.count - parts.tailSize - parts.blocks.reduce(0, +)
        guard let start = target.baseAddress, 1...BlockPage.maximumBlocks ~= count,
            parts.headEnd >= PageLayout.headerSize, parts.headEnd <= firstBlock,
            parts.blocks.allSatisfy({ 1...Int(UInt16.max) ~= $0 })
        else { return nil }
        let limit = page.count - FileFormat.sectorSize
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
        var raw = firstBlock
        var taking = FormerBlocks(former)
        // Whether the encoder is ready for the first block, or for the others.
        var prepared: Bool?
        for (index, size) in parts.blocks.enumerated() {
            let block = Bytes(rebasing: page[raw..<raw + size])
            let dictionary =
                index == 0
                ? Bytes(start: nil, count: 0) : Bytes(rebasing: page[firstBlock..<firstBlock + parts.blocks[0]])
            let room = UnsafeMutableRawBufferPointer(rebasing: target[place..<limit])
            var stored = take(block, index, dictionary, &taking, into: room)
            if stored == nil {
                if prepared != (index == 0) { encoder.use(index == 0 ? nil : dictionary) }
                prepared = index == 0
                stored = encode(block, into: room)
            }
            guard let stored else { return nil }
            start.set(UInt16(size), at: BlockPage.table + BlockPage.tableEntry * index)
            start.set(UInt16(stored), at: BlockPage.table + BlockPage.tableEntry * index + 2)
            place += stored
            raw += size
        }
        return place
    }

    /// The size as it is stored: compressed, or itself if that is no smaller. Nil without room.
    private func encode(_ block: Bytes, into room: UnsafeMutableRawBufferPointer) -> Int? {
        let bounded = UnsafeMutableRawBufferPointer(rebasing: room[..<min(room.count, block.count - 1)])
        if let size = encoder.compress(block, into: bounded) { return size }
        guard block.count <= room.count else { return nil }
        room.copyMemory(from: block)
        return block.count
    }

    /// Blocks of the former leaf that were not taken yet.
    private struct FormerBlocks {
        var page: BlockPage?
        var next = 0

        init(_ page: BlockPage?) { self.page = page }
    }

    /// Takes over the block as the former leaf has it, if it does: what was copied is decoded and compared. Without the
    /// same first block there is none, because that is the dictionary of the others.
    private func take(
        _ block: Bytes, _ index: Int, _ dictionary: Bytes, _ former: inout FormerBlocks,
        into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard let page = former.page else { return nil }
        for candidate in former.next..<(index == 0 ? 1 : page.count) {
            guard let (raw, stored) = page.place(of: candidate), raw.count == block.count, stored.count <= room.count
            else { continue }
            room.copyMemory(from: stored)
            let copy = Bytes(rebasing: Bytes(room)[..<stored.count])
            let decoded = UnsafeMutableRawBufferPointer(rebasing: formerBlock[..<raw.count])
            guard BlockPage.decode(copy, into: decoded, dictionary: dictionary), Bytes(decoded).order(block) == 0
            else { continue }
            former.next = candidate + 1
            return stored.count
        }
        if index == 0 { former.page = nil }
        return nil
    }
}
