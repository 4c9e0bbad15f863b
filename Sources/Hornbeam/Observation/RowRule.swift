// SPDX-License-Identifier: Apache-2.0
// Queries that can decide row by row whether and where a row is in the result. If the row is enough for that, the
// former and present states of a commit's changed rows give the changes of the result. If links are needed, the former
// state of each row must be kept.

import HornbeamPages
import HornbeamTree

/// A filter and an order: by stored properties or values computed from them, by numbers of links, by row ids, or the
/// order of one entity's links.
struct RowRule: Sendable {
    private let filter: Filter
    private let sort: [SortTerm]
    /// The relation whose links give the order, or nil for another order.
    private let linking: RelationSource?
    /// The links that it reads beside a row, including those that are loaded into the entities.
    var links: [LinkDependency]
    /// Whether it reads only the row.
    var isAlone: Bool { links.isEmpty }

    /// Makes the rule of a list. Returns nil if the list can't be decided row by row.
    /// - Parameter ignoresOrder: whether only membership matters.
    init?(_ parts: ListParts, ignoresOrder: Bool = false) {
        guard case .all = parts.source else { return nil }
        // The planner's query, which includes parts that `query` adds.
        let query = parts.query("")
        guard query.after == nil, var links = ignoresOrder ? [] : parts.nestedDependencies else { return nil }
        let order = ignoresOrder ? [] : query.sort
        for term in order {
            switch term.key {
            case .column, .derived: break
            case .linkCount(let relation): links.append(.count(of: relation))
            case .score, .opaque, .refused: return nil
            }
        }
        linking = ignoresOrder || !order.isEmpty ? nil : query.filter.linkingOrder
        let isOrdered = ignoresOrder || !order.isEmpty || linking != nil
        guard let filter = Self.condition(query.filter, isOrdered: isOrdered) else { return nil }
        filter.addLinks(to: &links)
        self.filter = filter
        self.links = links
        sort = order
    }

    /// Returns the filter as a condition on a row, or nil if the filter determines the order.
    private static func condition(_ filter: Filter, isOrdered: Bool) -> Filter? {
        switch filter {
        // The id of a row never changes, so a list of ids is a condition on the row. One id has no order.
        case .ids(let ids): return isOrdered || ids.count == 1 ? .within(column: 0, ids) : nil
        case .and(let parts): return all(parts, isOrdered).map { .and($0) }
        case .or(let parts): return all(parts, isOrdered).map { .or($0) }
        case .not(let part): return condition(part, isOrdered: isOrdered).map { .not($0) }
        default: return filter
        }
    }

    private static func all(_ parts: [Filter], _ isOrdered: Bool) -> [Filter]? {
        let found = parts.compactMap { condition($0, isOrdered: isOrdered) }
        return found.count == parts.count ? found : nil
    }

    /// The data that a list by this rule depends on.
    var dependency: RowDependency { RowDependency(rows: .content, links: links) }

    /// Whether its filter is only one entity's relation, whose links are counted without reading them.
    var isLinksAlone: Bool { if case .related = filter { true } else { false } }

    func probe(_ store: EntityStore) throws -> RowProbe {
        let updatedAt = store.type.updatedAt
        // Comparisons of rows ignore the time of the last save, and with it the ids of linked entities.
        let isUsed = (store.type.linkedIDs.map(\.column) + (updatedAt.map { [$0] } ?? [])).contains { column in
            filter.uses(column) || sort.contains { if case .column(column) = $0.key { true } else { false } }
        }
        return RowProbe(
            filter: try RowFilter(filter, type: store.type, core: store.core),
            order: sort.isEmpty ? nil : try RowOrder(sort, type: store.type, core: store.core),
            places: try linking.map { try LinkPlaces(of: $0, store) }, updatedAt: updatedAt,
            ignored: isUsed ? nil : updatedAt)
    }
}

/// The positions of entities among the links of one entity.
private struct LinkPlaces {
    let side: EdgeSide
    /// The row id of the source, or nil if the store has none for its id.
    let source: RowID?
    let edges: EdgeTrees
    /// The positions of all links, once they are read.
    var known: [RowID: UInt64] = [:]

    init(of relation: RelationSource, _ store: EntityStore) throws {
        (side, source) = try RowFilter.bind(relation, store.type, store.core)
        edges = store.core.edges
    }

