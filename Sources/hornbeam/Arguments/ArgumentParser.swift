// SPDX-License-Identifier: Apache-2.0
// Command lines in the manner of getopt_long: options anywhere, `--name value`, `--name=value`, `-n value`, `-nvalue`,
// bundled flags, unambiguous beginnings of long names, `--` before operands that begin with a dash. A lone `-` is an
// operand. Pure: reads no environment and prints nothing.

import Hornbeam

/// The result of parsing a command line.
enum Invocation {
    case run(Arguments)
    case help(CommandDeclaration)
    /// The overview of all commands, or of the group with these words.
    case overview([String])
    case version
}

enum ArgumentParser {
    /// Parses the words after the program's name.
    static func parse(_ words: [String], commands: [CommandDeclaration]) throws(UsageError) -> Invocation {
        guard let first = words.first else { return .overview([]) }
        switch first {
        case "--help", "-h": return .overview([])
        case "--version", "-V": return .version
        case "help":
            let path = Array(words.dropFirst())
            if path.isEmpty { return .overview([]) }
            if let command = commands.first(where: { $0.path == path }) { return .help(command) }
            return try groupOverview(path, commands)
        default: break
        }
        if first.hasPrefix("-") {
            throw UsageError(
                "\(first) before any command", hint: "the command comes first: hornbeam COMMAND [options] …")
        }
        guard let command = select(words, commands) else { return try groupOverview(words, commands) }
        return try parse(Array(words.dropFirst(command.path.count)), for: command)
    }

    /// The command with the longest path that the words begin with.
    private static func select(_ words: [String], _ commands: [CommandDeclaration]) -> CommandDeclaration? {
        commands.filter { words.starts(with: $0.path) }.max { $0.path.count < $1.path.count }
    }

    /// The overview of a group such as `tree`, if the words name one and nothing else.
    private static func groupOverview(
        _ words: [String], _ commands: [CommandDeclaration]
    ) throws(UsageError) -> Invocation {
        let group = commands.filter { $0.path.count > 1 && $0.path.first == words.first }
        guard let word = words.first, !group.isEmpty else {
            let names = Set(commands.compactMap(\.path.first))
            throw UsageError(
                "unknown command “\(words.first ?? "")”",
                hint: NearestName.hint(words.first ?? "", among: names.sorted()))
        }
        if words.count == 1 || words[1] == "--help" || words[1] == "-h" { return .overview([word]) }
        throw UsageError(
            "unknown command “\(word) \(words[1])”",
            hint: NearestName.hint("\(word) \(words[1])", among: group.map(\.name)))
    }

    /// Parses the words after the command's name.
    static func parse(_ words: [String], for command: CommandDeclaration) throws(UsageError) -> Invocation {
        var scan = OptionScan(words: words, command: command)
        try scan.run()
        if scan.values["help"] != nil { return .help(command) }
        let required = command.operands.filter { !$0.isOptional }.count
        if scan.operands.count < required {
            throw UsageError("\(command.operands[scan.operands.count].name) is missing", hint: Help.usage(command))
        }
        if scan.operands.count > command.operands.count {
            throw UsageError(
                "unexpected argument “\(scan.operands[command.operands.count])”", hint: Help.usage(command))
        }
        return .run(Arguments(command: command, operands: scan.operands, values: scan.values))
    }
}

/// One pass over the words of a command.
private struct OptionScan {
    let words: [String]
    let command: CommandDeclaration
    var next = 0
    var operands: [String] = []
    var values: [String: [String]] = [:]

    init(words: [String], command: CommandDeclaration) {
        self.words = words
        self.command = command
    }

    mutating func run() throws(UsageError) {
        while next < words.count {
            let word = words[next]
            next += 1
            if word == "--" {
                operands += words[next...]
                return
            } else if word.hasPrefix("--") {
                try long(word.dropFirst(2))
            } else if word.hasPrefix("-"), word != "-" {
                try short(word.dropFirst())
            } else {
                operands.append(word)
            }
        }
    }

    private mutating func long(_ text: Substring) throws(UsageError) {
        let equals = text.firstIndex(of: "=")
        let name = String(text[..<(equals ?? text.endIndex)])
        let option = try find(name)
        let attached = equals.map { String(text[text.index(after: $0)...]) }
        if option.placeholder == nil {
            if attached != nil { throw UsageError("--\(option.name) takes no value") }
            values[option.name, default: []].append("")
        } else {
            let value = if let attached { attached } else { try following("--\(option.name)", option) }
            values[option.name, default: []].append(value)
        }
    }

    private mutating func short(_ text: Substring) throws(UsageError) {
        var rest = text
        while let letter = rest.popFirst() {
            guard let option = command.allOptions.first(where: { $0.short == letter }) else {
                throw UsageError("unknown option -\(letter)", hint: "\(command.invocation) --help lists the options")
            }
            guard option.placeholder != nil else {
                values[option.name, default: []].append("")
                continue
            }
            let value = rest.isEmpty ? try following("-\(letter)", option) : String(rest)
            values[option.name, default: []].append(value)
            return
        }
    }

    /// The option called `name`, or the only one with this prefix.
    private func find(_ name: String) throws(UsageError) -> OptionDeclaration {
        let all = command.allOptions
        if let exact = all.first(where: { $0.name == name }) { return exact }
        let candidates = name.isEmpty ? [] : all.filter { $0.name.hasPrefix(name) }
        if candidates.count == 1 { return candidates[0] }
        if candidates.count > 1 {
            throw UsageError(
                "--\(name) is ambiguous",
                hint: "it could be " + candidates.map { "--\($0.name)" }.joined(separator: ", "))
        }
        let hint =
            NearestName.hint("--\(name)", among: all.map { "--\($0.name)" })
            ?? "\(command.invocation) --help lists the options"
        throw UsageError("unknown option --\(name)", hint: hint)
    }

    private mutating func following(_ shown: String, _ option: OptionDeclaration) throws(UsageError) -> String {
        guard next < words.count else { throw UsageError("\(shown) needs a value (\(option.placeholder ?? ""))") }
        defer { next += 1 }
        return words[next]
    }
}
