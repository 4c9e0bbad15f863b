// SPDX-License-Identifier: Apache-2.0
// `\.age.desc`: a value in reverse order, for sorting and for components of indexes.

/// A value that compares the other way round.
public struct Descending<Wrapped: Comparable & Sendable>: Comparable, Sendable {
    public let value: Wrapped

    public static func < (left: Self, right: Self) -> Bool { right.value < left.value }
}

extension Comparable where Self: Sendable {
    /// The value in reverse order: `sorted(by: \.age.desc)`.
    public var desc: Descending<Self> { Descending(value: self) }
}
