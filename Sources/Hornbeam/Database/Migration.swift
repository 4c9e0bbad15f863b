// SPDX-License-Identifier: Apache-2.0
// Steps for changes of the models that opening can't detect: a rename looks like one property removed and another
// added.

/// A step from an earlier form of the models to the present one. Pass steps to
/// `Database(at:models:options:migrations:)`.
///
/// Each step checks the stored data and applies only if it has the earlier form: a rename if the old name is stored, a
/// conversion if the type differs. So no version numbers are needed, and steps can stay in the program as long as files
/// of old versions are in use. Steps run in the order of the list, each on the result of those before it.
///
/// Steps apply to deleted entities too, but these never prevent an opening: if a closure throws for one, the property
/// is left out of it.
public struct Migration: Sendable {
    let step: MigrationStep
    /// The body of a step that `run` makes.
    let body: Body?

    typealias Body = @Sendable (inout Context) throws -> Void

    init(_ step: MigrationStep, body: Body? = nil) { (self.step, self.body) = (step, body) }

    /// Makes a step, or one with the error that the declaration causes.
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
    /// Renames an entity type. O(1): its data isn't moved. The name of a nested type includes the names of its outer
    /// types, as in `"V1.Worker"`. Opening throws `.schemaMismatch` if both names are stored and there are entities
    /// under the new one, or if only such a longer name is stored.
    public static func rename<Entity: EntityModelProtocol>(_ old: String, to _: Entity.Type) -> Migration {
        Migration(.renameType(from: old, to: Entity.entityName))
    }

    /// Renames a property. Its values and indexes don't change.
    public static func rename<Entity: EntityModelProtocol, Property>(
        _: Entity.Type, _ old: String, to keyPath: KeyPath<Entity, Property>
    ) -> Migration {
        Migration { () throws(HornbeamError) in
            .rename(type: Entity.entityName, from: old, to: try column(keyPath).name, isRelation: false)
        }
    }

    /// Renames a relation: `.rename(Person.self, "boss", to: \.$manager)`. Its links don't change.
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
    /// Converts a property to another type: `convert` makes the new value of the old one. Every row of the type is
    /// rewritten.
    ///
    /// Applies if the property is stored with another type than declared. Opening throws `.schemaMismatch` if that type
    /// isn't `Old`. If files come from several earlier versions, give a conversion for each. If the old type is
    /// optional and `Old` is not, nil stays nil; opening throws if the new type can't be nil. The id can't be
    /// converted.
    ///
    /// `Old` and the new type may have one stored form, like a `String` and an enum with strings as raw values, or two
    /// `Codable` types. The file then doesn't show which of the two wrote a value. The conversion applies to values
    /// that the new type can't read, and each opening reads entities until it finds such a value, O(n). Remove the step
    /// when no such files are left.
    ///
    /// If the closure throws, opening throws a `HornbeamError` that names type, id and property, with the closure's
    /// error as its `cause`.
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

    /// Fills an added property with a value derived from the stored row. Every row of the type is rewritten. Applies if
    /// the property isn't stored. If the closure throws, opening throws as for `convert`.
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
    /// declares stays in the store, so that an earlier version of the program still finds it. Applies if the model
    /// doesn't declare the name, or declares a property of another type, which then begins with its default. Every row
    /// of the type is rewritten, and so are its deleted entities. The pages of the old rows become free space and are
    /// overwritten later.
    public static func forget<Entity: EntityModelProtocol>(_: Entity.Type, _ name: String) -> Migration {
        Migration(.forget(type: Entity.entityName, name: name))
    }

    /// Removes an entity type with all its entities, including deleted ones, and all links from and to them. Opening
    /// throws `.invalid` if it is among the models.
    public static func drop(_ name: String) -> Migration {
        Migration(.dropType(name))
    }

    /// Changes a to-many relation to a to-one relation. The first link of each entity stays, and the others are
    /// removed. Without this, opening refuses the change if an entity has several links. In a relation that is its own
    /// inverse, entities take turns in the order of their row ids, and each keeps its first link if neither side is
    /// linked by then.
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
    /// Runs `body` once for each file, which remembers `name`: after all other steps, in their transaction and with the
    /// present models. It also runs in a new file, which has no entities. If `body` throws, opening throws a
    /// `HornbeamError` that names the step, with the error of `body` as its `cause`, and with its code if that is a
    /// `HornbeamError`.
    public static func run(_ name: String, _ body: @escaping @Sendable (inout Context) throws -> Void) -> Migration {
        Migration(.run(name: name), body: body)
    }
}
