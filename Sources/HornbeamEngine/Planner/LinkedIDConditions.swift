// SPDX-License-Identifier: Apache-2.0
// Rewrites conditions on the id of a to-one relation's target as conditions on the column that repeats this id, if the
// type has such a column. Then indexes over the column can answer them. A link to an entity that isn't stored counts as
// none, but its id is in the column. So if there may be such links, the column only narrows the rows, and the links are
// tested, too.

extension EntityStore {
    /// The conjuncts of a query, rewritten as far as columns of linked ids allow.
    func byLinkedIDs(_ conjuncts: [Filter]) throws -> [Filter] {
        guard conjuncts.contains(where: \.hasLinks) else { return conjuncts }
        let isExact = try type.linkedIDs.map { try !core.store($0.side.target).mayMiss() }
        var found: [Filter] = []
        for conjunct in conjuncts {
            // Deeper conditions are tested unchanged.
            let levels = Filter.plannedDepth
            let exact = conjunct.mappingLinks(levels) { test in
                type.linkedIDs.indices.first { isExact[$0] && type.linkedIDs[$0].side.name == test.relation }
                    .flatMap { test.filter(of: type.linkedIDs[$0].column) }
            }
            found += exact.conjuncts
            guard case .links(let test) = exact, test.quantifier == .any,
                let linked = type.linkedIDs.first(where: { $0.side.name == test.relation }),
                let narrowing = test.filter(of: linked.column)
            else { continue }
            found += narrowing.conjuncts
        }
        return found
    }
}

extension Filter {
    /// Whether the filter contains a condition on related entities, down to the depth that the planner visits.
    fileprivate var hasLinks: Bool {
        switch self {
        case .links: true
        case .not(let part): part.hasLinks
        case .and(let parts), .or(let parts): parts.contains(where: \.hasLinks)
        default: false
        }
    }

    /// The filter with each condition on related entities replaced by the result of `map`, unless that is nil.
    fileprivate func mappingLinks(_ levels: Int, _ map: (LinkTest) -> Filter?) -> Filter {
        switch self {
        case .links(let test): map(test) ?? self
        case .not(let part) where levels > 0: .not(part.mappingLinks(levels - 1, map))
        case .and(let parts) where levels > 0: .and(parts.map { $0.mappingLinks(levels - 1, map) })
        case .or(let parts) where levels > 0: .or(parts.map { $0.mappingLinks(levels - 1, map) })
        default: self
        }
    }

    /// A condition on an entity's id as a condition on a column that holds this id, or null if there is no entity.
    /// Returns nil if the condition needs more than the id.
    fileprivate func ofID(in column: Int) -> Filter? {
        let isLinked = Filter.not(.isNull(column: column))
        switch self {
        case .all: return isLinked
        case .none: return Filter.none
        case .compare(column: 0, .notEqual, let value):
            return value == .null ? isLinked : .and([.compare(column: column, .notEqual, value), isLinked])
        case .compare(column: 0, let comparison, let value):
            return value == .null ? Filter.none : .compare(column: column, comparison, value)
        case .within(column: 0, let values): return .within(column: column, values.filter { $0 != .null })
        case .isNull(column: 0): return Filter.none
        case .and(let parts):
            let mapped = parts.compactMap { $0.ofID(in: column) }
            return mapped.count == parts.count ? .and(mapped) : nil
        case .or(let parts):
            let mapped = parts.compactMap { $0.ofID(in: column) }
            return mapped.count == parts.count ? .or(mapped) : nil
        default: return nil
        }
    }
}

extension LinkTest {
    /// The test as a condition on the column with the id of the only related entity.
    fileprivate func filter(of column: Int) -> Filter? {
        guard filter.isWithin(Filter.plannedDepth), let ofID = filter.ofID(in: column) else { return nil }
        return switch quantifier {
        case .any: ofID
        case .none: .not(ofID)
        case .all: .or([.isNull(column: column), ofID])
        }
    }
}
