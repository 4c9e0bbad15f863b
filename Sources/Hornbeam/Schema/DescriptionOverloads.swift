// SPDX-License-Identifier: Apache-2.0
// How code written by the macro describes its properties: from a key path the compiler picks the overload that knows
// the column type. The same preferences as in RowOverloads.swift.

extension ColumnDescription {
    public static func of<E, V: ColumnValue>(_ name: String, _: KeyPath<E, V>) -> ColumnDescription {
        ColumnDescription(name: name, type: V.columnType)
    }

    public static func of<E, V: RawRepresentable>(_ name: String, _: KeyPath<E, V>) -> ColumnDescription
    where V.RawValue: ColumnValue {
        ColumnDescription(name: name, type: V.RawValue.columnType)
    }

    public static func of<E, V: RawRepresentable>(_ name: String, _: KeyPath<E, V?>) -> ColumnDescription
    where V.RawValue: ColumnValue {
        ColumnDescription(name: name, type: V.RawValue?.columnType)
    }

    public static func of<E, V: RawRepresentable>(_ name: String, _: KeyPath<E, [V]>) -> ColumnDescription
    where V.RawValue: ColumnValue {
        ColumnDescription(name: name, type: [V.RawValue].columnType)
    }

    public static func of<E, V: RawRepresentable>(_ name: String, _: KeyPath<E, [V]?>) -> ColumnDescription
    where V.RawValue: ColumnValue {
        ColumnDescription(name: name, type: [V.RawValue]?.columnType)
    }

    public static func of<E, V: ColumnValue & RawRepresentable>(_ name: String, _: KeyPath<E, V>)
        -> ColumnDescription where V.RawValue: ColumnValue
    {
        ColumnDescription(name: name, type: V.columnType)
    }

    public static func of<E, V: ColumnValue & RawRepresentable>(_ name: String, _: KeyPath<E, V?>)
        -> ColumnDescription where V.RawValue: ColumnValue
    {
        ColumnDescription(name: name, type: V?.columnType)
    }

    public static func of<E, V: ColumnValue & RawRepresentable>(_ name: String, _: KeyPath<E, [V]>)
        -> ColumnDescription where V.RawValue: ColumnValue
    {
        ColumnDescription(name: name, type: [V].columnType)
    }

    public static func of<E, V: ColumnValue & RawRepresentable>(_ name: String, _: KeyPath<E, [V]?>)
        -> ColumnDescription where V.RawValue: ColumnValue
    {
        ColumnDescription(name: name, type: [V]?.columnType)
    }

    @_disfavoredOverload
    public static func of<E, V: Codable>(_ name: String, _: KeyPath<E, V>) -> ColumnDescription {
        ColumnDescription(name: name, type: .json)
    }

    @_disfavoredOverload
    public static func of<E, V: Codable>(_ name: String, _: KeyPath<E, V?>) -> ColumnDescription {
        ColumnDescription(name: name, type: .optional(.json))
    }

    @available(*, unavailable, message: "this type can't be stored: make it Codable, or conform it to ColumnValue")
    public static func of<E, V>(_ name: String, _: KeyPath<E, V>) -> ColumnDescription {
        ColumnDescription(name: name, type: .json)
    }
}

extension IndexDescription.Component {
    public static func of<E, V: IndexKey>(_ name: String, _: KeyPath<E, V>, descending: Bool = false) -> Self {
        Self(column: name, descending: descending)
    }

    public static func of<E, V: RawRepresentable>(_ name: String, _: KeyPath<E, V>, descending: Bool = false) -> Self
    where V.RawValue: IndexKey {
        Self(column: name, descending: descending)
    }

    public static func of<E, V: RawRepresentable>(_ name: String, _: KeyPath<E, V?>, descending: Bool = false) -> Self
    where V.RawValue: IndexKey {
        Self(column: name, descending: descending)
    }

    public static func of<E, V: IndexKey & RawRepresentable>(
        _ name: String, _: KeyPath<E, V>, descending: Bool = false
    ) -> Self where V.RawValue: IndexKey {
        Self(column: name, descending: descending)
    }

    public static func of<E, V: IndexKey & RawRepresentable>(
        _ name: String, _: KeyPath<E, V?>, descending: Bool = false
    ) -> Self where V.RawValue: IndexKey {
        Self(column: name, descending: descending)
    }

    @available(
        *, unavailable,
        message: "this type has no order-preserving key: conform it to IndexKey, or index another property"
    )
    public static func of<E, V>(_ name: String, _: KeyPath<E, V>, descending: Bool = false) -> Self {
        Self(column: name, descending: descending)
    }
}
