// SPDX-License-Identifier: Apache-2.0
// A list whose query is run again and compared with the former result: for queries that can't be decided row by row,
// and for those with a limit, where another row takes the place of one that leaves. The query runs only if something
// that it read has changed; if rows can be tested, only if a row that may have changed is, or was, within the limit.

import HornbeamPages
import HornbeamTree

struct RepeatedList<Entity: EntityModelProtocol>: Sendable {
    private let parts: ListParts
    /// The rule that tests single rows, or nil if rows can't be tested one by one.
    private let rule: RowRule?
    private(set) var trees: Set<TreeID> = []
    private(set) var items: [ListItem<Entity.ID>] = []
    /// The last row within the limit, or nil if the limit isn't reached.
    private var end: RankedRow?
    private var isFull = false
    /// The rows of the result, kept if their former values aren't enough to find whether they were in it.
    private var rows: Set<RowID> = []

    init(_ parts: ListParts) {
        self.parts = parts
        rule = RowRule(parts)
    }

    mutating func begin(_ view: LiveView) throws -> [Entity] {
        view.figures.noteQuery()
        let entities = try parts.load(Entity.self, view.session)
        items = try entities.map { ListItem(id: $0.id, fingerprint: try Fingerprint.of($0, view.session)) }
        guard let rule else {
            trees = view.trees
            return entities
        }
        let store = try view.session.store(Entity.self)
        trees = try rule.dependency.trees(store)
        if !rule.isAlone { rows = Set(try entities.compactMap { try store.rowID(of: $0.id.columnValue) }) }
        isFull = parts.limit.map { entities.count >= $0 } ?? false
        end = nil
        if isFull, let last = entities.last, let row = try store.rowID(of: last.id.columnValue),
            let reader = try store.row(row)
        {
            end = try rule.probe(store).ranked(row, reader)
        }
        return entities
    }

    /// Returns the new result and its changes, or nil if nothing has changed.
    mutating func advance(
        _ view: LiveView, _ commits: [CommitChanges]?
    ) throws -> (changes: ListChanges, entities: [Entity])? {
        guard try isTouched(view, commits) else { return nil }
        let touched = try touchedIDs(view, commits)
        let old = items.asChanged(touched)
        let entities = try begin(view)
        let changes = ListDifference.changes(from: old, to: items)
        return changes.isEmpty ? nil : (changes, entities)
    }

    /// Returns entities that count as changed although their values are equal.
    private func touchedIDs(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Set<Entity.ID> {
        guard commits?.contains(where: { !$0.touched.isEmpty }) ?? false else { return [] }
        let store = try view.session.store(Entity.self)
        let touched =
            if let rule, !rule.isAlone {
                try view.touched(rule.dependency, store, commits)
            } else {
                try view.touched(commits, store)
            }
        return Set(try touched.compactMap { try view.session.id(of: $0, Entity.self) })
    }

    /// Whether a changed row is or was within the limit. True if that isn't known.
    private func isTouched(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Bool {
        guard let rule else { return true }
        let store = try view.session.store(Entity.self)
        let probe = try rule.probe(store)
        guard rule.isAlone else {
            guard let affected = try view.affected(rule.dependency, store, commits, reach: rows.count) else {
                return true
            }
            // Rows before the offset aren't kept, so a changed row may have been one of them.
            if parts.offset > 0, !affected.rows.isEmpty { return true }
            return try affected.rows.contains { row in
                if rows.contains(row) { return true }
                guard let now = try probe.member(row, try store.row(row)) else { return false }
                return !isFull || end.map { now.order($0) <= 0 } ?? false
            }
        }
        var isTouched = false
        let isKnown = try view.forEachChange(commits, store, ignoring: probe.ignored) { row, old, new in
            for reader in [old, new] where !isTouched {
                guard let reader, try probe.accepts(row, reader) else { continue }
                isTouched = try !isFull || end.map { try probe.ranked(row, reader).order($0) <= 0 } ?? false
            }
        }
        return isTouched || !isKnown
    }
}
