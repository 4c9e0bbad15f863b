// SPDX-License-Identifier: Apache-2.0
// The stored forms of the values that a program compares with.

/// The stored form of a literal; nil for types without one.
package func literal<Property>(_ value: Property) -> Value? {
    // Nearly all literals are one of these. The general way takes four times as long.
    if Property.self == String.self, let value = value as? String { return .string(value) }
    if Property.self == Int.self, let value = value as? Int { return .int(Int64(value)) }
    if let value = value as? any ColumnValue { return value.columnValue }
    guard let value = value as? any RawRepresentable else { return nil }
    return rawLiteral(value)
}

private func rawLiteral(_ value: some RawRepresentable) -> Value? {
    (value.rawValue as? any ColumnValue)?.columnValue
}

extension Comparison {
    /// Whether a comparison of columns has the result of the Swift type's own comparison. A raw-representable type may
    /// order its cases unlike their raw values, unless it conforms to `IndexKey`.
    package func holdsForColumns<Property>(of _: Property.Type) -> Bool {
        switch self {
        case .equal, .notEqual: true
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            Property.self == Int.self || Property.self is any IndexKey.Type
        }
    }
}