    mutating func readAll() throws {
        guard let source else { return }
        var found: [RowID: UInt64] = [:]
        try edges.forEachLink(side.list, of: source) { link in
            found[link.other.row] = link.end.place
            return true
        }
        known = found
    }

    /// Returns bytes in the order of linking, or nil for a row that isn't linked.
    func key(_ row: RowID) throws -> [UInt8]? {
        guard let source else { return nil }
        let place = try known[row] ?? edges.ends(side, source, row)?.from.place
        return place.map { RowID(rawValue: $0).key }
    }
}

/// A `RowRule` in one read.
struct RowProbe {
    fileprivate let filter: RowFilter
    /// The order of the query, or nil if it isn't sorted.
    fileprivate let order: RowOrder?
    fileprivate var places: LinkPlaces?
    /// The column with the time of the last save. Saving an equal row again doesn't change a query's result.
    fileprivate let updatedAt: Int?
    /// `updatedAt`, or nil if the filter or the order uses that column: then its changes count.
    let ignored: Int?

    func accepts(_ row: RowID, _ reader: RowReader) throws -> Bool { try filter.accepts(row, reader) }

    /// Must be called before all rows of a list are ranked.
    mutating func prepareForAll() throws { try places?.readAll() }

    /// Returns the row with its key in the order, and its fingerprint.
    func ranked(_ row: RowID, _ reader: RowReader) throws -> RankedRow {
        var hasher = Hasher()
        reader.hash(into: &hasher, without: updatedAt)
        let key: [UInt8]
        if let places {
            // A row that isn't linked is in no list in the order of links.
            key = try places.key(row) ?? []
        } else {
            key = try order?.key(row, reader) ?? []
        }
        return RankedRow(key: key, row: row, fingerprint: hasher.finalize())
    }

    /// Returns the row with its key in the order, or nil if it isn't in the result.
    func member(_ row: RowID, _ reader: RowReader?) throws -> RankedRow? {
        guard let reader, try accepts(row, reader) else { return nil }
        return try ranked(row, reader)
    }
}

extension LiveView {
    /// Calls `body` with each row of `store` that these commits have changed, in its former and its present state.
    /// - Parameter ignored: a column of fixed width that comparisons of rows ignore.
    /// - Returns: false if the changed rows aren't known.
    package func forEachChange(
        _ commits: [CommitChanges]?, _ store: EntityStore, ignoring ignored: Int?,
        _ body: (RowID, RowReader?, RowReader?) throws -> Void
    ) throws -> Bool {
        guard let commits else { return false }
        let tree = store.type.rows
        var former: FormerRows = [:]
        for commit in commits where commit.trees.contains(tree) {
            guard let rows = commit.rows?[tree], !rows.isEmpty else { return false }
            // The former rows of the oldest commit are the state before all of them.
            former.merge(rows) { first, _ in first }
        }
        for _ in former { figures.noteRow() }
        let touched = try touched(commits, store)
        try store.forEachChange(since: former, touched: touched, ignoring: ignored, body)
        return true
    }

    /// Returns rows of `store` that these commits touched, and that existed before and still exist.
    func touched(_ commits: [CommitChanges]?, _ store: EntityStore) throws -> Set<RowID> {
        let (tree, commits) = (store.type.rows, commits ?? [])
        let touched = commits.reduce(into: Set<RowID>()) { $0.formUnion($1.touched[tree] ?? []) }
        return try touched.filter { row in
            let former = commits.lazy.compactMap { $0.rows?[tree]?[row] }.first
            return try store.isTouched(row, since: former.flatMap { $0 })
        }
    }
}

extension Filter {
    /// The relation whose links give the order if the query has no other.
    fileprivate var linkingOrder: RelationSource? {
        for conjunct in conjuncts {
            if case .related(let source) = conjunct { return source }
            if case .ids = conjunct { return nil }
        }
        return nil
    }

    /// Whether it tests this column. Opaque tests never do, because the typed layer doesn't see the store's own
    /// columns.
    fileprivate func uses(_ column: Int) -> Bool {
        switch self {
        case .compare(column, _, _), .isNull(column), .within(column, _): true
        case .and(let parts), .or(let parts): parts.contains { $0.uses(column) }
        case .not(let part): part.uses(column)
        default: false
        }
    }
}
