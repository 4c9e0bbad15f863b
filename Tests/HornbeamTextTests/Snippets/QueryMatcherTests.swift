// SPDX-License-Identifier: Apache-2.0
// Matches in texts compared with the definitions of TextQuery, position by position; highlights and passages.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Queries on texts")
struct QueryMatcherTests {
    private func matches(_ query: TextQuery, _ texts: String...) -> Bool {
        let sections = texts.enumerated().map { TextSection(field: $0.offset, text: $0.element) }
        return QueryMatcher(query, .words).matches(sections)
    }

    @Test("Each form finds the expected positions")
    func forms() {
        #expect(matches(.words("b x"), "a b") && !matches(.words("x"), "a b") && !matches(.words(""), "a b"))
        #expect(matches(.all([.words("a"), .words("b")]), "a", "b") && !matches(.all([]), "a"))
        #expect(matches(.without(.everything, .words("x")), "a") && !matches(.without(.words("a"), .words("b")), "a b"))
        #expect(matches(.phrase("a b", slop: 0), "x a b") && !matches(.phrase("a b", slop: 0), "a x b", "b"))
        #expect(!matches(.phrase("a b", slop: 0), "a", "b"), "not from one section to the next")
        #expect(matches(.phrase("a b c", slop: 2), "a x b x c") && !matches(.phrase("a b c", slop: 1), "a x b x c"))
        #expect(matches(.phrase("a a", slop: 0), "a a") && !matches(.phrase("a a", slop: 0), "a b a"))
        #expect(matches(.near([.words("a"), .words("b")], within: 2), "b x a"))
        #expect(!matches(.near([.words("a"), .words("b")], within: 1), "b x a"))
        #expect(!matches(.near([.words("a"), .words("b")], within: 9), "b", "a"))
        let copy = TextQuery.near([.words("copy"), .words("Copy")], within: 5)
        #expect(!matches(copy, "copy") && matches(copy, "copy x copy") && !matches(copy, "copy", "copy"))
        #expect(!matches(.near([.words("a"), .words("a"), .words("a")], within: 2), "a a b"))
        #expect(matches(.near([.words("a b"), .words("b a")], within: 2), "a b"), "two of any of both")
        // From the end of the first part to the beginning of the last.
        let pages = TextQuery.near([.phrase("copy on write", slop: 0), .words("pages")], within: 1)
        #expect(matches(pages, "copy on write pages") && matches(pages, "pages copy on write"))
        #expect(!matches(pages, "copy on write x pages") && !matches(pages, "pages x copy on write"))
        #expect(matches(.near([.words("?"), .words("a")], within: 0), "a"), "what asks for nothing isn't beside it")
        #expect(matches(.prefix("a wo"), "a word") && !matches(.prefix("a wo"), "a b word"))
        #expect(matches(.wildcard("W?r*"), "word") && !matches(.wildcard("W?r"), "word"))
        #expect(matches(.fuzzy("wrod", distance: nil, prefixLength: 1), "word"))
        #expect(!matches(.fuzzy("wrod", distance: nil, prefixLength: 2), "word"))
        // As in the index: a long word matches only itself, and the number of edits is at most 8 and at most the
        // number of its scalars.
        let long = String(repeating: "a", count: 255)
        #expect(matches(.fuzzy(long, distance: 1, prefixLength: 0), long + "b"))
        #expect(!matches(.fuzzy(long + "a", distance: 1, prefixLength: 0), long + "b"))
        #expect(matches(.fuzzy(long + "a", distance: 1, prefixLength: 0), "x " + long + "a"))
        #expect(matches(.fuzzy("ab", distance: .max, prefixLength: 0), "abcdefghij"))
        #expect(!matches(.fuzzy("ab", distance: .max, prefixLength: 0), "abcdefghijk"))
        #expect(!matches(.fuzzy("ab", distance: .min, prefixLength: 0), "abc"))
        #expect(matches(.field([1], .words("b")), "a", "b") && !matches(.field([0], .words("b")), "a", "b"))
        #expect(!matches(.field([0], .field([1], .words("b"))), "b", "b"))
        #expect(matches(.field([0], .without(.words("a"), .words("b"))), "a", "b"))
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: nil))
        let tokyo = QueryMatcher(.phrase("東京", slop: 0), unicode)
        #expect(tokyo.matches([TextSection(field: 0, text: "これは東京都です")]))
        #expect(!tokyo.matches([TextSection(field: 0, text: "東の京")]))
    }

    @Test("Random queries agree with their definitions", arguments: SeededGenerator.seeds(3))
    func definitions(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var found = 0
        for _ in 0..<1_500 {
            let query = query(&random, depth: 0)
            let matcher = QueryMatcher(query, .words)
            for _ in 0..<4 {
                let sections = (0..<random.below(4)).map { number in
                    TextSection(field: min(number, 1), text: words(&random, upTo: 7))
                }
                let model = TextModel(sections)
                let isMatch = matcher.matches(sections)
                #expect(isMatch == model.holds(query, [0, 1]), "\(query) in \(sections.map(\.text))")
                found += isMatch ? 1 : 0
            }
        }
        #expect(found > 1_000 && found < 5_000)
    }

    private func words(_ random: inout SeededGenerator, upTo count: Int) -> String {
        (0..<random.below(count + 1)).map { _ in ["a", "b", "c", "ab", "abc", "bca"][random.below(6)] }
            .joined(separator: " ")
    }

    private func query(_ random: inout SeededGenerator, depth: Int) -> TextQuery {
        var parts: [TextQuery] { (0..<random.below(3) + 1).map { _ in query(&random, depth: depth + 1) } }
        switch random.below(depth < 3 ? 10 : 5) {
        case 0: return .words(words(&random, upTo: 2))
        case 1: return .phrase(words(&random, upTo: 3), slop: random.below(3))
        case 2: return .prefix(words(&random, upTo: 2))
        case 3: return .wildcard(["a*", "?b*", "*c", "ab", "?"][random.below(5)])
        case 4: return .fuzzy(words(&random, upTo: 1), distance: random.below(3), prefixLength: random.below(2))
        case 5: return .any(parts)
        case 6: return .all(parts)
        case 7: return .without(query(&random, depth: depth + 1), query(&random, depth: depth + 1))
        case 8:
            let parts = (0..<random.below(2) + 1).map { _ in TextQuery.words(words(&random, upTo: 2)) }
            return .near(parts + [.phrase(words(&random, upTo: 2), slop: 0)], within: random.below(4))
        default: return .field([random.below(2)], query(&random, depth: depth + 1))
        }
    }

    // MARK: Highlights

    private func marked(_ query: TextQuery, _ text: String, _ analyzer: Analyzer = .words, field: Int = 0) -> String {
        let ranges = QueryMatcher(query, analyzer).highlights(in: TextSection(field: field, text: text))
        return ranges.reversed().reduce(into: text) { text, range in
            text.replaceSubrange(range, with: "[\(text[range])]")
        }
    }

    @Test("highlights are the query's matches, in whole characters, merged where they meet")
    func highlights() {
        #expect(marked(.words("swift b"), "A Swift, b: swift!") == "A [Swift], [b]: [swift]!")
        #expect(marked(.phrase("a b", slop: 0), "a, b and a") == "[a, b] and a")
        #expect(marked(.phrase("a b", slop: 1), "a x b") == "[a] x [b]")
        #expect(marked(.near([.words("a"), .words("b")], within: 2), "b x a x x b") == "[b] x [a] x x b")
        #expect(marked(.without(.prefix("wo"), .words("x")), "x word work") == "x [word] [work]")
        #expect(marked(.any([.wildcard("w*d"), .phrase("word x", slop: 0)]), "a word x") == "a [word x]")
        #expect(marked(.fuzzy("wrod", distance: 1, prefixLength: 1), "word") == "[word]")
        #expect(
            marked(.field([1], .words("a")), "a") == "a" && marked(.field([1], .words("a")), "a", field: 1) == "[a]")
        #expect(marked(.everything, "a b") == "a b" && marked(.words("a"), "") == "")
        // The accent is part of the character, but not of the token.
        #expect(marked(.words("caf"), "cafe\u{301} caf\u{301}") == "cafe\u{301} [caf\u{301}]")
        #expect(marked(.words("e"), "e\u{301}e\u{301}") == "[e\u{301}e\u{301}]")
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: .english))
        #expect(marked(.words("run zurich"), "Running to Zu\u{308}rich", unicode) == "[Running] to [Zu\u{308}rich]")
        #expect(marked(.phrase("東京都", slop: 0), "これは東京都です", unicode) == "これは[東京都]です")
        let trigrams = Analyzer(.trigrams(keepsAccents: false))
        #expect(marked(.phrase("tabas", slop: 0), "A Database", trigrams) == "A Da[tabas]e")
    }

    // MARK: Passages

    private func passage(
        _ query: TextQuery, _ texts: [String], _ size: Int, _ analyzer: Analyzer = .words
    ) throws -> (Int, String)? {
        let sections = texts.enumerated().map { TextSection(field: $0.offset, text: $0.element) }
        let weights = ["rare": 9.0]
        let passage = QueryMatcher(query, analyzer).passage(of: sections, size: size) { term throws(Never) in
            weights[String(decoding: term, as: UTF8.self)] ?? 1
        }
        guard let passage else { return nil }
        var text = sections[passage.section].text
        #expect(passage.highlights.allSatisfy { passage.range.contains($0.lowerBound) })
        let range = passage.range
        var shown = String(text[range])
        for highlight in passage.highlights.reversed() {
            let start = text.distance(from: range.lowerBound, to: highlight.lowerBound)
            let count = text.distance(from: highlight.lowerBound, to: highlight.upperBound)
            let place = shown.index(shown.startIndex, offsetBy: start)
            shown.replaceSubrange(place..<shown.index(place, offsetBy: count), with: "[\(text[highlight])]")
        }
        text = ""
        return (passage.section, shown)
    }

    @Test("The best passage has the heaviest different words, in its middle")
    func passages() throws {
        let long = (1...50).map { "w\($0)" }.joined(separator: " ")
        let text = "a a a a a " + long + " a b rare " + long + " rare."
        #expect(try #require(try passage(.words("a b rare"), [text], 5)) == (0, "w50 [a] [b] [rare] w1"))
        #expect(try #require(try passage(.words("rare"), [text], 3)) == (0, "b [rare] w1"))
        #expect(try #require(try passage(.words("w50"), [text], 3)) == (0, "w49 [w50] a"))
        #expect(try #require(try passage(.words("b"), ["a b.", text], 9)) == (0, "a [b]."))
        #expect(try #require(try passage(.words("rare"), ["a b.", "x", text], 1)) == (2, "[rare]"))
        #expect(try #require(try passage(.words("none"), ["", "?", "x y z"], 2)) == (2, "x y"))
        #expect(try #require(try passage(.phrase("w49 w50", slop: 0), [text], 2)) == (0, "[w49 w50]"))
        #expect(try passage(.words("a"), ["", "!"], 2) == nil)
    }

    @Test("A match across an edge of the passage is marked up to the edge")
    func edges() throws {
        let trigrams = Analyzer(.trigrams(keepsAccents: false))
        let base = TextQuery.phrase("database", slop: 0)
        #expect(try #require(try passage(base, ["A database here"], 4, trigrams)) == (0, "[databa]"))
        #expect(try #require(try passage(base, ["The old database"], 2, trigrams)) == (0, "[data]"))
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: nil))
        let city = TextQuery.phrase("東京都知事選挙", slop: 0)
        let found = try #require(try passage(city, ["これは東京都知事選挙の日です"], 3, unicode))
        #expect(found.1.hasPrefix("[東京") && found.1.hasSuffix("]"), "\(found)")
    }

    @Test("A passage may have any length")
    func longest() throws {
        #expect(try #require(try passage(.words("b c"), ["a b c d"], .max)) == (0, "a [b] [c] d"))
        #expect(try #require(try passage(.words("none"), ["", "a b"], .max)) == (1, "a b"))
    }

    @Test("Matches that share their words are marked once each, and take no room", .timeLimit(.minutes(1)))
    func repeated() throws {
        let section = TextSection(field: 0, text: String(repeating: "a ", count: 20_000))
        let words = String(repeating: "a ", count: 300)
        for query in [
            TextQuery.phrase(words, slop: 0), .phrase(words + "a", slop: 5),
            .near(Array(repeating: .words("a"), count: 300), within: 400),
            .near(Array(repeating: .phrase("a a", slop: 0), count: 300), within: 400),
        ] {
            let matcher = QueryMatcher(query, .words)
            #expect(matcher.marks(matcher.occurrences([section])).count <= 20_000)
            let found = QueryMatcher(query, .words).highlights(in: section)
            #expect(found.map { section.text[$0].count }.reduce(0, +) >= 20_000, "\(found.count)")
            #expect(QueryMatcher(query, .words).matches([section]))
        }
        // Words of the phrase are marked one by one only if others are between them.
        let apart = TextSection(field: 0, text: "a b x c, a b c")
        let marked = QueryMatcher(.phrase("a b c", slop: 1), .words).highlights(in: apart).map { apart.text[$0] }
        #expect(marked == ["a", "b", "c", "a b c"])
    }

    @Test("A long text of a single character is examined as fast as another", .timeLimit(.minutes(2)))
    func oneCharacter() throws {
        // A consonant and a sign that joins it to the next one: the end of a token, but not of a character.
        let count = 100_000
        let text = String(repeating: "\u{915}\u{94D}", count: count)
        let section = TextSection(field: 0, text: text)
        let found = QueryMatcher(.words("\u{915}"), .words).highlights(in: section)
        #expect(found == [text.startIndex..<text.endIndex])
        #expect(try #require(try passage(.words("\u{915}"), [text], 3)) == (0, "[\(text)]"))
    }

    @Test("A text of megabytes is read only up to the limit, in bounded time")
    func bounded() throws {
        let filler = String(repeating: "word ", count: QueryMatcher.passageLimit / 5 + 1)
        #expect(try #require(try passage(.words("late"), [filler + "late"], 2)) == (0, "word word"))
        #expect(try #require(try passage(.words("early"), ["early " + filler], 2)) == (0, "[early] word"))
    }
}

