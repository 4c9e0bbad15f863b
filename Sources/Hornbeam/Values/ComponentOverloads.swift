// SPDX-License-Identifier: Apache-2.0
// Components of ordered indexes in code written by the macro. The compiler picks an overload by the property's key
// path; the type of the property must have an order-preserving key.

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
        message:
            "this type has no order-preserving key: conform it to IndexKey, or write @HashIndex, which serves equality"
    )
    public static func of<E, V>(_ name: String, _: KeyPath<E, V>, descending: Bool = false) -> Self {
        Self(column: name, descending: descending)
    }
}
