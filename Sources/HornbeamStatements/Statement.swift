// SPDX-License-Identifier: Apache-2.0
// Statements in text: `SELECT name, COUNT(*) FROM Person WHERE age > ? GROUP BY name`. Parsed once, and run as often as
// needed, in any transaction. The plan is made for each run, with the schema and the indexes of its transaction.

/// A statement of the query language, which is the reading part of SQL++: see Docs/query-language.md.
///
///     let adults = try Statement("SELECT name, age FROM Person WHERE age >= ? ORDER BY name")
///     let rows = try database.read { try adults.resolve(in: $0, 18) }
public struct Statement: Sendable {
    /// As it was given.
    public let text: String
    let tree: SelectStatement

    /// Reads a statement; names are looked up when it runs. `.invalid` with the line, the character and a mark below
    /// it, if it is none; `.tooLarge` beyond a million bytes.
    public init(_ text: String) throws {
        self.text = text
        tree = try QueryLanguage.statement(text)
    }

    /// Calls `body` with each row of the result until it returns false.
    /// - Parameters:
    ///   - mayStop: whether `body` may return false.
    ///   - tally: counts the rows of the first source that are looked at.
    package func run(
        in core: StoreTransaction, _ parameters: StatementParameters, mayStop: Bool = false, tally: PlanTally? = nil,
        _ body: (ResultRow) throws -> Bool
    ) throws {
        let watched = core.watchOfQueries?.begin(.statement, text)
        defer { withExtendedLifetime(watched) {} }
        let plan = try SelectPlan(tree, text, core, parameters, mayStop: mayStop)
        watched?.report.plan = { try? plan.explanation(tree, core) }
        if tree.isExplained {
            let columns = ResultColumns(["plan"])
            for line in try plan.explanation(tree, core).split(separator: "\n") {
                guard try body(ResultRow(columns, [.string(String(line))])) else { return }
            }
            return
        }
        let columns = ResultColumns(plan.columns.map(\.name), isValue: plan.isValue)
        try SelectRun(plan, core, tally: tally).run { try body(ResultRow(columns, $0)) }
    }

    /// Explains for people how the statement would be answered.
    package func explanation(in core: StoreTransaction, _ parameters: StatementParameters) throws -> String {
        try SelectPlan(tree, text, core, parameters).explanation(tree, core)
    }

    /// Whether it asks how another one would be answered.
    package var isExplanation: Bool { tree.isExplained }

    /// Returns the names of the result's columns.
    package func columnNames(in core: StoreTransaction, _ parameters: StatementParameters) throws -> [String] {
        if tree.isExplained { return ["plan"] }
        return try SelectPlan(tree, text, core, parameters).columns.map(\.name)
    }
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

    /// A value as it is typed: JSON if it is that, else a text.
    package static func value(_ text: String) -> Value {
        guard let node = try? JSONParser.parse(text) else { return .string(text) }
        if case .number(let digits) = node, let number = StatementValue.written(digits) { return number }
        return StatementValue(node).result ?? .null
    }
}
