// SPDX-License-Identifier: Apache-2.0
// Decides when a walk in the query's order is abandoned for a scan. The planner doesn't know the share of rows that
// pass a condition which is tested on rows, nor when a caller stops. If few rows pass, looking up each row of an index
// takes several times as long as reading all rows in stored order. So the walk is watched: when its rest seems to take
// longer than a scan, a scan continues after the walk's last place. A wrong guess costs about a scan and the sort of
// the wanted rows.

/// The scan that may replace a walk, with the prices for that decision.
struct ScanFallback {
    let filter: Filter
    let sort: [SortTerm]
    /// Whether ties may come in any order, so that the walk may have left out rows that are equal to its last one. The
    /// scan then starts over. Such a query wants one row, so no row of the walk has passed.
    let ignoresTies: Bool
    /// The price of a candidate of the walk: finding it, looking it up and testing it.
    fileprivate let candidate: Double
    fileprivate let rows: Int
    /// Upper bound of the candidates of the walk.
    fileprivate let candidates: Int
    /// Whether the caller may stop before it has all wanted results.
    fileprivate let mayStop: Bool
    /// The price of reading and testing all rows.
    fileprivate let scan: Double
}

/// The progress of a walk.
struct WalkProgress {
    /// Number of results that are still wanted; `.max` if the caller may want any number.
    private var wanted: Int
    private var looked = 0
    private var passed = 0
    /// Candidates since the last one that passed.
    private var drought = 0
    /// The state when `looked` doubled the last time but one. The candidates since then are at least half of all, and
    /// give the recent rate.
    private var start = (looked: 0, passed: 0)
    private var doubled = (looked: 0, passed: 0)

    init(wanted: Int) { self.wanted = wanted }

    /// Number of candidates from one decision to the next.
    private static let step = 64

    /// Counts a candidate.
    /// - Returns: whether the rest of the walk seems to take longer than a scan.
    mutating func count(isPassing: Bool, _ fallback: ScanFallback) -> Bool {
        looked += 1
        drought += 1
        if isPassing {
            passed += 1
            drought = 0
            wanted -= 1
        }
        guard looked % Self.step == 0 else { return false }
        if looked >= 2 * doubled.looked { (start, doubled) = (doubled, (looked, passed)) }
        // The average over all candidates, or over the last ones if it is greater: passing rows may be clustered.
        let gap = max(
            Double(looked) / Double(passed + 1), Double(looked - start.looked) / Double(passed - start.passed + 1))
        var left = Double(wanted) * gap
        // A caller that may stop and has read for a while is expected to read several times as much.
        if fallback.mayStop { left = min(left, Double(looked) * 4) }
        left = min(max(left, Double(drought)), Double(max(0, fallback.candidates - looked)))
        let sorting = Double(fallback.rows) / max(1, gap) * Price.sortKey
        return left * fallback.candidate > fallback.scan + sorting
    }
}

extension Planner {
    /// The scan that may replace a choice's walk. Returns nil if the walk is never abandoned. If all candidates are
    /// results, only a caller that may stop needs a fallback.
    func fallback(_ choice: Candidate) -> ScanFallback? {
        guard query.mayStop || query.limit != nil, choice.isOrdered, choice.covering == .no, !sort.isEmpty,
            !query.requiresIndex
        else { return nil }
        switch choice.path {
        case .index(_, _?): break
        case .byID(let range, _?) where range.rows == nil: break
        default: return nil
        }
        func tests(_ conjuncts: [Filter]) -> Double { conjuncts.reduce(0) { $0 + $1.testPrice } }
        let candidate = Price.entry + Price.scatteredRow + tests(rest(of: choice))
        let scan = Double(rows) * (Price.scannedRow + tests(conjuncts))
        let candidates = choice.path.candidates(rows: rows)
        guard Double(candidates) * candidate > scan else { return nil }
        return ScanFallback(
            filter: Filter.conjunction(conjuncts), sort: sort, ignoresTies: query.ignoresTies, candidate: candidate,
            rows: rows, candidates: candidates, mayStop: query.mayStop, scan: scan)
    }
}
