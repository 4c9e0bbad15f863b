// SPDX-License-Identifier: Apache-2.0
// Writes the space map to the file, copy-on-write: changed map pages and the directory get new places, which the
// written map includes. Allocating one page can change another map page, or grow the file and with it the directory, so
// planning repeats until nothing changes. It ends, because each map page moves at most once.

/// A space page in its final form, before it is written.
struct SpacePageImage {
    let place: PageReference
    /// The index of a map page, and its first sector.
    let map: Int?
    let firstSector: UInt64
    let bytes: [UInt8]

    init(
        _ place: PageReference, sectors: UInt32, kind: PageKind, map: Int? = nil, firstSector: UInt64 = 0,
        fill: (UnsafeMutableRawPointer) -> Void
    ) {
        self.place = place
        self.map = map
        self.firstSector = firstSector
        var bytes = [UInt8](repeating: 0, count: Int(sectors) * FileFormat.sectorSize)
        bytes.withUnsafeMutableBytes { page in
            guard let start = page.baseAddress else { return }
            PageHeader.write(to: start, birth: place.birth, kind: kind, level: 0, sectors: sectors)
            fill(start)
            PageHeader.seal(page, number: place.page)
        }
        self.bytes = bytes
    }

    func write(to file: any StoreFile, _ cipher: (any PageCipher)?) throws(StorageError) {
        var bytes = bytes
        if let cipher {
            try bytes.withMutableBytes { (page) throws(StorageError) in
                try PageHeader.seal(page, number: place.page, with: cipher)
            }
        }
        try bytes.withBytes { (bytes) throws(StorageError) in
            try file.write(bytes, at: place.page << FileFormat.sectorShift)
        }
    }

    /// A map page's words.
    var words: [UInt64] { Self.words(bytes) }

    static func words(_ page: [UInt8]) -> [UInt64] {
        page.withUnsafeBytes { page in
            stride(from: SpaceMapPage.contentOffset, to: page.count, by: 8).map {
                UInt64(littleEndian: page.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
            }
        }
    }
}

/// The places of one checkpoint's space pages and journal. Made before anything is written.
struct CheckpointPlan {
    private(set) var maps: [PageReference]
    private(set) var directory: PageReference
    private(set) var directorySectors: UInt32
    private(set) var journal: JournalRing
    /// Sectors that only the former checkpoint reaches. They are free once this one is durable.
    private(set) var dropped: [SectorRun] = []
    /// The new places.
    private(set) var taken: [SectorRun] = []
    private var moved: [Bool] = []
    private var movesDirectory = false
    private var zeroesJournal = false
    private let checkpoint: UInt64
    private let formerJournal: JournalRing
    private let formerMaps: [PageReference]

    /// Takes the places it needs. After `.full` the space map is as it was.
    init(side: WriterSide, journal change: RingChange = .keep) throws(StorageError) {
        maps = side.spaceMaps
        directory = side.header.directory
        directorySectors = side.header.directorySectors
        journal = side.header.journal
        formerJournal = journal
        formerMaps = maps
        checkpoint = side.nextCheckpoint
        switch change {
        case .keep: break
        case .new(let count): takeJournal(of: count, side)
        case .prepared(let ring): setJournal(ring, side)
        }
        dropMapsBeyondEnd(side)
        do throws(StorageError) {
            while try moveOnce(side) {}
        } catch {
            undo(side)
            throw error
        }
        for index in moved.indices where moved[index] { side.space.changedMaps[index] = false }
    }

    /// Drops the map pages that a shortened file no longer has. The bits of their own sectors are in a page that stays,
    /// so the directory moves too.
    private mutating func dropMapsBeyondEnd(_ side: WriterSide) {
        while maps.count > side.space.changedMaps.count {
            drop(SectorRun(start: maps.removeLast().page, count: UInt32(side.space.pageSectors)), side)
        }
    }

    /// Takes a ring of another size or place. If there is no space for it, the former ring stays.
    private mutating func takeJournal(of count: UInt64, _ side: WriterSide) {
        guard count <= FileFormat.maximumJournalSectors,
            let first = try? side.takeRun(UInt32(count), .lowest, keeping: .transaction)
        else { return }
        zeroesJournal = true
        setJournal(JournalRing(first: first, count: count), side)
    }

    private mutating func setJournal(_ ring: JournalRing, _ side: WriterSide) {
        drop(journal.run, side)
        journal = ring
        keep(ring.run, side)
    }

