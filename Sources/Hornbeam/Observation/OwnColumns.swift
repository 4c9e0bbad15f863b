// SPDX-License-Identifier: Apache-2.0
// Queries whose answer for a row needs nothing but that row: then a commit's changed rows, as they were and as they
// are, say what has become of the result.

import HornbeamPages
import HornbeamTree

/// A filter over an entity's own properties, and an order by stored ones or by row ids.
struct OwnColumns: Sendable {
    private let filter: Filter
    private let sort: [SortTerm]

    /// Nil if the list depends on more than its rows.
    /// - Parameter ignoresOrder: whether only membership is of interest.
    init?(_ parts: ListParts, ignoresOrder: Bool = false) {
        guard case .all = parts.source else { return nil }
        // What the planner gets, with all that is added to it on the way.
        let query = parts.query("")
        guard query.after == nil else { return nil }
        let order = ignoresOrder ? [] : query.sort
        let isColumns = order.allSatisfy { if case .column = $0.key { true } else { false } }
        guard isColumns, let filter = Self.alone(query.filter, isOrdered: ignoresOrder || !order.isEmpty) else {
            return nil
        }
        self.filter = filter
        sort = order
    }

    /// The filter as a function of the row; nil if it is none, or if it gives an order of its own that counts.
    private static func alone(_ filter: Filter, isOrdered: Bool) -> Filter? {
        switch filter {
        case .all, .none, .compare, .isNull, .within, .string, .text, .elements, .matches, .opaque, .computed,
            .anyElement:
            return filter
        // The id of a row never changes, so naming ids is a condition on the row. One id has no order.
        case .ids(let ids): return isOrdered || ids.count == 1 ? .within(column: 0, ids) : nil
        case .and(let parts): return all(parts, isOrdered).map { .and($0) }
        case .or(let parts): return all(parts, isOrdered).map { .or($0) }
        case .not(let part): return alone(part, isOrdered: isOrdered).map { .not($0) }
        default: return nil
        }
    }

    private static func all(_ parts: [Filter], _ isOrdered: Bool) -> [Filter]? {
        let found = parts.compactMap { alone($0, isOrdered: isOrdered) }
        return found.count == parts.count ? found : nil
    }

    func probe(_ store: EntityStore) throws -> RowProbe {
        let updatedAt = store.type.updatedAt
        let isUsed = updatedAt.map { column in
            filter.uses(column) || sort.contains { if case .column(column) = $0.key { true } else { false } }
        }
        return RowProbe(
            filter: try RowFilter(filter, type: store.type, session: store.session), sort: sort,
            updatedAt: updatedAt, ignored: isUsed ?? false ? nil : updatedAt)
    }
}

/// The same in one read.
struct RowProbe {
    fileprivate let filter: RowFilter
    fileprivate let sort: [SortTerm]
    /// Holds when the row was saved. To save it again as it was is no change of what a query gives.
    fileprivate let updatedAt: Int?
    /// That column, unless the filter or the order goes by it.
    let ignored: Int?

    func accepts(_ row: RowID, _ reader: RowReader) throws -> Bool { try filter.accepts(row, reader) }

    /// The row's place in the order, and its fingerprint.
    func ranked(_ row: RowID, _ reader: RowReader) throws -> RankedRow {
        var hasher = Hasher()
        reader.hash(into: &hasher, without: updatedAt)
        return RankedRow(key: try RowOrder.key(of: reader, sort), row: row, print: hasher.finalize())
    }

    /// The same of a row that is in the result; nil if it isn't.
    func member(_ row: RowID, _ reader: RowReader?) throws -> RankedRow? {
        guard let reader, try accepts(row, reader) else { return nil }
        return try ranked(row, reader)
    }
}

extension LiveView {
    /// Calls `body` with each row of `store` that is another than before these commits, as it was and as it is.
    /// - Parameter ignored: a column of fixed width in which rows may differ and still be the same.
    /// - Returns: false if it is not known which these are.
    func forEachChange(
        _ commits: [CommitChanges]?, _ store: EntityStore, ignoring ignored: Int?,
        _ body: (RowID, RowReader?, RowReader?) throws -> Void
    ) throws -> Bool {
        guard let commits else { return false }
        let tree = store.type.rows
        var former: FormerRows = [:]
        for commit in commits where commit.trees.contains(tree) {
            guard let rows = commit.rows?[tree], !rows.isEmpty else { return false }
            // What the oldest commit found is what was there before all of them.
            former.merge(rows) { first, _ in first }
        }
        for _ in former { figures.noteRow() }
        try store.forEachChange(since: former, ignoring: ignored, body)
        return true
    }
}

extension EntityStore {
    /// Calls `body` with each of these rows that is another than it was, as it was and as it is.
    func forEachChange(
        since former: FormerRows, ignoring ignored: Int?, _ body: (RowID, RowReader?, RowReader?) throws -> Void
    ) throws {
        for (row, old) in former {
            let new = try self.row(row)
            guard let old else {
                if let new { try body(row, nil, new) }
                continue
            }
            try old.withUnsafeBytes { bytes in
                let old = try RowReader(bytes, of: type)
                if let new, new.isSame(as: old, ignoring: ignored) { return }
                try body(row, old, new)
            }
        }
    }
}

extension Filter {
    /// Whether it tests this column, as far as that can be seen: what only the typed layer evaluates sees no column of
    /// the store's own.
    fileprivate func uses(_ column: Int) -> Bool {
        switch self {
        case .compare(column, _, _), .isNull(column), .within(column, _): true
        case .and(let parts), .or(let parts): parts.contains { $0.uses(column) }
        case .not(let part): part.uses(column)
        default: false
        }
    }
}
