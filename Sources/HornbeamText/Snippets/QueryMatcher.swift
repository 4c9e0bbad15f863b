// SPDX-License-Identifier: Apache-2.0
// Matches a query against texts, and finds its positions, from the texts alone: for filters without an index, for
// highlights and snippets. The meaning is that of the index's evaluation, described at `TextQuery`. The texts are
// tokenized each time.

import HornbeamPages

/// A text of a document: a property, or an element of an array. Phrases don't cross from one to the next.
package struct TextSection: Sendable {
    /// The index of its property among those that are searched.
    package let field: Int
    package let text: String

    package init(field: Int, text: String) {
        self.field = field
        self.text = text
    }
}

/// The positions of a query's tokens in one document. Occurrences are numbered in ascending order in the document.
struct Occurrences {
    struct Item {
        /// Its number among the document's tokens.
        var position: Int
        var section: Int
        /// Byte range in the section's text.
        var bytes: Range<Int>
        /// Its index among the distinct words that the query found here.
        var word: Int
    }

    var items: [Item] = []
    /// The occurrences of each test, ascending.
    var byTest: [[Int]]
    /// The field of each section.
    var fields: [Int] = []
    /// The byte ranges of the tokens of each section, if they were asked for.
    var tokens: [[Range<Int>]] = []
    /// The distinct words that were found.
    var words: [[UInt8]] = []
}

