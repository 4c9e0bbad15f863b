// SPDX-License-Identifier: Apache-2.0
// What was committed, without a query: which entities of which types came, changed and went. For caches, exports and
// whatever else follows a whole database.

import HornbeamPages
import HornbeamTree

/// The entities that commits have changed since the element before.
public struct StoreChanges: Sendable {
    fileprivate struct OfType: Sendable {
        var inserted: [Value] = []
        var updated: [Value] = []
        var deleted: [Value] = []

        var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
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

    /// Those whose stored properties changed. Links that came or went are none of these.
    public func updated<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.updated)
    }

    public func deleted<Entity: EntityModelProtocol>(_: Entity.Type) -> [Entity.ID] {
        ids(types[Entity.entityName]?.deleted)
    }

    private func ids<ID: ColumnValue>(_ values: [Value]?) -> [ID] {
        (values ?? []).compactMap { ID(columnValue: $0) }
    }

    fileprivate var isEmpty: Bool { types.isEmpty && unknown.isEmpty }
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
            var found: [(row: RowID, place: WritableKeyPath<StoreChanges.OfType, [Value]>, id: Value)] = []
            let isKnown = try view.forEachChange(commits, store, ignoring: store.type.updatedAt) { row, old, new in
                guard let reader = new ?? old else { return }
                let place: WritableKeyPath<StoreChanges.OfType, [Value]> =
                    old == nil ? \.inserted : new == nil ? \.deleted : \.updated
                found.append((row, place, try reader.value(0)))
            }
            guard isKnown else {
                changes.unknown.insert(name)
                continue
            }
            var ofType = StoreChanges.OfType()
            for (_, place, id) in found.sorted(by: { $0.row < $1.row }) { ofType[keyPath: place].append(id) }
            if !ofType.isEmpty { changes.types[name] = ofType }
        }
        return changes.isEmpty ? nil : changes
    }
}

extension Database {
    /// What is committed from now on, type by type. The first element comes at once and is empty: all that is committed
    /// after it is told. Several commits may come as one.
    public func observeAll() -> LiveQuery<StoreChanges> { LiveQuery(self) { StoreChangesResult() } }
}
