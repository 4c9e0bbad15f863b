// SPDX-License-Identifier: Apache-2.0
// Converts between a Swift type and the values of a column, for migrations. Their types need not belong to a property
// of a model any more, so the compiler can't pick an overload by a property. The form of a type is found once, not for
// each row.

/// The form of a Swift type's values in a column: the form that `@EntityModel` gives a property of that type.
///
/// `@unchecked Sendable`: the closures capture only types and other forms, which don't change. The compiler can't know
/// that for a type that is found by a cast.
package struct StoredForm<Property>: @unchecked Sendable {
    package let type: ColumnType
    package let encode: (Property) throws -> Value
    /// Converts a stored value back. Returns nil if the value doesn't fit.
    package let decode: (Value) -> Property?

    /// Finds the form of the type. Throws `.invalid` if the type can't be stored.
    package static func find() throws(HornbeamError) -> StoredForm {
        if let form = forms() { return form }
        throw HornbeamError(
            .invalid, "\(Property.self) can't be stored: make it Codable, or conform it to ColumnValue")
    }

    /// Finds the form of a property whose column has this type. Returns nil if there is none. In generic code the
    /// column of any property may be JSON.
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
        // An array of enums is stored as an array of their raw values, any other array as JSON.
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

/// Returns the value as type `Other` if that is its static type; otherwise nil. Unlike a cast it doesn't unwrap
/// optionals, so nil as a value and failure stay distinct.
func same<Known, Other>(_ value: Known, as _: Other.Type) -> Other? {
    guard Known.self == Other.self else { return nil }
    return unsafeBitCast(value, to: Other.self)
}
