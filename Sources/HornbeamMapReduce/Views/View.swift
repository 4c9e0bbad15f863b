// SPDX-License-Identifier: Apache-2.0
// Views: filtered entities in groups, in order. The store keeps them up to date with every write. They are registered
// indexes whose keys are group ‖ order; positions come from the counts of the tree. They follow YapDatabase's views;
// its blocks are functions of one entity here. Docs/map-reduce.md has the rules.

import HornbeamKeys

/// A list of entities in groups, with positions.
///
///     let inbox = View<Mail, String>(
///         "inbox", version: "1", groupedBy: \.folder, sortedBy: .descending(\.date), where: { !$0.isSpam })
///     try database.register(inbox)
///     try database.read { context in
///         try inbox["work"].count(in: context)
///         try inbox["work"].entity(at: 17, in: context)
///         try inbox.position(of: mail.id, in: context)
///     }
///
/// The functions must always give the same for the same entity, and depend on nothing else; they are called from any
/// thread. They see the entity's stored properties; relations are not loaded. When they change, so must `version`: the
/// view is then rebuilt. If one throws, the save of the entity fails with the error.
///
/// Groups come in the order of their values, entities of a group in the order of the terms, then of their row ids. Only
/// the first 600 bytes of an entity's terms count. A group takes 400 bytes at most.
public struct View<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: RegisteredIndex {
    public let registration: IndexRegistration
    let definition: Definition

    /// The functions that make entries. A class, so that views are small.
    final class Definition: Sendable {
        let orders: [ViewOrder<Entity>]
        private let group: @Sendable (Entity) throws -> Group?
        private let accepts: @Sendable (Entity) throws -> Bool

        init(
            _ group: @escaping @Sendable (Entity) throws -> Group?, _ orders: [ViewOrder<Entity>],
            _ accepts: @escaping @Sendable (Entity) throws -> Bool
        ) {
            self.group = group
            self.orders = orders
            self.accepts = accepts
        }

        /// Returns the entity's key without its row id, and its group. Returns nil if the entity isn't in the view.
        func place(of entity: Entity) throws -> (key: [UInt8], group: Group)? {
            guard try accepts(entity), let group = try group(entity) else { return nil }
            var key = KeyWriter(capacity: 64)
            try ViewKey.append(group, to: &key)
            let limit = key.bytes.count + ViewKey.orderLimit
            for order in orders {
                try order.append(entity, to: &key)
                if key.bytes.count > limit {
                    key.truncate(to: limit)
                    break
                }
            }
            return (key.bytes, group)
        }
    }

    /// Makes a view. The database builds it when it is registered.
    /// - Parameters:
    ///   - name: the name of the view, 1 to 200 bytes. No other registered index of the database may have it.
    ///   - version: must change when one of the functions does.
    ///   - group: returns nil to leave the entity out.
    ///   - orders: the most significant first; none for the order of row ids.
    ///   - accepts: returns false to leave the entity out.
    public init(
        _ name: String, version: String, groupedBy group: @escaping @Sendable (Entity) throws -> Group?,
        sortedBy orders: ViewOrder<Entity>...,
        where accepts: @escaping @Sendable (Entity) throws -> Bool = { _ in true }
    ) {
        self.init(name, version, group, orders, accepts)
    }

    fileprivate init(
        _ name: String, _ version: String, _ group: @escaping @Sendable (Entity) throws -> Group?,
        _ orders: [ViewOrder<Entity>], _ accepts: @escaping @Sendable (Entity) throws -> Bool
    ) {
        let definition = Definition(group, orders, accepts)
        self.definition = definition
        let isOrdered = Group.columnType.isOrdered
        registration = IndexRegistration(
            name: name, version: version, kind: "view",
            settings: [
                "group": Group.columnType.description, "order": orders.map(\.label).joined(separator: ", "),
            ],
            reduction: nil,
            flaw: isOrdered ? orders.compactMap(\.flaw).first : "its groups, of type \(Group.self), have no order"
        ) { (entity: Entity, id) in
            do {
                guard let place = try definition.place(of: entity) else { return [] }
                guard let value = MapEntryValue.bytes(id: id) else {
                    throw HornbeamError(.tooLarge, "the id is longer than 65,535 bytes")
                }
                return [IndexEntry(key: place.key, value: value)]
            } catch let error as HornbeamError {
                throw HornbeamError(
                    error.code, "view “\(name)”, \(Entity.entityName) \("\(entity.id)".shown()): \(error.message)")
            }
        }
    }

    /// One group of the view, which may be empty.
    public subscript(group: Group) -> ViewGroup<Entity, Group> { ViewGroup(view: self, group: group) }
}

/// The only group of a view with a single list.
public enum SoleGroup: IndexKey, Hashable {
    case all

    public static var columnType: ColumnType { .bool }
    public var columnValue: Value { .bool(true) }
    public init?(columnValue: Value) {
        guard columnValue == .bool(true) else { return nil }
        self = .all
    }
}

extension View where Group == SoleGroup {
    /// Makes a view with a single list.
    public init(
        _ name: String, version: String, sortedBy orders: ViewOrder<Entity>...,
        where accepts: @escaping @Sendable (Entity) throws -> Bool = { _ in true }
    ) {
        self.init(name, version, { _ in .all }, orders, accepts)
    }

    /// The single list of the view.
    public var list: ViewGroup<Entity, SoleGroup> { self[.all] }
}

/// The position of an entity in a view.
public struct ViewPosition<Group: Hashable & Sendable>: Hashable, Sendable {
    public let group: Group
    /// The index in the group, from 0.
    public let index: Int

    public init(group: Group, index: Int) {
        self.group = group
        self.index = index
    }
}

/// A group of a view, with its number of entities.
public struct ViewSection<Group: Hashable & Sendable>: Hashable, Sendable {
    public let group: Group
    public let count: Int

    public init(group: Group, count: Int) {
        self.group = group
        self.count = count
    }
}

extension View {
    /// Returns the number of entities in all groups. O(1). Like all reads of a view, it throws `.indexNotReady` if the
    /// view isn't registered or is still being built.
    public func count(in context: Context) throws -> Int {
        try context.session.run { try ViewScan(self, $0).count() }
    }

    /// Returns the groups that have entities, in order. O(log n) for each of them.
    public func groups(in context: Context) throws -> [Group] { try sections(in: context).map(\.group) }

    /// Returns the groups that have entities, in order, with their sizes. O(log n) for each of them.
    public func sections(in context: Context) throws -> [ViewSection<Group>] {
        try context.session.run { try ViewScan(self, $0).sections() }
    }

    /// Returns the position of an entity, or nil if it isn't stored or isn't in the view. O(log n).
    public func position(of id: Entity.ID, in context: Context) throws -> ViewPosition<Group>? {
        try context.session.run { try ViewScan(self, $0).position(of: id.columnValue) }
    }

    /// Returns the id of the entity at a position, or nil if there is none. O(log n).
    public func id(at position: ViewPosition<Group>, in context: Context) throws -> Entity.ID? {
        try self[position.group].id(at: position.index, in: context)
    }

    /// Returns the entity at a position, or nil if there is none. O(log n).
    public func entity(at position: ViewPosition<Group>, in context: Context) throws -> Entity? {
        try self[position.group].entity(at: position.index, in: context)
    }

    /// Describes in one line the work of reading all groups.
    public func explain(in context: Context) throws -> String {
        try context.session.run { session in
            let scan = try ViewScan(self, session)
            return "all groups of view “\(registration.name)” of \(Entity.entityName): \(try scan.count()) entries"
        }
    }
}
