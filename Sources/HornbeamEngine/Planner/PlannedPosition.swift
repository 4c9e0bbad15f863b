// SPDX-License-Identifier: Apache-2.0
// The position after which a query continues, as the planner and the executor need it.

import HornbeamPages

/// A position with the row id of its entity, present or former.
package struct PlannedPosition {
    let position: QueryPosition
    /// The row id of the position's entity; nil if the entity isn't stored and its id isn't a row id.
    package let rowID: RowID?
    /// Whether the path begins after it.
    private(set) var isReached = false

    package init(_ position: QueryPosition, _ store: EntityStore) throws {
        self.position = position
        rowID = try position.hit?.row ?? store.rowID(ofAny: position.id)
    }

    /// Throws `.invalid` if the position is that of a hit, and the order isn't that of scores.
    package func requireOrder(_ sort: [SortTerm], _ type: EntityType) throws(HornbeamError) {
        guard let hit = position.hit else { return }
        let isRight = (sort.first?.isBestScore ?? false) && (sort.count == 1 || !position.row.isEmpty)
        guard !isRight else { return }
        throw HornbeamError(
            .invalid,
            "a list of \(type.name) can continue after a hit (\(position.id.text), score \(hit.score)) only in the "
                + "order that found it: put the match first, sort by the score like the list with the hit, or continue "
                + "after an entity")
    }

    func reached(_ isReached: Bool) -> PlannedPosition {
        var copy = self
        copy.isReached = isReached
        return copy
    }

    /// The first row id after it, for results in the order of row ids. Throws `.invalid` if its row id isn't known.
    func nextRow(_ type: EntityType) throws(HornbeamError) -> UInt64 {
        guard let rowID else {
            throw HornbeamError(
                .invalid,
                "\(type.name) \(position.id.text) is not stored any more, so its place in an unsorted list is "
                    + "unknown: sort by a property, or continue after a stored entity")
        }
        return rowID.next?.rawValue ?? .max
    }

    /// The error for a list with an order of its own that no longer contains the entity.
    package func missing(_ type: EntityType) -> HornbeamError {
        HornbeamError(
            .invalid,
            "\(type.name) \(position.id.text) is not in the list any more, so its place in an unsorted list is "
                + "unknown: sort by a property, or continue after an entity in the list")
    }

    /// Its place in an order. If its entity is gone, it is unknown whether entities that are equal to it came before or
    /// after it.
    ///
    /// Throws `.invalid` if the entity is gone and the order depends on data that isn't in its row.
    package func place(_ order: RowOrder, _ store: EntityStore) throws -> RowOrder.Place {
        if order.needsStored, try rowID.map({ try !store.isSaved($0) }) ?? true {
            throw HornbeamError(
                .invalid,
                "\(store.type.name) \(position.id.text) is not stored any more, and a sort by its last save "
                    + "or its number of related entities needs it: continue after a stored entity")
        }
        return try position.row.withBytes { bytes in
            var place = try order.place(rowID ?? RowID(rawValue: 0), try RowReader(bytes, of: store.type))
            if rowID == nil {
                place.gone = HornbeamError(
                    .invalid,
                    "\(store.type.name) \(position.id.text) is not stored any more, and others are equal to it in the "
                        + "order, so its place among them is unknown: sort by the id as well, or continue after a "
                        + "stored entity")
            }
            return place
        }
    }
}