/// Tokens by position, and every definition in its literal form.
private struct TextModel {
    var tokens: [(term: String, section: Int, field: Int)] = []

    init(_ sections: [TextSection]) {
        for (number, section) in sections.enumerated() {
            tokens += section.text.split(separator: " ").map { (String($0), number, section.field) }
        }
    }

    func holds(_ query: TextQuery, _ fields: Set<Int>) -> Bool {
        switch query {
        case .any(let parts): parts.contains { holds($0, fields) }
        case .all(let parts):
            parts.contains { !isVoid($0) }
                && parts.allSatisfy { isVoid($0) ? !excludes($0, fields) : holds($0, fields) }
        case .without(let wanted, let unwanted): holds(wanted, fields) && !holds(unwanted, fields)
        case .field(let names, let part): holds(part, fields.intersection(names))
        case .boost(_, let part): holds(part, fields)
        case .everything: true
        default: !starts(query, fields).isEmpty
        }
    }

    private func isVoid(_ query: TextQuery) -> Bool {
        switch query {
        case .words(let text), .phrase(let text, _), .prefix(let text), .fuzzy(let text, _, _): text.isEmpty
        case .any(let parts), .all(let parts), .near(let parts, _): !parts.isEmpty && parts.allSatisfy(isVoid)
        case .field(_, let part), .boost(_, let part), .without(let part, _): isVoid(part)
        case .wildcard, .everything: false
        }
    }

