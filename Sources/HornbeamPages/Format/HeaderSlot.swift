// SPDX-License-Identifier: Apache-2.0
// The two header slots (sectors 0 and 1): where a checkpoint says what the file holds. Both are written by every
// checkpoint, one after the other, so damage to one loses nothing; the newest valid one wins.
//
//   offset size
//        0    8  magic "HORNBEAM"            } these three
//        8    8  XXH3-64 of bytes 16 ..< 4096 } stay in place
//       16    4  format version               } in every version
//       20    4  page size in bytes
//       24    8  feature flags
//       32   16  store identifier, random
//       48    8  checkpoint number
//       56    8  newest transaction in it
//       64   48  root record
//      112    8  space directory: page       120  8  its birth      128  4  its sectors     132  4  zero
//      136    8  journal: first sector       144  8  its sectors    152  8  position (sector within the ring)
//      160    8  generation of the journal, random, new with each ring and at each recovery
//      168    8  file size in sectors, whole extents
//      176    8  what the record at the position names as the checksum before it
//      184       zero

/// One header slot's content.
struct HeaderSlot: Equatable, Sendable {
    var pageSize: UInt32
    var features: UInt64 = 0
    var identifierLow: UInt64
    var identifierHigh: UInt64
    var checkpoint: UInt64 = 0
    var transaction: UInt64 = 0
    var root = RootRecord()
    var directory = PageReference(page: 0, birth: 0)
    var directorySectors: UInt32 = 0
    var journal = JournalRing(first: FileFormat.initialJournalFirst, count: FileFormat.initialJournalSectors)
    var journalPosition: UInt64 = 0
    var generation: UInt64 = 0
    /// Checksum of the record before the position, or the generation if there is no such record.
    var journalPrevious: UInt64 = 0
    var fileSectors: UInt64 = FileFormat.initialFileSectors

    var directoryRun: SectorRun { SectorRun(start: directory.page, count: directorySectors) }
}

/// A page's number and the birth it must have.
struct PageReference: Equatable, Sendable {
    var page: UInt64
    var birth: UInt64
}

extension HeaderSlot {
    /// The result of reading a slot's bytes.
    enum Reading: Equatable {
        case valid(HeaderSlot)
        /// No magic: not a store, or a slot that was never written.
        case absent
        /// Magic, but not what was written.
        case damaged
        case newer(version: UInt32)
        case unknownFeatures([String])
    }

    /// The slot's sector, ready to be written.
    func encoded() -> [UInt8] {
        var sector = [UInt8](repeating: 0, count: FileFormat.sectorSize)
        sector.withUnsafeMutableBytes { buffer in
            guard let bytes = buffer.baseAddress else { return }
            bytes.set(FileFormat.magic, at: 0)
            bytes.set(FileFormat.version, at: 16)
            bytes.set(pageSize, at: 20)
            bytes.set(features, at: 24)
            bytes.set(identifierLow, at: 32)
            bytes.set(identifierHigh, at: 40)
            bytes.set(checkpoint, at: 48)
            bytes.set(transaction, at: 56)
            root.write(to: bytes + 64)
            bytes.set(directory.page, at: 112)
            bytes.set(directory.birth, at: 120)
            bytes.set(directorySectors, at: 128)
            bytes.set(journal.first, at: 136)
            bytes.set(journal.count, at: 144)
            bytes.set(journalPosition, at: 152)
            bytes.set(generation, at: 160)
            bytes.set(fileSectors, at: 168)
            bytes.set(journalPrevious, at: 176)
            bytes.set(Self.checksum(of: Bytes(buffer)), at: 8)
        }
        return sector
    }

    private static func checksum(of sector: Bytes) -> UInt64 { Checksum.of(Bytes(rebasing: sector[16...]), seed: 0) }

