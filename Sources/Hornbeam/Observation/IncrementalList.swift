// SPDX-License-Identifier: Apache-2.0
// A list that follows changed rows: each was in it or not, and is or is not, and the ranks of its old and its new place
// are the positions. Costs O(log n) for each changed row.

import HornbeamPages
import HornbeamTree

/// What has become of a list.
struct ListDelta<Entity: EntityModelProtocol>: Sendable {
    var changes: ListChanges
    /// At `changes.insertions` and `changes.updates`.
    var inserted: [Entity] = []
    var updated: [Entity] = []
    var count: Int

    /// The new list. Positions are asked for in ascending order, as the entities lie.
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
    private let own: OwnColumns
    private(set) var trees: Set<TreeID> = []
    private var tree = RankTree()

    /// Nil if the list needs more than its rows to be followed.
    init?(_ parts: ListParts) {
        guard !parts.isCut, parts.nested == nil, let own = OwnColumns(parts) else { return nil }
        self.parts = parts
        self.own = own
    }

    var count: Int { tree.count }

    mutating func begin(_ view: LiveView, wantsEntities: Bool) throws -> [Entity] {
        let store = try view.session.store(Entity.self)
        trees = [store.type.rows]
        let (rows, entities) = try load(view, store, wantsEntities: wantsEntities)
        tree = RankTree(rows)
        return entities
    }

    private func load(
        _ view: LiveView, _ store: EntityStore, wantsEntities: Bool
    ) throws -> ([RankedRow], [Entity]) {
        view.figures.noteQuery()
        let executor = try Executor(parts.query(Entity.entityName), store)
        let probe = try own.probe(store)
        var rows: [RankedRow] = []
        rows.reserveCapacity(executor.expectedCount)
        let entities = try Entity._entities(wantsEntities ? executor.expectedCount : 0) { read in
            try executor.run(needsRows: true) { row, reader, _ in
                guard let reader else { return true }
                rows.append(try probe.ranked(row, reader))
                if wantsEntities { try read(reader) }
                return true
            }
        }
        return (rows, entities)
    }

    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> ListDelta<Entity>? {
        let store = try view.session.store(Entity.self)
        let probe = try own.probe(store)
        var gone: [RankedRow] = []
        var new: [RankedRow] = []
        var same: [RankedRow] = []
        var moved: [(old: RankedRow, new: RankedRow)] = []
        var changed: [RankedRow] = []
        let isKnown = try view.forEachChange(commits, store, ignoring: probe.ignored) { row, old, now in
            switch (try probe.member(row, old), try probe.member(row, now)) {
            case (nil, nil): break
            case (let before?, nil): gone.append(before)
            case (nil, let after?): new.append(after)
            case (let before?, let after?):
                let isChanged = before.print != after.print
                if before.order(after) != 0 {
                    moved.append((before, after))
                    if isChanged { changed.append(after) }
                } else if isChanged {
                    same.append(after)
                    changed.append(after)
                }
            }
        }
        // What was in the result has a position; without one the rows say something else than was kept.
        let deletions = gone.compactMap(tree.position).sorted()
        let origins = moved.map(\.old).compactMap(tree.position)
        guard isKnown, deletions.count == gone.count, origins.count == moved.count else {
            return try askAnew(view, store)
        }
        for row in gone { tree.remove(row) }
        for (old, _) in moved { tree.remove(old) }
        for row in new + moved.map(\.new) { tree.insert(row) }
        for row in same { tree.update(row) }
        let inserted = positions(of: new)
        let updated = positions(of: changed)
        var changes = ListChanges()
        changes.deletions = deletions
        changes.insertions = inserted.map(\.position)
        changes.updates = updated.map(\.position)
        let pairs = zip(origins, moved).compactMap { from, move in
            tree.position(of: move.new).map { ListChanges.Move(from: from, to: $0) }
        }
        changes.moves = ListDifference.moves(pairs, deletions, changes.insertions)
        guard !changes.isEmpty else { return nil }
        return ListDelta(
            changes: changes, inserted: try entities(inserted.map(\.row), view),
            updated: try entities(updated.map(\.row), view), count: count)
    }

    private func positions(of rows: [RankedRow]) -> [(position: Int, row: RowID)] {
        rows.compactMap { row in tree.position(of: row).map { ($0, row.row) } }.sorted { $0.position < $1.position }
    }

    private func entities(_ rows: [RowID], _ view: LiveView) throws -> [Entity] {
        if rows.isEmpty { return [] }
        var stored: [RowID]?
        let found: [Entity] = try view.session.entities(at: rows, stored: &stored)
        guard found.count == rows.count else {
            throw try view.session.store(Entity.self).corrupt("e:\(Entity.entityName)", "a row that was read is gone")
        }
        return found
    }

    /// The difference that a new answer makes: too much has changed to be followed.
    private mutating func askAnew(_ view: LiveView, _ store: EntityStore) throws -> ListDelta<Entity>? {
        let (rows, _) = try load(view, store, wantsEntities: false)
        let changes = ListDifference.changes(
            from: tree.rows.map { ListItem(id: $0.row, print: $0.print) },
            to: rows.map { ListItem(id: $0.row, print: $0.print) })
        tree = RankTree(rows)
        guard !changes.isEmpty else { return nil }
        return ListDelta(
            changes: changes, inserted: try entities(changes.insertions.map { rows[$0].row }, view),
            updated: try entities(changes.updates.map { rows[$0].row }, view), count: count)
    }
}
