// SPDX-License-Identifier: Apache-2.0
// Brings the space map into the file, copy-on-write: changed map pages and the directory get new places, and what they
// say includes those places. Allocating one page can change another map page, or grow the file and with it the
// directory; planning repeats until nothing changes. Each map page moves at most once, so it ends.

/// The places of one checkpoint's space pages and journal. Made before anything is written.
struct CheckpointPlan {
    private(set) var maps: [PageReference]
    private(set) var directory: PageReference
    private(set) var directorySectors: UInt32
    private(set) var journal: JournalRing
    /// What only the former checkpoint reaches: free once this one is durable.
    private(set) var dropped: [SectorRun] = []
    private var taken: [SectorRun] = []
    private var moved: [Bool] = []
    private var movesDirectory = false
    private let checkpoint: UInt64
    private let formerJournal: JournalRing
    /// The ring goes on where the former checkpoint's records end.
    private let journalPosition: UInt64

    /// Takes the places it needs. `.full` leaves the space map as it was.
    init(side: WriterSide, growJournal: Bool, moveJournal: Bool = false) throws(StorageError) {
        maps = side.spaceMaps
        directory = side.header.directory
        directorySectors = side.header.directorySectors
        journal = side.header.journal
        formerJournal = journal
        journalPosition = side.journal?.end ?? side.header.journalPosition
        checkpoint = side.header.checkpoint + 1
        if growJournal { takeJournal(of: journal.count * 2, side) }
        if moveJournal { takeJournal(of: FileFormat.initialJournalSectors, side) }
        dropMapsBeyondEnd(side)
        do throws(StorageError) {
            while try moveOnce(side) {}
        } catch {
            undo(side)
            throw error
        }
        for index in moved.indices where moved[index] { side.space.changedMaps[index] = false }
    }

    /// A file that was cut off has fewer map pages. The bits of those that go lie in a page that stays, so that the
    /// directory moves too.
    private mutating func dropMapsBeyondEnd(_ side: WriterSide) {
        while maps.count > side.space.changedMaps.count {
            drop(SectorRun(start: maps.removeLast().page, count: UInt32(side.space.pageSectors)), side)
        }
    }

    /// A ring of another size or place. Without the space for it the old one serves on.
    private mutating func takeJournal(of count: UInt64, _ side: WriterSide) {
        guard count <= FileFormat.maximumJournalSectors,
            let first = try? side.takeRun(UInt32(count), keeping: .transaction)
        else { return }
        drop(journal.run, side)
        journal = JournalRing(first: first, count: count)
        keep(journal.run, side)
    }

    /// Moves every changed map page that has not moved yet, and the directory. True if anything did.
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
        let needed = SpaceDirectoryPage.sectors(maps: side.space.changedMaps.count)
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
        taken.append(run)
    }

    /// A place that the new checkpoint does without: at once free if this plan took it, else held until it is durable.
    private mutating func drop(_ run: SectorRun, _ side: WriterSide) {
        if let index = taken.firstIndex(of: run) {
            taken.remove(at: index)
            side.space.release(run)
        } else {
            side.space.retire(run)
            dropped.append(run)
        }
    }

    private mutating func undo(_ side: WriterSide) {
        for run in taken { side.space.release(run) }
        for run in dropped { side.space.restore(run) }
        for index in moved.indices where moved[index] { side.space.changedMaps[index] = true }
    }

    /// The header that makes the plan's places the file's.
    func header(of state: PublishedState, after former: HeaderSlot, fileSectors: UInt64) -> HeaderSlot {
        var header = former.next(state)
        header.directory = directory
        header.directorySectors = directorySectors
        header.journal = journal
        header.journalPosition = journal == formerJournal ? journalPosition : 0
        header.fileSectors = fileSectors
        return header
    }

    /// Writes the moved pages. A new ring is written with zeros: its sectors must have been written once.
    func write(side: WriterSide) throws(StorageError) {
        if journal != formerJournal { try Self.zero(journal, side.file) }
        for index in moved.indices where moved[index] {
            try writePage(maps[index], sectors: UInt32(side.space.pageSectors), kind: .spaceMap, side.file) {
                SpaceMapPage.write(side.space, index: index, to: $0)
            }
        }
        if movesDirectory {
            try writePage(directory, sectors: directorySectors, kind: .spaceDirectory, side.file) {
                SpaceDirectoryPage.write(maps, to: $0)
            }
        }
    }

    private func writePage(
        _ place: PageReference, sectors: UInt32, kind: PageKind, _ file: any StoreFile,
        fill: (UnsafeMutableRawPointer) -> Void
    ) throws(StorageError) {
        let size = Int(sectors) * FileFormat.sectorSize
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: FileFormat.sectorSize)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0)
        if let bytes = page.baseAddress {
            PageHeader.write(to: bytes, birth: place.birth, kind: kind, level: 0, sectors: sectors)
            fill(bytes)
        }
        PageHeader.seal(page, number: place.page)
        try file.write(Bytes(page), at: place.page << FileFormat.sectorShift)
    }

    /// Writes a ring with zeros, in pieces.
    static func zero(_ ring: JournalRing, _ file: any StoreFile) throws(StorageError) {
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        var offset = ring.first << FileFormat.sectorShift
        let end = offset + UInt64(ring.byteCount)
        while offset < end {
            let count = Int(Swift.min(UInt64(zeros.count), end - offset))
            try zeros.withBytes { (bytes) throws(StorageError) in
                try file.write(Bytes(rebasing: bytes[..<count]), at: offset)
            }
            offset += UInt64(count)
        }
    }
}
