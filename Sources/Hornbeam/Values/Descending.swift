// SPDX-License-Identifier: Apache-2.0
// `\.age.desc` and `\.nick.asc`: values in an order that can be reversed, for sorting and for components of indexes.
// Optionals and Booleans have no order of their own in Swift; here nil and false come first.

/// A value that compares in reverse order.
public struct Descending<Wrapped: Comparable & Sendable>: Comparable, Sendable {
    public let value: Wrapped

    public static func < (left: Self, right: Self) -> Bool { ValueOrder.precedes(right.value, left.value) }
}

/// An optional value in an order: nil is less than everything else.
public struct NilFirst<Wrapped: Comparable & Sendable>: Comparable, Sendable {
    public let value: Wrapped?

    public static func < (left: Self, right: Self) -> Bool {
        guard let second = right.value else { return false }
        return left.value.map { ValueOrder.precedes($0, second) } ?? true
    }
}

extension Comparable where Self: Sendable {
    /// The value in its own order, which is also the order without `.asc`: `sorted(by: \.name.asc, \.age.desc)`.
    public var asc: Self { self }
    /// The value in reverse order: `sorted(by: \.age.desc)`.
    public var desc: Descending<Self> { Descending(value: self) }
}

extension Optional where Wrapped: Comparable & Sendable {
    /// The value in order, nil first: `sorted(by: \.nick.asc, \.age)`.
    public var asc: NilFirst<Wrapped> { NilFirst(value: self) }
    /// The value in reverse order, nil last.
    public var desc: Descending<NilFirst<Wrapped>> { asc.desc }
}

extension Bool {
    /// The value in order, false first.
    public var asc: UInt8 { self ? 1 : 0 }
    /// The value in reverse order, true first.
    public var desc: Descending<UInt8> { asc.desc }
}
