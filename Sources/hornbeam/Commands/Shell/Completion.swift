// SPDX-License-Identifier: Apache-2.0
// The words that Tab offers: keywords, functions, types, properties, relations, and for dot commands their names and
// arguments.

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
        let stem = String(text.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" }.reversed())
        let before = text.dropLast(stem.count)
        guard !Self.isWithinText(before) else { return LineEditor.Completions(replaced: 0, words: []) }
        if before.last == "." { return names(stem, behind: before.dropLast(), in: text) }
        // After FROM and JOIN types are what is wanted; elsewhere everything.
        let word = before.split(whereSeparator: \.isWhitespace).last?.uppercased()
        let types = matches(stem, schema.map { Self.spelling($0.name) })
        if word == "FROM" || word == "JOIN" { return found(stem, types) }
        if stem.isEmpty { return LineEditor.Completions(replaced: 0, words: []) }
        let isLower = stem == stem.lowercased()
        let keywords = QueryLanguage.keywords.map { isLower ? $0.lowercased() : $0 }
        let functions = QueryLanguage.functions.map { (isLower ? $0.lowercased() : $0) + "(" }
        return found(
            stem,
            types + matches(stem, properties(of: named(in: text))) + matches(stem, keywords)
                + matches(stem, functions))
    }

    // MARK: Dot commands

    private func command(_ line: Substring) -> LineEditor.Completions {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let stem = words.last ?? ""
        guard words.count > 1 else { return found(stem, matches(stem, DotCommands.all.map(\.name))) }
        let command = DotCommands.all.first { $0.name == words[0] }
        let place = words.dropFirst().dropLast().count { !$0.isEmpty && !$0.hasPrefix("-") }
        let operand = command.flatMap { $0.operands.indices.contains(place) ? $0.operands[place] : nil }
        switch operand?.filter({ !"[]".contains($0) }) {
        case "TYPE": return found(stem, matches(stem, schema.map(\.name)))
        case "MODE": return found(stem, matches(stem, ResultMode.allCases.map(\.rawValue)))
        case "on|off": return found(stem, matches(stem, ["off", "on"]))
        case "COMMAND": return found(stem, matches(stem, DotCommands.all.map(\.name)))
        case "FILE", "SCRIPT", "COPY", "DATA": return LineEditor.Completions(replaced: 0, words: [], isFile: true)
        default: return LineEditor.Completions(replaced: 0, words: [])
        }
    }

    // MARK: Names

    /// The names that can follow a point: those of the type that the name before it stands for, or else of all types.
    private func names(_ stem: String, behind path: Substring, in text: String) -> LineEditor.Completions {
        let name = String(path.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" }.reversed())
        let type =
            schema.first { $0.name == name } ?? aliases(in: text)[name].flatMap { self.type($0) }
            ?? schema.lazy.flatMap(\.relations).first { $0.name == name }.flatMap { self.type($0.target) }
        return found(stem, matches(stem, properties(of: type.map { [$0] } ?? schema)))
    }

    private func type(_ name: String) -> EntityDescription? { schema.first { $0.name == name } }

    /// The types that a statement names, or all.
    private func named(in text: String) -> [EntityDescription] {
        let words = Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
        let found = schema.filter { words.contains($0.name[...]) }
        return found.isEmpty ? schema : found
    }

    /// The types, by the names that a statement gives them behind FROM and JOIN.
    private func aliases(in text: String) -> [String: String] {
        var types: [String: String] = [:]
        for match in text.matches(of: /(?i)\b(?:FROM|JOIN)\s+(\w+)\s+(?:AS\s+)?(\w+)/) {
            types[String(match.2)] = String(match.1)
        }
        return types
    }

    private func properties(of types: [EntityDescription]) -> [String] {
        types.flatMap { type in
            (type.columns.filter { !$0.isHidden }.map(\.name) + type.relations.map(\.name)).map(Self.spelling)
        }
    }

    /// A name as a statement has it: in backquotes if it would be a keyword otherwise, or isn't a word.
    private static func spelling(_ name: String) -> String {
        let isWord =
            name.first.map { $0.isLetter || $0 == "_" } ?? false
            && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        if isWord, !QueryLanguage.keywords.contains(name.uppercased()) { return name }
        return "`" + name.replacing("`", with: "``") + "`"
    }

    private func matches(_ stem: String, _ words: [String]) -> [String] {
        let stem = stem.lowercased()
        return words.filter { $0.lowercased().hasPrefix(stem) || $0.lowercased().hasPrefix("`" + stem) }
    }

    private func found(_ stem: String, _ words: [String]) -> LineEditor.Completions {
        LineEditor.Completions(replaced: stem.count, words: Array(Set(words)).sorted())
    }

    /// Whether a text at the end of this one has begun and not ended.
    private static func isWithinText(_ text: Substring) -> Bool {
        var quote: Character?
        for character in text where "'\"`".contains(character) {
            if quote == nil { quote = character } else if quote == character { quote = nil }
        }
        return quote != nil
    }
}
