// SPDX-License-Identifier: Apache-2.0
// The rows of a list, updated from commit to commit. For each row that may have changed, the list knows whether it was
// in it and finds whether it is now; the positions are the ranks of its old and its new place. This costs O(log n) for
// each such row. If only membership matters, rows are ranked by their ids, whatever the query's order is.

import HornbeamPages
import HornbeamTree

/// The changes of a list of rows.
struct RowDelta {
    var changes = ListChanges()
    /// The rows at `changes.insertions` and `changes.updates`.
    var inserted: [RowID] = []
    var updated: [RowID] = []
    /// The rows that were read and are in the list, in no order.
    var looked: [RowID] = []
}

struct FollowedRows: Sendable {
    /// Makes a fingerprint of each row, including the entities nested in it.
    typealias Prints = ([RowID]) throws -> [Int]

    private typealias Entry = (before: RankedRow?, after: RankedRow?, isTouched: Bool)

    private var parts: ListParts
    private let rule: RowRule
    private(set) var trees: Set<TreeID> = []
    private var tree = RankTree()
    /// The state of each row in the list, or nil if rows' former values are enough to find it.
    private var members: [RowID: RankedRow]?
    /// Number of rows that the query read when it was run.
    private var looked = 0

    /// Follows the rows of a list. Returns nil if the list can't be followed row by row, or has a limit.
    /// - Parameter ignoresOrder: whether only membership matters.
    /// - Parameter relation: a relation that is read too.
    init?(_ parts: ListParts, ignoresOrder: Bool = false, reading relation: LinkDependency? = nil) {
        guard !parts.isCut, var rule = RowRule(parts, ignoresOrder: ignoresOrder) else { return nil }
        self.parts = parts
        if let relation { rule.links.append(relation) }
        self.rule = rule
        if ignoresOrder {
            self.parts.order = []
            self.parts.isRanked = false
        }
    }

    var count: Int { tree.count }
    var rows: [RankedRow] { tree.rows }

    /// Returns the position of a row in a list whose rows are known.
    func position(of row: RowID) -> Int? { members?[row].flatMap(tree.position) }

    /// Runs the whole query, and follows its rows from then on.
    /// - Parameters:
    ///   - prints: makes fingerprints, or nil if those of the rows are enough.
    ///   - each: gets the rows in order.
    mutating func begin(
        _ view: LiveView, _ store: EntityStore, prints: Prints? = nil, each: (RowReader) throws -> Void = { _ in }
    ) throws {
        view.figures.noteQuery()
        trees = try rule.dependency.trees(store)
        let tally = PlanTally()
        let executor = try Executor(try Planner(parts.query(store.type.name), store), store, tally: tally)
        var probe = try rule.probe(store)
        try probe.prepareForAll()
        var rows: [RankedRow] = []
        rows.reserveCapacity(executor.expectedCount)
        try executor.run(needsRows: true) { row, reader, _ in
            guard let reader else { return true }
            rows.append(try probe.ranked(row, reader))
            try each(reader)
            return true
        }
        if let prints {
            let found = try prints(rows.map(\.row))
            for place in rows.indices { rows[place].fingerprint = found[place] }
        }
        looked = tally.rows
        tree = RankTree(rows)
        members = rule.isAlone ? nil : Dictionary(rows.map { ($0.row, $0) }) { first, _ in first }
    }

    /// Applies commits. Returns nil, with nothing changed, if the query must be run again.
    mutating func advance(
        _ view: LiveView, _ store: EntityStore, _ commits: [CommitChanges]?, prints: Prints? = nil
    ) throws -> RowDelta? {
        guard var entries = try entries(view, store, commits) else { return nil }
        if let prints {
            let places = entries.indices.filter { entries[$0].after != nil }
            let found = try prints(places.compactMap { entries[$0].after?.row })
            for (place, print) in zip(places, found) { entries[place].after?.fingerprint = print }
        }
        return apply(entries)
    }

