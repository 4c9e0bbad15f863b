// SPDX-License-Identifier: Apache-2.0
// Values too large for a leaf. Each is in a page of its own, so that reading one gives a slice of the mapping. Written
// once, never changed in place.

import HornbeamPages

enum LongValue {
    /// Number of sectors of a page with a value of `size` bytes.
    static func sectors(_ size: UInt64, in view: PageView) -> UInt32 {
        LongPage.sectors(size, isSealed: view.reserve > 0)
    }

    static func read(_ long: LongReference, in view: PageView) throws(StorageError) -> Bytes {
        let page = try view.longPage(long.page, birth: long.birth, sectors: sectors(long.size, in: view))
        guard LongPage.valueSize(page) == long.size else {
            throw .corrupt(Corruption(page: long.page, reason: "the long value has another size than its entry says"))
        }
        let start = LongPage.dataOffset(long.size, isSealed: view.reserve > 0)
        return Bytes(rebasing: page[start..<start + Int(truncatingIfNeeded: long.size)])
    }

    static func write(_ value: Bytes, with pages: PageWriter) throws(StorageError) -> LongReference {
        let size = UInt64(value.count)
        let page = try pages.allocate(kind: .longValue, level: 0, sectors: sectors(size, in: pages.view))
        LongPage.setSize(size, of: page.bytes)
        (page.bytes + LongPage.dataOffset(size, isSealed: pages.view.reserve > 0)).copy(value)
        return LongReference(page: page.number, size: size, birth: pages.birth)
    }

    static func free(_ long: LongReference, with pages: PageWriter) throws(StorageError) {
        try pages.free(long.page, birth: long.birth, sectors: sectors(long.size, in: pages.view))
    }
}
