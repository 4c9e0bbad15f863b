// SPDX-License-Identifier: Apache-2.0
// Dot commands that change settings of the shell. Without a value they print the setting; `.output` goes back to
// standard output.

import Hornbeam

enum Settings {
    static func mode(_ shell: Shell, _ words: [String]) throws -> ExitCode {
        guard words.count <= 1 else { throw UsageError(".mode takes one mode", hint: "there are \(ResultMode.names)") }
        guard let word = words.first else {
            try shell.console.print("mode \(shell.form.mode.rawValue)")
            return .ok
        }
        shell.form.mode = try ResultMode.named(word)
        return .ok
    }

    static func output(_ shell: Shell, _ words: [String]) throws -> ExitCode {
        let replaces = words.contains("--force") || words.contains("-f")
        let files = words.filter { !["--force", "-f"].contains($0) }
        guard files.count <= 1 else {
            throw UsageError(".output takes one file", hint: "Usage: .output [FILE] [--force]")
        }
        try shell.redirect(to: files.first, replaces: replaces)
        return .ok
    }

    /// Turns a setting on or off, or prints it if no word is given.
    static func set(
        _ setting: ReferenceWritableKeyPath<Shell, Bool>, _ shell: Shell, _ words: [String]
    ) throws -> ExitCode {
        switch words {
        case []: try shell.console.print(shell[keyPath: setting] ? "on" : "off")
        case ["on"]: shell[keyPath: setting] = true
        case ["off"]: shell[keyPath: setting] = false
        default: throw UsageError("“\(words.joined(separator: " "))” is neither on nor off")
        }
        return .ok
    }

    static func params(_ shell: Shell, _ words: [String]) throws -> ExitCode {
        let usage = "Usage: .params, .params set NAME VALUE, .params clear [NAME]"
        switch (words.first, words.count) {
        case (nil, _), ("list", 1):
            var table = shell.console.table([TableColumn(title: "name"), TableColumn(title: "value")])
            for (name, value) in shell.parameters.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
                try table.add([Self.shown(name), value.json])
            }
            try table.finish()
        case ("set", 3): shell.parameters[try name(words[1])] = StatementParameters.value(words[2])
        case ("clear", 1): shell.parameters = [:]
        case ("clear", 2):
            let name = try name(words[1])
            guard shell.parameters.removeValue(forKey: name) != nil else {
                throw CommandError("\(shown(name)) has no value; .params lists those that have one")
            }
        default: throw UsageError("“.params \(words.joined(separator: " "))” isn't understood", hint: usage)
        }
        return .ok
    }

    private static func shown(_ name: String) -> String { (Int(name) == nil ? "$" : "?") + name }

    /// Sorts numbers by their value, before names.
    private static func order(_ name: String) -> (Int, String) { (Int(name) ?? .max, name) }

    /// Reads a parameter's name or number, with or without its sign: `$`, `:` or `?`.
    private static func name(_ word: String) throws(UsageError) -> String {
        let name = ["$", ":", "?"].contains(word.first) ? String(word.dropFirst()) : word
        if let number = Int(name), (1...1_000).contains(number) { return "\(number)" }
        let isName = !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        guard isName, Int(name) == nil else {
            throw UsageError(
                "“\(word)” is no name of a parameter",
                hint: "a statement has it as $name; the first ? has the number 1, the last there may be 1000")
        }
        return name
    }
}
