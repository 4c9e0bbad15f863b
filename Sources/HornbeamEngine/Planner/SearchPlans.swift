// SPDX-License-Identifier: Apache-2.0
// Plans with a full-text search: as one of several paths to rows, or as the path that gives the order of scores.

import HornbeamText
import HornbeamTree

extension Planner {
    /// A search and a range whose row ids are intersected before a row is read.
    func intersection(_ text: TextPaths.Path) -> Candidate? {
        guard let match = matches.min(by: { $0.count < $1.count }), rows > 0 else { return nil }
        let answered = match.answered.union(text.answered)
        let both = common(match.count, text.count)
        let reading = (Double(match.count) + Double(text.count)) * Price.gathered
        let looking =
            readsRows(answered, isOrdered: false)
            ? cost(both, answered, narrowed: ConjunctSet(text.place), isOrdered: false, row: Price.row) : 0
        return Candidate(
            path: .intersection([.index(match, nil), text.path]), answered: answered, isOrdered: false,
            cost: reading + looking)
    }

    func candidate(_ text: TextPaths.Path) -> Candidate {
        let answered = text.answered
        let cost =
            readsRows(answered, isOrdered: false)
            ? cost(text.count, answered, narrowed: ConjunctSet(text.place), isOrdered: false, row: Price.row)
            : Double(text.count) * Price.gatheredForSearch
        return Candidate(path: text.path, answered: answered, isOrdered: false, cost: cost)
    }

    func ranked() throws -> Candidate {
        let isBest = hasBestFirst
        for place in conjuncts.indices {
            guard case .matches(let match) = conjuncts[place], let (index, implied) = try scored(match) else {
                continue
            }
            try match.requireSense(type)
            if position != nil, !isBest {
                throw HornbeamError(
                    .invalid,
                    "a list that sorts by anything before the score can't continue after an entity: use an offset, or "
                        + "sort by the best score first")
            }
            let search = AccessPath.text(index, match, ranked: isBest)
            let answered = implied.inserting(place)
            var choice = Candidate(
                path: search, answered: answered, isOrdered: isBest, cost: 0, isBehind: position != nil)
            if let others = try others(beside: place) {
                let found = Double(min(rows, try IndexSearch(index, match, store).estimate()))
                if try isWorthwhile(others, beside: found) {
                    choice.path = .intersection([search, others.path])
                    choice.answered = others.answered.union(answered)
                }
            }
            return choice
        }
        throw HornbeamError(
            .invalid,
            "a sort by score needs a `matches` condition over exactly the properties of a full-text index of "
                + "\(type.name): declare one, or sort by something else. Phrases, words near each other, fields and "
                + "weights of fields need an index with positions")
    }

    /// The index that has the scores of a match; nil if there is none. Throws `.invalid` if the only such index may
    /// lack rows that the query asks for.
    func scored(_ match: TextMatch) throws -> (index: EntityTextIndex, implied: ConjunctSet)? {
        var implied: ConjunctSet?
        let index = try type.textIndexes.answering(match) { index in
            implied = try index.implied(by: conjuncts, type)
            return implied != nil
        }
        // A complete index implies nothing.
        if let index { return (index, index.isPartial ? implied ?? ConjunctSet() : ConjunctSet()) }
        guard let index = type.textIndex(for: match) else { return nil }
        let condition = try index.description.condition?.text(type.description) ?? ""
        throw HornbeamError(
            .invalid,
            "the full-text index “\(index.description.name)” of \(type.name) has only entities with \(condition), so "
                + "other results of this query have no score: add that condition to the query, or sort by "
                + "something else")
    }

    /// The path that restricts a search to the fewest rows. Returns nil if no path can take less than testing the rows
    /// of hits.
    private func others(beside place: Int) throws -> Candidate? {
        guard conjuncts.count > 1, rows > 0 else { return nil }
        var best: Candidate?
        var fewest = Int.max
        func consider(_ path: AccessPath, _ answered: ConjunctSet, _ count: Int) {
            guard count < fewest else { return }
            best = Candidate(path: path, answered: answered, isOrdered: false, cost: 0)
            fewest = count
        }
        for match in matches { consider(.index(match, nil), match.answered, match.count) }
        func consider(_ candidate: Candidate?) {
            guard let candidate else { return }
            consider(candidate.path, candidate.answered, candidate.path.candidates(rows: rows))
        }
        consider(try list())
        if kinds.contains(.within) { consider(try idList(below: .infinity)) }
        try findUnions()
        for union in unionCandidates() { consider(union) }
        return Double(fewest) * Price.gatheredForSearch < Price.hitTest * Double(rows) ? best : nil
    }

    /// Whether gathering such a path's rows takes less than testing the rows of a search's hits. Gathered rows are
    /// cached, so the number of rows that earlier searches have tested counts, too. If it isn't worthwhile yet, the
    /// tests are added to that number.
    private func isWorthwhile(_ others: Candidate, beside found: Double) throws -> Bool {
        let count = others.path.candidates(rows: rows)
        let gathering = Double(count) * Price.gatheredForSearch
        let tests = tests(of: found, count)
        guard case .index(let ranges, _) = others.path, RowSelectionCache.keeps(ranges),
            let entries = try store.transaction.identity(of: ranges.index.tree)
        else { return gathering < Price.hitTest * tests }
        let earlier = Double(store.selections.tests(ranges, of: entries))
        if gathering < Price.hitTest * (tests + earlier) { return true }
        texts?.untaken = (ranges, entries, tests)
        return false
    }

    /// Estimated number of the `found` hits of a ranked search that are tested, if `passing` of all rows pass.
    private func tests(of found: Double, _ passing: Int) -> Double {
        guard let budget else { return found }
        let share = min(Double(max(passing, 1)) / Double(rows), 1)
        return RowSelection.expectedQuestions(found, share: share, limit: budget)
    }
}
