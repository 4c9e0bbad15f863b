// SPDX-License-Identifier: Apache-2.0
// The plan for answering a query, as a value and as text. Counts of index ranges are exact: counted trees give them
// without reading an entry.

/// The plan for answering a query, as `explain` returns it.
public struct Plan: Sendable, Hashable {
    /// The source of the candidates.
    public indirect enum Access: Sendable, Hashable {
        /// All rows, in the order of their row ids.
        case rowScan(rows: Int)
        /// The rows of a range of ids, in the order of their row ids. `rows` is exact for integer ids. For other ids it
        /// includes those that are linked and not stored.
        case idRange(rows: Int)
        /// Entities in the order of their ids, all or a range. `entries` is counted like `rows` of `idRange`.
        case idOrder(entries: Int, reversed: Bool)
        /// Rows looked up by their ids.
        case ids(count: Int)
        /// Ranges of an index. `entries` is exact, except that it is an estimate for a list of more than 64 values.
        case index(name: String, ranges: Int, entries: Int, reversed: Bool)
        /// The targets of a relation.
        case relation(name: String, targets: Int)
        /// Rows whose relation leads to the results of another query. `targets` is the estimated number of its results.
        case join(relation: String, targets: Int)
        /// A full-text search. `ranked` is whether the order is that of the scores.
        case text(index: String, query: String, ranked: Bool)
        /// Entities that any of these paths finds.
        case union([Access])
        /// Entities that all of these paths find.
        case intersection([Access])
        /// Nothing can match.
        case nothing
    }

    /// The source of the order.
    public enum Order: Sendable, Hashable {
        /// The access path gives it.
        case byAccess
        /// The matching rows are sorted by these terms. If there is a limit, only as many rows as it needs are kept.
        case inMemory([String])
    }

    /// The name of the entity type.
    public var entity: String
    /// The path to the candidates.
    public var access: Access
    /// The test on each candidate's row, nil if the access path answers the whole filter.
    public var filter: String?
    /// The way in which the results get their order.
    public var order: Order
    /// Maximum number of results; nil if there is no limit.
    public var limit: Int?
    /// Number of results to skip.
    public var offset: Int
    /// Number of candidates that the access path gives if all are read: exact for rows, ids, relations and index
    /// ranges.
    public var candidates: Int
    /// Whether the index holds all values that the query reads, in plans of aggregates. Then a row is read only if a
    /// key doesn't hold its exact values.
    public var isCovering: Bool
    /// Whether the number of results is known without reading an entry.
    public var isCountKnown: Bool
    /// Indexes that could be used with another collation, or another version of their collation.
    public var remarks: [String] = []
    /// Whether rows that are equal in the needed columns are read as one row with their number, in plans of aggregates.
    /// The index gives the number without reading these rows.
    public var isByValue = false
    /// The name of the hand-kept index that gives the ids, or in which the access path's results are looked up.
    public var list: String?

    package init(
        entity: String, access: Access, filter: String? = nil, order: Order, limit: Int? = nil, offset: Int,
        candidates: Int, isCovering: Bool, isCountKnown: Bool, remarks: [String] = [], isByValue: Bool = false,
        list: String? = nil
    ) {
        self.entity = entity
        self.access = access
        self.filter = filter
        self.order = order
        self.limit = limit
        self.offset = offset
        self.candidates = candidates
        self.isCovering = isCovering
        self.isCountKnown = isCountKnown
        self.remarks = remarks
        self.isByValue = isByValue
        self.list = list
    }
}

extension Plan.Access: CustomStringConvertible {
    public var description: String {
        switch self {
        case .rowScan(let rows): "scan of \(rows) rows"
        case .idRange(let rows): "range of \(rows) ids"
        case .idOrder(let entries, let reversed):
            "\(entries) ids in their order" + (reversed ? ", backwards" : "")
        case .ids(let count): "look-up of \(count) ids"
        case .index(let name, let ranges, let entries, let reversed):
            "index \(name), \(ranges == 1 ? "one range" : "\(ranges) ranges") of \(entries) entries"
                + (reversed ? ", backwards" : "")
        case .relation(let name, let targets): "relation \(name), \(targets) targets"
        case .join(let relation, let targets): "join along \(relation) from about \(targets) targets"
        case .text(let index, let query, let ranked):
            "\(ranked ? "ranked search" : "search") of index \(index) for \(Value.string(query).text)"
        case .union(let parts): "union of (" + parts.map(\.description).joined(separator: ") and (") + ")"
        case .intersection(let parts): "intersection of (" + parts.map(\.description).joined(separator: ") and (") + ")"
        case .nothing: "nothing"
        }
    }
}
