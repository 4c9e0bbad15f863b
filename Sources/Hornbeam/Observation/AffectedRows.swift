// SPDX-License-Identifier: Apache-2.0
// The rows of a query that commits may have changed.

import HornbeamPages
import HornbeamTree

extension LiveView {
    /// Returns the rows of `store` whose part of the result these commits may have changed, and those among them that
    /// were touched or show a touched entity. Returns nil if they aren't known, or if there are so many that running
    /// the query again costs less.
    /// - Parameter reach: the number of rows at which running the query again costs less.
    func affected(
        _ dependency: RowDependency, _ store: EntityStore, _ commits: [CommitChanges]?, reach: Int
    ) throws -> (rows: Set<RowID>, touched: Set<RowID>)? {
        guard let commits, let changes = MergedChanges(commits, to: try dependency.trees(store)) else { return nil }
        let limit = max(reach, MergedChanges.least)
        guard let affected = try changes.affected(dependency, store, .changed, limit: limit) else { return nil }
        guard let touched = changes.hasTouched ? try changes.affected(dependency, store, .touched, limit: limit) : []
        else { return nil }
        for _ in affected { figures.noteRow() }
        return (affected, touched)
    }

    /// Returns the touched rows, without a limit.
    func touched(
        _ dependency: RowDependency, _ store: EntityStore, _ commits: [CommitChanges]?
    ) throws -> Set<RowID> {
        guard let commits, let changes = MergedChanges(commits, to: try dependency.trees(store)), changes.hasTouched
        else { return [] }
        return try changes.affected(dependency, store, .touched, limit: .max) ?? []
    }
}

/// The changes of several commits together.
private struct MergedChanges {
    private var former: [TreeID: FormerRows] = [:]
    private var links: [UInt16: Set<RowID>] = [:]
    private var touched: [TreeID: Set<RowID>] = [:]

    enum Kind { case changed, touched }

    var hasTouched: Bool { !touched.isEmpty }

    /// Minimum number of rows that are read, however few results there are. Reading them takes about as long as a query
    /// that an index answers.
    static let least = 1_000

    /// Merges the changes of these trees. Returns nil if the changes of one of them aren't known.
    init?(_ commits: [CommitChanges], to trees: Set<TreeID>) {
        for commit in commits where !commit.trees.isDisjoint(with: trees) {
            guard let rows = commit.rows, let links = commit.links,
                commit.trees.intersection(trees).isSubset(of: commit.treesTold)
            else { return nil }
            // The former rows of the oldest commit are the state before all of them.
            for (tree, rows) in rows { former[tree, default: [:]].merge(rows) { first, _ in first } }
            for (list, rows) in links { self.links[list, default: []].formUnion(rows) }
            for (tree, rows) in commit.touched { touched[tree, default: []].formUnion(rows) }
        }
    }

    /// Returns the rows that the changes affect, or nil if the links of some entity lead to more rows than `limit`.
    func affected(
        _ dependency: RowDependency, _ store: EntityStore, _ kind: Kind, limit: Int
    ) throws -> Set<RowID>? {
        var rows = kind == .changed ? try changed(dependency.rows, store) : try touched(dependency.rows, store)
        let links = kind == .changed ? links : [:]
        let core = store.core
        for link in dependency.links {
            switch link {
            case .along(let relation, let target):
                let side = try store.type.relation(relation)
                rows.formUnion(links[side.list.number] ?? [])
                guard let targets = try affected(target, try core.store(side.target), kind, limit: limit) else {
                    return nil
                }
                for target in targets {
                    let (sources, overflow) = try core.edges.sourceCount(side, of: target)
                        .addingReportingOverflow(rows.count)
                    if overflow || sources > limit { return nil }
                    try core.edges.forEachSource(side, of: target) {
                        rows.insert($0)
                        return true
                    }
                }
            case .from(let type, let relation):
                let side = try core.store(type).type.relation(relation)
                rows.formUnion(links[try core.edges.other(of: side).list.number] ?? [])
            }
        }
        return rows
    }

    private func touched(_ rows: RowDependency.Rows, _ store: EntityStore) throws -> Set<RowID> {
        guard case .content = rows, let rows = touched[store.type.rows] else { return [] }
        let former = former[store.type.rows] ?? [:]
        return try rows.filter { try store.isTouched($0, since: former[$0].flatMap { $0 }) }
    }

    private func changed(_ rows: RowDependency.Rows, _ store: EntityStore) throws -> Set<RowID> {
        let former = former[store.type.rows] ?? [:]
        switch rows {
        case .none: return []
        case .content: return Set(former.keys)
        case .verdict(let filter):
            let filter = try RowFilter(filter, type: store.type, core: store.core)
            var changed: Set<RowID> = []
            try store.forEachChange(since: former, ignoring: nil) { row, old, new in
                // A missing row is neither true nor false, because a condition may require that all stored rows pass.
                let was = try old.map { try filter.accepts(row, $0) }
                let isNow = try new.map { try filter.accepts(row, $0) }
                if was != isNow { changed.insert(row) }
            }
            return changed
        }
    }
}
