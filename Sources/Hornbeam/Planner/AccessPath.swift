// SPDX-License-Identifier: Apache-2.0
// The ways to candidates, with the byte ranges and row ids that the executor needs.

/// A range of keys, `from` included, `to` excluded; an empty bound is an open end.
struct KeyRange: Hashable {
    var from: [UInt8]
    var to: [UInt8]
    var count: Int
}

/// What an index can do for a conjunction.
struct IndexMatch {
    let index: EntityIndex
    var ranges: [KeyRange]
    /// Conjuncts that the ranges answer exactly; others that only narrowed them stay to be tested.
    var answered: ConjunctSet
    /// Leading components that equal one value each.
    var fixed: Int
    var count: Int

    /// Entries of one range come in the order of the row ids: all components are fixed.
    var isInRowOrder: Bool { ranges.count == 1 && fixed == index.components.count }
}

/// Where candidates come from.
indirect enum AccessPath {
    case rowScan
    /// Ranges of row ids, ascending.
    case rows([KeyRange])
    /// In this order; ids that name no row are left out.
    case list([RowID], name: Plan.Access)
    case index(IndexMatch, ordered: Bool, reversed: Bool)
    case text(EntityTextIndex, query: String, ranked: Bool)
    case union([AccessPath])
    case intersection([AccessPath])
    case nothing
}

extension AccessPath {
    func described(rows: Int) -> Plan.Access {
        switch self {
        case .rowScan: .rowScan(rows: rows)
        case .rows(let ranges): .idRange(rows: ranges.reduce(0) { $0 + $1.count })
        case .list(_, let name): name
        case .index(let match, _, let reversed):
            .index(
                name: match.index.description.name, ranges: match.ranges.count, entries: match.count, reversed: reversed
            )
        case .text(let index, let query, let ranked):
            .text(index: index.description.name, query: query, ranked: ranked)
        case .union(let parts): .union(parts.map { $0.described(rows: rows) })
        case .intersection(let parts): .intersection(parts.map { $0.described(rows: rows) })
        case .nothing: .nothing
        }
    }

    /// Upper bound of the candidates, as far as it is known without reading.
    func candidates(rows: Int) -> Int {
        switch self {
        case .rowScan: rows
        case .rows(let ranges): ranges.reduce(0) { $0 + $1.count }
        case .list(let rowIDs, _): rowIDs.count
        case .index(let match, _, _): match.count
        case .text: rows
        case .union(let parts): min(rows, parts.map { $0.candidates(rows: rows) }.reduce(0, +))
        case .intersection(let parts): parts.map { $0.candidates(rows: rows) }.min() ?? 0
        case .nothing: 0
        }
    }
}
