// SPDX-License-Identifier: Apache-2.0
// Plans that read an index alone: whether it holds all that is asked for, and the ranges whose groups it counts.

extension Planner {
    /// The price of a row that is made of its entry.
    static let entryCost = 0.5

    /// Whether the rows may come in any order.
    var isOrderFree: Bool { sort.isEmpty && query.isWhole && query.needs?.isOrderFree ?? false }

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
        for index in try store.queryIndexes { if let scan = try groupScan(of: index, by: columns) { return scan } }
        return nil
    }

    private func groupScan(of index: EntityIndex, by columns: [Int]) throws -> GroupScan? {
        if index.isHashed { return nil }
        let match = try matches.first { $0.index === index } ?? (conjuncts.isEmpty ? whole(index) : nil)
        guard let match, let range = match.range, match.answered.count == conjuncts.count else { return nil }
        let leading = match.fixed + columns.count
        guard leading <= index.columns.count, index.columns[match.fixed..<leading].elementsEqual(columns) else {
            return nil
        }
        return GroupScan(index: index, range: range, leading: leading, store: store)
    }

    /// The same of an index whose groups come in ascending order, and the entries of each in the query's: so that the
    /// first of them is the query's first.
    func firstScan(by columns: [Int]) throws -> GroupScan? {
        guard query.limit == nil, query.offset == 0, position == nil, !columns.isEmpty else { return nil }
        for index in try store.queryIndexes where !index.isUnique {
            guard let scan = try groupScan(of: index, by: columns), scan.isAscending(columns.count),
                isInOrder(index, behind: scan.leading)
            else { continue }
            return scan
        }
        return nil
    }

    /// Whether the query's sort is what follows the leading components, all of it and as it lies: then equal entries
    /// come by their row ids.
    private func isInOrder(_ index: EntityIndex, behind leading: Int) -> Bool {
        var place = leading
        for term in sort {
            guard let column = index.column(of: term) else { return false }
            if index.components[..<place].contains(where: { $0.column == column }) { continue }
            guard place < index.components.count, index.components[place].column == column,
                index.components[place].descending == term.descending
            else { return false }
            place += 1
        }
        return place == index.components.count
    }

    /// A scan of groups as the plan that it stands for.
    func counted(_ scan: GroupScan) -> Candidate {
        let answered = ConjunctSet(below: conjuncts.count)
        return Candidate(
            path: .index(IndexMatch(scan.index, scan.range, answered: answered, fixed: 0), nil), answered: answered,
            isOrdered: true, cost: 0, covering: .values)
    }
}
