// SPDX-License-Identifier: Apache-2.0
// Values too large for a leaf: each in a page of its own, so that reading one is a slice of the mapping. Written once,
// never changed in place.

import HornbeamPages

enum LongValue {
    /// Of a page that holds a value of `size` bytes.
    static func sectors(_ size: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: (size &+ UInt64(PageLayout.headerSize) &+ 4095) / 4096)
    }

    static func read(_ long: LongReference, in view: PageView) throws(StorageError) -> Bytes {
        let page = try view.longPage(long.page, birth: long.birth, sectors: sectors(long.size))
        let end = PageLayout.headerSize + Int(truncatingIfNeeded: long.size)
        guard end <= page.count else {
            throw .corrupt(Corruption(page: long.page, reason: "a long value reaches beyond its page"))
        }
        return Bytes(rebasing: page[PageLayout.headerSize..<end])
    }

    static func write(_ value: Bytes, with pages: PageWriter) throws(StorageError) -> LongReference {
        let size = UInt64(value.count)
        let page = try pages.allocate(kind: .longValue, level: 0, sectors: sectors(size))
        (page.bytes + PageLayout.headerSize).copy(value)
        return LongReference(page: page.number, size: size, birth: pages.birth)
    }

    static func free(_ long: LongReference, with pages: PageWriter) throws(StorageError) {
        try pages.free(long.page, birth: long.birth, sectors: sectors(long.size))
    }
}
