// SPDX-License-Identifier: Apache-2.0
// Runs queries for rows, row ids, hits with scores or the number of results, or explains their plans.

extension StoreTransaction {
    /// Calls `body` with each result in order, and its score in a ranked search, until it returns false. `body` must
    /// not change the store.
    package func forEach(
        _ query: EntityQuery, _ body: (RowID, RowReader, Double?) throws -> Bool
    ) throws {
        if let sole = try store(query.type).soleRow(query) {
            if case .row(let rowID, let row) = sole { _ = try body(rowID, row, nil) }
            return
        }
        try executor(query).forEach(body)
    }

    /// Calls `body` as `forEach` does, and counts the work of each step.
    /// - Parameter tally: takes the counts; nil for a run that isn't analysed.
    package func forEach(
        _ query: EntityQuery, counting tally: PlanTally?, _ body: (RowID, RowReader, Double?) throws -> Bool
    ) throws {
        guard let tally else { return try forEach(query, body) }
        tally.isUsed = true
        let store = try store(query.type)
        try Executor(try Planner(query, store), store, tally: tally).forEach(body)
    }

    private func executor(_ query: EntityQuery) throws -> Executor {
        try Executor(query, try store(query.type))
    }

    /// The row ids of the results in order. Rows are read only if the filter or the sort needs them.
    package func rowIDs(_ query: EntityQuery) throws -> [RowID] {
        let store = try store(query.type)
        if let sole = try store.soleRow(query) { return if case .row(let rowID, _) = sole { [rowID] } else { [] } }
        var query = query
        query.wanted = .rowIDs
        var found: [RowID] = []
        try Executor(query, store).run(needsRows: false) { rowID, _, _ in
            found.append(rowID)
            return true
        }
        return found
    }

    /// Row ids and scores of a ranked search, best first.
    package func ranked(_ query: EntityQuery) throws -> [(rowID: RowID, score: Double)] {
        var found: [(rowID: RowID, score: Double)] = []
        found.reserveCapacity(min(query.limit ?? 0, 64))
        try executor(query).run(needsRows: false) { rowID, _, score in
            found.append((rowID, score ?? 0))
            return true
        }
        return found
    }

    /// The number of results, without reading an entry if counted trees give it.
    /// - Parameter tally: takes the counts of each step, if rows or entries are read.
    package func count(_ query: EntityQuery, counting tally: PlanTally? = nil) throws -> Int {
        var query = query
        let sort = query.sort
        // The order doesn't change the count, and a sort by score needs more than the count does.
        if query.after == nil { query.sort = [] }
        if query.isWhole { query.needs = RowNeeds() }
        query.wanted = .count
        let executor = try counter(query, sort, tally)
        if let known = try executor.knownCount ?? executor.countOfPath() { return known }
        tally?.isUsed = true
        var count = 0
        try executor.run(needsRows: false) { _, _, _ in
            count += 1
            return true
        }
        return count
    }

    /// - Parameter sort: the query's own sort. An index that gives this order satisfies a query that requires an index.
    private func counter(_ query: EntityQuery, _ sort: [SortTerm], _ tally: PlanTally?) throws -> Executor {
        func executor(_ query: EntityQuery) throws -> Executor {
            guard let tally else { return try self.executor(query) }
            let store = try store(query.type)
            return try Executor(try Planner(query, store), store, tally: tally)
        }
        do {
            return try executor(query)
        } catch let error as HornbeamError where error.code == .needsIndex && sort.count > query.sort.count {
            var query = query
            query.sort = sort
            return try executor(query)
        }
    }

    /// The plan by which the query would be answered.
    package func explain(_ query: EntityQuery) throws -> Plan {
        try Planner(query, try store(query.type)).explanation()
    }
}

extension EntityStore {
    /// Begins a query for the watch over the transaction's queries. Returns nil if there is no watch.
    @inline(__always)
    func watched(_ query: borrowing EntityQuery) -> WatchedQuery? {
        guard let watch = queryWatch else { return nil }
        return watched(copy query, by: watch)
    }

    @inline(never)
    private func watched(_ query: EntityQuery, by watch: QueryWatch) -> WatchedQuery? {
        let watched = watch.begin(.query, type.name)
        // The closure retains the core, because the store doesn't.
        watched?.report.plan = { [core] in
            withExtendedLifetime(core) { try? Planner(query, self).explanation().description }
        }
        return watched
    }
}
