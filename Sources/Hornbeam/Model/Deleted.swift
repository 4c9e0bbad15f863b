// SPDX-License-Identifier: Apache-2.0
// Deleted entities: each entity as it was, with the ids of its relations, in an entity type of its own. It is stored as
// JSON by names, so that it outlives changes of the type. When it is read, properties that the type no longer has are
// left out, and properties added since are nil or have their defaults.

public import FoundationEssentials
import HornbeamPages

/// A deleted entity. It is an entity itself: query it, sort it by the time of its deletion (`.updatedAt`), or delete it
/// to forget it for good. Saving one deletes the entity.
public struct Deleted<Entity: EntityModelProtocol>: EntityModelProtocol {
    /// The entity as it was, its relations as ids.
    public let entity: Entity
    /// Whether this stands for the entity as it is stored. Then only the id of `entity` counts.
    private(set) var isAsStored = false

    public var id: Entity.ID { entity.id }

    /// Makes a deleted entity of a value, with the ids of its relations.
    public init(_ entity: Entity) {
        self.entity = entity
    }

    /// Returns a value that stands for the stored entity with this one's id, with the ids of its relations. The default
    /// `asDeleted` returns it. Return it from your own `asDeleted` to keep an entity as it is stored: the store copies
    /// the row, which is faster than reading the entity. The `entity` of the result is the value given here.
    public static func asStored(_ entity: Entity) -> Self {
        var deleted = Self(entity)
        deleted.isAsStored = true
        return deleted
    }

    /// Returns the deleted entity that this stands for.
    func resolved(in context: Context) throws -> Self {
        guard isAsStored else { return self }
        if let stored = try Entity.query(id).with(.ids).resolve(in: context) { return Self(stored) }
        // The `Deleted` that the deletion has stored already has the links.
        return try Self.query(id).resolve(in: context) ?? Self(entity)
    }

    /// Saves the entity with its former links, including those to entities that aren't stored, and removes this
    /// `Deleted`. To-many relations also keep the links that were added since the deletion.
    public func restore(in context: inout Context) throws {
        var entity = entity
        for relation in Entity.entityShape.relations { relation.access.keepOthers(&entity) }
        try entity.save(to: &context)
    }

    /// Removes the deleted entities from before `date`, or all if it is nil, without calling hooks. Returns their
    /// number.
    @discardableResult
    public static func purge(before date: Date?, from context: inout Context) throws -> Int {
        try context.session.run { session in
            var query = EntityQuery(type: entityName)
            if let date {
                query.filter = .compare(column: entityShape.updatedAtColumn, .less, date.columnValue)
            }
            let store = try session.store(Self.self)
            let rows = try store.core.rowIDs(query)
            for row in rows { try store.delete(row) }
            return rows.count
        }
    }

    // A deleted entity leaves no `Deleted`, so there is nothing to opt out of.

    public func asDeleted(in context: Context) throws -> Deleted<Self>? { nil }

    public mutating func willSave(to context: inout Context) throws {
        self = try resolved(in: context)
        try Entity.delete(id: id, from: &context)
    }
}

extension Deleted {
    /// The entity alone: the other columns are made of it.
    public var customMirror: Mirror { Mirror(self, children: ["entity": entity], displayStyle: .struct) }
}

// Compares the entities alone.

extension Deleted: Equatable where Entity: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.entity == right.entity }
}

extension Deleted: Hashable where Entity: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(entity) }
}

extension Deleted: Codable where Entity: Codable {
    private enum CodingKeys: String, CodingKey { case entity }
}

/// Distinguishes deleted entities from others where only the type is known.
protocol Tombstone {}
extension Deleted: Tombstone {}

extension EntityModelProtocol {
    /// The type of its deleted entities, or nil if this is such a type itself.
    static var tombstone: (any EntityModelProtocol.Type)? {
        Self.self is any Tombstone.Type ? nil : Deleted<Self>.self
    }
}

// MARK: - As an entity