    /// Returns whether a query without terms excludes the text.
    private func excludes(_ query: TextQuery, _ fields: Set<Int>) -> Bool {
        switch query {
        case .any(let parts): !parts.isEmpty && parts.allSatisfy { excludes($0, fields) }
        case .all(let parts): parts.contains { excludes($0, fields) }
        case .without(let wanted, let unwanted): excludes(wanted, fields) || holds(unwanted, fields)
        case .field(let names, let part): excludes(part, fields.intersection(names))
        case .boost(_, let part): excludes(part, fields)
        default: false
        }
    }

    private func starts(_ query: TextQuery, _ fields: Set<Int>) -> [Int] {
        tokens.indices.filter { fields.contains(tokens[$0].field) && begins(query, $0, fields) }
    }

    private func begins(_ query: TextQuery, _ start: Int, _ fields: Set<Int>) -> Bool {
        switch query {
        case .words(let text): return text.split(separator: " ").contains { tokens[start].term == $0 }
        case .phrase(let text, let slop):
            return begins(text.split(separator: " ").map { word in { $0 == word } }, slop, start)
        case .prefix(let text):
            let words = text.split(separator: " ")
            let tests: [(String) -> Bool] = words.enumerated().map { number, word in
                { number == words.count - 1 ? $0.hasPrefix(word) : $0 == word }
            }
            return begins(tests, 0, start)
        case .wildcard(let pattern):
            let pattern = Array(pattern.lowercased().unicodeScalars)
            return Self.matches(pattern[...], Array(tokens[start].term.unicodeScalars)[...])
        case .fuzzy(let text, let distance, let letters):
            let term = Array(tokens[start].term.unicodeScalars)
            return text.split(separator: " ").contains { word in
                let word = Array(word.unicodeScalars)
                return Self.distance(word, term) <= distance ?? 0 && word.prefix(letters) == term.prefix(letters)
            }
        case .near(let parts, let distance):
            // Words and phrases without slop, with their numbers of occurrences.
            var counted: [(part: TextQuery, words: [Substring], count: Int)] = []
            for part in parts where !isVoid(part) {
                let words = words(part)
                if let place = counted.firstIndex(where: { $0.words == words }) {
                    counted[place].count += 1
                } else {
                    counted.append((part, words, 1))
                }
            }
            if counted.count == 1, counted[0].count == 1 { return starts(counted[0].part, fields).contains(start) }
            let places = counted.map {
                (list: starts($0.part, fields).filter { $0 >= start }, part: $0.part, count: $0.count)
            }
            guard places.contains(where: { $0.list.first == start }), places.allSatisfy({ $0.list.count >= $0.count })
            else { return false }
            let firsts = places.filter { $0.list.first == start }
            let firstEnd = start + (firsts.map { size($0.part) }.max() ?? 1) - 1
            return places.allSatisfy { list, part, count in
                let last = list[count - 1]
                return last - firstEnd <= distance
                    && tokens[last + size(part) - 1].section == tokens[start].section
            }
        default: return false
        }
    }

