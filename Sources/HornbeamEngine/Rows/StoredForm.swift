// SPDX-License-Identifier: Apache-2.0
// Between a Swift type and the values of a column, for migrations: they meet types that are no property of a model any
// more, so no overload can be picked for a property. The form of a type is found once, not for each row.

/// The form of a Swift type's values in a column: the form that `@EntityModel` gives a property of that type.
///
/// `@unchecked Sendable`: the closures capture types and other forms, nothing that changes. Where the type is found by
/// a cast, the compiler doesn't know that it may cross threads.
package struct StoredForm<Property>: @unchecked Sendable {
    package let type: ColumnType
    package let encode: (Property) throws -> Value
    /// Converts a stored value back. Returns nil if the value doesn't fit.
    package let decode: (Value) -> Property?

    /// `.invalid` for a type that can't be stored.
    package static func find() throws(HornbeamError) -> StoredForm {
        if let form = forms() { return form }
        throw HornbeamError(
            .invalid, "\(Property.self) can't be stored: make it Codable, or conform it to ColumnValue")
    }

    /// The form of a property whose column has this type. In generic code it may be JSON, for any type of property.
    package static func find(in column: ColumnType) -> StoredForm? {
        let form = column.unwrapped == .json ? json() : forms()
        return form?.type.unwrapped == column.unwrapped ? form : nil
    }

    private static func forms() -> StoredForm? {
        // ColumnForms.swift prefers forms in this order.
        if let column = Property.self as? any ColumnValue.Type { return column.form(as: Property.self) }
        if let raw = Property.self as? any RawRepresentable.Type { return raw.form(as: Property.self) ?? json() }
        if let wrapping = Property.self as? any Wrapping.Type { return wrapping.form(as: Property.self) }
        return json()
    }

    private static func json() -> StoredForm? {
        guard let type = Property.self as? any Codable.Type else { return nil }
        return type.jsonForm(as: Property.self)
    }
}

/// Optionals and arrays of types that aren't column values themselves.
private protocol Wrapping {
    static func form<Property>(as _: Property.Type) -> StoredForm<Property>?
}

extension Optional: Wrapping {
    static func form<Property>(as _: Property.Type) -> StoredForm<Property>? {
        // Optionals within one another, around a type that is no column value, are JSON: each level of nil is null.
        if Wrapped.self is any Nillable.Type {
            guard let form = (Property.self as? any Codable.Type)?.jsonForm(as: Property.self) else { return nil }
            return StoredForm<Property>(
                type: .optional(.json),
                encode: { value in
                    let encoded = try form.encode(value)
                    return encoded == .json("null") ? .null : encoded
                },
                decode: { $0 == .null ? same(Self.none, as: Property.self) : form.decode($0) })
        }
        guard let wrapped = try? StoredForm<Wrapped>.find() else { return nil }
        return StoredForm<Property>(
            type: .optional(wrapped.type),
            encode: { value in
                guard let value = same(value, as: Self.self).flatMap({ $0 }) else { return .null }
                return try wrapped.encode(value)
            },
            decode: { value in
                if value == .null { return same(Self.none, as: Property.self) }
                return wrapped.decode(value).flatMap { same(Self.some($0), as: Property.self) }
            })
    }
}

extension Array: Wrapping {
    static func form<Property>(as _: Property.Type) -> StoredForm<Property>? {
        // An array of enums is one of their raw values; any other is JSON as a whole.
        guard Element.self is any RawRepresentable.Type, let element = try? StoredForm<Element>.find(),
            element.type != .json
        else { return (Property.self as? any Codable.Type)?.jsonForm(as: Property.self) }
        return StoredForm<Property>(
            type: .array(element.type),
            encode: { value in .array(try (same(value, as: Self.self) ?? []).map(element.encode)) },
            decode: { value in
                guard case .array(let values) = value else { return nil }
                var elements: [Element] = []
                for value in values {
                    guard let one = element.decode(value) else { return nil }
                    elements.append(one)
                }
                return same(elements, as: Property.self)
            })
    }
}

extension ColumnValue {
    fileprivate static func form<Property>(as _: Property.Type) -> StoredForm<Property> {
        StoredForm<Property>(
            type: columnType, encode: { same($0, as: Self.self)?.columnValue ?? .null },
            decode: { Self(columnValue: $0).flatMap { same($0, as: Property.self) } })
    }
}

extension RawRepresentable {
    fileprivate static func form<Property>(as _: Property.Type) -> StoredForm<Property>? {
        guard let raw = RawValue.self as? any ColumnValue.Type else { return nil }
        let form = raw.form(as: RawValue.self)
        return StoredForm<Property>(
            type: form.type,
            encode: { value in
                guard let value = same(value, as: Self.self) else { return .null }
                return try form.encode(value.rawValue)
            },
            decode: { form.decode($0).flatMap { Self(rawValue: $0).flatMap { same($0, as: Property.self) } } })
    }
}

extension Decodable where Self: Encodable {
    fileprivate static func jsonForm<Property>(as _: Property.Type) -> StoredForm<Property> {
        StoredForm<Property>(
            type: .json,
            encode: { value in
                guard let value = same(value, as: Self.self) else { return .null }
                return .json(try CodedJSON.text(value))
            },
            decode: { value in
                guard case .json(let text) = value else { return nil }
                guard let decoded = try? CodedJSON.value(Self.self, of: text) else { return nil }
                return same(decoded, as: Property.self)
            })
    }
}

/// The value in a type that the caller knows to be its own, where the compiler doesn't. No cast: casts see through
/// optionals, so that they don't tell a nil from a failure.
func same<Known, Other>(_ value: Known, as _: Other.Type) -> Other? {
    guard Known.self == Other.self else { return nil }
    return unsafeBitCast(value, to: Other.self)
}
