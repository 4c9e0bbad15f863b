// SPDX-License-Identifier: Apache-2.0
// A plan as text: the planner's for the first source, then a line for each thing that is done with its rows.

extension SelectPlan {
    func explanation(_ statement: SelectStatement, _ core: StoreTransaction) throws -> String {
        var lines = [isOfEntities ? "\(try core.explain(query))" : step(sources[0])]
        for source in sources.dropFirst() { lines.append("  " + step(source)) }
        let tested = conditions.joined().count
        if tested > 0, let condition = statement.clauses.condition {
            let parts = condition.conjuncts.map(\.text).joined(separator: " AND ")
            lines.append("  test \(tested == 1 ? "a condition" : "\(tested) conditions") of WHERE \(parts)")
        }
        if let grouping {
            if try knownCount(core) != nil {
                lines.append("  count rows by the query")
            } else if let index = try counting(countedColumns ?? distinctCount.map { [$0] }, core) {
                lines.append("  count groups by index \(index)")
            } else if try ends(core) != nil {
                lines.append("  read the first and the last row of an order")
            } else if valueColumns != nil, let index = try byValue(query, core) {
                lines.append("  by value, counted by index \(index)")
            } else if grouping.keys.isEmpty {
                lines.append("  all rows are one group")
            } else {
                let groups = statement.clauses.groups.map { group in
                    if case .literal(.int(let number), _) = group {
                        statement.projections[Int(number) - 1].value.text
                    } else {
                        group.text
                    }
                }
                lines.append("  group by " + groups.joined(separator: ", "))
            }
        }
        if let having = statement.clauses.having { lines.append("  groups having \(having.text)") }
        if isDistinct {
            let index = try counting(distinctColumns, core)
            lines.append("  distinct rows" + (index.map { " by index \($0)" } ?? ""))
        }
        if !order.isEmpty { lines.append("  sort by " + order.map(\.text).joined(separator: ", ") + " in memory") }
        if !isCut, limit != nil || offset > 0 {
            lines.append("  " + (limit.map { "limit \($0)" } ?? "no limit") + (offset > 0 ? " from \(offset)" : ""))
        }
        return lines.joined(separator: "\n")
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
