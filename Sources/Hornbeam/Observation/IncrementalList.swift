// SPDX-License-Identifier: Apache-2.0
// A list that follows rows, with entities and their nested entities. Only changed rows are read.

import HornbeamPages
import HornbeamTree

/// The changes of a list.
struct ListDelta<Entity: EntityModelProtocol>: Sendable {
    var changes: ListChanges
    /// The entities at `changes.insertions` and `changes.updates`.
    var inserted: [Entity] = []
    var updated: [Entity] = []
    var count: Int

    /// Returns the new list. `applied` asks for positions in ascending order, which is the order of the entities.
    func applied(to old: [Entity]) -> [Entity] {
        var insertion = 0
        var update = 0
        return changes.applied(to: old) { position in
            if insertion < changes.insertions.count, changes.insertions[insertion] == position {
                insertion += 1
                return inserted[insertion - 1]
            }
            update += 1
            return updated[update - 1]
        }
    }
}

struct IncrementalList<Entity: EntityModelProtocol>: Sendable {
    private let parts: ListParts
    private var followed: FollowedRows

    /// Follows a list row by row. Returns nil if that isn't possible for this list.
    init?(_ parts: ListParts) {
        guard let followed = FollowedRows(parts) else { return nil }
        self.parts = parts
        self.followed = followed
    }

    var trees: Set<TreeID> { followed.trees }
    var count: Int { followed.count }

    mutating func begin(_ view: LiveView, wantsEntities: Bool) throws -> [Entity] {
        let store = try view.session.store(Entity.self)
        if parts.nested != nil {
            var entities: [Entity] = []
            try followed.begin(view, store, prints: prints(view) { if wantsEntities { entities += $1 } })
            return entities
        }
        return try Entity._entities(0) { read in
            try followed.begin(view, store, each: { reader in if wantsEntities { try read(reader) } })
        }
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> ListDelta<Entity>? {
        let store = try view.session.store(Entity.self)
        // The entities of examined rows that were loaded for their fingerprints.
        var loaded: [RowID: Entity] = [:]
        let keeping = prints(view) { rows, entities in
            for (row, entity) in zip(rows, entities) { loaded[row] = entity }
        }
        let followedDelta = try followed.advance(view, store, commits, prints: keeping)
        if followedDelta == nil { loaded = [:] }
        // Running the query again reads all entities, of which few have changed: only these are kept in memory.
        let delta = try followedDelta ?? followed.askAnew(view, store, prints: prints(view) { _, _ in })
        guard !delta.changes.isEmpty else { return nil }
        func entities(_ rows: [RowID]) throws -> [Entity] {
            let known = rows.compactMap { loaded[$0] }
            return known.count == rows.count ? known : try Self.entities(rows, parts, view)
        }
        return ListDelta(
            changes: delta.changes, inserted: try entities(delta.inserted), updated: try entities(delta.updated),
            count: count)
    }

    /// Maximum number of entities in memory while their fingerprints are computed.
    private static var stride: Int { 1024 }

    /// Returns a function that makes fingerprints with nested entities, or nil if the query has none.
    /// - Parameter each: gets the entities that were loaded for the fingerprints, with their rows.
    private func prints(
        _ view: LiveView, _ each: @escaping ([RowID], [Entity]) -> Void
    ) -> FollowedRows.Prints? {
        let parts = parts
        guard parts.nested != nil else { return nil }
        return { rows in
            var prints: [Int] = []
            prints.reserveCapacity(rows.count)
            for start in Swift.stride(from: 0, to: rows.count, by: Self.stride) {
                let part = Array(rows[start..<min(start + Self.stride, rows.count)])
                let entities = try Self.entities(part, parts, view)
                for entity in entities { prints.append(try Fingerprint.of(entity, view.session)) }
                each(part, entities)
            }
            return prints
        }
    }

    /// Returns the entities of stored rows, with their nested entities.
    private static func entities(_ rows: [RowID], _ parts: ListParts, _ view: LiveView) throws -> [Entity] {
        if rows.isEmpty { return [] }
        var stored: [RowID]?
        let found: [Entity] = try view.session.entities(at: rows, stored: &stored)
        guard found.count == rows.count else {
            throw try view.session.store(Entity.self).corrupt("e:\(Entity.entityName)", "a row that was read is gone")
        }
        return try parts.nested == nil ? found : QueryList(parts).completed(found, rows, view.session)
    }
}
