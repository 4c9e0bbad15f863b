// SPDX-License-Identifier: Apache-2.0
// The model of queries: the matches and scores of each form, computed from the documents alone and in the simplest
// way.

import Foundation
import HornbeamPages

@testable import HornbeamText

/// Answers queries by reading every document.
struct NaiveQuery {
    let documents: [TestDocument]
    var weights: [Double]?
    /// The analyzer. Each word of a query must be one token to it.
    private let analyzer: Analyzer
    /// The number of tokens of all documents, by field.
    private let totals: [Int]

    init(_ documents: [TestDocument], weights: [Double]? = nil, analyzer: Analyzer = TestAnalyzer.current) {
        self.documents = documents
        self.weights = weights
        self.analyzer = analyzer
        totals = (0..<(documents.map(\.fields.count).max() ?? 0)).map { field in
            documents.reduce(0) { $0 + ($1.fields.count > field ? $1.fields[field].joined().count : 0) }
        }
    }

    /// Returns all matches with their scores: best first, then by row.
    func search(_ query: TextQuery) -> [TextHit] {
        var hits: [TextHit] = []
        let leaves = leaves(query)
        for document in documents {
            guard matches(query, document, nil) else { continue }
            var place = 0
            var score = 0.0
            add(query, document, Scope(), leaves, &place, true, &score)
            hits.append(TextHit(row: document.row, score: score))
        }
        return hits.sorted { $0.score != $1.score ? $0.score > $1.score : $0.row < $1.row }
    }

    private struct Scope {
        var boost = 1.0
        var fields: Set<Int>?
    }

    /// A scoring part: its positions in a document, and its weight without boosts.
    private struct Scoring {
        var spans: (TestDocument) -> [(start: Int, end: Int)]
        var weight: Double
    }

    private func tokens(_ text: String) -> [String] {
        if analyzer == .words { return NaiveIndex.tokens(of: text) }
        return analyzer.queryTokens(of: text).map { String(decoding: $0.term, as: UTF8.self) }
    }

    private func phraseTokens(_ text: String) -> [String] {
        if analyzer == .words { return NaiveIndex.tokens(of: text) }
        return analyzer.phraseTokens(of: text).map { String(decoding: $0, as: UTF8.self) }
    }

    private func idf(_ holds: (TestDocument) -> Bool) -> Double {
        let frequency = Double(documents.count { holds($0) })
        return log(1 + (Double(documents.count) - frequency + 0.5) / (frequency + 0.5))
    }

    private func idf(_ token: String) -> Double { idf { $0.tokens.contains { $0.token == token } } }

    /// Returns the scoring parts of the query in order, grouped by form.
    private func leaves(_ query: TextQuery) -> [[Scoring]] {
        switch query {
        case .words(let text):
            return [tokens(text).map { token in Scoring(spans: { word(token, $0) }, weight: idf(token)) }]
        case .any(let parts), .all(let parts): return parts.flatMap { leaves($0) }
        case .without(let first, _): return leaves(first)
        case .field(_, let query), .boost(_, let query): return leaves(query)
        case .everything: return []
        case .fuzzy(let text, let distance, let prefix):
            let scorings = tokens(text).flatMap { token in
                let found = fuzzy(token, distance, prefix)
                let terms = Set(found.map(\.term))
                let common = idf { $0.tokens.contains { terms.contains($0.token) } }
                return found.map { expansion in
                    Scoring(spans: { word(expansion.term, $0) }, weight: common / Double(1 + expansion.distance))
                }
            }
            return [scorings]
        case .phrase, .near, .prefix, .wildcard:
            var known: Set<String> = []
            var weight = 0.0
            for (name, part) in weights(query) where known.insert(name).inserted { weight += part }
            return [[Scoring(spans: { spans(query, $0) }, weight: weight)]]
        }
    }