/// A query prepared for many documents. Used by one thread at a time.
package final class QueryMatcher {
    private let terms: QueryTerms
    private var tokenizer: Tokenizer
    private var wordNumbers: [[UInt8]: Int] = [:]

    /// - Parameter hasPositions: whether the index over the texts has positions. The query is resolved accordingly.
    package init(_ query: TextQuery, _ analyzer: Analyzer, hasPositions: Bool = true) {
        terms = QueryTerms(query.resolved(analyzer, hasPositions: hasPositions), analyzer)
        tokenizer = Tokenizer(analyzer)
    }

    /// Matches the documents that a search of the index finds.
    package convenience init(_ query: TextQuery, of index: TextIndex) {
        self.init(query, index.analyzer, hasPositions: index.storesPositions)
    }

    /// Whether the query has no word, so that it finds nothing.
    package var isEmpty: Bool { if case .terms(let tests) = terms.root { tests.isEmpty } else { false } }

    /// Whether the query finds the document.
    package func matches(_ sections: [TextSection]) -> Bool {
        // A query for any of some terms needs no positions, so no occurrences are collected.
        if case .terms = terms.root { return sections.contains { hasTerm($0.text) } }
        return holds(terms.root, nil, occurrences(sections))
    }

    private func hasTerm(_ text: String) -> Bool {
        var isFound = false
        tokenizer.forEachToken(in: text) { token in
            if !isFound { terms.forEachTest(of: token) { _ in isFound = true } }
        }
        return isFound
    }

    // MARK: Reading

    func occurrences(_ sections: [TextSection], keepingTokens: Bool = false) -> Occurrences {
        var found = Occurrences(byTest: Array(repeating: [], count: terms.tests.count))
        wordNumbers.removeAll(keepingCapacity: true)
        var position = 0
        for (number, section) in sections.enumerated() {
            found.fields.append(section.field)
            var tokens: [Range<Int>] = []
            var text = section.text
            text.withUTF8 { utf8 in
                tokenizer.forEachSourceToken(in: Bytes(utf8)) { token, bytes in
                    add(token, Occurrences.Item(position: position, section: number, bytes: bytes, word: 0), &found)
                    position += 1
                    if keepingTokens { tokens.append(bytes) }
                }
            }
            if keepingTokens { found.tokens.append(tokens) }
        }
        return found
    }

    private func add(_ token: Bytes, _ item: Occurrences.Item, _ found: inout Occurrences) {
        var isNew = true
        terms.forEachTest(of: token) { test in
            if isNew {
                isNew = false
                var item = item
                item.word = word([UInt8](token), &found)
                found.items.append(item)
            }
            found.byTest[test].append(found.items.count - 1)
        }
    }

    private func word(_ token: [UInt8], _ found: inout Occurrences) -> Int {
        if let known = wordNumbers[token] { return known }
        wordNumbers[token] = found.words.count
        found.words.append(token)
        return found.words.count - 1
    }

    // MARK: Matching

    /// - Parameter fields: the fields that count; nil means all.
    private func holds(_ node: MatchNode, _ fields: Set<Int>?, _ found: Occurrences) -> Bool {
        switch node {
        case .terms(let tests): tests.contains { found.byTest[$0].contains { isIn(fields, $0, found) } }
        case .phrase(let tests, let slop):
            holds { match in forEachPhrase(tests, slop, fields, found) { _ in match() } }
        case .near(let parts, let distance):
            holds { match in forEachNeighbours(parts, distance, fields, found) { _ in match() } }
        case .any(let parts): parts.contains { holds($0, fields, found) }
        case .all(let parts): !parts.isEmpty && parts.allSatisfy { holds($0, fields, found) }
        case .without(let wanted, let unwanted): holds(wanted, fields, found) && !holds(unwanted, fields, found)
        case .field(let names, let part): holds(part, fields?.intersection(names) ?? names, found)
        case .everything: true
        }
    }

    /// Whether there is a match. The first match ends the walk.
    private func holds(_ walk: (_ match: () -> Bool) -> Void) -> Bool {
        var isFound = false
        walk {
            isFound = true
            return false
        }
        return isFound
    }

    /// A match of a part: its first and its last occurrence.
    struct Place {
        var first: Int
        var last: Int
        /// The occurrences in between that belong to it. Nil if all of them do.
        var inner: [Int]?
    }

    /// Returns the matches of a word or a phrase, or of any of several, ordered by their beginnings, one for each
    /// beginning.
    private func places(_ node: MatchNode, _ fields: Set<Int>?, _ found: Occurrences) -> [Place] {
        switch node {
        case .terms(let tests):
            let all = tests.count == 1 ? found.byTest[tests[0]] : Set(tests.flatMap { found.byTest[$0] }).sorted()
            return all.filter { isIn(fields, $0, found) }.map { Place(first: $0, last: $0) }
        case .phrase(let tests, let slop):
            var places: [Place] = []
            forEachPhrase(tests, slop, fields, found) {
                places.append($0)
                return true
            }
            return places
        case .any(let parts):
            return Self.merged(parts.map { places($0, fields, found) })
        case .near, .all, .without, .field, .everything: return []
        }
    }

    private func isIn(_ fields: Set<Int>?, _ occurrence: Int, _ found: Occurrences) -> Bool {
        fields?.contains(found.fields[found.items[occurrence].section]) ?? true
    }

    /// Calls `body` with each phrase match until it returns false. Begins at each occurrence of the first token and
    /// takes the next occurrence of the second token, then the next of the third, and so on.
    private func forEachPhrase(
        _ tests: [Int], _ slop: Int, _ fields: Set<Int>?, _ found: Occurrences, _ body: (Place) -> Bool
    ) {
        // All cursors only move forward.
        var cursors = Array(repeating: 0, count: tests.count)
        for first in found.byTest[tests[0]] where isIn(fields, first, found) {
            var last = first
            for part in 1..<tests.count {
                let list = found.byTest[tests[part]]
                while cursors[part] < list.count, list[cursors[part]] <= last { cursors[part] += 1 }
                guard cursors[part] < list.count else { return }
                last = list[cursors[part]]
            }
            let (start, end) = (found.items[first], found.items[last])
            let between = end.position - start.position - (tests.count - 1)
            guard start.section == end.section, between <= slop else { continue }
            var place = Place(first: first, last: last)
            if between > 0 { place.inner = (1..<tests.count - 1).map { found.byTest[tests[$0]][cursors[$0]] } }
            guard body(place) else { return }
        }
    }

    /// Calls `body` with the matches of each part, until it returns false. Begins at each match of any part and takes
    /// the next matches of all others. The last of them must begin near enough to the end of the first (of the longest
    /// that begins there).
    private func forEachNeighbours(
        _ nodes: [(node: MatchNode, count: Int)], _ distance: Int, _ fields: Set<Int>?, _ found: Occurrences,
        _ body: ([ArraySlice<Place>]) -> Bool
    ) {
        let parts = nodes.map { places($0.node, fields, found) }
        guard !parts.isEmpty else { return }
        var cursors = Array(repeating: 0, count: parts.count)
        for start in Set(parts.joined().map(\.first)).sorted() {
            var members: [ArraySlice<Place>] = []
            var (firstEnd, lastStart, end) = (start, start, start)
            for (number, part) in parts.enumerated() {
                while cursors[number] < part.count, part[cursors[number]].first < start { cursors[number] += 1 }
                guard part.count - cursors[number] >= nodes[number].count else { return }
                let chosen = part[cursors[number]..<cursors[number] + nodes[number].count]
                members.append(chosen)
                if let first = chosen.first, first.first == start { firstEnd = max(firstEnd, first.last) }
                lastStart = max(lastStart, chosen.last?.first ?? start)
                for place in chosen { end = max(end, place.last) }
            }
            // Occurrences ascend in the document.
            let isNear = found.items[lastStart].position - found.items[firstEnd].position <= distance
            guard isNear, found.items[start].section == found.items[end].section else { continue }
            guard body(members) else { return }
        }
    }

    /// Keeps the shortest of the matches that begin together.
    private static func merged(_ lists: [[Place]]) -> [Place] {
        var known: Set<Int> = []
        return lists.joined().sorted { ($0.first, $0.last) < ($1.first, $1.last) }
            .filter { known.insert($0.first).inserted }
    }

    // MARK: Marking

    /// Returns the runs of occurrences that a reader would want to see marked: all matches of the query's parts, except
    /// of excluded ones. Runs are given by the first and the last occurrence, and may overlap.
    func marks(_ found: Occurrences) -> [ClosedRange<Int>] {
        var marks = Marks(count: found.items.count)
        mark(terms.root, nil, found, &marks)
        return marks.ranges
    }

    /// Runs of occurrences. Many matches may share runs: of those that begin together, only longer ones are added.
    private struct Marks {
        /// By first occurrence: the last occurrence of the longest run.
        private var ends: [Int]
        private(set) var ranges: [ClosedRange<Int>] = []

        init(count: Int) { ends = Array(repeating: -1, count: count) }

        mutating func add(_ place: Place) {
            guard let inner = place.inner else { return add(place.first...place.last) }
            add(place.first...place.first)
            for one in inner { add(one...one) }
            add(place.last...place.last)
        }

        private mutating func add(_ range: ClosedRange<Int>) {
            guard range.upperBound > ends[range.lowerBound] else { return }
            ends[range.lowerBound] = range.upperBound
            ranges.append(range)
        }
    }

    private func mark(_ node: MatchNode, _ fields: Set<Int>?, _ found: Occurrences, _ marks: inout Marks) {
        switch node {
        case .terms: for place in places(node, fields, found) { marks.add(place) }
        case .phrase(let tests, let slop):
            forEachPhrase(tests, slop, fields, found) {
                marks.add($0)
                return true
            }
        case .near(let parts, let distance):
            forEachNeighbours(parts, distance, fields, found) { members in
                for place in members.joined() { marks.add(place) }
                return true
            }
        case .any(let parts), .all(let parts):
            for part in parts { mark(part, fields, found, &marks) }
        case .without(let wanted, _): mark(wanted, fields, found, &marks)
        case .field(let names, let part): mark(part, fields?.intersection(names) ?? names, found, &marks)
        case .everything: break
        }
    }
}
