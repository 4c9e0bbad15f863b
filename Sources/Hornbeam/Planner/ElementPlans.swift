// SPDX-License-Identifier: Apache-2.0
// Plans by indexes of the elements of arrays: the rows that have an element in a range of keys.

extension Planner {
    func elements() throws -> [Candidate] {
        try conjuncts.indices.compactMap { place in
            guard let found = try elements(conjuncts[place]) else { return nil }
            let answered = found.isExact ? ConjunctSet(place) : ConjunctSet()
            return Candidate(
                path: .elements(found), answered: answered, isOrdered: false,
                cost: found.match.seekCost + cost(found.match.count, answered, isOrdered: false, row: Price.row))
        }
    }

    /// The ranges with the fewest elements that tell what a condition finds.
    func elements(_ condition: Filter) throws -> ElementMatch? {
        try store.elementIndexes.compactMap { index in
            switch condition {
            case .anyElement(let test): try index.match(test, store.type, store.transaction)
            case .elements(let test): try index.match(test, store.type, store.transaction)
            default: nil
            }
        }.min { $0.match.count < $1.match.count }
    }
}
