// SPDX-License-Identifier: Apache-2.0
// Statements in text: `SELECT name, COUNT(*) FROM Person WHERE age > ? GROUP BY name`. Parsed once, and run as often as
// needed, in any transaction. The plan is made for each run, with the schema and the indexes of its transaction.

import HornbeamTree

/// A statement of the query language, which is mostly SQL++: see Docs/query-language.md.
///
///     let adults = try Statement("SELECT name, age FROM Person WHERE age >= ? ORDER BY name")
///     let rows = try database.read { try adults.resolve(in: $0, 18) }
///
///     let birthday = try Statement("UPDATE Person SET age = age + 1 WHERE born = ?")
///     let count = try database.write { try birthday.execute(in: &$0, today).count }
public struct Statement: Sendable {
    /// The text of the statement, as it was given.
    public let text: String
    let tree: StatementTree

    /// Reads a statement. Its names are looked up when it runs. Throws `.invalid` with the line, the character and a
    /// mark below it, if the text is no statement. Throws `.tooLarge` if the text has more than a million bytes, or is
    /// nested too deep for the thread's stack.
    public init(_ text: String) throws {
        self.text = text
        tree = try QueryLanguage.statement(text)
    }

    /// Whether it is an INSERT, UPSERT, UPDATE or DELETE, which `execute` runs. Other statements, and EXPLAIN, only
    /// read.
    public var changesData: Bool { if case .change(let change) = tree { !change.isExplained } else { false } }

    /// Calls `body` with each row of the result until it returns false. Throws `.invalid` if the statement changes
    /// data.
    /// - Parameter mayStop: whether `body` may return false.
    package func run(
        in core: StoreTransaction, _ parameters: StatementParameters, mayStop: Bool = false,
        _ body: (ResultRow) throws -> Bool
    ) throws {
        if isExplanation { return try explain(in: core, parameters, body) }
        guard case .select(let statement) = tree else {
            throw failure(
                "a statement that changes data is run by database.execute, or within a write by its own execute(in:)")
        }
        let watched = core.queryWatch?.begin(.statement, text)
        defer { withExtendedLifetime(watched) {} }
        let planned = try PlannedStatement(statement, text, core, parameters, mayStop: mayStop)
        watched?.report.plan = { try? planned.explanation() }
        try planned.run(body)
    }

    /// Calls `body` as `run` does, and returns the plan with counts of each step.
    package func analysis(
        in core: StoreTransaction, _ parameters: StatementParameters, mayStop: Bool = false,
        _ body: (ResultRow) throws -> Bool = { _ in true }
    ) throws -> StatementAnalysis {
        guard case .select(let statement) = tree else {
            throw failure("explain(.analyze) runs the statement, and this one changes data: explain shows its plan")
        }
        let watched = core.queryWatch?.begin(.statement, text)
        defer { withExtendedLifetime(watched) {} }
        var analysis = StatementAnalysis()
        var done: (planned: PlannedStatement, counts: QueryCounts)?
        let start = ContinuousClock.now
        analysis.pagesRead = try core.transaction.countingPages {
            let planned = try PlannedStatement(
                statement, text, core, parameters, mayStop: mayStop, isAnalysed: true)
            watched?.report.plan = { try? planned.explanation() }
            analysis.planning = start.duration(to: .now)
            let counts = planned.counts
            try planned.run(counting: counts, body)
            done = (planned, counts)
        }
        analysis.duration = start.duration(to: .now) - analysis.planning
        guard let (planned, counts) = done else { return analysis }
        analysis.results = counts.results
        analysis.steps = try planned.steps(counts)
        return analysis
    }

    /// Calls `body` with each line of the plan. ANALYZE adds its counts as columns.
    private func explain(
        in core: StoreTransaction, _ parameters: StatementParameters, _ body: (ResultRow) throws -> Bool
    ) throws {
        let columns = ResultColumns(planColumns)
        guard case .select(let statement) = tree, statement.isAnalysed else {
            for line in try explanation(in: core, parameters).split(separator: "\n") {
                guard try body(ResultRow(columns, [.string(String(line))])) else { return }
            }
            return
        }
        let analysis = try analysis(in: core, parameters)
        var steps = analysis.steps
        steps.append(PlanStep(analysis.summary, rows: analysis.results))
        for (line, step) in zip(steps.dropLast().lines + ["  " + analysis.summary], steps) {
            let counts = [step.runs, step.read, step.rows].map { $0.map { StatementValue.int($0) } ?? .null }
            guard try body(ResultRow(columns, [.string(line)] + counts)) else { return }
        }
    }

