// SPDX-License-Identifier: Apache-2.0
// The number by which a program knows a named tree.

/// A named tree's number. Valid for the life of the store once the transaction that opened or created the tree has
/// committed, or if that was a read.
@usableFromInline
package struct TreeID: Hashable, Sendable {
    @usableFromInline package let rawValue: UInt32
    @inlinable @inline(__always)
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}
