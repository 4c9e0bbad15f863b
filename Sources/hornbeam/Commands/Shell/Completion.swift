// SPDX-License-Identifier: Apache-2.0
// The words that Tab offers: words of statements, and names and arguments of dot commands.

import Hornbeam

struct Completion {
    private let schema: [EntityDescription]

    init(_ schema: [EntityDescription]) { self.schema = schema }

    /// Completions for the word at the end of a text.
    func completions(of text: String) -> LineEditor.Completions {
        if let line = text.split(separator: "\n", omittingEmptySubsequences: false).last, !text.contains("\n"),
            line.drop(while: \.isWhitespace).first == "."
        {
            return command(line.drop(while: \.isWhitespace))
        }
        return Self.offer(StatementCompletion(schema).completions(of: text))
    }

    private static func offer(_ found: StatementCompletion.Words) -> LineEditor.Completions {
        LineEditor.Completions(replaced: found.replaced, words: found.words)
    }

    // MARK: Dot commands

    private func command(_ line: Substring) -> LineEditor.Completions {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let stem = words.last ?? ""
        func found(_ words: [String]) -> LineEditor.Completions {
            Self.offer(StatementCompletion.found(stem, StatementCompletion.matches(stem, words)))
        }
        guard words.count > 1 else { return found(DotCommands.all.map(\.name)) }
        let command = DotCommands.all.first { $0.name == words[0] }
        let place = words.dropFirst().dropLast().count { !$0.isEmpty && !$0.hasPrefix("-") }
        let operand = command.flatMap { $0.operands.indices.contains(place) ? $0.operands[place] : nil }
        switch operand?.filter({ !"[]".contains($0) }) {
        case "TYPE": return found(schema.map(\.name))
        case "MODE": return found(ResultMode.allCases.map(\.rawValue))
        case "on|off": return found(["off", "on"])
        case "COMMAND": return found(DotCommands.all.map(\.name))
        case "FILE", "SCRIPT", "COPY", "DATA": return LineEditor.Completions(replaced: 0, words: [], isFile: true)
        default: return LineEditor.Completions(replaced: 0, words: [])
        }
    }
}