    private var planColumns: [String] {
        if case .select(let statement) = tree, statement.isAnalysed { return ["plan", "runs", "read", "rows"] }
        return ["plan"]
    }

    /// Changes data, in a write transaction. If it throws, nothing is changed, and the transaction goes on.
    /// - Parameters:
    ///   - isAnalysed: whether the result has the plan with counts of each step.
    ///   - keepsDeleted: whether deleted entities of a type are kept, by the type's name.
    package func execute(
        in core: StoreTransaction, _ parameters: StatementParameters, isAnalysed: Bool = false,
        keepsDeleted: (String) -> Bool = { _ in false }
    ) throws -> StatementResult {
        guard case .change(let change) = tree, !change.isExplained else {
            throw failure(
                "a statement that changes nothing is run by database.query, or in a transaction by resolve(in:)")
        }
        guard core.transaction.isWritable else {
            throw HornbeamError(
                .readOnly,
                "a statement can't change data in the context of a read: run it by database.execute, or inside "
                    + "database.write { context in … }, with its context")
        }
        let watched = core.queryWatch?.begin(.statement, text)
        defer { withExtendedLifetime(watched) {} }
        let interruption = core.transaction.interruption
        return try core.uninterrupted {
            try core.nested {
                // An interruption undoes the changes made so far.
                core.transaction.interruption = interruption
                defer { core.transaction.interruption = nil }
                let inputs = StatementInputs(parameters, isAnalysed: isAnalysed)
                return try ChangeRun(change, text, core, inputs).run(keepsDeleted: keepsDeleted)
            }
        }
    }

    private func failure(_ what: String) -> HornbeamError { StatementFailure.error(what, in: text, at: 0) }

    /// Explains for people how the statement would be answered.
    package func explanation(in core: StoreTransaction, _ parameters: StatementParameters) throws -> String {
        switch tree {
        case .select(let statement): try PlannedStatement(statement, text, core, parameters).explanation()
        case .change(let change): try ChangeRun(change, text, core, StatementInputs(parameters)).explanation()
        }
    }

    /// Whether it is an EXPLAIN.
    package var isExplanation: Bool {
        switch tree {
        case .select(let statement): statement.isExplained
        case .change(let change): change.isExplained
        }
    }

    /// Returns the names of the result's columns: of RETURNING, if it changes data.
    package func columnNames(in core: StoreTransaction, _ parameters: StatementParameters) throws -> [String] {
        if isExplanation { return planColumns }
        let inputs = StatementInputs(parameters, isForNames: true)
        switch tree {
        case .select(let statement): return try QueryPlan(statement, text, core, inputs).names
        case .change(let change): return try ChangeRun(change, text, core, inputs).returning?.names ?? []
        }
    }
}

/// The result of a statement that changes data.
public struct StatementResult: Sendable {
    /// Number of entities that it has inserted, replaced, found to update, or deleted. Entities that delete rules
    /// deleted with them don't count.
    public let count: Int
    /// The rows of RETURNING, one for each of these entities, in the order of INSERT or of row ids. Their values are
    /// those at the end of the statement; for deleted entities, those before it. Empty without RETURNING.
    public let rows: [ResultRow]
    /// The plan with counts of each step, if it was asked for.
    package var analysis: StatementAnalysis?
}

/// Values that are given with a statement.
package struct StatementParameters: Sendable {
    package var positions: [Value]
    package var names: [String: Value]

    package init(positions: [Value] = [], names: [String: Value] = [:]) {
        self.positions = positions
        self.names = names
    }

    package init(_ positions: [any ColumnValue], _ names: [String: any ColumnValue]) {
        self.init(positions: positions.map(\.columnValue), names: names.mapValues(\.columnValue))
    }

    /// The value that a person types: JSON if the text can be read as JSON, else the text itself.
    package static func value(_ text: String) -> Value {
        guard let node = try? JSONParser.parse(text) else { return .string(text) }
        if case .number(let digits) = node, let number = StatementValue.written(digits) { return number }
        return StatementValue(node).result ?? .null
    }
}