    /// Returns the former and the present state in the list of each row that may have changed.
    private func entries(_ view: LiveView, _ store: EntityStore, _ commits: [CommitChanges]?) throws -> [Entry]? {
        let probe = try rule.probe(store)
        var entries: [Entry] = []
        guard let members else {
            let touched = try view.touched(commits, store)
            let isKnown = try view.forEachChange(commits, store, ignoring: probe.ignored) { row, old, now in
                entries.append((try probe.member(row, old), try probe.member(row, now), touched.contains(row)))
            }
            return isKnown ? entries : nil
        }
        // If the query reads all rows of a type, reading four in order takes as long as looking one up.
        let reach = max(members.count, looked / 4)
        guard let affected = try view.affected(rule.dependency, store, commits, reach: reach) else { return nil }
        for row in affected.rows {
            let after = try probe.member(row, try store.row(row))
            entries.append((members[row], after, affected.touched.contains(row)))
        }
        return entries
    }

    private mutating func apply(_ entries: [Entry]) -> RowDelta? {
        var gone: [RankedRow] = []
        var new: [RankedRow] = []
        var same: [RankedRow] = []
        var moved: [(old: RankedRow, new: RankedRow)] = []
        var changed: [RankedRow] = []
        for entry in entries {
            switch (entry.before, entry.after) {
            case (nil, nil): break
            case (let before?, nil): gone.append(before)
            case (nil, let after?): new.append(after)
            case (let before?, let after?):
                let isChanged = before.fingerprint != after.fingerprint || entry.isTouched
                if isChanged { changed.append(after) }
                if before.order(after) != 0 {
                    moved.append((before, after))
                } else if isChanged {
                    same.append(after)
                }
            }
        }
        // Rows of the former result have positions. If one has none, the rows don't fit the kept state.
        let deletions = gone.compactMap(tree.position).sorted()
        let origins = moved.map(\.old).compactMap(tree.position)
        guard deletions.count == gone.count, origins.count == moved.count else { return nil }
        for row in gone {
            tree.remove(row)
            members?[row.row] = nil
        }
        for (old, _) in moved { tree.remove(old) }
        for row in new + moved.map(\.new) { tree.insert(row) }
        for row in same { tree.update(row) }
        if members != nil { for row in new + moved.map(\.new) + same { members?[row.row] = row } }
        let inserted = positions(of: new)
        let updated = positions(of: changed)
        var delta = RowDelta(
            inserted: inserted.map(\.row), updated: updated.map(\.row), looked: entries.compactMap(\.after?.row))
        delta.changes.deletions = deletions
        delta.changes.insertions = inserted.map(\.position)
        delta.changes.updates = updated.map(\.position)
        let pairs = zip(origins, moved).compactMap { from, move in
            tree.position(of: move.new).map { ListChanges.Move(from: from, to: $0) }
        }
        delta.changes.moves = ListDifference.moves(pairs, deletions, delta.changes.insertions)
        return delta
    }

    private func positions(of rows: [RankedRow]) -> [(position: Int, row: RowID)] {
        rows.compactMap { row in tree.position(of: row).map { ($0, row.row) } }.sorted { $0.position < $1.position }
    }

    /// Runs the query again, and returns the difference. Used if too much has changed to follow it.
    mutating func askAnew(_ view: LiveView, _ store: EntityStore, prints: Prints? = nil) throws -> RowDelta {
        let old = tree.rows
        try begin(view, store, prints: prints)
        let rows = tree.rows
        let changes = ListDifference.changes(
            from: old.map { ListItem(id: $0.row, fingerprint: $0.fingerprint) },
            to: rows.map { ListItem(id: $0.row, fingerprint: $0.fingerprint) })
        return RowDelta(
            changes: changes, inserted: changes.insertions.map { rows[$0].row },
            updated: changes.updates.map { rows[$0].row }, looked: rows.map(\.row))
    }
}
