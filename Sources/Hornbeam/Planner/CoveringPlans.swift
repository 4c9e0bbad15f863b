// SPDX-License-Identifier: Apache-2.0
// Plans that read an index alone: whether it holds all that is asked for, and the ranges whose groups it counts.

extension Planner {
    /// The price of a row that is made of its entry.
    static let entryCost = 0.5

    /// Whether the rows may come in any order.
    var isOrderFree: Bool { query.sort.isEmpty && query.isWhole && query.needs?.isOrderFree ?? false }

    /// Whether the index holds all that is asked for, and all that the conditions ask that it leaves.
    func covering(_ index: EntityIndex, _ answered: ConjunctSet, inOrder: Bool) -> Covering {
        guard var needs = query.needs, position == nil else { return .no }
        for place in conjuncts.indices where !answered.contains(place) {
            guard let more = conjuncts[place].needs else { return .no }
            needs = needs.union(more)
        }
        guard CoveredRow.covers(index, needs.columns, type) else { return .no }
        if !needs.wantsExactText || !CoveredRow.hasText(index, type) { return .values }
        // Rows of which a key doesn't tell the text are read one by one, which a scan of all rows does faster.
        return inOrder ? .exactValues : .no
    }

    /// A whole index that holds all that is asked for, and has fewer bytes to read than the rows.
    func wholeCovering() throws -> Candidate? {
        guard isOrderFree else { return nil }
        for index in try store.queryIndexes where index.condition == nil {
            let covering = covering(index, ConjunctSet(), inOrder: false)
            guard covering != .no, let whole = try whole(index) else { continue }
            return Candidate(
                path: .index(whole, nil), answered: ConjunctSet(), isOrdered: true,
                cost: cost(rows, ConjunctSet(), isOrdered: true, rowCost: Self.entryCost),
                covering: covering)
        }
        return nil
    }

    /// The range of an index that holds exactly the query's rows, with these columns behind what is fixed in it.
    func groupScan(by columns: [Int]) throws -> GroupScan? {
        guard query.limit == nil, query.offset == 0, position == nil, !columns.isEmpty else { return nil }
        for index in try store.queryIndexes where !index.isHashed {
            let match = try matches.first { $0.index === index } ?? (conjuncts.isEmpty ? whole(index) : nil)
            guard let match, let range = match.range, match.answered.count == conjuncts.count else { continue }
            let leading = match.fixed + columns.count
            guard leading <= index.columns.count, index.columns[match.fixed..<leading].elementsEqual(columns) else {
                continue
            }
            return GroupScan(index: index, range: range, leading: leading, store: store)
        }
        return nil
    }

    /// A scan of groups as the plan that it stands for.
    func counted(_ scan: GroupScan) -> Candidate {
        let answered = ConjunctSet(below: conjuncts.count)
        return Candidate(
            path: .index(IndexMatch(scan.index, scan.range, answered: answered, fixed: 0), nil), answered: answered,
            isOrdered: true, cost: 0, covering: .values)
    }
}
