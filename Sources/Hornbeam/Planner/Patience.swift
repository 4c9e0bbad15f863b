// SPDX-License-Identifier: Apache-2.0
// How long a path in the query's order is walked for a limit that may never fill, or a caller who may not stop. What
// only rows can tell has no known share of them: where few pass, to look up each row of an index takes several times as
// long as to read them all. So a walk that is not at its end after a part of the rows is given up, and a scan goes on
// behind the place that it came to. Both together take little more than the scan alone.

/// When a walk is given up, and what a scan needs to go on.
struct Patience {
    /// Candidates that are looked at before.
    let candidates: Int
    let filter: Filter
    let sort: [SortTerm]
    /// Whether the walk may have left out some that are equal to the one that it came to: then it found none that
    /// passes.
    let ignoresTies: Bool

    /// Of any type so many are looked at.
    fileprivate static let fewest = 64
    /// The share of the rows, as one of so many.
    fileprivate static let share = 8
}

extension Planner {
    /// Nil if the path is walked to its end.
    /// - Parameter isExact: whether all that the path finds are results.
    func patience(_ choice: Candidate, isExact: Bool) -> Patience? {
        guard query.mayStop || !isExact && query.limit != nil, choice.isOrdered, choice.covering == .no,
            !sort.isEmpty, !query.requiresIndex
        else { return nil }
        switch choice.path {
        case .index(_, _?): break
        case .byID(let range, _?) where range.rows == nil: break
        default: return nil
        }
        let candidates = max(Patience.fewest, rows / Patience.share)
        let left = choice.path.candidates(rows: rows) - candidates
        let scan = Double(rows) * (Price.scannedRow + Price.sortKey)
        guard Double(left) * (Price.entry + Price.scatteredRow) > scan else { return nil }
        return Patience(
            candidates: candidates, filter: Filter.conjunction(conjuncts), sort: sort,
            ignoresTies: query.ignoresTies)
    }
}
