// SPDX-License-Identifier: Apache-2.0
// Steps for changes of the models that opening can't find out by itself: a rename looks like one property removed and
// another added.

/// A step from an earlier form of the models to the present one, given to `Database(at:models:options:migrations:)`.
///
/// Each step looks at the stored data and applies where that has the earlier form: a rename where the old name is
/// stored, a conversion where the type differs. So no version numbers are needed, steps can stay in the program for as
/// long as files of old versions are in use, and a new file needs none of them. Steps run in the order they are listed,
/// each on the result of those before it.
///
/// Deleted entities go through them as the stored ones do, but they never prevent an opening: where a closure throws
/// for one, the property is left out of it.
public struct Migration: Sendable {
    let step: MigrationStep
    /// The body of a step of the program's own.
    let body: Body?

    typealias Body = @Sendable (inout Context) throws -> Void

    init(_ step: MigrationStep, body: Body? = nil) { (self.step, self.body) = (step, body) }

    /// A step that the declaration may refuse.
    private init(_ make: () throws(HornbeamError) -> MigrationStep) {
        body = nil
        do throws(HornbeamError) {
            step = try make()
        } catch {
            step = .wrong(error)
        }
    }

    private static func column<Entity: EntityModelProtocol, Property>(
        _ keyPath: KeyPath<Entity, Property>
    ) throws(HornbeamError) -> ColumnDescription {
        guard let place = Entity.entityShape.column(keyPath) else {
            throw HornbeamError(
                .invalid, "a migration of \(Entity.entityName) names \(keyPath), which is no stored property of it")
        }
        return Entity.entityShape.description.columns[place.number]
    }
}

// MARK: - Names

extension Migration {
    /// Renames an entity type. All its data stay where they are, so this takes no time. Throws `.schemaMismatch` if
    /// both names are stored, unless there is no entity under the new one. The name of a nested type has those of its
    /// outer types before it, as in `"V1.Worker"`. Throws `.schemaMismatch` if only such a name is stored.
    public static func rename<Entity: EntityModelProtocol>(_ old: String, to _: Entity.Type) -> Migration {
        Migration(.renameType(from: old, to: Entity.entityName))
    }

    /// Renames a property. Its values and indexes stay as they are.
    public static func rename<Entity: EntityModelProtocol, Property>(
        _: Entity.Type, _ old: String, to keyPath: KeyPath<Entity, Property>
    ) -> Migration {
        Migration { () throws(HornbeamError) in
            .rename(type: Entity.entityName, from: old, to: try column(keyPath).name, isRelation: false)
        }
    }

    /// Renames a relation: `.rename(Person.self, "boss", to: \.$manager)`. Its links stay as they are.
    public static func rename<Entity: EntityModelProtocol, Target, D, C, K>(
        _: Entity.Type, _ old: String, to keyPath: KeyPath<Entity, Relation<Target, D, C, K>>
    ) -> Migration {
        Migration { () throws(HornbeamError) in
            let relation = try Entity.entityShape.relation(keyPath).description
            return .rename(type: Entity.entityName, from: old, to: relation.name, isRelation: true)
        }
    }
}

// MARK: - Values

extension Migration {
    /// Converts a property to another type: `convert` makes the new value from the old one. Every row of the type is
    /// rewritten.
    ///
    /// Applies where the property is stored with another type than declared. Throws `.schemaMismatch` if that is not
    /// `Old` either. A file may come from several earlier versions: give a conversion for each. Where the old type is
    /// optional and `Old` is not, nil stays nil. A new type without nil is refused with the first row that would need
    /// it. The id can't be converted.
    ///
    /// `Old` and the new type may be stored alike: a `String` and an enum with strings as raw values, or two `Codable`
    /// types. The file then doesn't show which of the two wrote it. The conversion applies to the values that the new
    /// type can't read, and each opening reads entities until it finds such a value, O(n). Remove the step when no such
    /// files are left.
    ///
    /// If the closure throws, the opening fails with a `HornbeamError` that names type, id and property. Its `cause` is
    /// the closure's error.
    public static func convert<Entity: EntityModelProtocol, Old, New>(
        _: Entity.Type, _ keyPath: KeyPath<Entity, New>, from _: Old.Type,
        _ convert: @escaping @Sendable (Old) throws -> New
    ) -> Migration {
        Migration { () throws(HornbeamError) in
            let (old, new) = (try StoredForm<Old>.find(), try StoredForm<New>.find())
            let name = "\(Old.self)"
            let conversion = MigrationStep.Conversion(
                type: Entity.entityName, column: try column(keyPath), from: old.type,
                convert: { value in
                    guard let stored = old.decode(value) else {
                        throw HornbeamError(.undecodable, "the stored value \(value.text) is no \(name)")
                    }
                    return try new.encode(try convert(stored))
                },
                isReadable: { new.decode($0) != nil })
            return .convert(conversion)
        }
    }

    /// Fills an added property with a value derived from the stored row. Every row of the type is rewritten. Applies
    /// where the property isn't stored. If the closure throws, the opening fails as in `convert`.
    public static func fill<Entity: EntityModelProtocol, Property>(
        _: Entity.Type, _ keyPath: KeyPath<Entity, Property>,
        _ value: @escaping @Sendable (StoredRow) throws -> Property
    ) -> Migration {
        Migration { () throws(HornbeamError) in
            let form = try StoredForm<Property>.find()
            return .fill(type: Entity.entityName, try column(keyPath)) { try form.encode(try value($0)) }
        }
    }
}

// MARK: - What goes

extension Migration {
    /// Removes a property's stored values, or a relation's links, for good. Without this, data that a model no longer
    /// declares stay in the store, so that an earlier version of the program still finds them. Applies where the model
    /// doesn't declare the name, or declares a property of another type, which then begins anew with its default. Every
    /// row of the type is rewritten, and so are its deleted entities. The pages of the old rows become free space and
    /// are overwritten later.
    public static func forget<Entity: EntityModelProtocol>(_: Entity.Type, _ name: String) -> Migration {
        Migration(.forget(type: Entity.entityName, name: name))
    }

    /// Removes an entity type with all its entities, deleted ones too, and all links from and to them. Throws
    /// `.invalid` if it is among the models.
    public static func drop(_ name: String) -> Migration {
        Migration(.dropType(name))
    }

    /// Changes a to-many relation to a to-one relation. The first link of each entity stays, the other links go.
    /// Without this, opening refuses the change if an entity has several. In a relation that is its own inverse, an
    /// entity keeps its first link if the other entity has not been linked before, by its own first link or another's.
    /// Entities that were saved earlier come first.
    public static func toOne<Entity: EntityModelProtocol, Target, D, C, K>(
        _: Entity.Type, _ keyPath: KeyPath<Entity, Relation<Target, D, C, K>>
    ) -> Migration {
        Migration { () throws(HornbeamError) in
            .toOne(type: Entity.entityName, relation: try Entity.entityShape.relation(keyPath).description.name)
        }
    }
}

// MARK: - Steps of the program's own

extension Migration {
    /// Runs `body` once in the life of a file, remembered by `name`: after all other steps, in the same transaction and
    /// with the present models. It runs in a new file too, where it finds nothing. If `body` throws, the opening fails
    /// with a `HornbeamError` that names the step and has the code of a thrown `HornbeamError`. Its `cause` is the
    /// error of `body`.
    public static func run(_ name: String, _ body: @escaping @Sendable (inout Context) throws -> Void) -> Migration {
        Migration(.run(name: name), body: body)
    }
}
