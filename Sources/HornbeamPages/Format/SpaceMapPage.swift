// SPDX-License-Identifier: Apache-2.0
// The file's form of the space map: pages of kind space map, listed by one page of kind space directory. Both have the
// page header; their birth is the number of the checkpoint that wrote them.
//
//   space map page                               space directory page
//   offset size                                  offset size
//       24    8  index of this map page              24    4  number of map pages
//       32       one bit a sector, 64 to a word,     28    4  zero
//                bit 0 of word 0 first               32       for each map page: its number 8, its birth 8
//
// A map page covers whole extents: (page size - 32) / 32 of them. In an encrypted store both leave the last 36 bytes
// empty; these don't count as a part of the page's size then.

enum SpaceMapPage {
    static var contentOffset: Int { 32 }

    static func extents(pageSize: Int) -> Int { (pageSize - contentOffset) / 32 }

    /// The number of map pages of a file.
    static func count(fileSectors: UInt64, extentsPerMap: Int) -> Int {
        (Int(FileFormat.extents(with: fileSectors)) + extentsPerMap - 1) / extentsPerMap
    }

    /// Fills `page` (zeroed, one node page long) with part `index` of the map.
    static func write(_ space: SpaceMap, index: Int, to page: UnsafeMutableRawPointer) {
        page.set(UInt64(index), at: 24)
        let first = index * space.extentsPerMap * SpaceMap.wordsPerExtent
        let count = min(space.extentsPerMap * SpaceMap.wordsPerExtent, space.words.count - first)
        for offset in 0..<count { page.set(space.words[first + offset].live, at: contentOffset + 8 * offset) }
    }
}

enum SpaceDirectoryPage {
    static var contentOffset: Int { 32 }
    static var entrySize: Int { 16 }

    static func sectors(maps: Int, reserve: Int) -> UInt32 {
        UInt32(FileFormat.sectors(bytes: contentOffset + maps * entrySize + reserve))
    }

    /// Fills `page` (zeroed, and long enough).
    static func write(_ maps: [PageReference], to page: UnsafeMutableRawPointer) {
        page.set(UInt32(maps.count), at: 24)
        for (index, map) in maps.enumerated() {
            page.set(map.page, at: contentOffset + index * entrySize)
            page.set(map.birth, at: contentOffset + index * entrySize + 8)
        }
    }

    /// The entries of a verified directory page; nil if it does not have `expected` entries.
    static func read(_ page: Bytes, expected: Int) -> [PageReference]? {
        guard let bytes = page.baseAddress, page.count >= contentOffset + expected * entrySize,
            bytes.u32(24) == UInt32(expected)
        else { return nil }
        return (0..<expected).map { index in
            let entry = contentOffset + index * entrySize
            return PageReference(page: bytes.u64(entry), birth: bytes.u64(entry + 8))
        }
    }
}
