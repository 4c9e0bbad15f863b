// SPDX-License-Identifier: Apache-2.0
// Access paths with the byte ranges and row ids that the executor needs.

/// The targets of one source of a relation, in the order of linking.
package struct LinkedRows {
    let side: EdgeSide
    /// The row id of the source, nil if the store has none for its id.
    let source: RowID?
    /// The target after which the rows begin; nil if they are all targets.
    let last: RowID?
    let count: Int
    /// Whether all targets are stored.
    let isWhole: Bool
}

/// Rows with a relation that leads to a result of another query.
package struct Join {
    let side: EdgeSide
    let query: EntityQuery
    /// Estimated number of the query's results.
    let targets: Int
}

/// A walk along a range of an index for its order.
package struct IndexWalk {
    /// The order of entries that are equal in the walk's order.
    enum Ties: Equatable {
        case rows(descending: Bool)
        case ids(descending: Bool)
    }

    var isReversed = false
    /// Number of leading components that make the order, nil if all of them do.
    var leading: Int?
    /// The order of ties: ascending rows, unless the whole order ends in the id.
    var ties = Ties.rows(descending: false)

    /// Whether entries come in the order of the tree, including the entries of one key.
    var isAsItLies: Bool { leading == nil && ties == .rows(descending: isReversed) }
}

/// A source of candidates.
package enum AccessPath {
    case rowScan
    /// Ranges of row ids, ascending.
    case rows([EntryRange])
    /// Rows by their ids, forwards or backwards. If `reversed` is nil, their row ids are sorted first.
    case byID(IDRange, reversed: Bool?)
    /// Rows in this order. Ids that name no row are left out.
    case list([RowID], name: Plan.Access)
    case linked(LinkedRows)
    /// The rows of another path that are linked, in the order of linking.
    indirect case among(LinkedRows, AccessPath)
    case join(Join)
    /// Rows by an index. If there is no walk in the order of its entries, their row ids are sorted first.
    case index(IndexMatch, IndexWalk?)
    /// Rows with an element in ranges of an array index, by their row ids.
    case elements(ElementMatch)
    case text(EntityTextIndex, TextMatch, ranked: Bool)
    case union([AccessPath])
    /// A ranked search, which comes first, and another path: the search finds only rows of that path.
    case intersection([AccessPath])
    case nothing
}

extension AccessPath {
    func described(rows: Int) -> Plan.Access {
        switch self {
        case .rowScan: .rowScan(rows: rows)
        case .rows(let ranges): .idRange(rows: ranges.reduce(0) { $0 + $1.count })
        case .byID(let range, nil): .idRange(rows: range.count)
        case .byID(let range, let reversed?): .idOrder(entries: range.count, reversed: reversed)
        case .list(_, let name): name
        case .linked(let links):
            .relation(name: "\(links.side.type).\(links.side.name)", targets: links.count)
        case .among(let links, let path):
            .intersection([Self.linked(links).described(rows: rows), path.described(rows: rows)])
        case .join(let join): .join(relation: join.side.name, targets: join.targets)
        case .index(let match, let walk):
            .index(
                name: match.index.description.name, ranges: match.rangeCount, entries: match.count,
                reversed: walk?.isReversed ?? false)
        case .elements(let found):
            .index(
                name: found.match.index.description.name, ranges: found.match.rangeCount, entries: found.match.count,
                reversed: false)
        case .text(let index, let match, let ranked):
            .text(index: index.description.name, query: match.text, ranked: ranked)
        case .union(let parts): .union(parts.map { $0.described(rows: rows) })
        case .intersection(let parts): .intersection(parts.map { $0.described(rows: rows) })
        case .nothing: .nothing
        }
    }

    var isSearch: Bool { if case .text = self { true } else { false } }

    /// The search of a path in the order of scores, and the path to the rows that it may find, which is nil for all
    /// rows.
    var ranked: (index: EntityTextIndex, match: TextMatch, among: AccessPath?)? {
        switch self {
        case .text(let index, let match, true): return (index, match, nil)
        case .intersection(let parts):
            guard parts.count == 2, case .text(let index, let match, true) = parts[0] else { return nil }
            return (index, match, parts[1])
        default: return nil
        }
    }

    /// Whether a result at an offset can be found without reading those before it.
    var canSkip: Bool {
        switch self {
        case .rowScan, .rows, .linked: true
        case .byID(let range, _?): range.isWhole
        case .index(let match, _?): match.range != nil
        default: false
        }
    }

    /// Whether its candidates may include entities that aren't stored.
    var mayMiss: Bool {
        switch self {
        case .list, .join: true
        case .linked(let links): !links.isWhole
        case .among(_, let path): path.mayMiss
        case .byID(let range, _): !range.isWhole
        case .union(let parts): parts.contains(where: \.mayMiss)
        default: false
        }
    }

    /// Upper bound of the number of candidates that is known without reading. For a long list of values it is an
    /// estimate.
    package func candidates(rows: Int) -> Int {
        switch self {
        case .rowScan: rows
        case .rows(let ranges): ranges.reduce(0) { $0 + $1.count }
        case .byID(let range, _): range.count
        case .list(let rowIDs, _): rowIDs.count
        case .linked(let links): links.count
        case .among(let links, let path): min(links.count, path.candidates(rows: rows))
        case .join: rows
        case .index(let match, _): match.count
        case .elements(let found): min(rows, found.match.count)
        case .text: rows
        case .union(let parts): min(rows, parts.map { $0.candidates(rows: rows) }.reduce(0, +))
        case .intersection(let parts): parts.map { $0.candidates(rows: rows) }.min() ?? 0
        case .nothing: 0
        }
    }
}

extension IndexMatch {
    /// The cost of seeking each range, without reading its entries.
    var seekCost: Double {
        if let wanted { return (Price.key + Price.seek) * Double(wanted.values.count) }
        return range == nil ? Price.seek * Double(rangeCount) : 0
    }
}