extension Deleted {
    public static var entityName: String { EntityDescription.tombstoneName(of: Entity.entityName) }

    public static var entityShape: EntityShape<Self> {
        GenericEntity.shape {
            EntityShape(
                columns: [
                    DeclaredColumn(ColumnDescription(name: "id", type: Entity.ID.columnType), \Self.id),
                    DeclaredColumn(ColumnDescription(name: "entity", type: .json), \Self.entity),
                    DeclaredColumn(ColumnDescription(name: "links", type: .json), \Self.links),
                ],
                indexes: [], relations: [])
        }
    }

    public mutating func normalize() {}
    public func saveRelations(with saver: inout RelationSaver<Self>) throws {}
    public static func setRelation(_ loaded: LoadedRelation, of entities: inout [[Self]]) {}
    public static var patch: MergeStrategy<Self> { .replace }

    public func write(to row: inout RowWriter) {
        guard !isAsStored else {
            return row.fail(
                .invalid,
                "Deleted.asStored(\(id)) stands for the entity as it is stored: return it from asDeleted, or save it; "
                    + "it can't be inserted as it is")
        }
        id.write(to: &row, column: 0)
        do {
            row.setString(try properties(), 1)
            row.setString(links, 2)
        } catch {
            row.fail(error.code, error.message)
        }
    }

    public init(row: RowReader) throws(HornbeamError) {
        guard var entity = try Self.entity(of: row), let links = try Self.object(row, 2) else {
            throw row.undecodable(1, as: Entity.entityName)
        }
        for relation in Entity.entityShape.relations {
            guard let node = links.first(where: { $0.name == relation.description.name })?.value,
                case .array(let nodes) = node
            else { continue }
            relation.access.link(&entity, nodes.compactMap { JSONRows.value($0, as: relation.access.idType) })
        }
        self.entity = entity
    }

    // MARK: JSON

    /// The stored properties by name as JSON, without null values.
    private func properties() throws(HornbeamError) -> String {
        let columns = Entity.entityShape.description.columns
        let layout = RowLayout(columns: columns, type: Entity.entityName)
        var writer = RowWriter(layout: layout)
        entity.write(to: &writer)
        return try writer.finish().withBytes { (bytes) throws(HornbeamError) in
            let row = try RowReader(bytes, layout: layout)
            var members: [(name: String, value: JSONNode)] = []
            for (number, column) in columns.enumerated() {
                let value = try row.value(number)
                if value != .null { members.append((column.name, JSONRows.node(value))) }
            }
            return JSONNode.object(members).text
        }
    }

    /// The linked ids by relation as JSON. Relations without links are left out, so that restoring keeps the links that
    /// other restored entities have made.
    private var links: String {
        var members: [(name: String, value: JSONNode)] = []
        for relation in Entity.entityShape.relations {
            guard let ids = relation.access.ids(entity), !ids.isEmpty else { continue }
            members.append((relation.description.name, .array(ids.map { JSONRows.node($0) })))
        }
        return JSONNode.object(members).text
    }

    private static func object(
        _ row: RowReader, _ column: Int
    ) throws(HornbeamError) -> [(name: String, value: JSONNode)]? {
        guard let text = try row.stringBytes(column), case .object(let members)? = try? JSONParser.parse(text) else {
            return nil
        }
        return members
    }

    private static func entity(of row: RowReader) throws(HornbeamError) -> Entity? {
        guard let members = try object(row, 1) else { return nil }
        let columns = Entity.entityShape.description.columns
        let layout = RowLayout(columns: columns, type: Entity.entityName)
        var writer = RowWriter(layout: layout)
        for (number, column) in columns.enumerated() {
            guard let node = members.first(where: { $0.name == column.name })?.value else { continue }
            // A value that no longer fits its property counts as missing.
            if let value = JSONRows.value(node, as: column.type) { writer.set(value, number) }
        }
        return try writer.finish().withBytes { (bytes) throws(HornbeamError) in
            try Entity(row: try RowReader(bytes, layout: layout))
        }
    }
}
