// SPDX-License-Identifier: Apache-2.0
// The arguments of a command: options with values, flags, and words.

/// Options of the form `--name value`, `--name=value` or `--name`, and words without a name.
package struct Arguments {
    package private(set) var words: [String] = []
    private var options: [String: String] = [:]

    /// `flags` take no value. Throws for options in neither list.
    package init(_ arguments: [String], options known: Set<String>, flags: Set<String> = []) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                words.append(argument)
                continue
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if flags.contains(name) {
                options[name] = ""
            } else if known.contains(name) {
                guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
                    throw BenchError("--\(name) needs a value")
                }
                options[name] = value
            } else {
                throw BenchError("there is no option --\(name): see hornbeam-bench help")
            }
        }
    }

    package func has(_ flag: String) -> Bool { options[flag] != nil }

    package func text(_ name: String) -> String? { options[name] }

    /// Returns an option's number. Refuses numbers below `least`.
    package func number(_ name: String, _ standard: Int, least: Int = 0) throws -> Int {
        guard let text = options[name] else { return standard }
        guard let number = Int(text), number >= least else {
            throw BenchError("--\(name) needs a number of \(least) or more, not \(text)")
        }
        return number
    }

    /// Returns the parts of an option's value between commas.
    package func list(_ name: String) -> [String] {
        options[name]?.split(separator: ",").map(String.init) ?? []
    }
}

/// A failure, described for the caller.
package struct BenchError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
