// SPDX-License-Identifier: Apache-2.0
// A statement that only reads, planned once for its column names, rows and explanation. If the result has only columns
// of entities, its rows can be read as they are stored, without a value for each.

/// Columns of the stored rows that are the result of a statement.
package struct StoredColumns: Sendable {
    package let numbers: [Int]
    package let types: [ColumnType]
}

/// A plan for one transaction, which it must not outlive.
package struct PlannedStatement {
    private let select: SelectStatement
    private let core: StoreTransaction
    private let inputs: StatementInputs
    private let plan: QueryPlan

    /// - Parameters:
    ///   - mayStop: whether the reader of the rows may stop before the last one.
    ///   - isAnalysed: whether the steps of subqueries are counted.
    init(
        _ select: SelectStatement, _ text: String, _ core: StoreTransaction, _ parameters: StatementParameters,
        mayStop: Bool = false, isAnalysed: Bool = false
    ) throws {
        self.select = select
        self.core = core
        inputs = StatementInputs(parameters, isAnalysed: isAnalysed)
        plan = try QueryPlan(select, text, core, inputs, mayStop: mayStop)
        try inputs.requireUse()
    }

    /// The names of the result's columns.
    package var names: [String] { plan.names }

    /// Explains for people how the statement is answered.
    package func explanation() throws -> String { try plan.explanation(select, core) }

    /// New counts for a run.
    var counts: QueryCounts { plan.counts }

    /// The steps of the plan and of its subqueries, with the counts of a run.
    func steps(_ counts: QueryCounts) throws -> [PlanStep] {
        try plan.steps(select, core, counts) + inputs.subqueries
    }

    /// Calls `body` with each row of the result until it returns false.
    package func run(_ body: (ResultRow) throws -> Bool) throws { try run(counting: nil, body) }

    /// - Parameter counts: receives the counts of each step; nil for a run that isn't analysed.
    func run(counting counts: QueryCounts?, _ body: (ResultRow) throws -> Bool) throws {
        let columns = ResultColumns(plan.names, isValue: plan.first.isValue)
        try plan.run(core, counts: counts) { try body(ResultRow(columns, $0)) }
    }

    /// The columns of the rows that `runStored` hands on; nil if the result has values other than stored columns.
    package var storedColumns: StoredColumns? {
        let first = plan.first
        guard select.union == nil, first.isCut, !first.isValue, first.isOfEntities else { return nil }
        var (numbers, types): ([Int], [ColumnType]) = ([], [])
        for column in first.columns {
            guard case .slot(let slot) = column.value, let (source, content) = first.binder.content(of: slot),
                source.number == 0, case .column(let number) = content, let type = source.type?.description
            else { return nil }
            let columnType = type.columns[number].type
            // A statement's value is the parsed JSON, not its text.
            if columnType.hasJSON { return nil }
            numbers.append(number)
            types.append(columnType)
        }
        return StoredColumns(numbers: numbers, types: types)
    }

    /// Calls `body` with each stored row of the result until it returns false.
    package func runStored(_ body: (RowReader) throws -> Bool) throws {
        try SelectRun(plan.first, core).forEachEntity { _, row, _ in try body(row) }
    }
}

extension ColumnType {
    /// Whether values of the type are JSON or arrays of it.
    fileprivate var hasJSON: Bool {
        switch self {
        case .json: true
        case .array(let type), .optional(let type): type.hasJSON
        default: false
        }
    }
}

extension Statement {
    /// Plans the statement. Returns nil if it changes data or is an EXPLAIN.
    package func planned(in core: StoreTransaction, _ parameters: StatementParameters) throws -> PlannedStatement? {
        guard case .select(let select) = tree, !select.isExplained else { return nil }
        return try PlannedStatement(select, text, core, parameters)
    }
}
