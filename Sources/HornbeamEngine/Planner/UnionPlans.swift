// SPDX-License-Identifier: Apache-2.0
// Plans of an `or` whose branches all have paths of their own: an index, a search, ids, a range of ids, a relation, a
// join, or another union. The row ids are collected before a row is read.

import HornbeamTree

/// The unions that answer conjuncts of a query. A class, so that a planner can look for them only when needed and
/// remember the result.
final class UnionPaths {
    /// The path to the rows of an `or`, or of one of its branches.
    struct Branch {
        var path: AccessPath
        /// Estimated number of rows that it finds.
        var count: Int
        /// Whether all rows that it finds pass.
        var isExact: Bool
        /// The price of finding the row ids, apart from reading them in an index.
        var price = 0.0

        /// The price of finding the row ids and of looking up the rows.
        var cost: Double { price + Price.row * Double(count) }
    }

    /// The unions found, by the conjunct's position; nil before the search.
    @exclusivity(unchecked) fileprivate(set) var found: [(place: Int, union: Branch)]?

    /// Estimated number of rows that pass a conjunct; nil if no union answers it.
    func count(_ place: Int) -> Int? {
        found?.first { $0.place == place }?.union.count
    }
}

extension Planner {
    private typealias Branch = UnionPaths.Branch

    func findUnions() throws {
        guard let unions, unions.found == nil else { return }
        unions.found = try conjuncts.indices.compactMap { place in
            guard case .or(let branches) = conjuncts[place], conjuncts[place].isWithin(Filter.plannedDepth),
                let union = try union(of: branches)
            else { return nil }
            return (place, union)
        }
    }

    /// A candidate for each union.
    func unionCandidates() -> [Candidate] {
        (unions?.found ?? []).map { place, union in
            let answered = union.isExact ? ConjunctSet(place) : ConjunctSet()
            return Candidate(
                path: union.path, answered: answered, isOrdered: false,
                cost: union.price
                    + cost(union.count, answered, narrowed: ConjunctSet(place), isOrdered: false, row: Price.row))
        }
    }

    /// The union of the branches' paths. Returns nil if there are no branches, or if one has no path.
    private func union(of branches: [Filter]) throws -> Branch? {
        guard !branches.isEmpty else { return nil }
        var parts: [AccessPath] = []
        var union = Branch(path: .nothing, count: 0, isExact: true)
        for branch in Self.flattened(branches) {
            guard let found = try self.branch(branch) else { return nil }
            parts.append(found.path)
            union.count = min(rows, union.count + min(found.count, rows))
            union.isExact = union.isExact && found.isExact
            // Each branch begins with a seek.
            union.price += found.price + Price.seek
        }
        union.path = .union(parts)
        return union
    }

    private static func flattened(_ branches: [Filter]) -> [Filter] {
        branches.flatMap { branch -> [Filter] in
            if case .or(let inner) = branch { flattened(inner) } else { [branch] }
        }
    }

    /// The cheapest path of one branch; nil if it has none.
    private func branch(_ branch: Filter) throws -> Branch? {
        let parts = branch.conjuncts.listingAlternatives
        if parts.contains(where: { if case .none = $0 { true } else { false } }) {
            return Branch(path: .nothing, count: 0, isExact: true)
        }
        var best: Branch?
        func consider(_ found: Branch?) {
            if let found, found.cost < best?.cost ?? .infinity { best = found }
        }
        let matcher = IndexMatcher(type: type, transaction: store.transaction, conjuncts: parts)
        for index in try store.queryIndexes {
            guard let match = try matcher.match(index) else { continue }
            consider(
                Branch(
                    path: .index(match, nil), count: match.count, isExact: match.answered.count == parts.count,
                    price: match.seekCost))
        }
        consider(try idRange(of: parts))
        for part in parts {
            guard var found = try self.branch(ofOne: part, of: parts) else { continue }
            found.isExact = found.isExact && parts.count == 1
            consider(found)
        }
        return best
    }

    /// The path for conditions on ids that set a range; nil if they don't.
    private func idRange(of parts: [Filter]) throws -> Branch? {
        if let (range, answered) = try idKeys(of: parts) {
            return Branch(
                path: .byID(range, reversed: nil), count: range.count, isExact: answered.count == parts.count)
        }
        guard let bounds = try IDBounds(parts, type) else { return nil }
        let main = try counted(bounds.range.lowerBound, bounds.range.upperBound)
        let others = try counted(RowID.firstAssigned.rawValue, nil)
        return Branch(
            path: .rows([main, others].filter { $0.count > 0 }), count: main.count + others.count,
            isExact: others.count == 0 && bounds.answered.count == parts.count)
    }

    /// The path for one condition; nil if it has none.
    private func branch(ofOne part: Filter, of parts: [Filter]) throws -> Branch? {
        switch part {
        case .compare(0, .equal, let value):
            let id = try RowFilter.literal(value, 0, type)
            return list(id == .null ? [] : try store.rowID(ofAny: id).map { [$0] } ?? [])
        case .within(0, let ids): return try rowIDs(within: ids).map { list($0) }
        case .ids(let ids): return list(try Set(ids.compactMap { try store.rowID(ofAny: $0) }).sorted())
        case .related(let source):
            let (side, rowID) = try RowFilter.bind(source, type, store.core)
            let links = try linked(side, rowID, behind: nil)
            return Branch(path: .linked(links), count: links.count, isExact: true)
        case .links:
            guard let found = try join(part) else { return nil }
            return Branch(path: .join(found.join), count: found.sources, isExact: true, price: found.price)
        case .or(let branches): return try union(of: branches)
        case .elements, .anyElement:
            return try elements(part).map {
                Branch(path: .elements($0), count: $0.match.count, isExact: $0.isExact, price: $0.match.seekCost)
            }
        default:
            // The other conjuncts hold for the rows of the branch, too.
            let all = conjuncts + parts
            return try TextPaths.path(0, part, of: all, store, rows: rows, wantsIndex: query.requiresIndex).map {
                Branch(path: $0.path, count: $0.count, isExact: $0.isExact)
            }
        }
    }

    private func list(_ rowIDs: [RowID]) -> Branch {
        Branch(path: .list(rowIDs, name: .ids(count: rowIDs.count)), count: rowIDs.count, isExact: true)
    }
}
