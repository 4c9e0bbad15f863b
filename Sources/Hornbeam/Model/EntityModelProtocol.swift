// SPDX-License-Identifier: Apache-2.0
// The requirements of every entity. `@EntityModel` writes the first group of them. The hooks, the merge strategies and
// the verbs have defaults to replace. Saving and deleting are in EntitySaving.swift and EntityDeleting.swift.

/// Makes a struct an entity: a value that is stored under its id, with columns, indexes and relations.
///
/// Every stored property is a column. Relations are declared by `@Relationship`, indexes by `@Index`, `@Unique` and
/// `@FullTextIndex`. Constants with a value, lazy and computed properties are not stored, except for the id.
@attached(
    extension, conformances: EntityModelProtocol,
    names: named(entityName), named(entityShape), named(init), named(write(to:)), named(normalize),
    named(saveRelations(with:)), named(setRelation(_:of:)), named(patch))
public macro EntityModel() = #externalMacro(module: "HornbeamMacros", type: "EntityModelMacro")

/// An entity. Conform by `@EntityModel`.
///
/// Its mirror, and so the output of `print` and `dump`, has the stored properties and the relations, not the wrappers
/// around them.
public protocol EntityModelProtocol: Sendable, CustomReflectable {
    associatedtype ID: Hashable, IndexKey

    var id: ID { get }

    // Written by the macro.

    /// The name in the store.
    static var entityName: String { get }
    /// The columns, indexes and relations, with the meaning of each key path.
    static var entityShape: EntityShape<Self> { get }
    /// Reads the stored properties. Every relation is `.none`.
    init(row: RowReader) throws(HornbeamError)
    func write(to row: inout RowWriter)
    /// Resets all relations to `.none`, so that saving the value leaves its links unchanged.
    mutating func normalize()
    /// Saves the entities and links of all relations, in order of declaration.
    func saveRelations(with saver: inout RelationSaver<Self>) throws
    /// Sets one relation of each of the entities to the values that a query has loaded.
    static func setRelation(_ loaded: LoadedRelation, of entities: inout [[Self]])
    /// Keeps stored values where the new entity's optional properties are nil.
    static var patch: MergeStrategy<Self> { get }

    /// Makes about `count` entities of the rows that `rows` gives. Don't implement it: it is a requirement only so that
    /// the compiler specializes the default for each entity type. Generic code took 900 instructions more for each row,
    /// because it copies values through tables of functions.
    static func _entities(
        _ count: Int, of rows: (_ read: (RowReader) throws(HornbeamError) -> Void) throws -> Void
    ) throws -> [Self]

    /// Reads the rows that `rows` gives in any order, and returns their entities in the order of their positions. Each
    /// row comes with its own position below `count`; positions without a row are left out. A requirement for the same
    /// reason.
    static func _placedEntities(
        _ count: Int, of rows: (_ read: (Int, RowReader) throws(HornbeamError) -> Void) throws -> Void
    ) throws -> [Self]

    /// Returns the entities of the rows that `rows` gives, in lists: the first list has the rows with positions before
    /// `ends[0]`, the next one those before `ends[1]`. Positions ascend. A requirement for the same reason.
    static func _lists(
        ends: [Int], of rows: (_ read: (Int, RowReader) throws(HornbeamError) -> Void) throws -> Void
    ) throws -> [[Self]]

    /// Returns lists of some of these entities: the first list has those at `places[..<ends[0]]`, the next one those at
    /// `places[ends[0]..<ends[1]]`. A requirement for the same reason: generic code took 5,000 instructions more for a
    /// list of one.
    static func _lists(_ entities: [Self], at places: [Int], ends: [Int]) -> [[Self]]

    // Functions that generic code calls: tables, `restore`, functions of your program. A type's own implementation
    // saves the entity by `context.saveAll([…], options:)`, or deletes it by `delete(id:from:)`: they don't call the
    // implementation again. Saves of lists and nested entities, cascades and bulk changes don't call it either: use a
    // hook for code that must run in all of these.

    /// Saves the entity, merged with what is stored under its id, the entities in its relations, and its links.
    func save(to context: inout Context, options: MergeStrategy<Self>) throws
    /// Deletes the entity and, by its delete rules, those related to it.
    func delete(from context: inout Context) throws
    /// All entities of the type with the levels of `nested` loaded.
    static func queryAll(with nested: Nested...) -> QueryList<Self>

    // Hooks. An error that a hook throws ends the save or deletion and is thrown from it.

    /// Called before the entity is saved. It may change the value that is saved.
    mutating func willSave(to context: inout Context) throws
    /// Called after the entity, the entities in its relations and its links are saved.
    func didSave(to context: inout Context) throws
    func willDelete(from context: inout Context) throws
    func didDelete(from context: inout Context) throws

