// SPDX-License-Identifier: Apache-2.0
// Entities of many rows whose wanted order isn't the stored order.

extension TypedTransaction {
    /// Returns the stored entities of `rows` in that order. Reads them in one pass through all rows.
    /// - Parameter rows: row ids without duplicates.
    func entities<Entity: EntityModelProtocol>(placed rows: [RowID], _ store: EntityStore) throws -> [Entity] {
        try Entity._placedEntities(rows.count) { read in
            try store.forEachPlaced(rows) { place, row in try read(place, row) }
        }
    }

    /// Returns the stored entities of `rows` in that order.
    /// - Parameter rows: row ids without duplicates.
    package func entities<Entity: EntityModelProtocol>(atDistinct rows: [RowID]) throws -> [Entity] {
        let store = try store(Entity.self)
        var stored: [RowID]?
        return try store.places(rows.count) ? entities(placed: rows, store) : entities(at: rows, stored: &stored)
    }
}
