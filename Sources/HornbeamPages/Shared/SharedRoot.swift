// SPDX-License-Identifier: Apache-2.0
// The shared root, sector 2: the newest durable state, for readers in other processes. It is valid only while its
// writer lives, or as long as no other has written since. It is never synced, and no recovery reads it.
//
//   offset size
//        0    8  the bytes "HBSHARED"
//        8    8  XXH3-64 of bytes 16 ..< 128, seed 0
//       16    8  life: random, another one each time the file is opened for writing
//       24    8  sequence: 0 while the writer opens the file, then one more with each state
//       32    8  transaction of the state
//       40    8  size of the file in sectors
//       48   48  root record
//       96    8  sectors in use
//      104    8  number of the last checkpoint
//      112    8  sectors of the journal's records since then
//      120    8  sectors that only older states hold
//      128   36  nonce and tag of an encrypted store (`SectorSeal`)
//
// The last four are only for figures, as of the commit or checkpoint before. They are not written again for an
// unchanged state. The last three are 0 if an older version of the program wrote the sector.

/// The contents of the shared root.
struct SharedRoot: Equatable, Sendable {
    /// Distinguishes two contents of the sector without reading all of it.
    struct Identity: Equatable, Sendable {
        var life: UInt64
        var sequence: UInt64
    }

    var identity: Identity
    var transaction: UInt64 = 0
    var fileSectors: UInt64 = 0
    var root = RootRecord()
    var usedSectors: UInt64 = 0
    var checkpoint: UInt64 = 0
    var journalSectors: UInt64 = 0
    var retiredSectors: UInt64 = 0

    static var sector: UInt64 { 2 }
    static var offset: UInt64 { sector << FileFormat.sectorShift }
    private static var magic: UInt64 { 0x4445_5241_4853_4248 }
    private static var size: Int { 128 }
    private static var sealedSize: Int { size + PageSeal.reserve }

    /// Whether a state was announced: the writer has finished opening the file.
    var hasState: Bool { identity.sequence > 0 }

    /// Fills a sector.
    func write(to sector: UnsafeMutableRawPointer) {
        sector.initializeMemory(as: UInt8.self, repeating: 0, count: FileFormat.sectorSize)
        sector.set(Self.magic, at: 0)
        sector.set(identity.life, at: 16)
        sector.set(identity.sequence, at: 24)
        sector.set(transaction, at: 32)
        sector.set(fileSectors, at: 40)
        root.write(to: sector + 48)
        sector.set(usedSectors, at: 96)
        sector.set(checkpoint, at: 104)
        sector.set(journalSectors, at: 112)
        sector.set(retiredSectors, at: 120)
        sector.set(Self.checksum(UnsafeRawPointer(sector)), at: 8)
    }

    /// Reads the shared root in a sector. Returns nil if the sector holds none, or if a write of it is under way.
    init?(reading sector: UnsafeRawPointer, _ cipher: (any PageCipher)?) {
        // Another process may be writing it: only bytes that were checked may be used.
        let copy = UnsafeMutableRawPointer.allocate(byteCount: Self.sealedSize, alignment: 8)
        defer { copy.deallocate() }
        copy.copyMemory(from: sector, byteCount: Self.sealedSize)
        let bytes = UnsafeRawPointer(copy)
        guard bytes.u64(0) == Self.magic, bytes.u64(8) == Self.checksum(bytes),
            SectorSeal.isWhole(bytes, with: cipher)
        else { return nil }
        identity = Identity(life: bytes.u64(16), sequence: bytes.u64(24))
        transaction = bytes.u64(32)
        fileSectors = bytes.u64(40)
        root = RootRecord(reading: bytes + 48)
        usedSectors = bytes.u64(96)
        checkpoint = bytes.u64(104)
        journalSectors = bytes.u64(112)
        retiredSectors = bytes.u64(120)
        guard transaction < FileFormat.maximumNumber, root.page < fileSectors || root.page == 0 else { return nil }
    }

    init(identity: Identity) { self.identity = identity }

    private static func checksum(_ sector: UnsafeRawPointer) -> UInt64 {
        Checksum.of(Bytes(start: sector + 16, count: size - 16), seed: 0)
    }

    // MARK: In a file

    /// Reads and checks all of it. Returns nil if the sector holds none, or if a write of it is under way.
    static func read(_ file: FileReader, _ cipher: (any PageCipher)?) throws(StorageError) -> SharedRoot? {
        try sector(of: file).flatMap { SharedRoot(reading: $0, cipher) }
    }

    /// Whether the sector holds the state of this transaction, or no state was ever told.
    static func tells(
        nothingBut transaction: UInt64, in file: FileReader, _ cipher: (any PageCipher)?
    ) throws(StorageError) -> Bool {
        guard let sector = try sector(of: file) else { return false }
        if identity(in: sector) == Identity(life: 0, sequence: 0) { return true }
        return SharedRoot(reading: sector, cipher)?.transaction == transaction
    }

    /// The sector's bytes, valid until the reader reads again, and as long as it lives.
    private static func sector(of file: FileReader) throws(StorageError) -> UnsafeRawPointer? {
        try file.bytes(at: offset, count: FileFormat.sectorSize).baseAddress
    }

    /// Reads only its identity, unchecked. It equals a former one only if nothing else was written since (a torn read
    /// shows some byte of another content).
    static func identity(_ file: FileReader) throws(StorageError) -> Identity {
        guard let sector = try sector(of: file) else { return Identity(life: 0, sequence: 0) }
        return identity(in: sector)
    }

    private static func identity(in sector: UnsafeRawPointer) -> Identity {
        Identity(life: sector.u64(16), sequence: sector.u64(24))
    }
}
