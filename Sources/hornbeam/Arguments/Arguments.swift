// SPDX-License-Identifier: Apache-2.0
// A parsed command line: operands and option values by name. Asking for an option that the command doesn't declare is a
// programmer's error and is caught in debug builds.

/// A command line that can't be understood: exit code 2.
struct UsageError: Error, Equatable {
    /// The fault.
    var message: String
    /// The remedy: the nearest name, or the form of the value.
    var hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

struct Arguments {
    let command: CommandDeclaration
    /// The operands as given; `operand` finds one by name.
    let operands: [String]
    /// The options' values by long name, in order. The values of a flag are empty.
    private let values: [String: [String]]

    init(command: CommandDeclaration, operands: [String], values: [String: [String]]) {
        self.command = command
        self.operands = operands
        self.values = values
    }

    /// The operand declared under this name, or nil if it is optional and was left out. If some were left out, the
    /// first optional operands are the ones that were given.
    func operand(_ name: String) -> String? {
        var spare = operands.count - command.operands.filter { !$0.isOptional }.count
        var next = 0
        for declaration in command.operands {
            if declaration.isOptional {
                if spare == 0 {
                    if declaration.name == name { return nil }
                    continue
                }
                spare -= 1
            }
            if declaration.name == name { return operands.indices.contains(next) ? operands[next] : nil }
            next += 1
        }
        assertionFailure("undeclared operand \(name)")
        return nil
    }

    /// The store's path: the first operand of every command.
    var file: String { operands.first ?? "" }
    /// The entity type's name, for commands that take one.
    var type: String { operand("TYPE") ?? "" }

    /// These arguments with the store's path before the operands, where commands expect it.
    func on(_ file: String) -> Arguments {
        var command = command
        command.operands.insert(.store, at: 0)
        return Arguments(command: command, operands: [file] + operands, values: values)
    }

    /// Whether the option was given.
    func has(_ name: String) -> Bool {
        assert(command.allOptions.contains { $0.name == name }, "undeclared option \(name)")
        return values[name] != nil
    }

    /// The option's value; the last one if it was given several times.
    func value(_ name: String) -> String? {
        assert(command.allOptions.contains { $0.name == name && $0.placeholder != nil }, "undeclared option \(name)")
        return values[name]?.last
    }

    /// The option's values, in order.
    func all(_ name: String) -> [String] {
        assert(command.allOptions.contains { $0.name == name && $0.placeholder != nil }, "undeclared option \(name)")
        return values[name] ?? []
    }

    /// The comma-separated names of all occurrences. Empty names are a usage error.
    func list(_ name: String) throws(UsageError) -> [String] {
        var names: [String] = []
        for value in values[name] ?? [] {
            for part in value.split(separator: ",", omittingEmptySubsequences: false) {
                let trimmed = part.trimmed
                guard !trimmed.isEmpty else {
                    throw UsageError("--\(name) has an empty name in “\(value)”", hint: "separate names by one comma")
                }
                names.append(String(trimmed))
            }
        }
        return names
    }

    /// The option's value as a number. Throws `UsageError` if it isn't a number within `bounds`. A number too large for
    /// `Int` counts as `Int.max`.
    func number(_ name: String, _ bounds: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(name) else { return nil }
        let isBeyondInt = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard let number = Int(text) ?? (isBeyondInt ? .max : nil), bounds.contains(number) else {
            let range =
                bounds.upperBound == .max
                ? "\(bounds.lowerBound) or more" : "\(bounds.lowerBound) to \(bounds.upperBound)"
            throw UsageError("--\(name) is “\(text)”", hint: "it must be a whole number, \(range)")
        }
        return number
    }

    /// Refuses two options that contradict each other.
    func forbid(_ first: String, with second: String) throws(UsageError) {
        if has(first), has(second) { throw UsageError("--\(first) and --\(second) can't be combined") }
    }
}

extension StringProtocol {
    /// The text without whitespace at its ends.
    var trimmed: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return self[startIndex..<startIndex] }
        return self[first...last]
    }
}
