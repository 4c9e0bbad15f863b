// SPDX-License-Identifier: Apache-2.0
// Plans of queries along one entity's relation, in the order of linking. If another path finds few rows, only these are
// looked up in the links, and the links of others aren't read.

extension Planner {
    /// The entity's links, or a cheaper path whose rows are looked up among them.
    func narrowed(_ list: Candidate) throws -> Candidate {
        guard case .linked(let links) = list.path, conjuncts.count > 1, rows > 0 else { return list }
        try texts?.look(conjuncts, store, rows: rows, wantsIndex: false)
        try findUnions()
        var best = list
        // Priced again, because searches and unions give the number of rows that pass.
        best.cost = cost(links.count, list.answered, isOrdered: true, entry: Price.row)
        func consider(_ path: AccessPath, _ answered: ConjunctSet, _ count: Int) {
            let answered = answered.union(list.answered)
            let found = common(count, links.count)
            let cost =
                Double(count) * Price.link + cost(min(count, found), answered, isOrdered: true, entry: Price.row)
            guard cost < best.cost else { return }
            best = Candidate(
                path: .among(links, path), answered: answered, isOrdered: true, cost: cost, isBehind: list.isBehind)
        }
        func consider(_ candidate: Candidate?) {
            guard let candidate else { return }
            consider(candidate.path, candidate.answered, candidate.path.candidates(rows: rows))
        }
        for match in matches { consider(.index(match, nil), match.answered, match.count) }
        for text in texts?.found ?? [] {
            consider(text.path, text.answered, text.count)
        }
        if kinds.contains(.id) {
            consider(try soleID())
            // The range would begin after the position in the order of ids, not of links.
            if position == nil { consider(try idRange()) }
        }
        if kinds.contains(.within) { consider(try idList(below: .infinity)) }
        for union in unionCandidates() { consider(union) }
        if kinds.contains(.elements) { for found in try elements() { consider(found) } }
        return best
    }
}
