// SPDX-License-Identifier: Apache-2.0
// Makes the stored form of a compressed tree's leaf (`BlockPage`). Blocks that the leaf's former version has too are
// copied: a transaction that changes one entry of a leaf encodes one block of it.

/// Reuses its memory. Encodes one leaf at a time.
final class LeafEncoder {
    private let encoder = LZ4Encoder(capacity: FileFormat.maximumPageSize)
    /// Memory for the stored page, and for a block of the former one.
    private let target: UnsafeMutableRawBufferPointer
    private let formerBlock: UnsafeMutableRawBufferPointer
    /// Bytes at the end of a stored page that stay zero.
    private let reserve: Int

    init(reserve: Int) {
        self.reserve = reserve
        target = .allocate(byteCount: FileFormat.maximumPageSize, alignment: FileFormat.sectorSize)
        formerBlock = .allocate(byteCount: Int(UInt16.max), alignment: 16)
    }

    deinit {
        target.deallocate()
        formerBlock.deallocate()
    }

    /// Passes the page in its stored form, without a checksum, to `body`: compressed, or as it is if compression saves
    /// no sector. `former`: the stored form of the leaf's former version.
    func withStored<Result, Failure: Error>(
        _ page: UnsafeMutableRawBufferPointer, _ parts: LeafParts, former: Bytes? = nil,
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let end = fill(Bytes(page), parts, former.flatMap { BlockPage($0) }), let start = target.baseAddress,
            let source = page.baseAddress
        else { return try body(page) }
        let sectors = FileFormat.sectors(bytes: end + reserve)
        start.copyMemory(from: UnsafeRawPointer(source), byteCount: PageLayout.headerSize)
        start.set(PageLayout.inBlocks, at: PageLayout.flags)
        start.set(UInt32(sectors), at: PageLayout.sectors)
        let size = sectors * FileFormat.sectorSize
        UnsafeMutableRawBufferPointer(rebasing: target[end..<size]).initializeMemory(as: UInt8.self, repeating: 0)
        return try body(UnsafeMutableRawBufferPointer(rebasing: target[..<size]))
    }

    /// Writes everything after the header. Returns the end, or nil if that saves no sector, or if the page can't be
    /// divided in this way.
    private func fill(_ page: Bytes, _ parts: LeafParts, _ former: BlockPage?) -> Int? {
        let count = parts.blocks.count
        let firstBlock = page.count - parts.tailSize - parts.blocks.reduce(0, +)
        guard let start = target.baseAddress, 1...BlockPage.maximumBlocks ~= count,
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
        let dictionary = Bytes(rebasing: page[firstBlock..<firstBlock + parts.blocks[0]])
        var former = former
        // The first block of the former leaf that may come next.
        var next = 0
        var isPrepared = false
        var raw = firstBlock
        for (index, size) in parts.blocks.enumerated() {
            let block = Bytes(rebasing: page[raw..<raw + size])
            // The first block is the dictionary of the others, and has none itself.
            let dictionary = index == 0 ? Bytes(rebasing: dictionary[..<0]) : dictionary
            let room = UnsafeMutableRawBufferPointer(rebasing: target[place..<limit])
            let stored: Int
            if let taken = former.flatMap({
                take(block, from: $0, next..<(index == 0 ? 1 : $0.count), dictionary, into: room)
            }) {
                next = taken.index + 1
                stored = taken.size
            } else {
                if !isPrepared { encoder.use(dictionary) }
                isPrepared = index > 0
                // The former leaf's blocks were made with another dictionary, so they can't be used.
                if index == 0 { former = nil }
                guard let size = encode(block, into: room) else { return nil }
                stored = size
            }
            start.set(UInt16(size), at: BlockPage.table + BlockPage.tableEntry * index)
            start.set(UInt16(stored), at: BlockPage.table + BlockPage.tableEntry * index + 2)
            place += stored
            raw += size
        }
        return place
    }

    /// Returns the stored size: that of the compressed block, or of the raw one if it is no larger. Returns nil if
    /// there is no room.
    private func encode(_ block: Bytes, into room: UnsafeMutableRawBufferPointer) -> Int? {
        let bounded = UnsafeMutableRawBufferPointer(rebasing: room[..<min(room.count, block.count - 1)])
        if let size = encoder.compress(block, into: bounded) { return size }
        guard block.count <= room.count else { return nil }
        room.copyMemory(from: block)
        return block.count
    }

    /// Copies the block from the former leaf if one of the candidates equals it: the copy is decoded and compared.
    private func take(
        _ block: Bytes, from former: BlockPage, _ candidates: Range<Int>, _ dictionary: Bytes,
        into room: UnsafeMutableRawBufferPointer
    ) -> (index: Int, size: Int)? {
        for index in candidates {
            guard let (raw, stored) = former.place(of: index), raw.count == block.count, stored.count <= room.count
            else { continue }
            room.copyMemory(from: stored)
            let copy = Bytes(rebasing: Bytes(room)[..<stored.count])
            let decoded = UnsafeMutableRawBufferPointer(rebasing: formerBlock[..<raw.count])
            guard BlockPage.decode(copy, into: decoded, dictionary: dictionary), Bytes(decoded).order(block) == 0
            else { continue }
            return (index, stored.count)
        }
        return nil
    }
}