    /// Returns the words of a phrase with their weights, in order.
    private func weights(_ query: TextQuery) -> [(String, Double)] {
        switch query {
        case .words(let text): tokens(text).filter(exists).map { ($0, idf($0)) }
        // A phrase with a word that no document has never occurs and weighs nothing.
        case .phrase(let text, _): phraseTokens(text).allSatisfy(exists) ? phraseTokens(text).map { ($0, idf($0)) } : []
        case .near(let parts, _): counted(parts).flatMap { weights($0.part) }
        case .any(let parts): parts.flatMap { weights($0) }
        case .prefix(let text):
            phraseTokens(text).dropLast().map { ($0, idf($0)) }
                + [("\(query)", idf { document in !self.prefixed(self.phraseTokens(text).last, document).isEmpty })]
        case .wildcard: [("\(query)", idf { !self.spans(query, $0).isEmpty })]
        case .fuzzy(let text, let distance, let prefix):
            tokens(text).compactMap { token in
                let terms = Set(fuzzy(token, distance, prefix).map(\.term))
                return terms.isEmpty ? nil : (token, idf { $0.tokens.contains { terms.contains($0.token) } })
            }
        case .boost(_, let query): weights(query)
        default: []
        }
    }

    private func exists(_ token: String) -> Bool { documents.contains { $0.tokens.contains { $0.token == token } } }

    /// Returns the positions of a word.
    private func word(_ token: String, _ document: TestDocument) -> [(start: Int, end: Int)] {
        document.tokens.enumerated().filter { $0.element.token == token }.map { ($0.offset, $0.offset) }
    }

    /// Returns the positions of a phrase or a similar form.
    private func spans(_ query: TextQuery, _ document: TestDocument) -> [(start: Int, end: Int)] {
        switch query {
        case .words(let text): return union(tokens(text).map { word($0, document) })
        case .any(let parts): return union(parts.map { spans($0, document) })
        case .boost(_, let query): return spans(query, document)
        case .phrase(let text, let slop):
            return phrase(phraseTokens(text).map { word($0, document).map(\.start) }, slop, document)
        case .prefix(let text):
            let tokens = phraseTokens(text)
            guard !tokens.isEmpty else { return [] }
            let before = tokens.dropLast().map { word($0, document).map(\.start) }
            return phrase(before + [prefixed(tokens.last, document)], 0, document)
        case .wildcard(let pattern):
            var folded = pattern.lowercased()
            if analyzer != .words { folded = folded.folding(options: .diacriticInsensitive, locale: nil) }
            let (pattern, words) = (Array(folded), document.tokens.map { Array($0.token) })
            return words.indices.filter { Self.wildcard(pattern, words[$0]) }.map { ($0, $0) }
        case .fuzzy(let text, let distance, let prefix):
            let terms = tokens(text).flatMap { fuzzy($0, distance, prefix) }
            return union(terms.map { word($0.term, document) })
        case .near(let parts, let distance):
            let parts = counted(parts).map { (spans: spans($0.part, document), count: $0.count) }
            if parts.count == 1, parts[0].count == 1 { return parts[0].spans }
            return Set(parts.flatMap { $0.spans.map(\.start) }).sorted().compactMap { start in
                let chosen = parts.flatMap { part in part.spans.filter { $0.start >= start }.prefix(part.count) }
                guard chosen.count == parts.reduce(0, { $0 + $1.count }),
                    let firstEnd = chosen.filter({ $0.start == start }).map(\.end).max(),
                    let last = chosen.map(\.start).max(), last - firstEnd <= distance,
                    let end = chosen.map(\.end).max(), document.tokens[start].section == document.tokens[end].section
                else { return nil }
                return (start, end)
            }
        default: return []
        }
    }

    private func prefixed(_ head: String?, _ document: TestDocument) -> [Int] {
        guard let head else { return [] }
        return document.tokens.indices.filter { document.tokens[$0].token.utf8.starts(with: head.utf8) }
    }

    /// Returns the parts of `near` with terms, each once, with its number of occurrences.
    private func counted(_ parts: [TextQuery]) -> [(part: TextQuery, count: Int)] {
        var counts: [(part: TextQuery, key: String, count: Int)] = []
        for part in parts where !isVoid(part) {
            let key = key(part)
            if let place = counts.firstIndex(where: { $0.key == key }) {
                counts[place].count += 1
            } else {
                counts.append((part, key, 1))
            }
        }
        return counts.map { ($0.part, $0.count) }
    }

