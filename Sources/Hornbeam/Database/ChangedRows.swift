// SPDX-License-Identifier: Apache-2.0
// The entities of a type that differ between two states. Only changed rows are read, however many commits are between.

import HornbeamPages
import HornbeamTree

extension TypedTransaction {
    /// Returns whether any row of a type differs from its content in another read. Reads only differing parts of the
    /// tree, up to the first row that differs.
    package func hasChangedRows<Entity: EntityModelProtocol>(of _: Entity.Type, since old: TypedTransaction) throws
        -> Bool
    {
        var hasChanged = false
        let rows = try store(Entity.self).type.rows
        try core.transaction.forEachDifference(in: rows, since: try old.core.transaction) { _ in
            hasChanged = true
            return false
        }
        return hasChanged
    }

    /// Calls `body` with each row of a type that differs from its content in another read, in the order of row ids.
    package func forEachChangedRow<Entity: EntityModelProtocol>(
        of _: Entity.Type, since old: TypedTransaction,
        _ body: (RowID, _ before: RowReader?, _ after: RowReader?) throws -> Void
    ) throws {
        let (before, after) = (try old.store(Entity.self), try store(Entity.self))
        let rows = after.type.rows
        try core.transaction.forEachDifference(in: rows, since: try old.core.transaction) { difference in
            guard difference.key.count == 8, let row = RowID(key: difference.key) else {
                throw after.corrupt("e:\(Entity.entityName)", "a key is no row id")
            }
            try body(
                row, try difference.old.map { try RowReader($0, of: before.type) },
                try difference.new.map { try RowReader($0, of: after.type) })
            return true
        }
    }
}

extension EntityChanges {
    /// Finds the entities of a type that differ between the states of two reads of one database. Either may be the
    /// earlier one. Throws `.invalid` for the context of a write. The time depends on the amount of changes. A save
    /// that changes no value counts as a change if it changes the time of the last save.
    public init(from old: Context, to new: Context) throws {
        self = try new.session.run { try StoreChanges(of: Entity.self, from: old.session, to: $0)[Entity.self] }
    }
}

/// Joins the changes of rows that belong to one entity. An entity whose id is not a row id gets another row if it is
/// deleted and saved again: its removal from one row and its arrival in another become one entry.
package func joined<Item, ID: Hashable>(
    _ entries: [(before: Item?, after: Item?)], id: (Item) -> ID
) -> [(before: Item?, after: Item?)] {
    var gone: [ID: Int] = [:]
    for (place, entry) in entries.enumerated() {
        if let before = entry.before, entry.after == nil { gone[id(before)] = place }
    }
    guard !gone.isEmpty else { return entries }
    var joined = entries
    var isTaken = Set<Int>()
    for (place, entry) in entries.enumerated() {
        guard entry.before == nil, let after = entry.after, let former = gone[id(after)] else { continue }
        joined[place].before = entries[former].before
        isTaken.insert(former)
    }
    return joined.indices.filter { !isTaken.contains($0) }.map { joined[$0] }
}
