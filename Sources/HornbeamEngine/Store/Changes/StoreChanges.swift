// SPDX-License-Identifier: Apache-2.0
// The changes of a commit, or of a transaction before its commit: the inserted, updated and deleted entities of each
// type, without a query. For caches, exports and other followers of a whole database.

import HornbeamPages
import HornbeamTree

/// A change of an entity by a transaction. An entity that was inserted and deleted within a transaction has none. An
/// entity that was deleted and saved again counts as updated.
public enum ChangeKind: UInt8, Sendable {
    case inserted = 1
    case updated = 2
    case deleted = 3
    /// Its relations lead to other entities, or to the same in another order; its properties haven't changed. Only for
    /// consumers that want links: see `Database.consumer(named:of:links:retention:)`.
    case relinked = 4
}

/// The entities that were changed by the commits since the previous element, or by a transaction so far. An entity that
/// was inserted and deleted again isn't in it. An entity that was deleted and saved again counts as updated.
public struct StoreChanges: Sendable {
    package struct OfType: Sendable {
        package var inserted: [Value] = []
        package var updated: [Value] = []
        package var deleted: [Value] = []
        /// Entities in no other list whose links were added, removed or moved. Only for the log.
        var relinked: [Value] = []
        /// Entities that were inserted or updated, in the order of the last saves. Empty if that order isn't known.
        package var saved: [Value] = []

        var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && relinked.isEmpty }
    }

    package private(set) var types: [String: OfType] = [:]
    package private(set) var unknown: Set<String> = []

    /// Whether nothing has changed.
    public var isEmpty: Bool { types.isEmpty && unknown.isEmpty }

    /// Calls `body` with the change of each entity of a type: inserted entities first, then updated, relinked and
    /// deleted ones.
    func forEach(of type: String, _ body: (ChangeKind, Value) throws -> Void) rethrows {
        guard let changed = types[type] else { return }
        for id in changed.inserted { try body(.inserted, id) }
        for id in changed.updated { try body(.updated, id) }
        for id in changed.relinked { try body(.relinked, id) }
        for id in changed.deleted { try body(.deleted, id) }
    }

    /// Finds the changes of a transaction so far.
    /// - Parameter withLinks: whether to include entities with changed links.
    package init(_ capture: RowCapture, in core: StoreTransaction, withLinks: Bool = false) throws {
        let touched = capture.touched
        for name in core.schema.typeNames {
            guard let type = core.schema.types[name], let former = capture.rows[type.rows] else { continue }
            let store = try core.store(name)
            let touched = touched[type.rows] ?? []
            try add(store, capture.turns(of: store.type.rows)) { body in
                try store.forEachChange(since: former, touched: touched, ignoring: store.type.updatedAt, body)
                return true
            }
        }
        if withLinks { try addLinks(capture, core) }
    }

    /// Adds stored entities whose own relations have changed, unless they are inserted or updated anyway.
    private mutating func addLinks(_ capture: RowCapture, _ core: StoreTransaction) throws {
        guard !capture.links.isEmpty else { return }
        for name in core.schema.typeNames {
            guard let type = core.schema.types[name] else { continue }
            var rows: Set<RowID> = []
            for (list, changed) in capture.links where changed.tree == type.links {
                if case .links? = type.role(of: list) { rows.formUnion(changed.rows) }
            }
            guard !rows.isEmpty else { continue }
            let store = try core.store(name)
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

    package init() {}

    /// Adds the changes of a type's rows.
    /// - Parameters:
    ///   - turns: the number of the last change of each row.
    ///   - forEachChange: calls its argument with the former and the present state of each changed row. Returns false
    ///     if the changed rows aren't known.
    package mutating func add(
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
