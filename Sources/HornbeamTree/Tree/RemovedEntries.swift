// SPDX-License-Identifier: Apache-2.0
// Finds trees that have lost so many entries that their leaves may be half empty.

import Synchronization

/// Numbers of entries that trees have lost since their leaves were filled up last, or since the store was opened.
final class RemovedEntries: @unchecked Sendable {
    // Sendable: `byTree` is guarded by the writer's turn.
    @exclusivity(unchecked) private var byTree: [UInt32: Tree] = [:]
    private let total = Atomic<Int64>(0)

    private struct Tree {
        var removed: Int64 = 0
        /// The key at which filling up continues.
        var place: [UInt8] = []
    }

    /// Number of lost entries below which there is nothing to gain.
    static let worthLooking: Int64 = 256

    /// Adds removed entries. Wraps on numbers that only damage can cause.
    func note(_ removed: Int64, in tree: UInt32) {
        byTree[tree, default: Tree()].removed &+= removed
        total.wrappingAdd(removed, ordering: .relaxed)
    }

    /// Number of entries that all trees have lost since the last walk over them. Any thread.
    var sum: Int64 { total.load(ordering: .relaxed) }
    /// Subtracts the sum that was read before such a walk.
    func forget(sum: Int64) { total.wrappingSubtract(sum, ordering: .relaxed) }

    /// Whether a tree has lost a fifth of its entries.
    func isMany(in tree: UInt32, of entries: UInt64) -> Bool {
        let removed = byTree[tree]?.removed ?? 0
        return removed >= Self.worthLooking && UInt64(clamping: removed) >= entries / 4
    }

    /// The key at which a tree's filling up continues; empty for its beginning.
    func place(in tree: UInt32) -> [UInt8] { byTree[tree]?.place ?? [] }
    func note(place: [UInt8], in tree: UInt32) { byTree[tree]?.place = place }

    func forget(_ tree: UInt32) { byTree[tree] = nil }
}