    /// Returns the words of a phrase in order, of other queries each word once.
    private func words(_ query: TextQuery) -> [Substring] {
        switch query {
        case .words(let text): Set(text.split(separator: " ")).sorted()
        case .phrase(let text, _) where text.contains(" "): ["phrase"] + text.split(separator: " ")
        case .phrase(let text, _): [text[...]]
        default: []
        }
    }

    private func size(_ query: TextQuery) -> Int {
        if case .phrase(let text, _) = query { text.split(separator: " ").count } else { 1 }
    }

    private func begins(_ tests: [(String) -> Bool], _ slop: Int, _ start: Int) -> Bool {
        guard let first = tests.first, first(tokens[start].term) else { return false }
        var last = start
        for test in tests.dropFirst() {
            guard let next = tokens.indices.first(where: { $0 > last && test(tokens[$0].term) }) else { return false }
            last = next
        }
        return tokens[last].section == tokens[start].section && last - start - (tests.count - 1) <= slop
    }

    private static func matches(_ pattern: ArraySlice<Unicode.Scalar>, _ term: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return term.isEmpty }
        if first == "*" {
            return matches(pattern.dropFirst(), term) || !term.isEmpty && matches(pattern, term.dropFirst())
        }
        guard let head = term.first, first == "?" || first == head else { return false }
        return matches(pattern.dropFirst(), term.dropFirst())
    }

    /// Fills the whole table of distances.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var table = Array(repeating: Array(repeating: 0, count: right.count + 1), count: left.count + 1)
        for row in 0...left.count {
            for column in 0...right.count {
                if row == 0 || column == 0 {
                    table[row][column] = row + column
                    continue
                }
                let change = left[row - 1] == right[column - 1] ? 0 : 1
                var cell = min(table[row - 1][column], table[row][column - 1]) + 1
                cell = min(cell, table[row - 1][column - 1] + change)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cell = min(cell, table[row - 2][column - 2] + 1)
                }
                table[row][column] = cell
            }
        }
        return table[left.count][right.count]
    }
}
