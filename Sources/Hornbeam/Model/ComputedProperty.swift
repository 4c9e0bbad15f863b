// SPDX-License-Identifier: Apache-2.0
// Components of keys that a property of the program computes from an entity.

extension ComputedComponent {
    /// A component of a property. Returns nil for a property whose values have no order.
    init?<Entity: EntityModelProtocol, Property: Sendable>(_ keyPath: KeyPath<Entity, Property>) {
        guard let type = Self.type(of: Property.self) else { return nil }
        self.init(ComputedSubject(keyPath), keyPath, as: type) { Hornbeam.literal($0) }
    }

    /// - Parameter literal: returns the stored form of a value, which is of `type` or null. Nil stands for null too.
    init<Entity: EntityModelProtocol, Property: Sendable>(
        _ subject: ComputedSubject, _ keyPath: KeyPath<Entity, Property>, as type: ColumnType,
        literal: @escaping @Sendable (Property) -> Value?
    ) {
        let (label, keyPath) = (keyPath.label, keyPath.shared)
        self.init(subject, label: label, type: type, sources: nil) { (row) throws(HornbeamError) in
            let entity = try Entity(row: row)
            let value: Property
            do {
                value = try RelationReads.refusing(label, Entity.self) { entity[keyPath: keyPath] }
            } catch {
                throw error as? HornbeamError ?? HornbeamError(.invalid, "“\(label)” can't be computed: \(error)")
            }
            guard let stored = literal(value) else { return .null }
            guard let converted = stored.converted(to: .optional(type)) else {
                throw HornbeamError(.invalid, "“\(label)” gives \(stored.text), which is no \(type)")
            }
            return converted
        }
    }
}
