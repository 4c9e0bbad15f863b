// SPDX-License-Identifier: Apache-2.0
// The plan of a whole query: of one SELECT, or of several with UNION between. The rows of a UNION come part by part,
// and are handed on as they come unless the UNION has ORDER BY.

/// A query bound to a schema and to values.
struct QueryPlan {
    /// The clauses of a whole UNION, bound.
    private struct Whole {
        var isAll: Bool
        var order: [SelectPlan.Order] = []
        var limit: Int?
        var offset = 0
    }

    private let parts: [SelectPlan]
    private let whole: Whole?

    /// The plan of the first SELECT, whose columns give the result's names.
    var first: SelectPlan { parts[0] }
    var names: [String] { first.columns.map(\.name) }

    /// - Parameters:
    ///   - outer: the sources of the enclosing statement, if this is a subquery.
    ///   - mayStop: whether the caller may stop before the last row of the result.
    init(
        _ statement: SelectStatement, _ text: String, _ core: StoreTransaction, _ inputs: StatementInputs,
        outer: [BoundSource] = [], mayStop: Bool = false
    ) throws {
        let stops = mayStop || statement.union?.clauses.limit != nil
        var parts: [SelectPlan] = []
        for part in [statement] + (statement.union?.others ?? []) {
            parts.append(try SelectPlan(part, text, core, inputs, outer: outer, mayStop: stops))
            guard let last = parts.last, last.columns.count != parts[0].columns.count else { continue }
            throw last.binder.failure(
                "the parts of a UNION have the same number of columns: the first has \(parts[0].columns.count), this "
                    + "one \(last.columns.count)", at: part.projections[0].place)
        }
        self.parts = parts
        whole = try statement.union.map { try Self.whole($0, parts[0]) }
    }

    private static func whole(_ union: Union, _ first: SelectPlan) throws -> Whole {
        var binder = first.binder
        var whole = Whole(isAll: union.isAll)
        for term in union.clauses.order {
            let expression = term.value.withoutCollation
            var number = try binder.column(expression, "ORDER BY", of: first.columns.count)
            if number == nil, case .path(let path) = expression {
                number = first.columns.firstIndex { $0.name == path.text }
            }
            guard let number else {
                throw binder.failure(
                    "the ORDER BY of a UNION takes names and numbers of its columns, and they are "
                        + first.columns.map(\.name).joined(separator: ", "), at: expression.place)
            }
            let value = try binder.collated(.slot(number), as: term.value)
            whole.order.append(SelectPlan.Order(term, value, text: first.columns[number].name))
        }
        whole.limit = try SelectPlan.count(union.clauses.limit, "LIMIT", &binder)
        whole.offset = try SelectPlan.count(union.clauses.offset, "OFFSET", &binder) ?? 0
        return whole
    }

    /// Calls `body` with the values of each row of the result until it returns false.
    /// - Parameter counts: receives the counts of each step; nil for a run that isn't analysed.
    func run(
        _ core: StoreTransaction, counts: QueryCounts? = nil, _ body: ([StatementValue]) throws -> Bool
    ) throws {
        guard let counts else { return try answer(core, nil, body) }
        try answer(core, counts) { values in
            counts.results += 1
            return try body(values)
        }
    }

    private func answer(
        _ core: StoreTransaction, _ counts: QueryCounts?, _ body: ([StatementValue]) throws -> Bool
    ) throws {
        guard let whole else { return try SelectRun(first, core, counts: counts?.parts[0]).run(body) }
        if whole.limit == 0 { return }
        var cut = Cut(offset: whole.offset, limit: whole.limit)
        let kept = KeptBytes()
        guard whole.order.isEmpty else { return try runSorted(whole, &cut, core, counts, body) }
        var seen = SeenKeys()
        var goesOn = true
        for (number, part) in parts.enumerated() where goesOn {
            try SelectRun(part, core, counts: counts?.parts[number]).run { values in
                if !whole.isAll, try !seen.insert(StatementValue.key(values), kept) { return true }
                goesOn = try cut.take { try body(values) }
                return goesOn
            }
        }
    }

    private func runSorted(
        _ whole: Whole, _ cut: inout Cut, _ core: StoreTransaction, _ counts: QueryCounts?,
        _ body: ([StatementValue]) throws -> Bool
    ) throws {
        let (most, overflow) = (whole.limit ?? .max).addingReportingOverflow(whole.offset)
        var sorter = RowSorter(
            whole.order, atMost: overflow ? nil : most, isDistinct: !whole.isAll, KeptBytes())
        let frame = Frame(slots: first.columns.count, text: first.binder.text)
        for (number, part) in parts.enumerated() {
            try SelectRun(part, core, counts: counts?.parts[number]).run { values in
                frame.slots = values
                return try sorter.add(values, frame)
            }
        }
        let rows = sorter.finish()
        counts?.sorted = rows.count
        for values in rows where try !cut.take({ try body(values) }) { return }
    }

