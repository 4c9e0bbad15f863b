// SPDX-License-Identifier: Apache-2.0
// `hornbeam sql`: statements of the query language, on any store.

import Hornbeam
import HornbeamTree

enum SQLCommand {
    static let declaration = CommandDeclaration(
        path: ["sql"],
        summary: "ask in the query language: SELECT … FROM … WHERE …",
        discussion: "SELECT columns FROM Type [JOIN t.relation AS r] [UNNEST t.array AS e] [WHERE …] [GROUP BY …] "
            + "[HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]; EXPLAIN before it prints how it would be answered. "
            + "Docs/query-language.md says all. Values are given for ?, ?2 and $name; what reads as JSON is that "
            + "value, anything else a text.",
        operands: [.store, OperandDeclaration(name: "STATEMENT", help: "what is asked")],
        options: [
            QueryCommand.paramOption, QueryCommand.setOption, QueryCommand.jsonOption, QueryCommand.timeOption,
        ],
        examples: [
            "hornbeam sql packages.hornbeam 'SELECT section, COUNT(*) AS n FROM Package GROUP BY section ORDER BY n'",
            "hornbeam sql packages.hornbeam 'SELECT name FROM Package WHERE size > ? LIMIT 5' --param 1000000",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let statement = try Statement(arguments.operand("STATEMENT") ?? "")
        let parameters = try QueryCommand.parameters(arguments)
        try OpenStore.snapshot(arguments.file) { transaction in
            let core = try StoreTransaction(reading: transaction)
            let start = ContinuousClock.now
            var found = 0
            if arguments.has("json") || statement.isExplanation {
                try statement.run(in: core, parameters) { row in
                    found += 1
                    try console.print(arguments.has("json") ? row.json : CellText.show(row[0] ?? .null))
                    return true
                }
            } else {
                var table = ResultTable(try statement.columnNames(in: core, parameters), console)
                try statement.run(in: core, parameters) { row in
                    found += 1
                    try table.add(row.values)
                    return true
                }
                try table.finish()
            }
            try console.flush()
            if arguments.has("time") {
                let time = Spelling.time(start.duration(to: .now))
                console.answer("time: \(time) for \(Spelling.counted(found, "result"))")
            }
        }
        return .ok
    }
}

/// A table whose columns are right-aligned where the first rows have numbers alone.
private struct ResultTable: ~Copyable {
    private let names: [String]
    private let console: Console
    private var first: [[Value?]] = []
    private var table: Table?

    init(_ names: [String], _ console: Console) {
        self.names = names
        self.console = console
    }

    mutating func add(_ values: [Value?]) throws {
        if table != nil { return try table?.add(Self.cells(values)) ?? () }
        first.append(values)
        if first.count == Table.sampleRows { try begin() }
    }

    mutating func finish() throws {
        if table == nil { try begin() }
        try table?.finish()
    }

    private mutating func begin() throws {
        let columns = names.enumerated().map { place, name in
            let values = first.compactMap { $0[place] }.filter { $0 != .null }
            let isNumber = !values.isEmpty && values.allSatisfy(\.isNumber)
            return TableColumn(title: name, alignment: isNumber ? .right : .left)
        }
        table = console.table(columns)
        for values in first { try table?.add(Self.cells(values)) }
        first = []
    }

    private static func cells(_ values: [Value?]) -> [String] { values.map { $0.map(CellText.show) ?? "" } }
}

extension Value {
    fileprivate var isNumber: Bool {
        switch self {
        case .int, .uint, .double, .decimal: true
        default: false
        }
    }
}
