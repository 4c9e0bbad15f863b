// SPDX-License-Identifier: Apache-2.0
// One term of a view's order: the compared value of an entity, and the direction. A term gives bytes whose order is
// that of the values, so that entities are never compared with each other.

import HornbeamKeys

/// A term of a view's order: `.ascending(\.name)`, `.descending(\.date)`, `.ascending { $0.name.count }`. Nil comes
/// first, and last in a descending term.
public struct ViewOrder<Entity: EntityModelProtocol>: Sendable {
    let type: ColumnType
    let isDescending: Bool
    /// Its description in the file.
    let label: String
    /// The reason why it can't be used. Nil if it can.
    let flaw: String?
    private let collator: Collator?
    private let value: @Sendable (Entity) throws -> Value

    private init<Property: IndexKey>(
        _ value: @escaping @Sendable (Entity) throws -> Property, isDescending: Bool, collation: TextCollation? = nil
    ) {
        type = Property.columnType
        self.isDescending = isDescending
        self.value = { try value($0).columnValue }
        var label = "\(Property.columnType)"
        var flaw: String?
        var collator: Collator?
        if let collation = collation?.collation {
            do throws(KeyError) {
                let made = try Collator(collation)
                collator = made
                label += " \(collation.name) \(made.version)"
            } catch {
                flaw = "its collation \(collation.name) is not available: \(error)"
            }
        }
        self.collator = collator
        self.label = isDescending ? label + " descending" : label
        self.flaw = flaw
    }

    /// Ascending order by a property, or by the result of a function. A function must always return the same value for
    /// the same entity.
    public static func ascending(_ value: @escaping @Sendable (Entity) throws -> some IndexKey) -> Self {
        Self(value, isDescending: false)
    }

    /// Descending order by a property, or by the result of a function.
    public static func descending(_ value: @escaping @Sendable (Entity) throws -> some IndexKey) -> Self {
        Self(value, isDescending: true)
    }

    /// Ascending order of texts by a collation: `.ascending(\.title, collation: .unicode)`. Another version of the
    /// collation's tables may give another order, so the view is rebuilt then.
    public static func ascending(
        _ value: @escaping @Sendable (Entity) throws -> String, collation: TextCollation
    ) -> Self {
        Self(value, isDescending: false, collation: collation)
    }

    /// Descending order of texts by a collation.
    public static func descending(
        _ value: @escaping @Sendable (Entity) throws -> String, collation: TextCollation
    ) -> Self {
        Self(value, isDescending: true, collation: collation)
    }

    /// Appends the component of an entity.
    func append(_ entity: Entity, to key: inout KeyWriter) throws {
        try append(try value(entity), to: &key)
    }

    /// Appends the component that a value would have.
    func append(_ value: Value, to key: inout KeyWriter) throws {
        guard let collator, case .string(let text) = value else {
            return try KeyCoding.appendComponent(value, as: type, descending: isDescending, to: &key)
        }
        let start = key.bytes.count
        key.appendPresent()
        do throws(KeyError) {
            try key.append(text, collator: collator)
        } catch {
            throw HornbeamError(.invalid, "“\(text.shown())” can't be sorted: \(error)")
        }
        if isDescending { key.invert(from: start) }
    }
}
