// SPDX-License-Identifier: Apache-2.0
// The mark of a clean end. Closing a store writes it to the sector of the ring in which the next record will begin. It
// says that there is no record after the checkpoint, so that opening the file need not search the ring. A life that
// began with the mark removes it, through to the medium, before it writes its first records: after a crash that cuts
// these off the mark must not be there. A mark that is lost, or was cut, only costs the search.
//
//   offset size
//        0    8  the bytes "HBCLEAN", 0
//        8    8  XXH3-64 of bytes 16 ..< 48, seed 0
//       16    8  generation of the journal        }
//       24    8  number of the checkpoint         } the header's: a mark that a later checkpoint has left behind
//       32    8  its transaction                  } doesn't count
//       40    8  sector of the ring that this is  }
//       48       zero; in an encrypted store nonce and tag at 128 (`SectorSeal`)

struct CleanEnd: Equatable {
    private var generation: UInt64
    private var checkpoint: UInt64
    private var transaction: UInt64
    private var sector: UInt64

    private static var magic: UInt64 { 0x004E_4145_4C43_4248 }

    /// The mark of a file whose newest state is the state of this checkpoint.
    init(of header: HeaderSlot) {
        generation = header.generation
        checkpoint = header.checkpoint
        transaction = header.transaction
        sector = header.journalPosition
    }

    /// Reads the mark in a sector. Returns nil if the sector holds none, or one that isn't whole.
    private init?(reading sector: UnsafeRawPointer) {
        guard sector.u64(0) == Self.magic, sector.u64(8) == Self.checksum(sector) else { return nil }
        generation = sector.u64(16)
        checkpoint = sector.u64(24)
        transaction = sector.u64(32)
        self.sector = sector.u64(40)
    }

    private static func checksum(_ sector: UnsafeRawPointer) -> UInt64 {
        Checksum.of(Bytes(start: sector + 16, count: 32), seed: 0)
    }

    private static func offset(in header: HeaderSlot) -> UInt64 {
        (header.journal.first + header.journalPosition) << FileFormat.sectorShift
    }

    /// Whether the file has the mark that fits its header. A mark that can't be read counts as none.
    static func isThere(_ header: HeaderSlot, _ file: FileReader, _ cipher: (any PageCipher)?) -> Bool {
        guard let sector = try? file.bytes(at: offset(in: header), count: FileFormat.sectorSize).baseAddress else {
            return false
        }
        return CleanEnd(reading: sector) == CleanEnd(of: header) && SectorSeal.isWhole(sector, with: cipher)
    }

    /// Removes the mark, through to the medium.
    static func remove(_ header: HeaderSlot, from file: any StoreFile) throws(StorageError) {
        let sector = [UInt8](repeating: 0, count: FileFormat.sectorSize)
        try sector.withBytes { (bytes) throws(StorageError) in
            try file.writeThrough(bytes, at: offset(in: header))
        }
    }

    /// Writes the mark. Closing succeeds even if that fails.
    static func write(_ header: HeaderSlot, to file: any StoreFile, _ cipher: (any PageCipher)?) {
        let mark = CleanEnd(of: header)
        withUnsafeTemporaryAllocation(byteCount: FileFormat.sectorSize, alignment: 8) { bytes in
            guard let start = bytes.baseAddress else { return }
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            start.set(magic, at: 0)
            start.set(mark.generation, at: 16)
            start.set(mark.checkpoint, at: 24)
            start.set(mark.transaction, at: 32)
            start.set(mark.sector, at: 40)
            start.set(checksum(UnsafeRawPointer(start)), at: 8)
            do throws(StorageError) {
                try SectorSeal.seal(start, with: cipher)
                try file.write(Bytes(bytes), at: offset(in: header))
            } catch {
                return
            }
        }
    }
}
