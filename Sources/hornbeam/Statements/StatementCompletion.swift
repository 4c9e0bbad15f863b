// SPDX-License-Identifier: Apache-2.0
// The words that complete a statement while it is typed: keywords, functions, types, properties, relations. The shell
// offers them at Tab, the studio in its editor.

package import Hornbeam

package struct StatementCompletion {
    package struct Words: Equatable {
        /// Number of characters before the cursor that a completion takes the place of.
        package var replaced: Int
        /// Sorted.
        package var words: [String]

        static let none = Words(replaced: 0, words: [])
    }

    private let schema: [EntityDescription]
    /// Keywords before the name of a type.
    private static let beforeTypes: Set<String> = ["FROM", "JOIN", "INTO", "UPDATE"]

    package init(_ schema: [EntityDescription]) { self.schema = schema }

    /// Completions for the word at the end of a text.
    /// - Parameter after: the statement behind the cursor, which may say what an alias before it stands for.
    package func completions(of text: String, followedBy after: String = "") -> Words {
        let stem = Self.stem(text)
        let before = text.dropLast(stem.count)
        guard !Self.isWithinText(before) else { return .none }
        let whole = text + after
        if before.last == "." { return names(stem, behind: before.dropLast(), in: whole) }
        let word = before.split(whereSeparator: \.isWhitespace).last?.uppercased() ?? ""
        let types = Self.matches(stem, schema.map { Self.spelling($0.name) })
        if Self.beforeTypes.contains(word) { return Self.found(stem, types) }
        if stem.isEmpty { return .none }
        let isLower = stem == stem.lowercased()
        let keywords = QueryLanguage.keywords.map { isLower ? $0.lowercased() : $0 }
        let functions = QueryLanguage.functions.map { (isLower ? $0.lowercased() : $0) + "(" }
        return Self.found(
            stem,
            types + Self.matches(stem, properties(of: named(in: whole))) + Self.matches(stem, keywords)
                + Self.matches(stem, functions))
    }

    // MARK: Names

    /// A name as a statement has it: in backquotes if it would be a keyword otherwise, or isn't a word.
    package static func spelling(_ name: String) -> String {
        if isWord(name), !QueryLanguage.keywords.contains(name.uppercased()) { return name }
        return "`" + name.replacing("`", with: "``") + "`"
    }

    /// Whether the reader of statements takes a name for one word. Letters beyond ASCII aren't asked for: backquotes do
    /// no harm.
    private static func isWord(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isAlphabetic || ("0"..."9").contains($0) }
    }

    /// The names that can follow a point: those of the type that the name before it stands for, or else of all types.
    private func names(_ stem: String, behind path: Substring, in text: String) -> Words {
        let name = Self.stem(path)
        let type =
            self.type(name) ?? aliases(in: text)[name].flatMap { self.type($0) }
            ?? schema.lazy.flatMap(\.relations).first { $0.name == name }.flatMap { self.type($0.target) }
        return Self.found(stem, Self.matches(stem, properties(of: type.map { [$0] } ?? schema)))
    }

    private func type(_ name: String) -> EntityDescription? { schema.first { $0.name == name } }

    /// The types that a statement names, or all.
    private func named(in text: String) -> [EntityDescription] {
        let words = Set(text.split { !Self.continuesWord($0) })
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

    // MARK: Words

    private static func continuesWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    /// The word at the end of a text.
    private static func stem(_ text: some StringProtocol) -> String {
        String(text.reversed().prefix(while: continuesWord).reversed())
    }

    static func matches(_ stem: String, _ words: [String]) -> [String] {
        let stem = stem.lowercased()
        return words.filter { $0.lowercased().hasPrefix(stem) || $0.lowercased().hasPrefix("`" + stem) }
    }

    static func found(_ stem: String, _ words: [String]) -> Words {
        Words(replaced: stem.count, words: Array(Set(words)).sorted())
    }

    /// Whether a text at the end of this one has begun and not ended.
    private static func isWithinText(_ text: Substring) -> Bool {
        var splitter = StatementSplitter()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { _ = splitter.add(line.utf8) }
        return splitter.isQuoted
    }
}
