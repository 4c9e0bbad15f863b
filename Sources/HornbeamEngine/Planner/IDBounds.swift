// SPDX-License-Identifier: Apache-2.0
// The bounds that a conjunction sets for an integer id. They are bounds of row ids, too, because such an id is its own
// row id.

/// Bounds of row ids. The lower bound is included, the upper one is not.
struct IDBounds {
    private(set) var range = 0..<RowID.firstAssigned.rawValue
    /// The conjuncts that the bounds answer completely.
    private(set) var answered = ConjunctSet()

    /// Finds the bounds in the conjuncts. Returns nil if the ids aren't integers, or no conjunct bounds them.
    init?(_ conjuncts: [Filter], _ type: EntityType) throws {
        for (position, conjunct) in conjuncts.enumerated() {
            guard case .compare(0, let comparison, let value) = conjunct else { continue }
            switch try RowFilter.literal(value, 0, type) {
            case .int(let id): narrow(comparison, below: id < 0 ? 0 : UInt64(id), isNegative: id < 0)
            case .uint(let id): narrow(comparison, below: id, isNegative: false)
            default: return nil
            }
            if comparison != .notEqual { answered.insert(position) }
        }
        guard !answered.isEmpty else { return nil }
    }

    /// Keeps only the ids for which the comparison with `id` holds. A negative `id` is less than all of them.
    private mutating func narrow(_ comparison: Comparison, below id: UInt64, isNegative: Bool) {
        let id = min(id, range.upperBound)
        let next = isNegative ? 0 : min(id + 1, range.upperBound)
        switch comparison {
        case .greater: range = range.clamped(to: next..<RowID.firstAssigned.rawValue)
        case .greaterOrEqual: range = range.clamped(to: id..<RowID.firstAssigned.rawValue)
        case .less: range = range.clamped(to: 0..<id)
        case .lessOrEqual: range = range.clamped(to: 0..<next)
        case .equal: range = range.clamped(to: id..<next)
        case .notEqual: break
        }
    }
}
