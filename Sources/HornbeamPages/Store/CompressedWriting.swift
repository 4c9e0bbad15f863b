// SPDX-License-Identifier: Apache-2.0
// The writer's side of compressed trees. Leaves are changed raw and without a place. They get one when they are
// compressed: at the end of the transaction, or when it is spilled or makes a savepoint. The tree layer then writes the
// place into the leaf's parent.

extension PageWriter {
    /// Size of a new leaf of a compressed tree, in bytes.
    package static var compressedLeafSize: Int { CompressedPage.leafSize }

    /// A new zeroed leaf of a compressed tree with its header filled. Its address is stable until it gets its place, it
    /// is freed, or the transaction ends.
    package func allocateLeaf() throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        let size = CompressedPage.leafSize
        let leaf = side.unplaced.add(size)
        noteMemory()
        leaf.bytes.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        let sectors = UInt32(size / FileFormat.sectorSize)
        PageHeader.write(to: leaf.bytes, birth: birth, kind: .leaf, level: 0, sectors: sectors)
        return leaf
    }

    /// A new leaf with the content of the leaf that `pointer` names, which is retired. The bytes in `unused` are
    /// undefined. A leaf of this transaction that has no place yet is returned as it is.
    package func copyLeaf(
        _ pointer: UInt64, birth: UInt64, unused: Range<Int>
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        let source = try view.page(pointer, birth: birth, kind: .leaf, level: 0)
        if PagePointer.isUnplaced(pointer), birth >= ownBirth, let own = side.unplaced.find(pointer)?.baseAddress {
            own.set(self.birth, at: PageLayout.birth)
            return (pointer, own)
        }
        let sectors = PageHeader(reading: source).sectors
        let former = view.storedLeaf(pointer, birth: birth).map {
            UnplacedLeaves.Former(pointer: pointer, birth: birth, stored: $0)
        }
        let leaf = side.unplaced.add(Int(sectors) * FileFormat.sectorSize, former: former)
        noteMemory()
        let size = Int(sectors) * FileFormat.sectorSize
        let rest = min(unused.upperBound, size)
        leaf.bytes.copyMemory(from: source, byteCount: min(unused.lowerBound, rest))
        (leaf.bytes + rest).copyMemory(from: source + rest, byteCount: size - rest)
        // Zeros in place of an unreadable part must not become a page.
        try view.checkIsWhole()
        PageHeader.write(to: leaf.bytes, birth: self.birth, kind: .leaf, level: 0, sectors: sectors)
        try free(pointer, birth: birth, sectors: nil)
        return leaf
    }

    /// Compresses a leaf and gives it a place. Returns its new pointer. `divide` writes the leaf to `page`, which has
    /// room for the largest one, and returns its parts. It may keep blocks of the leaf's former version, if there is
    /// one, and leave their bytes in `page` undefined. It is called again without a former version if the leaf isn't
    /// smaller that way.
    package func placeLeaf(
        _ pointer: UInt64, by page: UnsafeMutableRawPointer, _ divide: (FormerLeaf?) -> LeafParts
    ) throws(StorageError) -> UInt64 {
        guard isOpen else { throw .invalid("the transaction has ended") }
        guard let leaf = side.unplaced.find(pointer) else {
            throw .corrupt(Corruption(page: PagePointer.number(pointer), reason: "there is no such leaf in memory"))
        }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let page = UnsafeMutableRawBufferPointer(start: page, count: leaf.count)
        let encoder = side.unplaced.encoder
        let short = formerLeaf(pointer, encoder).flatMap { encoder.encode(Bytes(page), divide($0), former: $0) }
        let stored = short ?? encoder.encode(leafInFull: page, divide(nil))
        let sectors = UInt32(stored.count / FileFormat.sectorSize)
        keepLeafRun()
        let run = SectorRun(start: try takeRun(sectors), count: sectors)
        newFrame(run, isNode: false).buffer.copyMemory(from: Bytes(stored))
        side.unplaced.free(pointer)
        return PagePointer.make(run.start, sectors: run.count)
    }

    /// Returns the former version of a leaf: from the cache, where the transaction has read it, or decoded again.
    private func formerLeaf(_ pointer: UInt64, _ encoder: LeafEncoder) -> FormerLeaf? {
        guard let former = side.unplaced.former(of: pointer), let blocks = BlockPage(former.stored) else { return nil }
        guard let known = view.knownLeaf(former.pointer, birth: former.birth),
            Int(PageHeader(reading: known).sectors) * FileFormat.sectorSize == blocks.rawSize
        else { return encoder.decode(former: former.stored, blocks) }
        return FormerLeaf(blocks: blocks, raw: Bytes(start: known, count: blocks.rawSize))
    }
}
