// SPDX-License-Identifier: Apache-2.0
// What was committed, or is about to be, without a query: which entities of which types came, changed and went. For
// caches, exports and whatever else follows a whole database.

import HornbeamPages
import HornbeamTree

/// Which entities were changed: by the commits since the element before, or by a transaction so far. One that came and
/// went again is in no list; one that was deleted and then saved again was updated.
public struct StoreChanges: Sendable {
    fileprivate struct OfType: Sendable {
        var inserted: [Value] = []
        var updated: [Value] = []
        var deleted: [Value] = []
        /// Those of no other list whose links came or went, or got other places. For the log alone.
        var relinked: [Value] = []
        /// What was inserted or updated, in the order of the last saves; empty where that isn't known.
        var saved: [Value] = []

        var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && relinked.isEmpty }
    }

    fileprivate var types: [String: OfType] = [:]
    fileprivate var unknown: Set<String> = []

    /// Whether all changed entities of the type are named here. If not, so many were changed that nobody has kept
    /// count: read the type anew.
    public func isComplete<Entity: EntityModelProtocol>(for _: Entity.Type) -> Bool {
        !unknown.contains(Entity.entityName)
    }

    /// In the order of their row ids, as all of these.
    public func inserted<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.inserted)
    }

    /// Those whose stored properties changed, and those that were touched. Links that came or went are none of these.
    public func updated<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.updated)
    }

    public func deleted<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.deleted)
    }

    private func ids<ID: ColumnValue>(_ values: [Value]?) -> [ID] {
        (values ?? []).compactMap { ID(columnValue: $0) }
    }

    public var isEmpty: Bool { types.isEmpty && unknown.isEmpty }

    /// Calls `body` with what became of each entity of a type: the inserted ones first, then the updated, then those of
    /// other links, the deleted ones last.
    func forEach(of type: String, _ body: (ChangeKind, Value) throws -> Void) rethrows {
        guard let changed = types[type] else { return }
        for id in changed.inserted { try body(.inserted, id) }
        for id in changed.updated { try body(.updated, id) }
        for id in changed.relinked { try body(.relinked, id) }
        for id in changed.deleted { try body(.deleted, id) }
    }

    /// What a transaction has changed so far.
    /// - Parameter withLinks: whether also what became of links.
    init(_ capture: RowCapture, in session: StoreTransaction, withLinks: Bool = false) throws {
        let touched = capture.touched
        for name in session.schema.typeNames {
            guard let type = session.schema.types[name], let former = capture.rows[type.rows] else { continue }
            let store = try session.store(name)
            let touched = touched[type.rows] ?? []
            try add(store, capture.turns(of: store.type.rows)) { body in
                try store.forEachChange(since: former, touched: touched, ignoring: store.type.updatedAt, body)
                return true
            }
        }
        if withLinks { try addLinks(capture, session) }
    }

    /// Adds the stored entities of which relations of their own lead elsewhere, as far as nothing else is told of them.
    private mutating func addLinks(_ capture: RowCapture, _ session: StoreTransaction) throws {
        guard !capture.links.isEmpty else { return }
        for name in session.schema.typeNames {
            guard let type = session.schema.types[name] else { continue }
            var rows: Set<RowID> = []
            for (list, changed) in capture.links where changed.tree == type.links {
                if case .links? = type.role(of: list) { rows.formUnion(changed.rows) }
            }
            guard !rows.isEmpty else { continue }
            let store = try session.store(name)
            var ofType = types[name] ?? OfType()
            let told = Set(ofType.inserted + ofType.updated)
            for row in rows.sorted() {
                guard let reader = try store.row(row) else { continue }
                let id = try reader.value(0)
                if !told.contains(id) { ofType.relinked.append(id) }
            }
            if !ofType.isEmpty { types[name] = ofType }
        }
    }

    /// The entities that a transaction has inserted or updated so far, in the order in which each was saved last.
    func saved<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.saved)
    }

    /// What differs of one type between the states of two reads.
    init<Entity: EntityModelProtocol>(of _: Entity.Type, from old: TypedTransaction, to new: TypedTransaction) throws {
        try add(try new.store(Entity.self)) { body in
            try new.forEachChangedRow(of: Entity.self, since: old, body)
            return true
        }
    }

    fileprivate init() {}

    /// Adds what has become of a type's rows.
    /// - Parameters:
    ///   - turns: by when rows were changed last.
    ///   - forEachChange: calls its argument with each row that is another, as it was and as it is; false if it isn't
    ///     known which these are.
    fileprivate mutating func add(
        _ store: EntityStore, _ turns: [RowID: Int]? = nil,
        _ forEachChange: (_ body: (RowID, RowReader?, RowReader?) throws -> Void) throws -> Bool
    ) throws {
        var found: [(row: RowID, wasThere: Bool, isThere: Bool, id: Value)] = []
        let isKnown = try forEachChange { row, old, new in
            guard let reader = new ?? old else { return }
            found.append((row, old != nil, new != nil, try reader.value(0)))
        }
        guard isKnown else {
            unknown.insert(store.type.name)
            return
        }
        found.sort { $0.row < $1.row }
        // An id that is no row id gets another row when it is saved again.
        let deleted = Set(found.lazy.filter { !$0.isThere }.map(\.id))
        let again = Set(found.lazy.filter { !$0.wasThere && deleted.contains($0.id) }.map(\.id))
        var ofType = OfType()
        for (_, wasThere, isThere, id) in found {
            if isThere, wasThere || again.contains(id) {
                ofType.updated.append(id)
            } else if isThere {
                ofType.inserted.append(id)
            } else if !again.contains(id) {
                ofType.deleted.append(id)
            }
        }
        if let turns {
            let saved = found.filter(\.isThere).sorted { turns[$0.row] ?? 0 < turns[$1.row] ?? 0 }
            ofType.saved = saved.map(\.id)
        }
        if !ofType.isEmpty { types[store.type.name] = ofType }
    }
}

