// SPDX-License-Identifier: Apache-2.0
// Entity types with generic parameters. Each specialisation is an entity type of its own: it has a name, a table and
// indexes of its own, and lives in a database beside the others.

import Synchronization

/// Names and shapes of the specialisations of generic entity types. Called by code that `@EntityModel` writes.
public enum GenericEntity {
    /// A generic type can't keep its shape in a static property.
    private static let shapes = Mutex<[ObjectIdentifier: any Sendable]>([:])

    /// Returns the name of a parameter within the name of a type: an entity type's name in the store, or else the
    /// type's own name, without its module.
    public static func name<Parameter>(of type: Parameter.Type) -> String {
        (type as? any EntityModelProtocol.Type)?.entityName ?? String(describing: type)
    }

    /// Returns the shape of a specialisation, made when it is first asked for. O(1).
    public static func shape<Entity>(_ make: () -> EntityShape<Entity>) -> EntityShape<Entity> {
        let key = ObjectIdentifier(Entity.self)
        if let shape = shapes.withLock({ $0[key] }) as? EntityShape<Entity> { return shape }
        // Not under the lock: an index's or a relation's description may ask for another type's shape. If two threads
        // make it, the results are alike.
        let shape = make()
        return shapes.withLock { shapes in
            if let first = shapes[key] as? EntityShape<Entity> { return first }
            shapes[key] = shape
            return shape
        }
    }
}
