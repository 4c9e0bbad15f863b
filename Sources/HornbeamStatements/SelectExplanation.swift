// SPDX-License-Identifier: Apache-2.0
// A plan as steps: the planner's for the first source, then one for each thing that is done with its rows.

extension SelectPlan {
    /// The steps of the plan, with their counts if these are from a run of the plan.
    func steps(
        _ statement: SelectStatement, _ core: StoreTransaction, _ counts: SelectCounts? = nil
    ) throws -> [PlanStep] {
        var steps = try sourceSteps(statement, core, counts)
        if grouping != nil {
            steps.append(PlanStep(try grouped(statement, core), read: counts?.takenRows, rows: counts?.groups))
        }
        if let having = statement.clauses.having {
            steps.append(PlanStep("groups having \(having.text)", read: counts?.groups, rows: counts?.having))
        }
        let read = grouping == nil ? counts?.takenRows : counts?.having
        if isDistinct {
            let index = try counting(distinctColumns, core)
            let text = "distinct rows" + (index.map { " by index \($0)" } ?? "")
            steps.append(PlanStep(text, read: read, rows: counts?.kept))
        }
        if !order.isEmpty {
            let text = "sort by " + order.map(\.text).joined(separator: ", ") + " in memory"
            steps.append(PlanStep(text, read: isDistinct ? nil : read, rows: counts?.kept))
        }
        if !isCut, limit != nil || offset > 0 {
            steps.append(PlanStep(PlanStep.cut(limit, offset), rows: counts?.results))
        }
        return steps
    }

    /// The sources, each with the conditions that are tested when it has a row.
    private func sourceSteps(
        _ statement: SelectStatement, _ core: StoreTransaction, _ counts: SelectCounts?
    ) throws -> [PlanStep] {
        var steps: [PlanStep] = []
        var isShown = false
        for source in sources {
            if source.number > 0 || !isOfEntities {
                let joined = counts?.joined[source.number]
                steps.append(
                    PlanStep(
                        step(source), depth: source.number == 0 ? 0 : 1, runs: source.number == 0 ? nil : joined?.runs,
                        read: joined.map { max($0.read, $0.query.read) }, rows: joined?.rows))
            } else {
                steps += try core.explain(query).steps(counts?.query, results: isCut ? counts?.first : nil)
            }
            let count = conditions[source.number].count
            if count == 0 { continue }
            var text = "test \(Spelling.counted(count, "condition"))"
            if !isShown { text = count == 1 ? "test a condition" : text }
            if isShown { text = "test \(count) more" }
            let parts = statement.clauses.condition?.conjuncts.map(\.text).joined(separator: " AND ")
            text += parts.map { isShown ? " of WHERE" : " of WHERE \($0)" } ?? " of ON"
            isShown = true
            steps.append(
                PlanStep(text, read: counts?.reached(source.number), rows: counts?.passed(source.number)))
        }
        return steps
    }

    /// How the groups are found.
    private func grouped(_ statement: SelectStatement, _ core: StoreTransaction) throws -> String {
        if countsRows { return "count rows by the query" }
        if let index = try counting(countedColumns ?? distinctCount.map { [$0] }, core) {
            return "count groups by index \(index)"
        }
        if try ends(core) != nil { return "read the first and the last row of an order" }
        if valueColumns != nil, let index = try byValue(query, core) { return "by value, counted by index \(index)" }
        let groups = statement.clauses.groups.map { group in
            if case .literal(.int(let number), _) = group {
                statement.projections[Int(number) - 1].value.text
            } else {
                group.text
            }
        }
        return groups.isEmpty ? "all rows are one group" : "group by " + groups.joined(separator: ", ")
    }

    private func step(_ source: BoundSource) -> String {
        let outer = source.isOuter && !source.isImplicit ? ", or nothing" : ""
        switch source.rows {
        case .scan: return "all of \(source.alias)"
        case .link(let from, let side):
            return "follow \(sources[from].alias).\(side.name) to \(side.target)"
                + (source.isImplicit ? "" : " as \(source.alias)") + outer
        case .join(let conditions):
            // With dummy values, because the real ones depend on the row.
            let frame = Frame(slots: binder.slotCount)
            for slot in frame.slots.indices { frame.slots[slot] = .int(0) }
            let push = FilterPush(binder: binder, source: source, frame: frame)
            let isPushed = conditions.contains { push.filter($0) != nil }
            return "for each, \(isPushed ? "query" : "scan") \(source.type?.name ?? "") as \(source.alias)" + outer
        case .elements(let array):
            guard source.fields != nil, case .constant(.array(let rows)) = array else {
                return "unnest as \(source.alias)" + outer
            }
            return "\(Spelling.counted(rows.count, "row")) of a subquery as \(source.alias)" + outer
        }
    }
}

extension Expression {
    /// The parts of a conjunction, all of which must be true.
    var conjuncts: [Expression] {
        guard case .binary(.and, let left, let right, _) = self else { return [self] }
        return left.conjuncts + right.conjuncts
    }
}
