// SPDX-License-Identifier: Apache-2.0
// A compressed leaf of which only the requested blocks are decoded, so that one value costs one block.

/// Belongs to one view. Holds one leaf at a time; its decoded parts are valid until the next one is opened.
package final class PartialLeaf {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var page = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var blocks: BlockPage?
    /// A bit for each block that is decoded.
    private(set) var decoded: UInt64 = 0
    private var pointer: UInt64 = 0
    private var birth: UInt64 = 0

    deinit { memory.deallocate() }

    /// The raw page: the bytes up to `headEnd`, the last `tailSize` bytes, and those between that `load` has decoded.
    /// The rest is undefined.
    package var bytes: Bytes { Bytes(page) }
    package var headEnd: Int { blocks?.headEnd ?? 0 }
    package var tailSize: Int { blocks?.tailSize ?? 0 }

    /// Returns false unless the stored page is in blocks and its sizes are right.
    func open(_ stored: Bytes, pointer: UInt64, birth: UInt64) -> Bool {
        if pointer == self.pointer, birth == self.birth, blocks != nil { return true }
        blocks = nil
        guard let blocks = BlockPage(stored) else { return false }
        if memory.count < blocks.rawSize {
            memory.deallocate()
            memory = .allocate(byteCount: blocks.rawSize, alignment: FileFormat.sectorSize)
        }
        page = UnsafeMutableRawBufferPointer(rebasing: memory[..<blocks.rawSize])
        blocks.fillEnds(of: page)
        decoded = 0
        self.blocks = blocks
        self.pointer = pointer
        self.birth = birth
        return true
    }

    /// Forgets the stored page, which may go.
    func close() { blocks = nil }

    /// Decodes the blocks that hold these bytes of the raw page. Returns false if some are in no block, or a block
    /// can't be decoded.
    package func load(_ range: Range<Int>) -> Bool {
        guard let blocks, range.upperBound <= page.count, let first = blocks.index(of: range.lowerBound),
            let last = blocks.index(of: range.upperBound - 1), first <= last
        else { return false }
        for index in first...last where decoded >> UInt64(index) & 1 == 0 {
            if index > 0, decoded & 1 == 0, !decode(0, of: blocks) { return false }
            guard decode(index, of: blocks) else { return false }
        }
        return true
    }

    private func decode(_ index: Int, of blocks: BlockPage) -> Bool {
        guard blocks.decode(index, into: page) else { return false }
        decoded |= 1 << UInt64(index)
        return true
    }
}
