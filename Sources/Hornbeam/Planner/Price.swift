// SPDX-License-Identifier: Apache-2.0
// All that the planner reckons with, in one table.

/// What the steps of a plan cost, by estimate. The unit is the time that a scan takes for one small row in memory.
/// `hornbeam-bench prices` measures most of these steps; `hornbeam-bench plans` tells whether the plans that come of
/// the prices are the fastest.
enum Price {
    /// To find the next row of a scan, or of a range of ids.
    static let scannedRow = 1.0
    /// To look up a row by its row id, among others that ascend.
    static let row = 4.0
    /// To look up a row in another order than rows lie in, as that of an index.
    static let scatteredRow = 8.0
    /// To read a row as it lies, and to put it into its place in an order that is known.
    static let placedRow = 2.0
    /// To find the next entry of an index, in its order.
    static let entry = 0.5
    /// The same where entries that are equal in the order are put into that of their rows, beside the entry.
    static let tiedEntry = 0.5
    /// To find the next entry of an index, and to make a row of it.
    static let coveredRow = 0.5
    /// To collect a row id before the first row is read, and to bring it into the order of row ids.
    static let gathered = 0.6
    /// To collect what a full-text search or an index finds for a search to be restricted to.
    static let gatheredForSearch = 0.15
    /// To go to another range of an index, or to another value of a long list.
    static let seek = 2.0
    /// To look whether a row is linked, and where.
    static let link = 3.0
    /// To test a row that a ranked search has found, which is looked up for it.
    static let hitTest = 4.5
    /// To make the key of a row by which it is sorted.
    static let sortKey = 2.0
    /// To sort a row in memory by its key, and to hand it on.
    static let sortedRow = 5.0
    /// To begin with a path.
    static let path = 4.0

    /// To compare one property of a row that is read.
    static let comparison = 0.3
    /// To look for a part of a text, or for words: at least a comparison.
    static let text = comparison
    /// To call a condition that only the Swift type knows, with a whole entity: at least a comparison.
    static let closure = comparison
    /// To ask for the links of a row: at least a comparison.
    static let linkTest = comparison

    /// Of the callers that may stop before the last result, this share goes to the end.
    static let unstopped = 0.125
}

extension Filter {
    /// The price of testing one row.
    var testPrice: Double {
        switch self {
        case .all, .none, .tooDeep: 0
        case .compare, .isNull, .within, .ids, .elements: Price.comparison
        case .string, .text, .matches: Price.text
        case .links, .linkCount, .related: Price.linkTest
        case .opaque, .computed, .anyElement: Price.closure
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 + $1.testPrice }
        case .not(let part): part.testPrice
        }
    }
}

extension Planner {
    var budget: Double? {
        query.limit.map { Double($0) + Double(query.offset) }
    }

    /// The share of candidates that pass what a path leaves to be tested.
    private func selectivity(without answered: ConjunctSet) -> Double {
        var share = 1.0
        for position in conjuncts.indices where !answered.contains(position) {
            var known: Int?
            for match in matches where match.answered.contains(position) { known = min(known ?? .max, match.count) }
            known = known ?? texts?.count(position)
            share = min(share, known.map { Double($0) / Double(max(1, rows)) } ?? 0.3)
        }
        return max(share, 1 / Double(max(1, rows)))
    }

    /// The price of a path's candidates and of what is done with them.
    /// - Parameters:
    ///   - narrowed: what nearly all candidates pass, because they were found by it, though it is tested on each.
    ///   - entry: of finding a candidate.
    ///   - row: of reading its row, unless it was read when it was found. Only paths with such a price collect row ids
    ///     before they read rows.
    func cost(
        _ count: Int, _ answered: ConjunctSet, narrowed: ConjunctSet = ConjunctSet(), isOrdered: Bool,
        entry: Double = 0, row: Double = 0
    ) -> Double {
        let passed = answered.union(narrowed)
        // Without a limit or a sort all candidates are looked at, however many pass.
        let isAll = query.limit == nil && !query.mayStop && (isOrdered || sort.isEmpty)
        let share = isAll || passed.count == conjuncts.count ? 1 : selectivity(without: passed)
        var each = entry
        if readsRows(answered, isOrdered: isOrdered) {
            each += row
            for place in conjuncts.indices where !answered.contains(place) { each += conjuncts[place].testPrice }
        }
        let collecting = isOrdered || row == 0 ? 0 : Double(count) * Price.gathered
        func price(_ limit: Int?) -> Double {
            isOrdered || sort.isEmpty
                ? walk(count, answered, share, isOrdered: isOrdered, each, limit: limit)
                : sorting(count, share, each, limit: limit)
        }
        guard query.mayStop else { return collecting + price(query.limit) + Price.path }
        let few = price(min(1, query.limit ?? 1))
        return collecting + few + (price(query.limit) - few) * Price.unstopped + Price.path
    }

    /// Whether a path's rows are read: not where only their ids or their number are wanted.
    func readsRows(_ answered: ConjunctSet, isOrdered: Bool) -> Bool {
        if answered.count < conjuncts.count || !isOrdered && !sort.isEmpty { return true }
        guard query.wantsRows, let needs = query.needs, query.isWhole else { return query.wantsRows }
        return !sort.isEmpty || !needs.columns.isEmpty
    }

    /// Of candidates until the limit is full.
    private func walk(
        _ count: Int, _ answered: ConjunctSet, _ share: Double, isOrdered: Bool, _ each: Double, limit: Int?
    ) -> Double {
        guard let limit else { return Double(count) * each }
        // What is all of the answer, in its order, is not walked up to its offset.
        let isCounted = answered.count == conjuncts.count && isOrdered && position == nil
        let needed = (Double(limit) + (isCounted ? 0 : Double(query.offset))) / share
        return min(Double(count), needed) * each
    }

    /// Of candidates that are all read and sorted.
    private func sorting(_ count: Int, _ share: Double, _ each: Double, limit: Int?) -> Double {
        let passing = Double(count) * share
        // Few are kept of many, and these are looked up again.
        let kept = limit.map { min(passing, Double($0) + Double(query.offset)) }
        let handing = kept.map { query.wantsRows ? $0 * Price.row : 0 } ?? passing * Price.sortedRow
        return Double(count) * each + passing * Price.sortKey + handing
    }
}
