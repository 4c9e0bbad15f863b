// SPDX-License-Identifier: Apache-2.0
// A statement that only reads, planned once for all that a run asks: names of columns, rows, explanation. Where the
// result is nothing but columns of entities, the rows can be had as they are stored, without a value made of each.

/// Columns of the stored rows that are the result of a statement.
package struct StoredColumns: Sendable {
    package let numbers: [Int]
    package let types: [ColumnType]
}

/// A plan in the transaction that it was made for. It must not outlive it.
package struct PlannedStatement {
    private let select: SelectStatement
    private let core: StoreTransaction
    private let plan: QueryPlan

    fileprivate init(_ select: SelectStatement, _ core: StoreTransaction, _ plan: QueryPlan) {
        self.select = select
        self.core = core
        self.plan = plan
    }

    /// The names of the result's columns.
    package var names: [String] { plan.names }

    /// Explains for people how the statement is answered.
    package func explanation() throws -> String { try plan.explanation(select, core) }

    /// Calls `body` with each row of the result until it returns false.
    /// - Parameter tally: counts the rows of the first source that are looked at.
    package func run(tally: PlanTally? = nil, _ body: (ResultRow) throws -> Bool) throws {
        let columns = ResultColumns(plan.names, isValue: plan.first.isValue)
        try plan.run(core, tally: tally) { try body(ResultRow(columns, $0)) }
    }

    /// The columns of the stored rows that `runStored` hands on; nil if the result is anything else.
    package var storedColumns: StoredColumns? {
        let first = plan.first
        guard select.union == nil, first.isCut, !first.isValue, first.isOfEntities else { return nil }
        var (numbers, types): ([Int], [ColumnType]) = ([], [])
        for column in first.columns {
            guard case .slot(let slot) = column.value, let (source, content) = first.binder.content(of: slot),
                source.number == 0, case .column(let number) = content, let type = source.type?.description
            else { return nil }
            numbers.append(number)
            types.append(type.columns[number].type)
        }
        return StoredColumns(numbers: numbers, types: types)
    }

    /// Calls `body` with each stored row of the result until it returns false.
    package func runStored(_ body: (RowReader) throws -> Bool) throws {
        try SelectRun(plan.first, core).forEachEntity { _, row, _ in try body(row) }
    }
}

extension Statement {
    /// Plans the statement. Returns nil if it changes data or is an EXPLAIN.
    package func planned(in core: StoreTransaction, _ parameters: StatementParameters) throws -> PlannedStatement? {
        guard case .select(let select) = tree, !select.isExplained else { return nil }
        let inputs = StatementInputs(parameters)
        let plan = try QueryPlan(select, text, core, inputs)
        try inputs.requireUse()
        return PlannedStatement(select, core, plan)
    }
}
