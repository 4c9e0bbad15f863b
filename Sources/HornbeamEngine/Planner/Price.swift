// SPDX-License-Identifier: Apache-2.0
// The prices of the planner, in one table.

/// The estimated cost of each step of a plan. The unit is the time that a scan takes for one small row in memory.
/// `hornbeam-bench prices` measures most of these steps. `hornbeam-bench plans` compares the chosen plans with others.
package enum Price {
    /// Find the next row of a scan, or of a range of ids.
    static let scannedRow = 1.0
    /// Look up a row by its row id, in ascending order.
    package static let row = 10.0
    /// Look up a row in any other order, such as that of an index.
    static let scatteredRow = 17.0
    /// Read a row in stored order, and put it into its position in a known order.
    static let placedRow = 4.0
    /// Find the next entry of an index, in its order.
    package static let entry = 0.5
    /// Sort an entry by its row among entries that are equal in the order. Added to `entry`.
    static let tiedEntry = 0.5
    /// Find the next entry of an index, and make a row of it.
    static let coveredRow = 0.5
    /// Collect a row id before the first row is read, and sort it.
    static let gathered = 0.8
    /// Collect a row id to which a search is restricted.
    static let gatheredForSearch = 0.15
    /// Make the key of one of many wanted values.
    static let key = 60.0
    /// Go to another range of an index.
    static let seek = 25.0
    /// Look up whether a row is linked, and its position among the links.
    package static let link = 8.0
    /// Look up and test a row that a ranked search has found.
    static let hitTest = 4.5
    /// Make the sort key of a row.
    static let sortKey = 7.0
    /// Sort a row in memory by its key.
    static let sortedRow = 4.0
    /// Plan a query: count a range of each index that may answer it. An estimate; `hornbeam-bench prices` doesn't
    /// measure it.
    package static let plan = 200.0
    /// Begin a path.
    static let path = 4.0

    /// Compare one property of a row that has been read.
    static let comparison = 1.7
    /// Look for a part of a text, or for words.
    static let text = 7.0
    /// Call a condition in Swift with a whole entity.
    static let closure = 17.0
    /// Ask for the links of a row.
    static let linkTest = 17.0

    /// The share of callers that read to the end although they may stop before the last result.
    static let unstopped = 0.125
}

extension Filter {
    /// The price of testing one row.
    var testPrice: Double {
        switch self {
        case .all, .none, .refused: 0
        case .string, .text, .matches: Price.text
        case .links, .linkCount, .related: Price.linkTest
        case .opaque, .computed, .anyElement: Price.closure
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 + $1.testPrice }
        case .not(let part): part.testPrice
        // `compare`, `isNull`, `within`, `ids` and `elements`. Naming them would copy their values.
        default: Price.comparison
        }
    }
}

extension Filter {
    /// The assumed share of rows that pass, if nothing better is known.
    fileprivate var guessedShare: Double {
        switch self {
        case .string, .text, .matches: 0.1
        default: 0.3
        }
    }
}

extension Planner {
    var budget: Double? {
        query.limit.map { Double($0) + Double(query.offset) }
    }

    /// The estimated share of candidates that pass the conjuncts outside `answered`: the smallest known share, times
    /// the smallest guess for the others.
    private func selectivity(without answered: ConjunctSet) -> Double {
        var share = 1.0
        var guess = 1.0
        for position in conjuncts.indices where !answered.contains(position) {
            var known: Int?
            for match in matches where match.answered.contains(position) { known = min(known ?? .max, match.count) }
            known = known ?? texts?.count(position) ?? unions?.count(position)
            if let known {
                share = min(share, Double(known) / Double(max(1, rows)))
            } else {
                guess = min(guess, conjuncts[position].guessedShare)
            }
        }
        return max(share * guess, 1 / Double(max(1, rows)))
    }

    /// The price of finding a path's candidates, and of testing, sorting and returning them.
    /// - Parameters:
    ///   - narrowed: conjuncts that nearly all candidates pass, because the path finds candidates by them. They are
    ///     still tested on each row.
    ///   - entry: the price of finding a candidate.
    ///   - row: the price of reading its row; 0 if the row was read when it was found. Only paths with a price here
    ///     collect row ids before they read rows.
    func cost(
        _ count: Int, _ answered: ConjunctSet, narrowed: ConjunctSet = ConjunctSet(), isOrdered: Bool,
        entry: Double = 0, row: Double = 0
    ) -> Double {
        var each = entry
        if readsRows(answered, isOrdered: isOrdered) {
            each += row
            for place in conjuncts.indices where !answered.contains(place) { each += conjuncts[place].testPrice }
        }
        let collecting = isOrdered || row == 0 ? 0 : Double(count) * Price.gathered
        let isInOrder = isOrdered || sort.isEmpty
        if isInOrder, query.limit == nil, !query.mayStop {
            // All candidates are read, however many pass.
            return collecting + Double(count) * each + Price.path
        }
        let passed = answered.union(narrowed)
        let share = passed.count == conjuncts.count ? 1 : selectivity(without: passed)
        func price(_ limit: Int?) -> Double {
            isInOrder
                ? walk(count, answered, share, isOrdered: isOrdered, each, limit: limit)
                : sorting(count, share, each, limit: limit)
        }
        guard query.mayStop else { return collecting + price(query.limit) + Price.path }
        let few = price(min(1, query.limit ?? 1))
        return collecting + few + (price(query.limit) - few) * Price.unstopped + Price.path
    }

    /// Whether a path's rows are read. They aren't if only their ids or their number are wanted.
    func readsRows(_ answered: ConjunctSet, isOrdered: Bool) -> Bool {
        if answered.count < conjuncts.count || !isOrdered && !sort.isEmpty { return true }
        guard query.wantsRows, let needs = query.needs, query.isWhole else { return query.wantsRows }
        return !sort.isEmpty || !needs.columns.isEmpty
    }

    /// The price of reading candidates until the limit is reached.
    private func walk(
        _ count: Int, _ answered: ConjunctSet, _ share: Double, isOrdered: Bool, _ each: Double, limit: Int?
    ) -> Double {
        guard let limit else { return Double(count) * each }
        // A path that gives exactly the results, in their order, skips the offset without a walk.
        let isCounted = answered.count == conjuncts.count && isOrdered && position == nil
        let needed = (Double(limit) + (isCounted ? 0 : Double(query.offset))) / share
        return min(Double(count), needed) * each
    }

    /// The price of reading all candidates and sorting those that pass.
    private func sorting(_ count: Int, _ share: Double, _ each: Double, limit: Int?) -> Double {
        let passing = Double(count) * share
        // Without a limit all are sorted. Returned rows are looked up again, or copied.
        let kept = limit.map { min(passing, Double($0) + Double(query.offset)) }
        let sorted = query.limit == nil ? passing * Price.sortedRow : 0
        let handing = query.wantsRows ? (kept ?? passing) * Price.row : 0
        return Double(count) * each + passing * Price.sortKey + sorted + handing
    }
}
