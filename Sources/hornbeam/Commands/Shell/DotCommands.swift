// SPDX-License-Identifier: Apache-2.0
// The shell's own commands, which begin with a dot. Some of them run a command of the command line.

import Hornbeam

/// A command of the shell.
struct DotCommand: Sendable {
    /// With its dot.
    var name: String
    /// The operands as help shows them, optional ones in brackets. Completion depends on these names.
    var operands: [String] = []
    var summary: String
    /// The command of the command line that it runs, for its help; nil for others.
    var declaration: CommandDeclaration?
    var run: @Sendable (Shell, [String]) throws -> ExitCode

    var usage: String { ([name] + operands).joined(separator: " ") }
}

enum DotCommands {
    /// The commands, in the order of help.
    static let all: [DotCommand] = [
        DotCommand(name: ".tables", summary: "entity types and their numbers of entities", run: DotAnswers.tables),
        command(
            ".schema", SchemaCommand.declaration, [.typeOrAll], isPaged: true,
            adding: { $0.contains { ["--json", "-j"].contains($0) } ? [] : ["--swift"] }),
        DotCommand(
            name: ".indexes", operands: ["[TYPE]"], summary: "indexes and their numbers of entries",
            run: DotAnswers.indexes),
        DotCommand(
            name: ".mode", operands: ["[MODE]"], summary: "print rows so: \(ResultMode.names)", run: Settings.mode),
        DotCommand(
            name: ".output", operands: ["[FILE]"],
            summary: "results go to a file, which is whole with the next .output; --force replaces one",
            run: Settings.output),
        DotCommand(
            name: ".timer", operands: ["[on|off]"], summary: "print how long statements take",
            run: { try Settings.set(\.isTimed, $0, $1) }),
        DotCommand(
            name: ".explain", operands: ["[on|off]"], summary: "print how statements were answered, with counts",
            run: { try Settings.set(\.isExplained, $0, $1) }),
        DotCommand(
            name: ".params", operands: ["[set|clear]", "[NAME]", "[VALUE]"],
            summary: "list, set or clear the values of $NAME, or of ? by its number",
            run: Settings.params),
        command(".stats", InfoCommand.declaration, [], isPaged: true),
        command(".import", ImportCommand.declaration, [.data, .type], writes: true),
        command(".export", ExportCommand.declaration, [.type]),
        command(".check", CheckCommand.declaration, []),
        command(".backup", BackupCommand.declaration, [OperandDeclaration(name: "COPY", help: "the new file")]),
        DotCommand(name: ".read", operands: ["SCRIPT"], summary: "run the statements of a file") { shell, words in
            guard words.count == 1 else { throw UsageError(".read needs a file", hint: "Usage: .read SCRIPT") }
            return try shell.run(script: words[0])
        },
        DotCommand(
            name: ".help", operands: ["[COMMAND]"], summary: "list these commands, as ? alone does, or explain one",
            run: help),
        DotCommand(name: ".quit", summary: "end the shell") { shell, _ in
            shell.hasQuit = true
            return .ok
        },
    ]

    /// Runs the command in a line.
    static func run(_ line: String, in shell: Shell) throws -> ExitCode {
        let words = try self.words(of: line)
        let name = words.first ?? ""
        let code = try named(name).run(shell, Array(words.dropFirst()))
        try shell.console.flush()
        return code
    }

    private static func named(_ name: String) throws -> DotCommand {
        if let command = all.first(where: { $0.name == name || $0.name == "." + name }) { return command }
        let hint = NearestName.hint(name, among: all.map(\.name)) ?? ".help lists them"
        throw UsageError("there is no command “\(name)”", hint: hint)
    }

    /// Splits a line into words as shells do: quotes keep spaces, a backslash keeps the next character. Throws if a
    /// quote has no end.
    static func words(of line: String) throws(UsageError) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if quote == nil, character.isWhitespace {
                if let whole = word { words.append(whole) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let quote { throw UsageError("the quote \(quote) has no end", hint: "write \\\(quote) for the sign itself") }
        if let word { words.append(word) }
        return words
    }

    // MARK: Commands of the command line

    /// Makes a dot command that runs a command of the command line on the shell's store.
    /// - Parameters:
    ///   - operands: those beside the store, in the shell's order.
    ///   - adding: options that belong to the words.
    private static func command(
        _ name: String, _ declaration: CommandDeclaration, _ operands: [OperandDeclaration], writes: Bool = false,
        isPaged: Bool = false, adding: @escaping @Sendable ([String]) -> [String] = { _ in [] }
    ) -> DotCommand {
        var own = declaration
        own.path = [name]
        own.operands = operands
        own.examples = []
        own.common = CommandDeclaration.common.filter { ["quiet", "help"].contains($0.name) }
        let command = own
        return DotCommand(
            name: name, operands: operands.map { $0.isOptional ? "[\($0.name)]" : $0.name },
            summary: declaration.summary, declaration: command,
            run: { shell, words in
                switch try ArgumentParser.parse(words + adding(words), for: command) {
                case .run(let arguments):
                    if writes, shell.isReadOnly {
                        throw CommandError("\(name) would write, and the shell was started with --readonly")
                    }
                    let isQuiet = shell.console.isQuiet
                    defer { shell.console.isQuiet = isQuiet }
                    shell.console.isQuiet = isQuiet || arguments.has("quiet")
                    guard isPaged else { return try command.run(arguments.on(shell.file), shell.console) }
                    return try shell.console.paged { try command.run(arguments.on(shell.file), shell.console) } ?? .ok
                default: return try help(shell, [name])
                }
            })
    }

    private static func help(_ shell: Shell, _ words: [String]) throws -> ExitCode {
        if let word = words.first {
            let command = try named(word)
            let text = command.declaration.map(Help.command) ?? "\(command.usage): \(command.summary)\n"
            try shell.console.paged { try shell.console.write(text) }
            return .ok
        }
        try shell.console.paged {
            let width = all.map(\.usage.count).max() ?? 0
            for command in all {
                let usage = command.usage
                try shell.console.print(
                    usage + String(repeating: " ", count: width + 2 - usage.count) + command.summary)
            }
        }
        return .ok
    }
}

extension OperandDeclaration {
    fileprivate static let typeOrAll = OperandDeclaration(
        name: "TYPE", help: "an entity type; all without it", isOptional: true)
}
