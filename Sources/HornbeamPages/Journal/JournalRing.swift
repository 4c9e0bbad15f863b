// SPDX-License-Identifier: Apache-2.0
// Where the journal lies: a ring of sectors inside the file, all written once before it is used.

/// A ring and the arithmetic of positions in it. A position is a sector within the ring.
struct JournalRing: Equatable, Sendable {
    var first: UInt64
    var count: UInt64

    var run: SectorRun { SectorRun(start: first, count: UInt32(truncatingIfNeeded: count)) }
    var byteCount: Int { Int(count) * FileFormat.sectorSize }

    /// The sector within the ring of a running number of sectors.
    func place(of position: UInt64) -> UInt64 { position % count }

    func advance(_ position: UInt64, by sectors: UInt64) -> UInt64 { (position + sectors) % count }

    /// The one or two contiguous places of `sectors` from `position`: byte offset in the file and byte count.
    func pieces(from position: UInt64, sectors: UInt64) -> [(offset: UInt64, count: Int)] {
        let toEnd = min(sectors, count - position)
        let first = ((self.first + position) << FileFormat.sectorShift, Int(toEnd) * FileFormat.sectorSize)
        guard toEnd < sectors else { return [first] }
        return [first, (self.first << FileFormat.sectorShift, Int(sectors - toEnd) * FileFormat.sectorSize)]
    }
}
