// SPDX-License-Identifier: Apache-2.0
// Ids with their entity types, so that the compiler distinguishes them.

/// An id of one entity type: `let id: TypedID<Book, Int>`. Although both are numbers, a query of authors, a relation to
/// an author or a comparison with an author's id doesn't accept a book's id.
///
/// It is stored, ordered and coded as the value in it, so a type whose ids were plain values opens the same file.
/// Literals convert to it: `Book(id: 7)`, `Book.query("b-1")`.
public struct TypedID<Entity, RawValue: Hashable & Sendable>: RawRepresentable, Hashable, Sendable {
    public let rawValue: RawValue

    @inlinable
    public init(rawValue: RawValue) { self.rawValue = rawValue }

    @inlinable
    public init(_ rawValue: RawValue) { self.rawValue = rawValue }
}

extension TypedID: ColumnValue where RawValue: ColumnValue {}
extension TypedID: IndexKey where RawValue: IndexKey {}

extension TypedID: Comparable where RawValue: Comparable {
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension TypedID: Encodable where RawValue: Encodable {
    public func encode(to encoder: any Encoder) throws { try rawValue.encode(to: encoder) }
}

extension TypedID: Decodable where RawValue: Decodable {
    public init(from decoder: any Decoder) throws { self.init(try RawValue(from: decoder)) }
}

extension TypedID: CustomStringConvertible {
    public var description: String { "\(rawValue)" }
}

extension TypedID: ExpressibleByIntegerLiteral where RawValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: RawValue.IntegerLiteralType) { self.init(RawValue(integerLiteral: value)) }
}

extension TypedID: ExpressibleByUnicodeScalarLiteral where RawValue: ExpressibleByUnicodeScalarLiteral {
    public init(unicodeScalarLiteral value: RawValue.UnicodeScalarLiteralType) {
        self.init(RawValue(unicodeScalarLiteral: value))
    }
}

extension TypedID: ExpressibleByExtendedGraphemeClusterLiteral
where RawValue: ExpressibleByExtendedGraphemeClusterLiteral {
    public init(extendedGraphemeClusterLiteral value: RawValue.ExtendedGraphemeClusterLiteralType) {
        self.init(RawValue(extendedGraphemeClusterLiteral: value))
    }
}

extension TypedID: ExpressibleByStringLiteral where RawValue: ExpressibleByStringLiteral {
    public init(stringLiteral value: RawValue.StringLiteralType) { self.init(RawValue(stringLiteral: value)) }
}
