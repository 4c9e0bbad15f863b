// SPDX-License-Identifier: Apache-2.0
// Plans by indexes of the elements of arrays: the rows that have an element in a range of keys.

import HornbeamPages
package import HornbeamTree

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

    /// The ranges with the fewest elements that answer a condition.
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

/// A match of an array index with a condition on elements.
package struct ElementMatch {
    /// Ranges of the index's keys. Its `count` is the number of elements.
    package let match: IndexMatch
    /// Whether exactly the elements in the ranges pass.
    package let isExact: Bool

    /// The rows that have such elements, ascending, each once.
    func rowIDs(_ store: EntityStore) throws -> [UInt64] {
        var found: [UInt64] = []
        try PointScan(match, store).run { key, _ in
            try add(key, to: &found, store)
            return true
        }
        for range in match.ranges where range.count > 0 {
            var cursor = try store.transaction.cursor(match.index.tree)
            var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
            try range.to.withUnsafeBytes { end in
                while isValid, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                    try add(entry.key, to: &found, store)
                    isValid = try cursor.next()
                }
            }
        }
        found.sort()
        var last: UInt64?
        return found.filter { rowID in
            defer { last = rowID }
            return rowID != last
        }
    }

    private func add(_ entry: Bytes, to found: inout [UInt64], _ store: EntityStore) throws {
        guard let rowID = ElementIndex.rowID(entry) else {
            throw store.corrupt("index \(match.index.description.name)", "an entry names no row")
        }
        // If keys are equal, entries of one row are adjacent.
        if found.last != rowID.rawValue { found.append(rowID.rawValue) }
    }
}

extension ElementIndex {
    /// The ranges with the elements that pass. Returns nil if the index can't narrow the test.
    package func match(_ test: AnyElementTest, _ type: EntityType, _ transaction: Transaction) throws -> ElementMatch? {
        guard serves(test) else { return nil }
        return try match(test.terms, isComplete: test.isComplete, type, transaction)
    }

    /// The ranges for a test of an array of scalars. Returns nil if the index can't narrow the test.
    func match(_ test: ElementTest, _ type: EntityType, _ transaction: Transaction) throws -> ElementMatch? {
        guard let first = test.values.first, components.count == 1, components[0].subject == nil,
            steps.count == 1, column == test.column
        else { return nil }
        let values = test.wantsAll ? [first] : test.values
        let term = ElementTerm(subject: nil, .within(values))
        return try match([term], isComplete: values.count == test.values.count, type, transaction)
    }

    private func match(
        _ terms: [ElementTerm], isComplete: Bool, _ type: EntityType, _ transaction: Transaction
    ) throws -> ElementMatch? {
        var conjuncts: [Filter] = []
        var isExact = isComplete
        for term in terms {
            guard let place = components.firstIndex(where: { $0.subject == term.subject }) else {
                isExact = false
                continue
            }
            conjuncts.append(term.filter(column: -1 - place))
        }
        let matcher = IndexMatcher(type: type, transaction: transaction, conjuncts: conjuncts)
        guard let match = try matcher.columns(keys) else { return nil }
        return ElementMatch(match: match, isExact: isExact && match.answered.count == conjuncts.count)
    }
}