    /// Counts for a run.
    var counts: QueryCounts { QueryCounts(parts) }

    /// The steps of the plan, with their counts if these are from a run of the plan.
    func steps(
        _ statement: SelectStatement, _ core: StoreTransaction, _ counts: QueryCounts? = nil
    ) throws -> [PlanStep] {
        guard let whole, let union = statement.union else {
            return try first.steps(statement, core, counts?.parts[0])
        }
        var steps: [PlanStep] = []
        for (number, part) in ([statement] + union.others).enumerated() {
            if number > 0 { steps.append(PlanStep(whole.isAll ? "and all of" : "and others of", depth: 0)) }
            steps += try parts[number].steps(part, core, counts?.parts[number])
        }
        if !whole.order.isEmpty {
            let text = "sort by " + whole.order.map(\.text).joined(separator: ", ") + " in memory"
            steps.append(PlanStep(text, depth: 0, rows: counts?.sorted))
        }
        if whole.limit != nil || whole.offset > 0 {
            let text = PlanStep.cut(whole.limit, whole.offset)
            steps.append(PlanStep(text, depth: 0, rows: counts?.results))
        }
        return steps
    }

    /// The plan as text, for `EXPLAIN`.
    func explanation(_ statement: SelectStatement, _ core: StoreTransaction) throws -> String {
        try steps(statement, core).lines.joined(separator: "\n")
    }
}

// MARK: - Subqueries

/// The rows of a subquery as a source.
struct SubqueryRows {
    /// The names of their columns; nil if they are values, of SELECT VALUE.
    var fields: [String]?
    /// Objects of the columns, or the values.
    var items: [StatementValue]
}

extension Binder {
    /// The rows of a subquery in FROM.
    func rows(of query: Expression) throws -> SubqueryRows {
        guard case .subquery(let statement, let place) = query else {
            throw failure("a source is a type or a subquery", at: query.place)
        }
        if let known = inputs.rows[place] { return known }
        let (plan, core) = try plan(statement, at: place, mayStop: false)
        let fields = plan.first.isValue ? nil : plan.names
        let items = try items(of: plan, statement, core, as: "subquery in FROM") { row in
            fields.map { .object(zip($0, row).map { StatementField(name: $0, item: $1) }) } ?? row[0]
        }
        let rows = SubqueryRows(fields: fields, items: items)
        inputs.rows[place] = rows
        return rows
    }

    /// The values of a subquery's only column. A subquery can't use the rows of the enclosing statement, so its result
    /// is the same for all of them. It is run once, before that statement.
    func values(of statement: SelectStatement, at place: TextPlace) throws -> [StatementValue] {
        if let known = inputs.values[place] { return known }
        let (plan, core) = try plan(statement, at: place, mayStop: false)
        guard plan.names.count == 1 else {
            throw failure("the subquery behind IN has one column, not \(plan.names.count)", at: place)
        }
        let values = try items(of: plan, statement, core, as: "subquery of IN") { $0[0] }
        inputs.values[place] = values
        return values
    }

    /// Whether a subquery has a row.
    func hasRows(_ statement: SelectStatement, at place: TextPlace) throws -> Bool {
        if let known = inputs.found[place] { return known }
        let (plan, core) = try plan(statement, at: place, mayStop: true)
        var isFound = false
        if inputs.isForNames { return isFound }
        try run(plan, statement, core, as: "subquery of EXISTS") { _ in
            isFound = true
            return false
        }
        inputs.found[place] = isFound
        return isFound
    }

    /// An item of each row of a subquery; none if only names are asked for.
    private func items(
        of plan: QueryPlan, _ statement: SelectStatement, _ core: StoreTransaction, as name: String,
        _ item: ([StatementValue]) -> StatementValue
    ) throws -> [StatementValue] {
        var items: [StatementValue] = []
        if inputs.isForNames { return items }
        try run(plan, statement, core, as: name) { row in
            let item = item(row)
            try inputs.kept.add(item.bytes)
            items.append(item)
            return true
        }
        return items
    }

    /// Runs a subquery, and notes its steps for an analysis of the whole statement.
    private func run(
        _ plan: QueryPlan, _ statement: SelectStatement, _ core: StoreTransaction, as name: String,
        _ body: ([StatementValue]) throws -> Bool
    ) throws {
        guard inputs.isAnalysed else { return try plan.run(core, body) }
        let counts = plan.counts
        try plan.run(core, counts: counts, body)
        inputs.subqueries.append(PlanStep(name, rows: counts.results))
        inputs.subqueries += try plan.steps(statement, core, counts).deeper(by: 2)
    }

    private func plan(
        _ statement: SelectStatement, at place: TextPlace, mayStop: Bool
    ) throws -> (plan: QueryPlan, core: StoreTransaction) {
        try StackRoom.require()
        guard let core else { throw failure("a subquery has no place in the expression of an index", at: place) }
        return (try QueryPlan(statement, text, core, inputs, outer: sources + outer, mayStop: mayStop), core)
    }
}
