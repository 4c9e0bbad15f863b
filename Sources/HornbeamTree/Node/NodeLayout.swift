// SPDX-License-Identifier: Apache-2.0
// The layout of a node: offsets, sizes and limits, no logic. Leaves and branches have one layout. `Docs/file-format.md`
// and the files of users depend on it: a number here never changes within a format version.
//
//      0 ┌──────────────────────────────┐
//        │ page header (HornbeamPages)  │
//     24 │ count u16 · prefix size u16  │
//     28 │ heap size u16 · dead u16     │
//     32 │ tree u32 · reduction u16 ·   │  number of the tree, size of a reduced value,
//        │ reserve u16                  │  size of the reserve
//     40 ├──────────────────────────────┤
//        │ key heads: count × u32       │  four key bytes after the prefix, big-endian, zero padded
//        │ slots: count × u16           │  offset of the entry's cell
//        ├──────────────────────────────┤  grows down
//        │ free                         │
//        ├──────────────────────────────┤  grows up: size − heap size
//        │ heap: cells, with dead gaps  │
//        │ reserve of an encrypted store│  zeros
//        │ common prefix of all keys    │
//   size └──────────────────────────────┘
//
// Cell: suffix size u16 · value size u16 (0xFFFF: a long value's reference) · suffix (key without prefix) · value.
// A long value's reference is three u64: page · size · birth. A branch's value is a child record: three u64 page ·
// birth · count, then the reduced value of the child's entries, of the tree's reduction size (0 without a reduction).
// Entry 0 of a branch stands for "minus infinity": its suffix is empty and it has no part in the prefix.

/// Offsets, sizes (bytes) and limits of nodes. All integers in a node are little-endian.
enum NodeLayout {
    static let count = 24
    static let prefixSize = 26
    static let heapSize = 28
    static let deadSize = 30
    /// Eight bytes that identify the node's tree: `NodeStamp`.
    static let stamp = 32
    static let heads = 40

    static let headSize = 4
    static let slotSize = 2
    /// Size of an entry in the arrays.
    static let entryOverhead = headSize + slotSize

    static let cellHeader = 4
    static let cellValueSize = 2
    /// Stands in place of a value's size: the value is a `LongReference`.
    static let longMark: UInt16 = 0xFFFF
    /// Size of a long value's reference.
    static let referenceSize = 24
    /// Size of a child record without the reduced value after it.
    static let childSize = 24
    /// Largest reduced value.
    static let maximumReduction = 256

    /// The number of levels of a tree is below this. A file that claims more is damaged.
    static let maximumLevels = 24

    /// Size of the reserve of an encrypted store's nodes.
    static let reserve = 36

    /// Longest key of a store with pages of this size. It lets any node hold three entries.
    static func maximumKey(pageSize: Int) -> Int { min(longestKey, pageSize / 4) }
    /// Size of the longest key in any node.
    static let longestKey = 2048
    /// Size that arrays and heap share.
    static func capacity(pageSize: Int) -> Int { pageSize - heads }
    /// An entry with more bytes of key, value and cell header than this keeps its value in a page of its own.
    static func inlineLimit(pageSize: Int) -> Int { capacity(pageSize: pageSize) / 4 }
    /// Longest value: its size is 32 bits wide wherever it is stored.
    static let maximumValue = Int(UInt32.max)
}