    /// Moves every changed map page that has not moved yet, and the directory. Returns whether anything moved.
    private mutating func moveOnce(_ side: WriterSide) throws(StorageError) -> Bool {
        var changed = false
        let count = side.space.changedMaps.count
        maps.append(contentsOf: repeatElement(PageReference(page: 0, birth: 0), count: count - maps.count))
        moved.append(contentsOf: repeatElement(false, count: count - moved.count))
        for index in 0..<count where side.space.changedMaps[index] && !moved[index] {
            let run = SectorRun(
                start: try side.takeNode(keeping: .checkpoint), count: UInt32(side.space.pageSectors))
            keep(run, side)
            if maps[index].page != 0 { drop(SectorRun(start: maps[index].page, count: run.count), side) }
            maps[index] = PageReference(page: run.start, birth: checkpoint)
            moved[index] = true
            changed = true
        }
        let needed = UInt32(side.space.directorySectors)
        if changed, !movesDirectory || needed > directorySectors {
            let run = SectorRun(start: try side.takeRun(needed, keeping: .checkpoint), count: needed)
            keep(run, side)
            if directorySectors > 0 { drop(SectorRun(start: directory.page, count: directorySectors), side) }
            directory = PageReference(page: run.start, birth: checkpoint)
            directorySectors = needed
            movesDirectory = true
        }
        return changed
    }

    private mutating func keep(_ run: SectorRun, _ side: WriterSide) {
        side.space.reserve(run)
        side.verification.foreign.insert(run)
        taken.append(run)
    }

    /// Drops a place that the new checkpoint doesn't have. It is free at once if this plan took it, otherwise held
    /// until the checkpoint is durable.
    private mutating func drop(_ run: SectorRun, _ side: WriterSide) {
        if let index = taken.firstIndex(of: run) {
            taken.remove(at: index)
            side.space.release(run)
        } else {
            side.space.retire(run)
            dropped.append(run)
        }
    }

    /// Releases the new places, and takes the dropped ones into use again.
    func undo(_ side: WriterSide) {
        for run in taken { side.space.release(run) }
        for run in dropped { side.space.restore(run) }
        for index in moved.indices where moved[index] { side.space.changedMaps[index] = true }
    }

    /// The header that puts the plan's places into effect. `mark`: the place where the journal continues; nil if it
    /// begins anew.
    func header(
        of state: PublishedState, after former: HeaderSlot, fileSectors: UInt64, mark: JournalMark?
    ) -> HeaderSlot {
        var header = former
        header.checkpoint = checkpoint
        header.transaction = state.transaction
        header.root = state.root
        header.directory = directory
        header.directorySectors = directorySectors
        header.fileSectors = fileSectors
        header.journal = journal
        if let mark, journal == formerJournal {
            header.journalPosition = journal.place(of: mark.position) >> FileFormat.sectorShift
            header.journalPrevious = mark.previous
        } else {
            // Random, so that nothing in the ring can pass for a record of the new generation.
            header.generation = UInt64.random(in: 1...UInt64.max)
            header.journalPrevious = header.generation
            header.journalPosition = 0
        }
        return header
    }

    /// The bytes of the moved pages, as the space map is now.
    func images(_ space: SpaceMap) -> [SpacePageImage] {
        var images = moved.indices.filter { moved[$0] }.map { index in
            let firstSector = UInt64(index * space.extentsPerMap) * FileFormat.extentSectors
            return SpacePageImage(
                maps[index], sectors: UInt32(space.pageSectors), kind: .spaceMap, map: index, firstSector: firstSector
            ) { SpaceMapPage.write(space, index: index, to: $0) }
        }
        if movesDirectory {
            images.append(
                SpacePageImage(directory, sectors: directorySectors, kind: .spaceDirectory) {
                    SpaceDirectoryPage.write(maps, to: $0)
                })
        }
        return images
    }

    /// The former place of a map page; nil if it had none.
    func formerMap(_ index: Int) -> UInt64? { index < formerMaps.count ? formerMaps[index].page : nil }

    /// Fills a new ring with zeros, because its sectors must have been written once.
    func writeRing(_ file: any StoreFile) throws(StorageError) {
        if zeroesJournal { try Self.zero(journal, file) }
    }

    static func zero(_ ring: JournalRing, _ file: any StoreFile) throws(StorageError) {
        try file.writeZeros(at: ring.first << FileFormat.sectorShift, count: UInt64(ring.byteCount))
    }
}
