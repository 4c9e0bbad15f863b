// SPDX-License-Identifier: Apache-2.0
// Running a statement's text and printing its result: for `hornbeam sql` and for the shell.

import Hornbeam
import HornbeamTree

/// Ctrl-C has ended the work.
struct InterruptedWork: Error {}

struct StatementRun {
    var parameters = StatementParameters()
    var form = ResultForm()
    /// Whether standard error shows how the statement was answered, with counts of the run.
    var isExplained = false
    /// Whether standard error shows how long the statement took.
    var isTimed = false
    /// Whether statements that change data are refused.
    var isReadOnly = false
    let console: Console

    /// Runs one statement on the store at `path`, and prints its result. All statements of the command run here.
    ///
    /// - Throws: `InterruptedWork` after Ctrl-C; the rows before it are printed.
    func run(_ statement: Statement, on path: String) throws {
        var remarks: [String] = []
        // Even after an error: changes stay if their rows can't be printed or the person leaves the pager.
        defer { for remark in remarks { console.answer(remark) } }
        do {
            try console.paged {
                if statement.changesData {
                    try change(statement, path, &remarks)
                    return
                }
                try OpenStore.snapshot(path) { transaction in
                    try Interruption.ending(transaction) {
                        remarks = try answer(statement, try StoreTransaction(reading: transaction))
                    }
                }
            }
        } catch {
            guard (HornbeamError.typed(error) as? HornbeamError)?.code == .cancelled else { throw error }
            throw InterruptedWork()
        }
    }

    /// Prints the result of a statement that reads, and returns the remarks about the run.
    private func answer(_ statement: Statement, _ core: StoreTransaction) throws -> [String] {
        let start = ContinuousClock.now
        var analysis: StatementAnalysis?
        let found: Int
        if isExplained, !statement.isExplanation {
            found = try print(form.writer(statement.columnNames(in: core, parameters), console)) { body in
                analysis = try statement.analysis(in: core, parameters, body)
            }
        } else {
            found = try statement.planned(in: core, parameters).map { try print($0) } ?? printPlan(statement, core)
        }
        try console.flush()
        let elapsed = start.duration(to: .now)
        var remarks: [String] = []
        if let analysis { remarks += analysis.steps.lines + ["  " + analysis.summary] }
        if isTimed { remarks.append("time: \(Spelling.time(elapsed)) for \(Spelling.counted(found, "result"))") }
        return remarks
    }

    /// Prints the rows of a result, and returns their number.
    private func print(_ planned: PlannedStatement) throws -> Int {
        let writer = try form.writer(planned.names, console)
        if let columns = planned.storedColumns, var fast = writer as? SeparatedValues, fast.takesStoredRows {
            return try print(planned, columns, &fast)
        }
        return try print(writer) { try planned.run($0) }
    }

    /// Prints the rows that `run` passes to its argument, and returns their number.
    private func print(
        _ writer: any ResultWriter, _ run: ((ResultRow) throws -> Bool) throws -> Void
    ) throws -> Int {
        var writer = writer
        var found = 0
        do {
            try run { row in
                if Interruption.isRequested { throw InterruptedWork() }
                found += 1
                try writer.add(row)
                return true
            }
        } catch {
            // The rows before the error are still useful.
            if found > 0 { try? writer.finish() }
            throw error
        }
        try writer.finish()
        return found
    }

    /// Prints stored rows without making a value of each field. Returns their number.
    private func print(
        _ planned: PlannedStatement, _ columns: StoredColumns, _ writer: inout SeparatedValues
    ) throws -> Int {
        let fields = SeparatedValues.fields(columns)
        var found = 0
        do {
            try planned.runStored { row in
                if Interruption.isRequested { throw InterruptedWork() }
                try writer.add(row, fields)
                found += 1
                return true
            }
        } catch {
            if found > 0 { try? writer.finish() }
            throw error
        }
        try writer.finish()
        return found
    }

    /// Prints the plan that EXPLAIN asks for, and returns the number of its lines.
    private func printPlan(_ statement: Statement, _ core: StoreTransaction) throws -> Int {
        let isText = [.table, .column, .line].contains(form.mode)
        let writer: any ResultWriter =
            isText ? PlanLines(console: console) : try form.writer(statement.columnNames(in: core, parameters), console)
        return try print(writer) { try statement.run(in: core, parameters, $0) }
    }

    /// Changes data, and prints the rows of RETURNING. Adds the remarks once the change is made.
    private func change(_ statement: Statement, _ path: String, _ remarks: inout [String]) throws {
        if isReadOnly { throw CommandError("the statement would write, and the shell was started with --readonly") }
        let start = ContinuousClock.now
        let result = try OpenStore.changing(path) { core in
            try Interruption.ending(core.transaction) {
                try statement.execute(in: core, parameters, isAnalysed: isExplained)
            }
        }
        remarks += result.analysis?.steps.lines ?? []
        let time = isTimed ? " in \(Spelling.time(start.duration(to: .now)))" : ""
        remarks.append(Spelling.counted(result.count, "entity", "entities") + " changed" + time)
        if let first = result.rows.first {
            var writer = try form.writer(first.names, console)
            for row in result.rows { try writer.add(row) }
            try writer.finish()
        }
        try console.flush()
    }
}

/// Prints the lines of EXPLAIN without columns or names.
private struct PlanLines: ResultWriter {
    let console: Console

    func add(_ row: ResultRow) throws { try console.print(DisplayWidth.printable(CellText.show(row[0] ?? .null))) }
    func finish() {}
}
