// SPDX-License-Identifier: Apache-2.0
// Functions of texts. Lengths and positions count characters as people see them, from 0 as in SQL++.

import HornbeamKeys

enum StringFunctions {
    static let all: [ScalarFunction] = [
        text("lower") { .string($0.lowercased()) },
        text("upper") { .string($0.uppercased()) },
        text("fold") { .string(CaseFolding.folded($0)) },
        text("unaccent") { .string(Accents.removed(from: $0)) },
        text("length") { .int($0.count) },
        text("reverse") { .string(String($0.reversed())) },
        trim("trim", atStart: true, atEnd: true),
        trim("ltrim", atStart: true, atEnd: false),
        trim("rtrim", atStart: false, atEnd: true),
        substring("substr"),
        substring("substring"),
        texts("contains", 2) { $1.isEmpty || $0.contains($1) ? .bool(true) : .bool(false) },
        texts("starts_with", 2) { .bool($0.hasPrefix($1)) },
        texts("ends_with", 2) { .bool($0.hasSuffix($1)) },
        texts("position", 2) { text, part in .int(place(of: part, in: text) ?? -1) },
        ScalarFunction("replace", 3...3) { arguments, _ in
            guard let text = arguments[0].text, let old = arguments[1].text, let new = arguments[2].text else {
                return .null
            }
            if old.isEmpty { return .string(text) }
            return .string(text.replacing(old, with: new, maxReplacements: room(in: text, new)))
        },
        ScalarFunction("concat", 1...100) { arguments, _ in
            let texts = arguments.compactMap(\.text)
            try StatementValue.requireSize(texts.reduce(0) { $0 + $1.utf8.count })
            return texts.count == arguments.count ? .string(texts.joined()) : .null
        },
        ScalarFunction("split", 1...2) { arguments, _ in
            guard let text = arguments[0].text else { return .null }
            let most = StatementValue.maxSize / MemoryLayout<StatementValue>.stride
            if arguments.count == 1 {
                return .array(
                    text.split(maxSplits: most, whereSeparator: \.isWhitespace).map { .string(String($0)) })
            }
            guard let separator = arguments[1].text, !separator.isEmpty else { return .null }
            return .array(
                text.split(separator: separator, maxSplits: most, omittingEmptySubsequences: false)
                    .map { .string(String($0)) })
        },
        pattern("regexp_contains") { .bool(try $1.firstMatch(in: $0) != nil) },
        pattern("regexp_like") { .bool(try $1.wholeMatch(in: $0) != nil) },
        pattern("regexp_position") { text, pattern in
            let match = try pattern.firstMatch(in: text)
            return .int(match.map { text.distance(from: text.startIndex, to: $0.range.lowerBound) } ?? -1)
        },
        ScalarFunction("regexp_replace", 3...3) { arguments, patterns in
            guard let text = arguments[0].text, let pattern = arguments[1].text, let new = arguments[2].text else {
                return .null
            }
            let expression = try patterns.expression(pattern)
            var count = 0
            let most = min(room(in: text, new), maxMatches + 1)
            let replaced = text.replacing(expression, maxReplacements: most) { _ in
                count += 1
                return new
            }
            guard count <= maxMatches else {
                throw HornbeamError(.tooLarge, "regexp_replace finds more than \(maxMatches) parts to replace")
            }
            return .string(replaced)
        },
    ]

    /// Maximum number of matches of a regular expression in a text: data of each match is kept until all are found.
    private static let maxMatches = 50_000

    /// Number of replacements with which a text exceeds the maximum size. A replacement text isn't longer than that
    /// itself.
    private static func room(in text: String, _ new: String) -> Int {
        (StatementValue.maxSize + text.utf8.count) / max(1, new.utf8.count) + 1
    }

    private static func text(_ name: String, _ body: @escaping @Sendable (String) -> StatementValue) -> ScalarFunction {
        ScalarFunction(name, 1...1) { arguments, _ in arguments[0].text.map(body) ?? .null }
    }

    private static func texts(
        _ name: String, _ count: Int, _ body: @escaping @Sendable (String, String) -> StatementValue
    ) -> ScalarFunction {
        ScalarFunction(name, count...count) { arguments, _ in
            guard let first = arguments[0].text, let second = arguments[1].text else { return .null }
            return body(first, second)
        }
    }

    private static func pattern(
        _ name: String, _ body: @escaping @Sendable (String, Regex<AnyRegexOutput>) throws -> StatementValue
    ) -> ScalarFunction {
        ScalarFunction(name, 2...2) { arguments, patterns in
            guard let text = arguments[0].text, let pattern = arguments[1].text else { return .null }
            return try body(text, try patterns.expression(pattern))
        }
    }

    /// A function that removes white space, or the characters of the second argument.
    private static func trim(_ name: String, atStart: Bool, atEnd: Bool) -> ScalarFunction {
        ScalarFunction(name, 1...2) { arguments, _ in
            guard let text = arguments[0].text else { return .null }
            let taken = arguments.count == 2 ? arguments[1].text.map { Set($0) } : nil
            if arguments.count == 2, taken == nil { return .null }
            func isTaken(_ character: Character) -> Bool { taken?.contains(character) ?? character.isWhitespace }
            var rest = text[...]
            if atStart { rest = rest.drop(while: isTaken) }
            if atEnd { while let last = rest.last, isTaken(last) { rest.removeLast() } }
            return .string(String(rest))
        }
    }

    /// The text from a position on, with a maximum length if given; positions below 0 count from the end.
    private static func substring(_ name: String) -> ScalarFunction {
        ScalarFunction(name, 2...3) { arguments, _ in
            guard let text = arguments[0].text, let place = arguments[1].integer else { return .null }
            let characters = Array(text)
            let start = place < 0 ? Int128(characters.count) + place : place
            guard start >= 0, start <= characters.count else { return .null }
            var end = Int128(characters.count)
            if arguments.count == 3 {
                guard let length = arguments[2].integer, length >= 0 else { return .null }
                end = min(end, start + length)
            }
            return .string(String(characters[Int(start)..<Int(end)]))
        }
    }

    private static func place(of part: String, in text: String) -> Int? {
        if part.isEmpty { return 0 }
        return text.firstRange(of: part).map { text.distance(from: text.startIndex, to: $0.lowerBound) }
    }
}
