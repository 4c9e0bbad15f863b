// SPDX-License-Identifier: Apache-2.0
// The 24 bytes at the start of every page. The rest depends on the page's kind.
//
//   offset size
//        0    8  checksum: XXH3-64 of bytes 8 ..< size, seeded with the page's number (of a long value: `LongPage`)
//        8    8  birth: the transaction that wrote it (space map and directory: the checkpoint's number)
//       16    1  kind
//       17    1  level: 0 for a leaf, its height for a branch
//       18    2  flags: bit 0 for a page compressed in one piece, bit 1 for one in blocks, bit 2 for an encrypted one
//       20    4  size in sectors

/// Byte offsets in a page's header.
@usableFromInline
package enum PageLayout {
    @inlinable package static var checksum: Int { 0 }
    @inlinable package static var birth: Int { 8 }
    @inlinable package static var kind: Int { 16 }
    @inlinable package static var level: Int { 17 }
    @inlinable package static var flags: Int { 18 }
    @inlinable package static var sectors: Int { 20 }
    /// The flags of a page compressed in one piece, and of one compressed in blocks.
    static var compressed: UInt16 { 1 }
    static var inBlocks: UInt16 { 2 }
    /// The flag of a page's stored form in an encrypted store. In memory only long values keep it. There are no other
    /// flags.
    static var sealed: UInt16 { 4 }
    /// Offset at which the content of the page's kind starts.
    @inlinable package static var headerSize: Int { 24 }
}

/// The kind of a page's content.
@usableFromInline
package enum PageKind: UInt8, Sendable {
    case leaf = 1
    case branch = 2
    case longValue = 3
    case spaceMap = 4
    case spaceDirectory = 5

    /// `rawValue`, inlined in other modules.
    @inlinable @inline(__always)
    package var code: UInt8 {
        switch self {
        case .leaf: 1
        case .branch: 2
        case .longValue: 3
        case .spaceMap: 4
        case .spaceDirectory: 5
        }
    }
}

/// A page's header, decoded.
struct PageHeader {
    var checksum: UInt64
    var birth: UInt64
    var kind: UInt8
    var level: UInt8
    var flags: UInt16
    var sectors: UInt32

    /// `page` has at least `PageLayout.headerSize` readable bytes.
    init(reading page: UnsafeRawPointer) {
        checksum = page.u64(PageLayout.checksum)
        birth = page.u64(PageLayout.birth)
        kind = page.u8(PageLayout.kind)
        level = page.u8(PageLayout.level)
        flags = page.u16(PageLayout.flags)
        sectors = page.u32(PageLayout.sectors)
    }

    /// Writes all but the checksum, which `seal` computes once the content is final.
    static func write(to page: UnsafeMutableRawPointer, birth: UInt64, kind: PageKind, level: UInt8, sectors: UInt32) {
        page.set(UInt64(0), at: PageLayout.checksum)
        page.set(birth, at: PageLayout.birth)
        page.set(kind.code, at: PageLayout.kind)
        page.set(level, at: PageLayout.level)
        page.set(UInt16(0), at: PageLayout.flags)
        page.set(sectors, at: PageLayout.sectors)
    }

    static func checksum(of page: Bytes, number: UInt64) -> UInt64 {
        let isLong = page[PageLayout.kind] == PageKind.longValue.code
        let end = isLong ? LongPage.checkedSize(page) ?? page.count : page.count
        return Checksum.of(Bytes(rebasing: page[PageLayout.birth..<end]), seed: number)
    }

    static func setChecksum(_ checksum: UInt64, of page: UnsafeMutableRawPointer) {
        page.set(checksum, at: PageLayout.checksum)
    }

    /// Turns a page into its stored form, in place: encrypts it if there is a cipher, and sets its checksums.
    static func seal(
        _ page: UnsafeMutableRawBufferPointer, number: UInt64, with cipher: (any PageCipher)?
    ) throws(StorageError) {
        guard let cipher else { return seal(page, number: number) }
        try PageSeal.seal(page, number: number, with: cipher)
        page.baseAddress?.set(checksum(of: Bytes(page), number: number), at: PageLayout.checksum)
    }

    /// Computes the page's checksums and sets them.
    static func seal(_ page: UnsafeMutableRawBufferPointer, number: UInt64) {
        if page[PageLayout.kind] == PageKind.longValue.code { LongPage.sealBlocks(page, number: number) }
        page.baseAddress?.set(checksum(of: Bytes(page), number: number), at: PageLayout.checksum)
    }
}

/// Called once for each node page before it is trusted. Returns the fault of the page's inside, or nil.
package typealias StructureCheck = @Sendable (Bytes, PageKind) -> String?
