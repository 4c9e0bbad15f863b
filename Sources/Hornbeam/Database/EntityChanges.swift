// SPDX-License-Identifier: Apache-2.0
// Which entities of a type differ between two states: told by their rows, of which only those are read that have
// changed, however many commits lie between.

import HornbeamPages
import HornbeamTree

/// The entities of a type that came, changed and went between two states, each in the order of their row ids. What came
/// and went again is in none of the lists. A save counts as a change also if all values are the same: its time is
/// another.
public struct EntityChanges<Entity: EntityModelProtocol>: Sendable {
    public private(set) var inserted: [Entity.ID] = []
    public private(set) var updated: [Entity.ID] = []
    public private(set) var deleted: [Entity.ID] = []

    public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// Of the contexts of two reads of one database; either may be the earlier one. `.invalid` for that of a write.
    /// Takes time by what has changed.
    public init(from old: Context, to new: Context) throws {
        try new.session.run { session in
            try session.forEachChangedRow(of: Entity.self, since: old.session) { _, before, after in
                guard let reader = after ?? before, let id = Entity.ID(columnValue: try reader.value(0)) else {
                    throw HornbeamError(.undecodable, "the id of a stored \(Entity.entityName) is no \(Entity.ID.self)")
                }
                if before == nil {
                    inserted.append(id)
                } else if after == nil {
                    deleted.append(id)
                } else {
                    updated.append(id)
                }
            }
        }
    }
}

extension Session {
    /// Calls `body` with each row of a type that differs from what it was in another read.
    func forEachChangedRow<Entity: EntityModelProtocol>(
        of _: Entity.Type, since old: Session, _ body: (RowID, _ before: RowReader?, _ after: RowReader?) throws -> Void
    ) throws {
        let (before, after) = (try old.store(Entity.self), try store(Entity.self))
        let rows = after.type.rows
        try entities().transaction.forEachDifference(in: rows, since: try old.entities().transaction) { difference in
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
