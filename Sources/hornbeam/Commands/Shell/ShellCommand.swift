// SPDX-License-Identifier: Apache-2.0
// `hornbeam shell`, or just `hornbeam FILE`: statements and dot commands from a terminal, a pipe, a script or the
// command line.

import Glibc
import Hornbeam

enum ShellCommand {
    static let declaration = CommandDeclaration(
        path: ["shell"],
        summary: "run statements one by one; 'hornbeam FILE' is short for it",
        discussion: "Statements of the query language end with a semicolon; a dot at the beginning of a line, or "
            + "after a statement, begins a command of the shell, and .help lists those. From a terminal lines can be "
            + "edited, completed with Tab and brought back; Ctrl-C ends the statement that runs, Ctrl-D the shell. "
            + "From a pipe or a script the first error ends it, with its line and exit code 1. Statements between "
            + "BEGIN and COMMIT are one transaction; ROLLBACK, or the end of the shell, undoes them.",
        operands: [.store],
        options: [
            .value("command", "c", "STATEMENT", "run this instead of reading; may be repeated"),
            .value("file", "f", "SCRIPT", "run this file instead of reading; may be repeated"),
            SQLCommand.modeOption, QueryCommand.setOption,
            .flag("readonly", nil, "never write to the store"),
        ],
        examples: [
            "hornbeam shell packages.hornbeam -c 'SELECT name FROM Package LIMIT 5' --mode csv",
            "echo 'SELECT COUNT(*) FROM Package;' | hornbeam shell packages.hornbeam",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let shell = Shell(arguments.file, console)
        shell.form.mode = try arguments.value("mode").map { try ResultMode.named($0) } ?? .column
        shell.isReadOnly = arguments.has("readonly")
        shell.parameters = try QueryCommand.namedValues(arguments)
        // Releases the file of .output, which is deleted if it isn't complete.
        defer { console.target = nil }
        return try OpenStore.holding(shell.file) {
            defer { shell.endTransaction() }
            // Before any input: a store that can't be opened is an error at once.
            try OpenStore.snapshot(shell.file) { _ in }
            do {
                let code = try run(shell, arguments)
                if code != .interrupted { try shell.finishOutput() }
                return code
            } catch is ScriptFailure {
                return .failure
            }
        }
    }

    private static func run(_ shell: Shell, _ arguments: Arguments) throws -> ExitCode {
        let statements = arguments.all("command")
        let scripts = arguments.all("file")
        if statements.isEmpty, scripts.isEmpty, isatty(STDIN_FILENO) == 1, shell.console.isOutputTerminal {
            return try Dialogue(shell).run()
        }
        let code = try run(shell, statements, statements.isEmpty && scripts.isEmpty ? ["-"] : scripts)
        guard code == .ok, !shell.hasQuit, OpenStore.isInTransaction else { return code }
        // An error, as for a statement that was cut off: changes that somebody expects are missing.
        shell.console.report("the input ends before COMMIT")
        return .failure
    }

    private static func run(_ shell: Shell, _ statements: [String], _ scripts: [String]) throws -> ExitCode {
        for (place, text) in statements.enumerated() {
            let name = statements.count == 1 ? "--command" : "--command \(place + 1)"
            let code = try shell.run(text: text, named: name)
            if code != .ok || shell.hasQuit { return code }
        }
        for script in scripts {
            let code = try shell.run(script: script)
            if code != .ok || shell.hasQuit { return code }
        }
        return .ok
    }
}
