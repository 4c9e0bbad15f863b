// SPDX-License-Identifier: Apache-2.0
// The arguments that a subcommand accepts. Parsing, help and the hints of usage errors all use these declarations, so
// they can't disagree.

/// An option: `--name`, `-n`, with or without a value.
struct OptionDeclaration: Sendable {
    var name: String
    var short: Character?
    /// The value's name in help; nil for a flag.
    var placeholder: String?
    var help: String

    static func flag(_ name: String, _ short: Character? = nil, _ help: String) -> OptionDeclaration {
        OptionDeclaration(name: name, short: short, placeholder: nil, help: help)
    }

    static func value(
        _ name: String, _ short: Character? = nil, _ placeholder: String, _ help: String
    ) -> OptionDeclaration {
        OptionDeclaration(name: name, short: short, placeholder: placeholder, help: help)
    }
}

/// An argument that is identified by its position.
struct OperandDeclaration: Sendable {
    var name: String
    var help: String
    /// Whether it may be omitted. The number of operands on the command line tells whether it was.
    var isOptional = false

    static let store = OperandDeclaration(name: "FILE", help: "the store")
    static let type = OperandDeclaration(name: "TYPE", help: "an entity type of the store (hornbeam schema FILE)")
    static let data = OperandDeclaration(
        name: "DATA", help: "a file of JSON lines, or of CSV if its name ends so; - is standard input")
}

/// A subcommand. `path` selects it: `["tree", "scan"]`.
struct CommandDeclaration: Sendable {
    var path: [String]
    var summary: String
    var discussion = ""
    var operands: [OperandDeclaration] = []
    var options: [OptionDeclaration] = []
    /// Example command lines for a shell.
    var examples: [String] = []
    /// Options shared with other commands.
    var common: [OptionDeclaration] = Self.common
    /// Whether it opens a store itself. If not, the key isn't read here: it may come from a pipe, which can be read
    /// only once.
    var opensStore = true
    var run: @Sendable (Arguments, Console) throws -> ExitCode

    var name: String { path.joined(separator: " ") }
    /// The command as it is typed. Commands of the shell begin with a dot.
    var invocation: String { name.first == "." ? name : "hornbeam \(name)" }

    /// The declared options and the common ones.
    var allOptions: [OptionDeclaration] { options + common }

    /// Options of every command.
    static let common: [OptionDeclaration] = [
        .value("key-file", nil, "FILE", "an encrypted store's key: 32 bytes, or 64 hexadecimal digits"),
        .value("passphrase-file", nil, "FILE", "an encrypted store's passphrase: the file's first line"),
        .flag("quiet", "q", "no progress and no remarks on standard error"),
        .flag("help", "h", "print this help"),
    ]
}

/// The exit code of the process.
enum ExitCode: Int32 {
    case ok = 0
    /// A problem was found, or something failed.
    case failure = 1
    /// The command line can't be understood.
    case usage = 2
    /// A signal ended the work: 128 + SIGINT, as shells report it.
    case interrupted = 130
}
