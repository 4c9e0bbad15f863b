// SPDX-License-Identifier: Apache-2.0
// Writes a new store from its pages, bottom up. For backups. Pages are written once, in ascending order and in large
// pieces; a page is added after the pages that it refers to. The file is no store before `finish`, and has no name: if
// anything stops the build, nothing is left behind.

/// Builds one store, in one thread. It chooses the places of pages, the caller their births.
package final class StoreBuilder {
    package let pageSize: Int
    private let file: any StoreFile
    private var space: SpaceMap
    /// Places are taken in ascending order from here on; the journal ring is at its usual place.
    private var end = FileFormat.reservedSectors
    private let ring = JournalRing(first: FileFormat.initialJournalFirst, count: FileFormat.initialJournalSectors)
    /// Node pages are collected here and written when it is full; its place, and the number of bytes in it.
    private let chunk: UnsafeMutableRawBufferPointer
    private var chunkRun = SectorRun(start: 0, count: 0)
    private var filled = 0
    private var isOpen = true
    /// Made for the first compressed leaf.
    private lazy var encoder = LeafEncoder(reserve: reserve)
    private let keys: StoreKeys?
    private var cipher: (any PageCipher)? { keys?.cipher }
    private var reserve: Int { PageSeal.reserve(cipher) }

    /// Number of sectors of node pages in one write.
    private static let chunkSectors = Int(FileFormat.extentSectors)

    /// Builds into a new file at `path`. Throws `.exists` if there is a file.
    package convenience init(path: String, like pages: PageStore) throws(StorageError) {
        try self.init(file: try LinuxFile.createNew(path: path), like: pages)
    }

    /// Builds into an empty file. The new store gets the page size of `like`, and its keys if it is encrypted.
    package init(file: any StoreFile, like pages: PageStore) throws(StorageError) {
        self.file = file
        pageSize = pages.pageSize
        keys = try pages.keysOfCopy()
        var space = SpaceMap(pageSize: pageSize, reserve: PageSeal.reserve(keys?.cipher))
        space.grow(to: FileFormat.initialFileSectors)
        space.reserve(SectorRun(start: 0, count: UInt32(FileFormat.reservedSectors)))
        space.reserve(ring.run)
        self.space = space
        chunk = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.chunkSectors * FileFormat.sectorSize, alignment: FileFormat.sectorSize)
        try file.grow(to: FileFormat.initialFileSectors << FileFormat.sectorShift)
    }

    deinit {
        chunk.deallocate()
        file.close()
    }

    /// Adds a node page with these bytes (`pageSize` of them, header included) and returns its number.
    package func addNode(_ page: UnsafeRawPointer) throws(StorageError) -> UInt64 {
        if filled + pageSize > chunkRun.byteCount { try startChunk() }
        let run = SectorRun(
            start: chunkRun.start + UInt64(filled / FileFormat.sectorSize),
            count: UInt32(pageSize / FileFormat.sectorSize))
        let place = UnsafeMutableRawBufferPointer(rebasing: chunk[filled..<filled + pageSize])
        place.baseAddress?.copyMemory(from: page, byteCount: pageSize)
        try PageHeader.seal(place, number: run.start, with: cipher)
        space.take(run)
        filled += pageSize
        return run.start
    }

    /// Adds a leaf of a compressed tree, given raw and divided in these parts. Returns its pointer. The bytes of `page`
    /// are undefined then.
    package func addLeaf(
        _ page: UnsafeMutableRawBufferPointer, _ parts: LeafParts
    ) throws(StorageError) -> UInt64 {
        let stored = encoder.encode(leafInFull: page, parts)
        let sectors = UInt32(stored.count / FileFormat.sectorSize)
        let run = SectorRun(start: try takePlace(Int(sectors)), count: sectors)
        try PageHeader.seal(stored, number: run.start, with: cipher)
        space.take(run)
        try file.write(Bytes(stored), at: run.byteOffset)
        return PagePointer.make(run.start, sectors: sectors)
    }

    /// Adds the value as a page with this birth, block by block. Each block is verified before it gets the checksum of
    /// its new place. Returns the page's number.
    package func addLong(_ value: LongPageReader, birth: UInt64) throws(StorageError) -> UInt64 {
        let sectors = LongPage.sectors(value.size, isSealed: cipher != nil)
        let run = SectorRun(start: try takePlace(Int(sectors)), count: sectors)
        space.take(run)
        var page = LongPageBuilder(run: run, size: value.size, cipher: cipher)
        try value.forEachBlock { (block) throws(StorageError) in try page.append(block, to: file) }
        try page.finish(birth: birth, to: file)
        return run.start
    }

    /// Makes a whole, durable store of the added pages, in the state `transaction` with this root, and gives the file
    /// its name.
    package func finish(root: RootRecord, transaction: UInt64) throws(StorageError) {
        guard isOpen else { throw .invalid("the store was built already") }
        isOpen = false
        try writeChunk()
        try cut()
        let header = HeaderSlot(
            newPageSize: pageSize, identifier: keys?.identifier ?? .random(), keys: keys?.slots)
        let cache = try PageCache(budget: 1 << 20, pageSize: pageSize)
        let verification = try Verification(file: file, mapping: nil, cache: cache, keys: keys) { (_, _) in nil }
        try PageStore.establish(
            file, StoreOptions(), verification, space, header,
            PublishedState(transaction: transaction, root: root))
        file.close()
    }

    // MARK: Space

    private func startChunk() throws(StorageError) {
        try writeChunk()
        let alignment = UInt64(pageSize / FileFormat.sectorSize)
        end = (end + alignment - 1) / alignment * alignment
        // The first chunk ends where the ring begins, and may be too short for a page.
        skipRing(for: alignment)
        let room = end < ring.first ? Int(ring.first - end) : Self.chunkSectors
        let sectors = room / Int(alignment) * Int(alignment)
        chunkRun = SectorRun(start: try takePlace(sectors), count: UInt32(sectors))
    }

    private func writeChunk() throws(StorageError) {
        guard filled > 0 else { return }
        try file.write(Bytes(rebasing: chunk[..<filled]), at: chunkRun.byteOffset)
        filled = 0
    }

    /// Takes sectors in a row, after all that were taken before, and returns the first.
    private func takePlace(_ sectors: Int) throws(StorageError) -> UInt64 {
        skipRing(for: UInt64(sectors))
        let start = end
        end += UInt64(sectors)
        if end > space.sectorCount { try grow(to: max(end, space.sectorCount + space.sectorCount / 8)) }
        return start
    }

    /// Continues after the ring if the sectors don't fit before it. Any page may begin there.
    private func skipRing(for sectors: UInt64) {
        if end < ring.run.end, end + sectors > ring.first { end = ring.run.end }
    }

    /// Cuts the file to the space in use and room for the space pages.
    private func cut() throws(StorageError) {
        let reserve = 2 * (space.changedMaps.count * space.pageSectors + 16)
        let unused = space.sectorCount - space.usedEnd
        let isTight = UInt64(space.freeSectors) < UInt64(reserve) + unused
        let least = space.usedEnd + (isTight ? FileFormat.extentSectors : 0)
        guard least < space.sectorCount else { return }
        space.cut(to: least)
        try file.shrink(to: least << FileFormat.sectorShift)
    }

    private func grow(to sectors: UInt64) throws(StorageError) {
        let whole = FileFormat.fileSectors(with: sectors)
        try file.grow(to: whole << FileFormat.sectorShift)
        space.grow(to: whole)
    }
}