    private func key(_ query: TextQuery) -> String {
        switch query {
        case .words(let text): "\(Set(tokens(text)).sorted())"
        case .phrase(let text, let slop):
            phraseTokens(text).count == 1 ? "\(phraseTokens(text))" : "phrase \(phraseTokens(text)) \(slop)"
        case .prefix(let text): "prefix \(phraseTokens(text))"
        case .fuzzy(let text, let distance, let prefix):
            "fuzzy \(Set(tokens(text)).sorted()) \(distance ?? -1) \(prefix)"
        case .any(let parts): "any \(parts.map { key($0) })"
        case .boost(_, let part): key(part)
        default: "\(query)"
        }
    }

    private func union(_ parts: [[(start: Int, end: Int)]]) -> [(start: Int, end: Int)] {
        var least: [Int: Int] = [:]
        for span in parts.joined() { least[span.start] = min(least[span.start] ?? .max, span.end) }
        return least.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func phrase(_ places: [[Int]], _ slop: Int, _ document: TestDocument) -> [(start: Int, end: Int)] {
        guard let first = places.first else { return [] }
        return first.compactMap { start in
            var position = start
            for part in places.dropFirst() {
                guard let next = part.first(where: { $0 > position }) else { return nil }
                position = next
            }
            let sections = document.tokens
            guard position - start - (places.count - 1) <= slop, sections[start].section == sections[position].section
            else { return nil }
            return (start, position)
        }
    }

    static func wildcard(_ pattern: [Character], _ text: [Character]) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return (0...text.count).contains { wildcard(Array(pattern.dropFirst()), Array(text.dropFirst($0))) }
        }
        guard let letter = text.first, first == "?" || first == letter else { return false }
        return wildcard(Array(pattern.dropFirst()), Array(text.dropFirst()))
    }

    private func fuzzy(_ token: String, _ distance: Int?, _ prefix: Int) -> [(term: String, distance: Int)] {
        let word = Array(token.unicodeScalars)
        let limit = distance ?? (word.count <= 2 ? 0 : word.count <= 5 ? 1 : 2)
        return Set(documents.flatMap { $0.tokens.map(\.token) }).compactMap { term in
            let scalars = Array(term.unicodeScalars)
            let edits = Self.distance(word, scalars)
            guard edits <= limit, scalars.starts(with: word.prefix(prefix)) else { return nil }
            return (term, edits)
        }.sorted {
            $0.distance != $1.distance
                ? $0.distance < $1.distance : $0.term.utf8.lexicographicallyPrecedes($1.term.utf8)
        }
    }

    /// Returns the distance by optimal string alignment, with the whole table.
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var table = Array(repeating: Array(0...right.count), count: left.count + 1)
        for row in 1..<left.count + 1 {
            table[row][0] = row
            for column in 1..<right.count + 1 {
                var best = min(table[row - 1][column], table[row][column - 1]) + 1
                best = min(best, table[row - 1][column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    best = min(best, table[row - 2][column - 2] + 1)
                }
                table[row][column] = best
            }
        }
        return table[left.count][right.count]
    }
}

// Matching and scores.
extension NaiveQuery {
    private func inFields(_ spans: [(start: Int, end: Int)], _ document: TestDocument, _ fields: Set<Int>?) -> Bool {
        spans.contains { fields?.contains(document.tokens[$0.start].field) ?? true }
    }

    /// Returns the alternatives of a query of the form “everything or these”.
    private func alternatives(_ query: TextQuery) -> [TextQuery]? {
        guard case .any(let parts) = query, parts.count > 1, parts.contains(.everything) else { return nil }
        return parts.filter { $0 != .everything }
    }

    /// Returns the required parts of `all`, and the parts without terms.
    private func demanded(_ parts: [TextQuery]) -> (asked: [TextQuery], void: [TextQuery]) {
        let required = parts.filter { alternatives($0) == nil }
        var rest = parts
        if !required.isEmpty, required.allSatisfy(isVoid), required.count < parts.count {
            rest = required + [.any(parts.compactMap(alternatives).flatMap { $0 })]
        }
        return (rest.filter { !isVoid($0) }, rest.filter(isVoid))
    }

