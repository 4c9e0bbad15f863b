// SPDX-License-Identifier: Apache-2.0
// Identifies the tree of a node: eight bytes of its header. The writer compares them with those of the tree that it
// changes, with one load from a cache line that it reads anyway.

/// Tree number u32 · size of a reduced value u16 · reserve u16, as one little-endian integer. The reserve is the number
/// of zero bytes before the common prefix that hold no entry: 0, or 36 in an encrypted store (`PageSeal`).
struct NodeStamp: Equatable {
    let rawValue: UInt64

    @inline(__always)
    init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Leaves hold no reduced values, so in a tree with a reduction leaves and branches have different stamps.
    init(tree: UInt32, reductionSize: Int, reserve: Int) {
        rawValue = UInt64(tree) | UInt64(reductionSize) << 32 | UInt64(reserve) << 48
    }

    var tree: UInt32 { UInt32(truncatingIfNeeded: rawValue) }
    @inline(__always) var reductionSize: Int { Int(rawValue &>> 32 & 0xFFFF) }
    @inline(__always) var reserve: Int { Int(rawValue &>> 48) }
    var isPlausible: Bool {
        (reserve == 0 || reserve == NodeLayout.reserve) && reductionSize <= NodeLayout.maximumReduction
    }
}
