// SPDX-License-Identifier: Apache-2.0
// Running a statement's text and printing its result: for `hornbeam sql` and for the shell.

import Hornbeam
import HornbeamTree

/// The work was ended by Ctrl-C.
struct InterruptedWork: Error {}

struct StatementRun {
    var parameters = StatementParameters()
    var form = ResultForm()
    /// Prints on standard error how the statement was answered, with counts of the run.
    var isExplained = false
    /// Prints on standard error how long it took.
    var isTimed = false
    /// Refuses statements that change data.
    var isReadOnly = false
    let console: Console

    /// Runs one statement on the store at `path`. The only place of the command where a statement runs.
    ///
    /// - Throws: `InterruptedWork` after Ctrl-C; the rows before it are printed.
    func run(_ text: String, on path: String) throws {
        let statement = try Statement(text)
        var remarks: [String] = []
        do {
            try console.paged {
                if statement.changesData {
                    remarks = try change(statement, path)
                    return
                }
                try OpenStore.snapshot(path) { transaction in
                    try Interruption.ending(transaction) {
                        remarks = try answer(statement, try StoreTransaction(reading: transaction), transaction)
                    }
                }
            }
        } catch {
            guard (HornbeamError.typed(error) as? HornbeamError)?.code == .cancelled else { throw error }
            throw InterruptedWork()
        }
        for remark in remarks { console.answer(remark) }
    }

    /// Returns what is to be said about the run.
    private func answer(
        _ statement: Statement, _ core: StoreTransaction, _ transaction: Transaction
    ) throws -> [String] {
        let start = ContinuousClock.now
        var found = 0
        let tally = isExplained && !statement.isExplanation ? PlanTally() : nil
        var writer = try writer(statement, core)
        func print() throws {
            try statement.run(in: core, parameters, tally: tally) { row in
                if Interruption.isRequested { throw InterruptedWork() }
                found += 1
                try writer.add(row)
                return true
            }
        }
        var pages = 0
        do {
            if tally == nil { try print() } else { pages = try transaction.countingPages(print) }
        } catch {
            // The rows before it are of use.
            if found > 0 { try? writer.finish() }
            throw error
        }
        try writer.finish()
        try console.flush()
        let elapsed = start.duration(to: .now)
        var remarks: [String] = []
        if let tally {
            remarks.append(try statement.explanation(in: core, parameters))
            let results = Spelling.counted(found, "result")
            remarks += (tally.lines + ["\(results), \(Spelling.counted(pages, "page")) read"]).map { "  " + $0 }
        }
        if isTimed { remarks.append("time: \(Spelling.time(elapsed)) for \(Spelling.counted(found, "result"))") }
        return remarks
    }

    /// Changes data in a transaction of its own, and prints the rows of RETURNING.
    private func change(_ statement: Statement, _ path: String) throws -> [String] {
        if isReadOnly { throw CommandError("the statement would write, and the shell was started with --readonly") }
        let start = ContinuousClock.now
        var remarks: [String] = []
        let result = try OpenStore.writing(path, create: false) { store in
            try store.changing { core in
                if isExplained { remarks.append(try statement.explanation(in: core, parameters)) }
                return try Interruption.ending(core.transaction) { try statement.execute(in: core, parameters) }
            }
        }
        if let first = result.rows.first {
            var writer = try form.writer(first.names, console)
            for row in result.rows { try writer.add(row) }
            try writer.finish()
        }
        try console.flush()
        let time = isTimed ? " in \(Spelling.time(start.duration(to: .now)))" : ""
        remarks.append(Spelling.counted(result.count, "entity", "entities") + " changed" + time)
        return remarks
    }

    private func writer(_ statement: Statement, _ core: StoreTransaction) throws -> any ResultWriter {
        if statement.isExplanation, [.table, .column, .line].contains(form.mode) { return PlanLines(console: console) }
        return try form.writer(try statement.columnNames(in: core, parameters), console)
    }
}

/// The lines of EXPLAIN as they are.
private struct PlanLines: ResultWriter {
    let console: Console

    func add(_ row: ResultRow) throws { try console.print(DisplayWidth.printable(CellText.show(row[0] ?? .null))) }
    func finish() {}
}