    /// Called after an entity is deleted that was linked to this one by a relation with the rule `notify`. That entity
    /// and its links are gone by then. The hook may change the value. If it returns true, the value is saved in the
    /// same write.
    /// - Parameters:
    ///   - source: the deleted entity.
    ///   - relation: the name of the relation in `source`.
    ///   - context: the transaction of the deletion.
    mutating func didLoseLink<Source: EntityModelProtocol>(
        from source: Source, relation: String, in context: inout Context
    ) throws -> Bool

    /// Whether a database keeps deleted entities of the type, each as a `Deleted`, until they are purged:
    /// `static let keepsDeleted = true`. False by default: they are not kept, unless the database's options keep those
    /// of all types.
    static var keepsDeleted: Bool { get }
    /// Returns the `Deleted` that deleting the entity leaves behind, or nil if it leaves none.
    ///
    /// The default returns `.asStored(self)`, the stored entity with the ids of its relations, if the type or the
    /// database's options keep deleted entities, and always in a `Context()`; otherwise nil. Implement it to decide for
    /// each entity: it is called whatever the options say.
    func asDeleted(in context: Context) throws -> Deleted<Self>?

    /// The metadata that the store keeps for each entity of the type:
    /// `static let storedMetadata: [Metadata] = [.createdAt, .version]`. None by default, but `updatedAt` is kept for
    /// all types. Each takes 8 bytes of a row.
    static var storedMetadata: [Metadata] { get }

    /// The merge strategy for entities saved without options.
    static var defaultMergeStrategy: MergeStrategy<Self> { get }
    /// The merge strategy for entities saved as fragments.
    static var fragmentMergeStrategy: MergeStrategy<Self> { get }
}

extension EntityModelProtocol {
    public mutating func willSave(to context: inout Context) throws {}
    public func didSave(to context: inout Context) throws {}
    public func willDelete(from context: inout Context) throws {}
    public func didDelete(from context: inout Context) throws {}

    public mutating func didLoseLink<Source: EntityModelProtocol>(
        from source: Source, relation: String, in context: inout Context
    ) throws -> Bool { false }

    public static var keepsDeleted: Bool { false }

    public func asDeleted(in context: Context) throws -> Deleted<Self>? {
        Self.keepsDeleted || context.session.keepsDeleted ? .asStored(self) : nil
    }

    public static var storedMetadata: [Metadata] { [] }

    @inlinable
    public static func _entities(
        _ count: Int, of rows: (_ read: (RowReader) throws(HornbeamError) -> Void) throws -> Void
    ) throws -> [Self] {
        var entities: [Self] = []
        entities.reserveCapacity(count)
        try rows { (row) throws(HornbeamError) in entities.append(try Self(row: row)) }
        return entities
    }

    @inlinable
    public static func _placedEntities(
        _ count: Int, of rows: (_ read: (Int, RowReader) throws(HornbeamError) -> Void) throws -> Void
    ) throws -> [Self] {
        try [Self](unsafeUninitializedCapacity: count) { entities, initialized in
            var isThere = [Bool](repeating: false, count: count)
            var found = 0
            // Runs after an error too: the array then releases the entities that it has so far.
            defer {
                if found < count {
                    var end = 0
                    for place in 0..<count where isThere[place] {
                        if end < place { entities.initializeElement(at: end, to: entities.moveElement(from: place)) }
                        end += 1
                    }
                }
                initialized = found
            }
            try rows { (place, row) throws(HornbeamError) in
                let entity = try Self(row: row)
                guard place < count, !isThere[place] else { return }
                entities.initializeElement(at: place, to: entity)
                isThere[place] = true
                found += 1
            }
        }
    }

    @inlinable
    public static func _lists(
        ends: [Int], of rows: (_ read: (Int, RowReader) throws(HornbeamError) -> Void) throws -> Void
    ) throws -> [[Self]] {
        var lists: [[Self]] = []
        lists.reserveCapacity(ends.count)
        var list: [Self] = []
        list.reserveCapacity(ends.first ?? 0)
        try rows { (place, row) throws(HornbeamError) in
            while lists.count < ends.count, place >= ends[lists.count] {
                let end = ends[lists.count]
                lists.append(list)
                list = []
                if lists.count < ends.count { list.reserveCapacity(ends[lists.count] - end) }
            }
            list.append(try Self(row: row))
        }
        while lists.count < ends.count {
            lists.append(list)
            list = []
        }
        return lists
    }

    @inlinable
    public static func _lists(_ entities: [Self], at places: [Int], ends: [Int]) -> [[Self]] {
        var lists: [[Self]] = []
        lists.reserveCapacity(ends.count)
        var start = 0
        for end in ends {
            lists.append(places[start..<end].map { entities[$0] })
            start = end
        }
        return lists
    }

    public static var defaultMergeStrategy: MergeStrategy<Self> { .replace }
    public static var fragmentMergeStrategy: MergeStrategy<Self> { Self.patch }

    /// Returns the value with all relations reset to `.none`. Saving it leaves its links unchanged.
    public func normalized() -> Self {
        var copy = self
        copy.normalize()
        return copy
    }
}
