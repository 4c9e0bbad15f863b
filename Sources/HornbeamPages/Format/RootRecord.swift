// SPDX-License-Identifier: Apache-2.0
// The root record of the newest tree state. Opaque to this layer, which stores it in header slots and publishes it.
//
//   offset size
//        0    8  page of the catalogue tree's root, 0: the tree is empty
//        8    8  its birth
//       16    8  entries of the catalogue tree
//       24    1  level of the root page
//       28    4  number of the next tree
//       32   16  zero

/// The catalogue tree's root and counters.
package struct RootRecord: Equatable, Sendable {
    package var page: UInt64
    package var birth: UInt64
    package var count: UInt64
    package var level: UInt8
    package var nextTree: UInt32

    package init(page: UInt64 = 0, birth: UInt64 = 0, count: UInt64 = 0, level: UInt8 = 0, nextTree: UInt32 = 0) {
        self.page = page
        self.birth = birth
        self.count = count
        self.level = level
        self.nextTree = nextTree
    }

    /// Reads a record from `bytes`, of which at least 48 are readable.
    init(reading bytes: UnsafeRawPointer) {
        self.init(
            page: bytes.u64(0), birth: bytes.u64(8), count: bytes.u64(16), level: bytes.u8(24), nextTree: bytes.u32(28))
    }

    func write(to bytes: UnsafeMutableRawPointer) {
        bytes.set(page, at: 0)
        bytes.set(birth, at: 8)
        bytes.set(count, at: 16)
        bytes.set(level, at: 24)
        bytes.set(nextTree, at: 28)
    }
}
