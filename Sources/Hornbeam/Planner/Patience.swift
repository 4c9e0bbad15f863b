// SPDX-License-Identifier: Apache-2.0
// How long a path in the query's order is walked for a limit that may never fill, or for a caller that may not stop.
// The planner doesn't know which share of the rows passes a condition that is tested on rows. Where few pass, looking
// up each row of an index takes several times as long as reading them all. So a walk that is not at its end after a
// part of the rows is given up, and a scan goes on behind its last place. Both together take little more than the scan
// alone.

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
    /// Returns nil if the path is walked to its end. Where all candidates are results, only a caller that may stop
    /// needs one.
    func patience(_ choice: Candidate) -> Patience? {
        guard query.mayStop || query.limit != nil, choice.isOrdered, choice.covering == .no, !sort.isEmpty,
            !query.requiresIndex
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
