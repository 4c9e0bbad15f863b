// SPDX-License-Identifier: Apache-2.0
// The constants of the file format and its limits. All integers in the file are little-endian. Names say whether a size
// is in bytes or sectors. Nothing here may change for files that exist: a change is a new format version.

/// Constants of format 1.
@usableFromInline
package enum FileFormat {
    /// The unit of space. A page's number is its first sector.
    @inlinable package static var sectorSize: Int { 4096 }
    /// `sectorSize` as a power of two.
    @inlinable package static var sectorShift: UInt64 { 12 }
    /// The bytes "HORNBEAM".
    static var magic: UInt64 { 0x4D41_4542_4E52_4F48 }
    static var version: UInt32 { 1 }
    /// Feature bits that this library understands. A file with any other bit is refused.
    static var knownFeatures: UInt64 { encrypted }
    /// The feature bit of encrypted stores: everything but the start of the header slots is encrypted. See `PageSeal`.
    static var encrypted: UInt64 { 1 }

    /// Sectors 0 and 1 are the header slots, 2 is the shared root, 3 the journal's witness.
    static var headerSlotCount: UInt64 { 2 }
    static var reservedSectors: UInt64 { 4 }

    /// The unit of allocation policy and of file growth: 1 MiB.
    package static var extentSectors: UInt64 { 256 }
    /// The size of a file that is smaller than an extent is a multiple of this, and it grows in these steps.
    static var smallSectors: UInt64 { 16 }

    /// The ring is after the first pages: damage that hits both the witness and the records also hits these, and so
    /// shows.
    static var initialJournalFirst: UInt64 { 16 }
    package static var initialJournalSectors: UInt64 { 16 }
    static var maximumJournalSectors: UInt64 { 16_384 }
    /// Sectors of the header slots, the first pages and the journal ring.
    static var initialFileSectors: UInt64 { 32 }

    /// Number of extents that hold this many sectors.
    static func extents(with sectors: UInt64) -> UInt64 { (sectors + extentSectors - 1) / extentSectors }

    /// The largest size that a file of at most `sectors` sectors can have, and (below) the smallest size with at least
    /// that many.
    static func fileSectors(within sectors: UInt64) -> UInt64 {
        let unit = sectors < extentSectors ? smallSectors : extentSectors
        return sectors / unit * unit
    }
    static func fileSectors(with sectors: UInt64) -> UInt64 {
        let unit = sectors <= extentSectors ? smallSectors : extentSectors
        return (sectors + unit - 1) / unit * unit
    }

    static var minimumPageSize: Int { 4096 }
    package static var maximumPageSize: Int { 65_536 }
    /// The sectors of a long value's page at most: 4 GiB of content, the checksums of its blocks, and its header.
    package static var maximumPageSectors: UInt32 { (1 << 20) + 129 }

    /// Transaction and checkpoint numbers stay below this, so that an addition to a number read from disk can't
    /// overflow.
    static var maximumNumber: UInt64 { 1 << 62 }
    /// The address range that is reserved for a file, and so its largest size.
    static var maximumFileBytes: Int { 1 << 40 }

    static func isValid(pageSize: Int) -> Bool {
        pageSize >= minimumPageSize && pageSize <= maximumPageSize && pageSize & (pageSize - 1) == 0
    }

    /// The number of whole sectors that hold `bytes`.
    @inlinable package static func sectors(bytes: Int) -> Int { (bytes + sectorSize - 1) / sectorSize }
}

/// A run of sectors: a page, a journal ring, or any other piece of the file.
struct SectorRun: Equatable, Hashable, Sendable {
    var start: UInt64
    var count: UInt32

    var end: UInt64 { start + UInt64(count) }
    var byteOffset: UInt64 { start << FileFormat.sectorShift }
    var byteCount: Int { Int(count) * FileFormat.sectorSize }

    /// Passes the runs of bits that are set in a word to `body`, ascending. The word stands for 64 sectors from `first`
    /// on.
    static func forEach(in bits: UInt64, from first: UInt64, _ body: (SectorRun) -> Void) {
        var rest = bits
        while rest != 0 {
            let low = rest.trailingZeroBitCount
            let count = (~(rest >> UInt64(low))).trailingZeroBitCount
            body(SectorRun(start: first + UInt64(low), count: UInt32(count)))
            rest &= ~SpaceMap.mask(low: low, count: count)
        }
    }
}

extension [SectorRun] {
    /// Adds a run at the end. Extends the last run if the new one begins where that ends.
    mutating func join(_ run: SectorRun) {
        if let last, last.end == run.start, last.count <= UInt32.max - run.count {
            self[count - 1].count += run.count
        } else {
            append(run)
        }
    }
}
