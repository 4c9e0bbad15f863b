// SPDX-License-Identifier: Apache-2.0
// Plans that begin with related entities: if few of them pass a condition, their sources are found by the links.

extension Planner {
    /// A candidate for each condition that any related entity must pass.
    func joins() throws -> [Candidate] {
        try conjuncts.indices.compactMap { place in
            guard let found = try join(conjuncts[place]) else { return nil }
            let answered = ConjunctSet(place)
            return Candidate(
                path: .join(found.join), answered: answered, isOrdered: false,
                cost: found.price + cost(found.sources, answered, isOrdered: false, row: Price.row))
        }
    }

    /// The join that finds exactly the rows that meet a condition, with their estimated number and the price of finding
    /// them. Returns nil if no join answers the condition.
    func join(_ condition: Filter) throws -> (join: Join, sources: Int, price: Double)? {
        guard case .links(let test) = condition, test.quantifier == .any, condition.isWithin(Filter.plannedDepth)
        else { return nil }
        if case .all = test.filter { return nil }
        let side = try type.relation(test.relation)
        var query = EntityQuery(type: side.target, filter: test.filter)
        query.requiresIndex = self.query.requiresIndex
        let targets = try store.core.store(side.target)
        guard let plan = try Self.planUnlessRefused(query, targets) else { return nil }
        let all = try targets.count()
        let read = plan.path.candidates(rows: all)
        // If only a test of rows gives the number, a third is assumed to pass.
        let found = plan.knownCount ?? read / 3 + 1
        let links = try store.core.edges.estimatedCount(side)
        let sources = Int(min(Double(rows), Double(found) * (Double(links) / Double(max(1, all)) + 1)))
        return (
            Join(side: side, query: query, targets: min(found, all)), sources,
            Double(read) * Price.row + Double(found) * Price.link
        )
    }

    /// Plans the query. Returns nil if the query requires an index and there is none for it.
    private static func planUnlessRefused(_ query: EntityQuery, _ store: EntityStore) throws -> QueryPlan? {
        do {
            return try Planner(query, store).plan()
        } catch let error as HornbeamError where error.code == .needsIndex {
            return nil
        }
    }
}
