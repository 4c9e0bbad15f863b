// SPDX-License-Identifier: Apache-2.0
// The witness, sector 3: the newest transaction whose record is durable. It is written after each write-through of the
// journal, and never synced: it outlives its process at once, and after some time a power failure too. Without it, a
// journal whose last record was damaged later would look like one whose last write was cut. It must never name a
// transaction before its record is durable, or a torn write would be taken for damage.
//
//   offset size
//        0    8  the bytes "HBWITNES"
//        8    8  XXH3-64 of bytes 16 ..< 32, seed 0
//       16    8  generation of the journal
//       24    8  transaction
//       32       zero; in an encrypted store nonce and tag at 128 (`SectorSeal`)

struct JournalWitness: Equatable {
    var generation: UInt64
    var transaction: UInt64

    static var offset: UInt64 { 3 << FileFormat.sectorShift }
    private static var magic: UInt64 { 0x5345_4E54_4957_4248 }

    init(generation: UInt64, transaction: UInt64) {
        self.generation = generation
        self.transaction = transaction
    }

    /// Reads the witness in a sector. Returns nil if the sector holds none, or one that isn't whole.
    init?(reading sector: UnsafeRawPointer, _ cipher: (any PageCipher)?) {
        guard sector.u64(0) == Self.magic, sector.u64(8) == Self.checksum(sector),
            SectorSeal.isWhole(sector, with: cipher)
        else { return nil }
        self.init(generation: sector.u64(16), transaction: sector.u64(24))
    }

    /// Fills in a sector that must be zero, except for an earlier witness.
    func write(to sector: UnsafeMutableRawPointer) {
        sector.set(Self.magic, at: 0)
        sector.set(generation, at: 16)
        sector.set(transaction, at: 24)
        sector.set(Self.checksum(UnsafeRawPointer(sector)), at: 8)
    }

    private static func checksum(_ sector: UnsafeRawPointer) -> UInt64 {
        Checksum.of(Bytes(start: sector + 16, count: 16), seed: 0)
    }
}

/// Writes the witness. Only one call at a time.
final class WitnessWriter {
    private let sector: UnsafeMutableRawPointer
    private let cipher: (any PageCipher)?

    /// `cipher`: of an encrypted store.
    init(_ cipher: (any PageCipher)?) {
        self.cipher = cipher
        sector = .allocate(byteCount: FileFormat.sectorSize, alignment: 8)
        sector.initializeMemory(as: UInt8.self, repeating: 0, count: FileFormat.sectorSize)
    }

    deinit { sector.deallocate() }

    /// Writes the witness. The commit succeeds even if that fails: then damage to its record would be taken for a cut
    /// write.
    func note(_ witness: JournalWitness, in file: any StoreFile) {
        witness.write(to: sector)
        do throws(StorageError) {
            try SectorSeal.seal(sector, with: cipher)
            try file.write(Bytes(start: sector, count: FileFormat.sectorSize), at: JournalWitness.offset)
        } catch {
            return
        }
    }
}
