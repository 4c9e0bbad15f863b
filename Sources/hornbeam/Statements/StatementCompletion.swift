// SPDX-License-Identifier: Apache-2.0
// Completes a statement while it is typed, with keywords, functions, types, properties and relations. The shell offers
// these words at Tab, the studio in its editor.

package import Hornbeam

package struct StatementCompletion {
    package struct Words: Equatable {
        /// Number of characters before the cursor that a word replaces.
        package var replaced: Int
        /// Sorted.
        package var words: [String]

        static let none = Words(replaced: 0, words: [])
    }

    private let schema: [EntityDescription]
    /// Keywords that are followed by the name of a type.
    private static let beforeTypes: Set<String> = ["FROM", "JOIN", "INTO", "UPDATE"]

    package init(_ schema: [EntityDescription]) { self.schema = schema }

    /// Returns completions of the word at the end of a text.
    /// - Parameter after: the rest of the statement after the cursor. It may declare an alias that the text uses.
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

    /// Returns a name as a statement needs it: in backquotes if it is a keyword or isn't a word.
    package static func spelling(_ name: String) -> String {
        if isWord(name), !QueryLanguage.keywords.contains(name.uppercased()) { return name }
        return "`" + name.replacing("`", with: "``") + "`"
    }

    /// Whether a name is a word of a statement. Returns false for some words too, for example those with combining
    /// marks: needless backquotes do no harm.
    private static func isWord(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isAlphabetic || ("0"..."9").contains($0) }
    }

    /// Returns the names that can follow a dot: those of the type that the name before the dot refers to, or of all
    /// types if it refers to none.
    private func names(_ stem: String, behind path: Substring, in text: String) -> Words {
        let name = Self.stem(path)
        let type =
            self.type(name) ?? aliases(in: text)[name].flatMap { self.type($0) }
            ?? schema.lazy.flatMap(\.relations).first { $0.name == name }.flatMap { self.type($0.target) }
        return Self.found(stem, Self.matches(stem, properties(of: type.map { [$0] } ?? schema)))
    }

    private func type(_ name: String) -> EntityDescription? { schema.first { $0.name == name } }

    /// Returns the types that a statement names, or all types if it names none.
    private func named(in text: String) -> [EntityDescription] {
        let words = Set(text.split { !Self.continuesWord($0) })
        let found = schema.filter { words.contains($0.name[...]) }
        return found.isEmpty ? schema : found
    }

    /// Returns the names of types by their aliases after FROM and JOIN.
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

    /// Whether the end of this text is within quotes.
    private static func isWithinText(_ text: Substring) -> Bool {
        var splitter = StatementSplitter()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { _ = splitter.add(line.utf8) }
        return splitter.isQuoted
    }
}
