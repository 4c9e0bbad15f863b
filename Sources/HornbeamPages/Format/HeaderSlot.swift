// SPDX-License-Identifier: Apache-2.0
// The two header slots (sectors 0 and 1): a checkpoint states there what the file holds. Every checkpoint writes both,
// one after the other, so damage to one loses nothing; the newest valid one wins.
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
//      176    8  the "checksum before it" that the record at the position names
//      184       zero
//
// In an encrypted store bytes 48 ..< 184 are zero, and:
//
//      256   20  nonce
//      276  136  bytes 48 ..< 184 of the layout above, encrypted
//      412   16  tag, which also authenticates bytes 16 ..< 48 and the key slots
//      512 1024  key slots: see `KeyArea` of HornbeamEncryption

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
    /// Checksum of the record before the position, or the generation if there is none.
    var journalPrevious: UInt64 = 0
    var fileSectors: UInt64 = FileFormat.initialFileSectors
    /// The key slots of an encrypted store.
    var keys: KeySlots?

    var directoryRun: SectorRun { SectorRun(start: directory.page, count: directorySectors) }
}

/// A page's number and the birth it must have.
struct PageReference: Equatable, Sendable {
    var page: UInt64
    var birth: UInt64
}

extension HeaderSlot {
    /// The header of a new store.
    init(newPageSize pageSize: Int, identifier: StoreIdentifier, keys: KeySlots?) {
        self.init(
            pageSize: UInt32(pageSize), features: keys == nil ? 0 : FileFormat.encrypted,
            identifierLow: identifier.low, identifierHigh: identifier.high, keys: keys)
    }

    /// The result of reading a slot's bytes.
    enum Reading: Equatable {
        case valid(HeaderSlot)
        /// No magic: not a store, or a slot that was never written.
        case absent
        /// Magic, but the checksum or the tag is wrong.
        case damaged
        case newer(version: UInt32)
        case unknownFeatures([String])
        /// The slot of an encrypted store, read without its data key.
        case locked(KeySlots, StoreIdentifier)
    }

    /// The slot's sector, ready to be written. `cipher`: of an encrypted store, nil for any other.
    func encoded(_ cipher: (any PageCipher)?) throws(StorageError) -> [UInt8] {
        var sector = [UInt8](repeating: 0, count: FileFormat.sectorSize)
        try sector.withMutableBytes { (buffer) throws(StorageError) in
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
            switch (cipher, keys) {
            case (let cipher?, let keys?): try Self.seal(buffer, keys, cipher)
            case (nil, nil): break
            default: throw .invalid("a header needs both a key and a cipher, or neither")
            }
            bytes.set(Self.checksum(of: Bytes(buffer)), at: 8)
        }
        return sector
    }

    private static func checksum(of sector: Bytes) -> UInt64 { Checksum.of(Bytes(rebasing: sector[16...]), seed: 0) }

    /// Reads a slot's sector (4,096 bytes). `cipher`: of an encrypted store, if it is known.
    static func read(_ sector: Bytes, _ cipher: (any PageCipher)?) -> Reading {
        guard sector.count == FileFormat.sectorSize, let bytes = sector.baseAddress, bytes.u64(0) == FileFormat.magic
        else { return .absent }
        guard bytes.u64(8) == checksum(of: sector) else { return .damaged }
        let version = bytes.u32(16)
        guard version <= FileFormat.version else { return .newer(version: version) }
        let unknown = bytes.u64(24) & ~FileFormat.knownFeatures
        guard unknown == 0 else {
            return .unknownFeatures((0..<64).filter { unknown >> UInt64($0) & 1 == 1 }.map { "feature bit \($0)" })
        }
        guard bytes.u64(24) & FileFormat.encrypted != 0 else {
            // The cipher's store is encrypted, so a slot in clear can't be one of it.
            return cipher == nil ? .valid(HeaderSlot(fields: bytes, keys: nil)) : .damaged
        }
        guard let keys = KeySlots(Array(sector[Self.keys..<Self.keys + KeySlots.size])) else { return .damaged }
        guard let cipher else { return .locked(keys, identifier(in: bytes)) }
        return withUnsafeTemporaryAllocation(byteCount: sector.count, alignment: 8) { (opened) -> Reading in
            opened.copyMemory(from: sector)
            guard let fields = opened.baseAddress, Self.open(opened, cipher) else { return .damaged }
            return .valid(HeaderSlot(fields: UnsafeRawPointer(fields), keys: keys))
        }
    }