/// What was changed of one entity type.
public struct EntityChanges<Entity: EntityModelProtocol>: Sendable {
    private enum Kind { case inserted, updated, deleted }

    /// In the order of their row ids, as all of these.
    public let inserted: [Entity.ID]
    public let updated: [Entity.ID]
    public let deleted: [Entity.ID]
    private let kinds: [Entity.ID: Kind]

    fileprivate init(_ changes: StoreChanges) {
        inserted = changes.inserted(Entity.self)
        updated = changes.updated(Entity.self)
        deleted = changes.deleted(Entity.self)
        var kinds: [Entity.ID: Kind] = [:]
        for (ids, kind) in [(inserted, Kind.inserted), (updated, .updated), (deleted, .deleted)] {
            for id in ids { kinds[id] = kind }
        }
        self.kinds = kinds
    }

    public var isEmpty: Bool { kinds.isEmpty }
    public func wasInserted(_ id: Entity.ID) -> Bool { kinds[id] == .inserted }
    public func wasUpdated(_ id: Entity.ID) -> Bool { kinds[id] == .updated }
    public func wasDeleted(_ id: Entity.ID) -> Bool { kinds[id] == .deleted }
    /// Whether it was changed in any of these ways.
    public func contains(_ id: Entity.ID) -> Bool { kinds[id] != nil }
}

extension StoreChanges {
    /// Those of one entity type: `changes[Book.self].inserted`.
    public subscript<Entity: EntityModelProtocol>(_: Entity.Type) -> EntityChanges<Entity> { EntityChanges(self) }
}

struct StoreChangesResult: LiveResult {
    private(set) var trees: Set<TreeID> = []

    mutating func begin(_ view: LiveView) throws -> StoreChanges {
        trees = Set(view.core.schema.types.values.map(\.rows))
        return StoreChanges()
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> StoreChanges? {
        var changes = StoreChanges()
        for name in view.core.schema.typeNames {
            let store = try view.core.store(name)
            try changes.add(store) { body in
                try view.forEachChange(commits, store, ignoring: store.type.updatedAt, body)
            }
        }
        return changes.isEmpty ? nil : changes
    }
}

extension Database {
    /// What is committed from now on, type by type. The first element comes at once and is empty: all that is committed
    /// after it is told. Several commits may come as one.
    public func observeAll() -> LiveQuery<StoreChanges> { LiveQuery(self) { StoreChangesResult() } }
}
