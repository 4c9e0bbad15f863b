// SPDX-License-Identifier: Apache-2.0
// Plans that read only an index: tests whether it holds everything that the query needs, and finds the ranges in which
// equal values are counted.

extension Planner {
    /// Whether the rows may come in any order.
    var isOrderFree: Bool { sort.isEmpty && query.isWhole && query.needs?.isOrderFree ?? false }

    /// Whether the index holds all data that the query reads, and that the conditions read which the index doesn't
    /// answer.
    func covering(_ index: EntityIndex, _ answered: ConjunctSet, inOrder: Bool) -> Covering {
        guard var needs = query.needs, position == nil else { return .no }
        for place in conjuncts.indices where !answered.contains(place) {
            guard let more = conjuncts[place].needs else { return .no }
            needs = needs.union(more)
        }
        guard CoveredRow.covers(index, needs.columns, type) else { return .no }
        if !needs.wantsExactText || !CoveredRow.hasText(index, type) { return .values }
        // If a key doesn't hold the exact text, its row is looked up by itself. A scan of all rows is faster.
        return inOrder ? .exactValues : .no
    }

    /// The plan that reads a whole index which holds all data that the query reads. The index has fewer bytes than the
    /// rows.
    func wholeCovering() throws -> Candidate? {
        guard isOrderFree else { return nil }
        for index in try store.queryIndexes where index.condition == nil {
            let covering = covering(index, ConjunctSet(), inOrder: false)
            guard covering != .no, let whole = try whole(index) else { continue }
            return Candidate(
                path: .index(whole, nil), answered: ConjunctSet(), isOrdered: true,
                cost: cost(rows, ConjunctSet(), isOrdered: true, entry: Price.coveredRow),
                covering: covering)
        }
        return nil
    }

    /// The ranges of an index that hold exactly the query's rows and every column that is read. Returns nil if rows
    /// have to be read one by one. If several indexes qualify, returns the one with the longest runs.
    func groupScan() throws -> GroupScan? {
        guard let needs = query.needs, needs.isOrderFree, query.isWhole, !needs.columns.isEmpty else { return nil }
        var best: GroupScan?
        for index in try store.queryIndexes {
            guard let match = try wholly(index), let scan = GroupScan(match, needs, store) else { continue }
            if let best, best.width <= scan.width { continue }
            best = scan
        }
        return best
    }

    /// A scan of groups that tests the conjuncts that a choice leaves open.
    func groupScan(of choice: Candidate) -> GroupScan? {
        guard isOrderFree, choice.covering != .no, let needs = query.needs, case .index(let match, _) = choice.path
        else { return nil }
        return GroupScan(match, needs, leaving: Filter.conjunction(rest(of: choice)), store)
    }

    /// The ranges of an index that hold exactly the query's rows.
    private func wholly(_ index: EntityIndex) throws -> IndexMatch? {
        if index.isHashed { return nil }
        let match = try matches.first { $0.index === index } ?? (conjuncts.isEmpty ? whole(index) : nil)
        guard let match, match.answered.count == conjuncts.count else { return nil }
        return match
    }

    /// A range of an index whose groups by these columns ascend, and whose entries within a group have the query's
    /// order. So the first entry of a group is the group's first result.
    package func firstScan(by columns: [Int]) throws -> GroupScan? {
        guard query.isWhole, !columns.isEmpty else { return nil }
        let needs = RowNeeds(columns: Set(columns))
        for index in try store.queryIndexes where !index.isUnique {
            guard let match = try wholly(index), match.range != nil, let scan = GroupScan(match, needs, store),
                scan.leading == match.fixed + columns.count, scan.isAscending(columns),
                isInOrder(index, behind: scan.leading)
            else { continue }
            return scan
        }
        return nil
    }

    /// Whether the components after the leading ones are exactly the query's sort, in the order of the tree. Then equal
    /// entries come by their row ids.
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

    /// The plan that a scan of groups stands for.
    func counted(_ scan: GroupScan) -> Candidate {
        let answered = ConjunctSet(below: conjuncts.count)
        return Candidate(
            path: .index(IndexMatch(scan.index, scan.ranges, answered: answered, fixed: 0), nil), answered: answered,
            isOrdered: true, cost: 0, covering: .values)
    }
}
