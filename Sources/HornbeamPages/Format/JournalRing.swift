// SPDX-License-Identifier: Apache-2.0
// The place of the journal: a ring of sectors inside the file. All of them are written once before the ring is used.

/// A ring, and the arithmetic of places in it, which are bytes from its start.
struct JournalRing: Equatable, Sendable {
    var first: UInt64
    var count: UInt64

    var run: SectorRun { SectorRun(start: first, count: UInt32(truncatingIfNeeded: count)) }
    var byteCount: Int { Int(count) * FileFormat.sectorSize }

    /// The place in the ring of a position, which counts bytes and never starts again.
    func place(of position: UInt64) -> UInt64 { position % UInt64(byteCount) }

    /// The one or two contiguous pieces of the file that hold `count` bytes from `place`: byte offset in the file and
    /// byte count. Both arguments are whole sectors.
    func pieces(from place: UInt64, count: UInt64) -> Pieces {
        let start = first << FileFormat.sectorShift
        let toEnd = min(count, UInt64(byteCount) - place)
        return Pieces(first: (start + place, Int(toEnd)), second: (start, Int(count - toEnd)))
    }

    /// One or two pieces; a piece without bytes is none.
    struct Pieces: Sequence, IteratorProtocol {
        fileprivate var first: (offset: UInt64, count: Int)
        fileprivate var second: (offset: UInt64, count: Int)

        /// The piece, if there is one.
        var only: (offset: UInt64, count: Int)? { second.count == 0 ? first : nil }

        mutating func next() -> (offset: UInt64, count: Int)? {
            guard first.count > 0 else { return nil }
            defer {
                first = second
                second.count = 0
            }
            return first
        }
    }

    /// The sectors that hold `count` bytes from `place`: byte offset and count within the ring.
    static func sectors(from place: UInt64, count: UInt64) -> (place: UInt64, count: UInt64) {
        let start = place.floorSector
        return (start, (place + count).ceilSector - start)
    }
}

extension UInt64 {
    /// The start of the sector that this byte is in.
    var floorSector: UInt64 { self & ~UInt64(FileFormat.sectorSize - 1) }
    /// The start of the first sector that begins at this byte or after it.
    var ceilSector: UInt64 { (self &+ UInt64(FileFormat.sectorSize - 1)).floorSector }
}
