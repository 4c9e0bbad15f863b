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

    /// A new leaf with the content of the leaf that `pointer` names, which is retired. A leaf of this transaction that
    /// has no place yet is returned as it is.
    package func copyLeaf(
        _ pointer: UInt64, birth: UInt64
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        let source = try view.page(pointer, birth: birth, kind: .leaf, level: 0)
        if PagePointer.isUnplaced(pointer), birth >= ownBirth, let own = side.unplaced.find(pointer)?.baseAddress {
            own.set(self.birth, at: PageLayout.birth)
            return (pointer, own)
        }
        let sectors = PageHeader(reading: source).sectors
        let leaf = side.unplaced.add(
            Int(sectors) * FileFormat.sectorSize, former: view.storedLeaf(pointer, birth: birth))
        noteMemory()
        leaf.bytes.copyMemory(from: source, byteCount: Int(sectors) * FileFormat.sectorSize)
        // Zeros in place of an unreadable part must not become a page.
        try view.checkIsWhole()
        PageHeader.write(to: leaf.bytes, birth: self.birth, kind: .leaf, level: 0, sectors: sectors)
        try free(pointer, birth: birth, sectors: nil)
        return leaf
    }

    /// Compresses a leaf, divided in these parts, and gives it a place. Returns its new pointer. Bytes in no part
    /// become zeros.
    package func placeLeaf(_ pointer: UInt64, _ parts: LeafParts) throws(StorageError) -> UInt64 {
        guard isOpen else { throw .invalid("the transaction has ended") }
        let run = try side.unplaced.withStored(pointer, parts) { (stored) throws(StorageError) in
            let sectors = UInt32(stored.count / FileFormat.sectorSize)
            let run = SectorRun(start: try takeRun(sectors), count: sectors)
            newFrame(run, isNode: false).buffer.copyMemory(from: Bytes(stored))
            return run
        }
        side.unplaced.free(pointer)
        return PagePointer.make(run.start, sectors: run.count)
    }
}