    /// Reads a slot's sector (4,096 bytes).
    static func read(_ sector: Bytes) -> Reading {
        guard sector.count == FileFormat.sectorSize, let bytes = sector.baseAddress, bytes.u64(0) == FileFormat.magic
        else { return .absent }
        guard bytes.u64(8) == checksum(of: sector) else { return .damaged }
        let version = bytes.u32(16)
        guard version <= FileFormat.version else { return .newer(version: version) }
        let unknown = bytes.u64(24) & ~FileFormat.knownFeatures
        guard unknown == 0 else {
            return .unknownFeatures((0..<64).filter { unknown >> UInt64($0) & 1 == 1 }.map { "feature bit \($0)" })
        }
        return .valid(
            HeaderSlot(
                pageSize: bytes.u32(20), features: bytes.u64(24),
                identifierLow: bytes.u64(32), identifierHigh: bytes.u64(40),
                checkpoint: bytes.u64(48), transaction: bytes.u64(56), root: RootRecord(reading: bytes + 64),
                directory: PageReference(page: bytes.u64(112), birth: bytes.u64(120)),
                directorySectors: bytes.u32(128),
                journal: JournalRing(first: bytes.u64(136), count: bytes.u64(144)),
                journalPosition: bytes.u64(152), generation: bytes.u64(160), journalPrevious: bytes.u64(176),
                fileSectors: bytes.u64(168)))
    }

    /// Returns what is wrong, or nil if every field is within its bounds and within a file of `fileBytes`. In that case
    /// arithmetic on the fields can't overflow.
    func problem(fileBytes: UInt64) -> String? {
        guard FileFormat.isValid(pageSize: Int(pageSize)) else { return "page size \(pageSize)" }
        guard checkpoint < FileFormat.maximumNumber, transaction < FileFormat.maximumNumber else {
            return "checkpoint \(checkpoint) or transaction \(transaction) beyond the limit"
        }
        guard FileFormat.fileSectors(within: fileSectors) == fileSectors, fileSectors >= FileFormat.initialFileSectors,
            fileSectors <= UInt64(FileFormat.maximumFileBytes >> Int(FileFormat.sectorShift))
        else { return "file size of \(fileSectors) sectors" }
        guard fileSectors <= fileBytes >> FileFormat.sectorShift else {
            return "truncated: it should have \(fileSectors << FileFormat.sectorShift) bytes, but has \(fileBytes)"
        }
        guard journal.count >= 2, journal.count <= FileFormat.maximumJournalSectors,
            isInside(first: journal.first, count: journal.count), journalPosition < journal.count
        else { return "journal at sector \(journal.first), \(journal.count) sectors" }
        guard directorySectors > 0, isInside(first: directory.page, count: UInt64(directorySectors)) else {
            return "space directory at sector \(directory.page)"
        }
        guard root.page < fileSectors else { return "root at sector \(root.page)" }
        return nil
    }

    /// Gives a new file a ring of this many sectors: behind the first pages or, a large one, in extents of its own.
    mutating func takeFirstRing(_ count: UInt64) {
        let isSmall = count < FileFormat.extentSectors
        journal = JournalRing(
            first: isSmall ? FileFormat.initialJournalFirst : FileFormat.extentSectors, count: count)
        let others = FileFormat.initialFileSectors - FileFormat.initialJournalSectors
        fileSectors = isSmall ? FileFormat.fileSectors(with: others + count) : journal.run.end
    }

    private func isInside(first: UInt64, count: UInt64) -> Bool {
        first >= FileFormat.reservedSectors && first < fileSectors && count <= fileSectors - first
    }

    /// Chooses between the two slots.
    static func choose(
        _ readings: [Reading], path: String, fileBytes: UInt64
    ) throws(StorageError) -> HeaderSlot {
        var newest: HeaderSlot?
        for reading in readings {
            switch reading {
            case .valid(let slot): if slot.checkpoint >= newest?.checkpoint ?? 0 { newest = slot }
            case .newer(let version):
                throw .newerFormat(path: path, version: version, supported: FileFormat.version)
            case .unknownFeatures(let names): throw .unknownFeatures(path: path, names: names)
            case .absent, .damaged: continue
            }
        }
        if let newest {
            if let problem = newest.problem(fileBytes: fileBytes) {
                throw .corrupt(Corruption(reason: "the header of \(path) is wrong: \(problem)"))
            }
            return newest
        }
        if readings.contains(.damaged) {
            throw .corrupt(Corruption(reason: "both header slots of \(path) are damaged"))
        }
        if fileBytes == 0 { throw .notAStore(path: path, reason: "the file is empty") }
        throw .notAStore(path: path, reason: "it does not begin with a Hornbeam header (\(fileBytes) bytes)")
    }
}