    /// The parts in clear of an encrypted store's slot, whether or not its checksum holds: a torn slot still has them.
    /// The key tells whether the key slots are whole, and the first page read whether the identifier is.
    static func keysOfDamaged(_ sector: Bytes) -> (slots: KeySlots, identifier: StoreIdentifier)? {
        guard sector.count == FileFormat.sectorSize, let bytes = sector.baseAddress, bytes.u64(0) == FileFormat.magic,
            bytes.u64(24) & FileFormat.encrypted != 0,
            let slots = KeySlots(Array(sector[Self.keys..<Self.keys + KeySlots.size]))
        else { return nil }
        return (slots, identifier(in: bytes))
    }

    private static func identifier(in slot: UnsafeRawPointer) -> StoreIdentifier {
        StoreIdentifier(low: slot.u64(32), high: slot.u64(40))
    }

    /// The fields of a slot's bytes.
    private init(fields bytes: UnsafeRawPointer, keys: KeySlots?) {
        self.init(
            pageSize: bytes.u32(20), features: bytes.u64(24),
            identifierLow: bytes.u64(32), identifierHigh: bytes.u64(40),
            checkpoint: bytes.u64(48), transaction: bytes.u64(56), root: RootRecord(reading: bytes + 64),
            directory: PageReference(page: bytes.u64(112), birth: bytes.u64(120)),
            directorySectors: bytes.u32(128),
            journal: JournalRing(first: bytes.u64(136), count: bytes.u64(144)),
            journalPosition: bytes.u64(152), generation: bytes.u64(160), journalPrevious: bytes.u64(176),
            fileSectors: bytes.u64(168), keys: keys)
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

    /// Gives a new file a ring of this many sectors: a small ring behind the first pages, a large one in extents of its
    /// own.
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
            case .locked: throw .keyNeeded(path: path)
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

// MARK: Encryption

extension HeaderSlot {
    /// Offsets in the slot of an encrypted store.
    private static let fields = 48..<184
    private static let nonce = 256
    private static let sealed = 276..<412
    private static let tag = 412
    private static let keys = 512

    /// Encrypts the fields into their place in an encrypted slot, and clears them in the other.
    private static func seal(
        _ slot: UnsafeMutableRawBufferPointer, _ keys: KeySlots, _ cipher: any PageCipher
    ) throws(StorageError) {
        guard let start = slot.baseAddress else { return }
        let sealed = UnsafeMutableRawBufferPointer(rebasing: slot[Self.sealed])
        sealed.copyMemory(from: Bytes(rebasing: slot[fields]))
        UnsafeMutableRawBufferPointer(rebasing: slot[fields]).initializeMemory(as: UInt8.self, repeating: 0)
        UnsafeMutableRawBufferPointer(rebasing: slot[Self.keys..<Self.keys + KeySlots.size]).copyBytes(from: keys.bytes)
        try withContext(of: Bytes(slot)) { (context) throws(StorageError) in
            try cipher.seal(sealed, context: context, nonce: start + nonce, tag: start + tag)
        }
    }

    /// Decrypts the fields and moves them back. Returns false if the slot is not as it was written.
    private static func open(_ slot: UnsafeMutableRawBufferPointer, _ cipher: any PageCipher) -> Bool {
        guard let start = slot.baseAddress else { return false }
        let sealed = UnsafeMutableRawBufferPointer(rebasing: slot[Self.sealed])
        let isOpen = try? withContext(of: Bytes(slot)) { (context) throws(StorageError) in
            cipher.open(0, sealed, context: context, nonce: start + nonce, tag: start + tag)
        }
        guard isOpen == true else { return false }
        UnsafeMutableRawBufferPointer(rebasing: slot[fields]).copyMemory(from: Bytes(sealed))
        return true
    }

    /// Passes the slot's bytes in clear that the tag authenticates to `body`: those that stay the same from one
    /// checkpoint to the next.
    private static func withContext<Result>(
        of slot: Bytes, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let context = Array(slot[16..<48]) + Array(slot[Self.keys..<Self.keys + KeySlots.size])
        return try context.withBytes(body)
    }
}
