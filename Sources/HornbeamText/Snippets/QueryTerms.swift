// SPDX-License-Identifier: Apache-2.0
// Prepares a query for matching texts: its distinct tests of tokens, and the required relations of their positions.

import HornbeamPages

/// A test for the terms of a part of a query.
enum TermTest: Hashable {
    case exact([UInt8])
    case prefix([UInt8])
    /// An index in the query's list of patterns, or of fuzzy words.
    case pattern(Int)
    case fuzzy(Int)
}

/// A query's conditions on a text, with numbers of tests instead of words.
indirect enum MatchNode {
    /// Any of these.
    case terms([Int])
    /// In order, with at most `slop` other tokens between them.
    case phrase([Int], slop: Int)
    /// Each at `count` positions.
    case near([(node: MatchNode, count: Int)], within: Int)
    case any([MatchNode])
    case all([MatchNode])
    case without(MatchNode, MatchNode)
    case field(Set<Int>, MatchNode)
    case everything
}

/// The distinct tests of a query, and its tree over them.
struct QueryTerms {
    private(set) var tests: [TermTest] = []
    private(set) var root = MatchNode.any([])
    /// Tests of equal terms by the terms' hash.
    private var exact: [UInt32: [Int]] = [:]
    /// The other tests, which are tried one by one.
    private var others: [Int] = []
    private var patterns: [WildcardPattern] = []
    private var fuzzyWords: [FuzzyTerm] = []
    private var numbers: [TermTest: Int] = [:]

    /// - Parameter query: resolved.
    init(_ query: TextQuery, _ analyzer: Analyzer) {
        root = node(query, analyzer)
    }

    /// Calls `body` with the number of each test that a token passes.
    @inline(__always)
    func forEachTest(of token: Bytes, _ body: (Int) -> Void) {
        if let equal = exact[TermDictionary.hash(token)] {
            for number in equal {
                if case .exact(let term) = tests[number], Self.isEqual(token, term) { body(number) }
            }
        }
        for number in others where passes(tests[number], token) { body(number) }
    }

    private func passes(_ test: TermTest, _ token: Bytes) -> Bool {
        switch test {
        case .exact(let term): Self.isEqual(token, term)
        case .prefix(let head): token.starts(with: head)
        case .pattern(let number): patterns[number].matches([UInt8](token))
        case .fuzzy(let number): fuzzyWords[number].accepts(token)
        }
    }

    private static func isEqual(_ token: Bytes, _ term: [UInt8]) -> Bool {
        token.count == term.count && token.elementsEqual(term)
    }

    // MARK: Making

    private mutating func node(_ query: TextQuery, _ analyzer: Analyzer) -> MatchNode {
        switch query {
        case .words(let text): return .terms(analyzer.queryTokens(of: text).map { number($0) })
        case .phrase(let text, let slop):
            let numbers = analyzer.phraseParts(of: text).map { number($0) }
            return numbers.count > 1 ? .phrase(numbers, slop: max(0, slop)) : .terms(numbers)
        case .prefix(let text):
            var tokens = analyzer.phraseTokens(of: text)
            guard let last = tokens.popLast() else { return .any([]) }
            let numbers = tokens.map { number(.exact($0)) } + [number(.prefix(last))]
            return numbers.count > 1 ? .phrase(numbers, slop: 0) : .terms(numbers)
        case .wildcard(let pattern):
            patterns.append(WildcardPattern(pattern, analyzer))
            return .terms([number(.pattern(patterns.count - 1))])
        case .fuzzy(let text, let distance, let letters):
            return .terms(
                analyzer.queryTokens(of: text).map { token in
                    guard let word = FuzzyTerm(token.term, distance, letters) else {
                        return number(.exact(token.term))
                    }
                    fuzzyWords.append(word)
                    return number(.fuzzy(fuzzyWords.count - 1))
                })
        case .any(let parts): return .any(nodes(parts, analyzer))
        case .all(let parts): return .all(nodes(parts, analyzer))
        case .near(let parts, let distance):
            var counted: [(node: MatchNode, count: Int)] = []
            for part in TextQuery.counted(parts, analyzer) { counted.append((node(part.query, analyzer), part.count)) }
            return .near(counted, within: distance)
        case .without(let wanted, let unwanted): return .without(node(wanted, analyzer), node(unwanted, analyzer))
        case .field(let fields, let part): return .field(Set(fields), node(part, analyzer))
        case .boost(_, let part): return node(part, analyzer)
        case .everything: return .everything
        }
    }

    private mutating func nodes(_ queries: [TextQuery], _ analyzer: Analyzer) -> [MatchNode] {
        var nodes: [MatchNode] = []
        for query in queries { nodes.append(node(query, analyzer)) }
        return nodes
    }

    private mutating func number(_ token: QueryToken) -> Int {
        number(token.isOpen ? .prefix(token.term) : .exact(token.term))
    }

    private mutating func number(_ test: TermTest) -> Int {
        if let known = numbers[test] { return known }
        let number = tests.count
        tests.append(test)
        numbers[test] = number
        if case .exact(let term) = test {
            let hash = term.withUnsafeBytes { TermDictionary.hash($0) }
            exact[hash, default: []].append(number)
        } else {
            others.append(number)
        }
        return number
    }
}

/// A fuzzy word: decides which terms are near enough.
private final class FuzzyTerm {
    private let length: Int
    private let limit: Int
    private let head: [UInt8]
    private var automaton: EditAutomaton

    /// Returns nil for a word of more than `TermExpansion.scalarLimit` scalars, which matches only itself.
    init?(_ word: [UInt8], _ distance: Int?, _ prefixLength: Int) {
        let scalars = Array(String(decoding: word, as: UTF8.self).unicodeScalars)
        guard scalars.count <= TermExpansion.scalarLimit else { return nil }
        length = scalars.count
        limit = TermExpansion.limit(
            distance ?? TermExpansion.distance(scalars: scalars.count), scalars: scalars.count)
        head = Array(String(String.UnicodeScalarView(scalars.prefix(max(0, prefixLength)))).utf8)
        automaton = EditAutomaton(scalars.map(\.value), limit: limit)
    }

    func accepts(_ token: Bytes) -> Bool {
        // A scalar has at most four bytes.
        guard token.count >= length - limit, token.count <= 4 * (length + limit), token.starts(with: head) else {
            return false
        }
        if case .matches = automaton.read([UInt8](token)) { return true }
        return false
    }
}
