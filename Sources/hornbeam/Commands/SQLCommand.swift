// SPDX-License-Identifier: Apache-2.0
// `hornbeam sql`: one statement of the query language, on any store.

import Hornbeam

enum SQLCommand {
    static let declaration = CommandDeclaration(
        path: ["sql"],
        summary: "ask in the query language: SELECT … FROM … WHERE …",
        discussion: "SELECT columns FROM Type [JOIN t.relation AS r] [UNNEST t.array AS e] [WHERE …] [GROUP BY …] "
            + "[HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]; EXPLAIN before it prints how it would be answered, "
            + "EXPLAIN ANALYZE runs it and prints how, with counts. "
            + "Docs/query-language.md says all. Values are given for ?, ?2 and $name; what reads as JSON is that "
            + "value, anything else a text.",
        operands: [.store, OperandDeclaration(name: "STATEMENT", help: "what is asked")],
        options: [
            QueryCommand.paramOption, QueryCommand.setOption, modeOption, QueryCommand.jsonOption,
            QueryCommand.timeOption,
        ],
        examples: [
            "hornbeam sql packages.hornbeam 'SELECT section, COUNT(*) AS n FROM Package GROUP BY section ORDER BY n'",
            "hornbeam sql packages.hornbeam 'SELECT name FROM Package WHERE size > ? LIMIT 5' --param 1000000",
        ],
        run: run)

    static let modeOption = OptionDeclaration.value("mode", "m", "MODE", "print rows so: \(ResultMode.names)")

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        var run = StatementRun(console: console)
        run.parameters = try QueryCommand.parameters(arguments)
        run.form.null = ""
        run.form.mode = try mode(arguments)
        run.isTimed = arguments.has("time")
        let statement = try Statement(arguments.operand("STATEMENT") ?? "")
        Interruption.watch()
        do {
            try run.run(statement, on: arguments.file)
        } catch is InterruptedWork {
            console.answer("interrupted")
            return .interrupted
        }
        return .ok
    }

    /// The mode of --mode, or of --json.
    static func mode(_ arguments: Arguments) throws -> ResultMode {
        try arguments.forbid("json", with: "mode")
        if arguments.has("json") { return .jsonl }
        return try arguments.value("mode").map { try ResultMode.named($0) } ?? .column
    }
}