    /// Returns whether the query has no terms.
    private func isVoid(_ query: TextQuery) -> Bool {
        switch query {
        case .words(let text), .phrase(let text, _), .prefix(let text), .fuzzy(let text, _, _): tokens(text).isEmpty
        case .any(let parts), .near(let parts, _): !parts.isEmpty && parts.allSatisfy(isVoid)
        case .all(let parts): !parts.isEmpty && demanded(parts).asked.isEmpty
        case .field(_, let query), .boost(_, let query), .without(let query, _): isVoid(query)
        case .wildcard, .everything: false
        }
    }

    /// Returns whether a query without terms excludes a document.
    private func excludes(_ query: TextQuery, _ document: TestDocument, _ fields: Set<Int>?) -> Bool {
        switch query {
        case .any(let parts): !parts.isEmpty && parts.allSatisfy { excludes($0, document, fields) }
        case .all(let parts): demanded(parts).void.contains { excludes($0, document, fields) }
        case .without(let first, let second):
            excludes(first, document, fields) || matches(second, document, fields)
        case .field(let names, let query):
            excludes(query, document, fields.map { $0.intersection(names) } ?? Set(names))
        case .boost(_, let query): excludes(query, document, fields)
        default: false
        }
    }

    private func matches(_ query: TextQuery, _ document: TestDocument, _ fields: Set<Int>?) -> Bool {
        switch query {
        case .words, .phrase, .near, .prefix, .wildcard, .fuzzy:
            return inFields(spans(query, document), document, fields)
        case .any(let parts): return parts.contains { matches($0, document, fields) }
        case .all(let parts):
            let (asked, void) = demanded(parts)
            return !asked.isEmpty && asked.allSatisfy { matches($0, document, fields) }
                && !void.contains { excludes($0, document, fields) }
        case .without(let first, let second):
            return matches(first, document, fields) && !matches(second, document, fields)
        case .field(let names, let query):
            return matches(query, document, fields.map { $0.intersection(names) } ?? Set(names))
        case .boost(_, let query): return matches(query, document, fields)
        case .everything: return true
        }
    }

    /// Adds the contributions of the query's parts if all enclosing forms match; `place` counts the scoring forms.
    private func add(
        _ query: TextQuery, _ document: TestDocument, _ scope: Scope, _ leaves: [[Scoring]], _ place: inout Int,
        _ isActive: Bool, _ score: inout Double
    ) {
        var scope = scope
        let isActive = isActive && matches(query, document, scope.fields)
        switch query {
        case .any(let parts), .all(let parts):
            for part in parts { add(part, document, scope, leaves, &place, isActive, &score) }
        case .without(let first, _): add(first, document, scope, leaves, &place, isActive, &score)
        case .field(let names, let query):
            scope.fields = scope.fields.map { $0.intersection(names) } ?? Set(names)
            add(query, document, scope, leaves, &place, isActive, &score)
        case .boost(let factor, let query):
            scope.boost *= factor
            add(query, document, scope, leaves, &place, isActive, &score)
        case .everything: break
        case .words, .phrase, .near, .prefix, .wildcard, .fuzzy:
            for leaf in leaves[place] where isActive { score += contribution(leaf, document, scope) }
            place += 1
        }
    }

    private func contribution(_ leaf: Scoring, _ document: TestDocument, _ scope: Scope) -> Double {
        let starts = leaf.spans(document).map { document.tokens[$0.start].field }
            .filter { scope.fields?.contains($0) ?? true }
        guard !starts.isEmpty else { return 0 }
        var (frequency, length, total) = (Double(starts.count), Double(document.tokens.count), 0.0)
        if let weights {
            (frequency, length) = (0, 0)
            for field in weights.indices {
                frequency += weights[field] * Double(starts.count { $0 == field })
                length += weights[field] * Double(document.fields[field].joined().count)
                total += weights[field] * Double(totals[field])
            }
            guard frequency > 0 else { return 0 }
        } else {
            total = Double(totals.reduce(0, +))
        }
        let average = total / Double(documents.count)
        return (leaf.weight * scope.boost) * frequency / (frequency + 1.2 * (1 - 0.75 + 0.75 * length / average))
    }
}
