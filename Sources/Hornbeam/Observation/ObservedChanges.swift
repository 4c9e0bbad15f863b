// SPDX-License-Identifier: Apache-2.0
// A live query for the changes of all entities.

import HornbeamTree

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
    /// Observes all commits from now on, by type. The first element comes at once and is empty. Every later commit is
    /// reported; several may come as one element.
    public func observeAll() -> LiveQuery<StoreChanges> { LiveQuery(self) { StoreChangesResult() } }
}
