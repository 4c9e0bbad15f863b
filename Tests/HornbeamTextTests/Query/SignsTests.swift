// SPDX-License-Identifier: Apache-2.0
// +, −, NOT, AND, OR, phrases and parentheses in all combinations, if any word is enough and if all must match, read
// strictly and leniently. An evaluation over sets of documents gives the expected results.

import HornbeamPages
import HornbeamTestSupport
import HornbeamText
import HornbeamTree
import Testing

/// A part of a query as a person writes it. A group has alternatives, each of which is a sequence of clauses.
private indirect enum Written {
    case word(String)
    case phrase(String, String)
    case group([[Clause]])

    var text: String {
        switch self {
        case .word(let word): word
        case .phrase(let first, let second): "\"\(first) \(second)\""
        case .group(let alternatives): "(\(Written.text(alternatives)))"
        }
    }

    static func text(_ alternatives: [[Clause]]) -> String {
        alternatives.map { $0.map(\.text).joined(separator: " ") }.joined(separator: " OR ")
    }
}

private enum Sign: String, CaseIterable {
    case none = ""
    case plus = "+"
    case minus = "-"
    case not = "NOT "

    var isExcluding: Bool { self == .minus || self == .not }
}

/// Parts with their signs, joined by AND.
private struct Clause {
    var parts: [(sign: Sign, part: Written)]

    var text: String { parts.map { $0.sign.rawValue + $0.part.text }.joined(separator: " AND ") }
}

/// Computes the documents that a query must find.
private struct SetEvaluation {
    let documents: [String]
    let matchesAll: Bool

    private var everything: Set<Int> { Set(documents.indices) }

    func found(_ alternatives: [[Clause]]) -> Set<Int> {
        alternatives.reduce(into: []) { $0.formUnion(sequence($1)) }
    }

    private func sequence(_ clauses: [Clause]) -> Set<Int> {
        var (required, optional, excluded): ([Set<Int>], [Set<Int>], Set<Int>) = ([], [], [])
        for clause in clauses {
            if clause.parts.count == 1, clause.parts[0].sign.isExcluding {
                excluded.formUnion(part(clause.parts[0].part))
            } else if matchesAll || clause.parts.contains(where: { $0.sign == .plus }) {
                required.append(conjunction(clause))
            } else {
                optional.append(conjunction(clause))
            }
        }
        // If nothing is required, at least one optional clause must match.
        if required.isEmpty, !optional.isEmpty { required = [optional.reduce([]) { $0.union($1) }] }
        return required.reduce(everything) { $0.intersection($1) }.subtracting(excluded)
    }

    private func conjunction(_ clause: Clause) -> Set<Int> {
        clause.parts.reduce(everything) { found, next in
            next.sign.isExcluding ? found.subtracting(part(next.part)) : found.intersection(part(next.part))
        }
    }

    private func part(_ part: Written) -> Set<Int> {
        switch part {
        case .word(let word): having(word)
        case .phrase(let first, let second): having("\(first) \(second)")
        case .group(let alternatives): found(alternatives)
        }
    }

    private func having(_ words: String) -> Set<Int> {
        everything.filter { " \(documents[$0]) ".contains(" \(words) ") }
    }
}

@Suite("Signs in queries")
struct SignsTests {
    private static let words = ["alpha", "beta", "gamma", "delta"]

    /// All subsets of the words, in their order and reversed.
    private static let documents: [String] = (0..<16).flatMap { bits in
        let some = words.indices.filter { bits >> $0 & 1 == 1 }.map { words[$0] }
        return [some.joined(separator: " "), some.reversed().joined(separator: " ")]
    }

    private func found(_ query: TextQuery) -> Set<Int> {
        let matcher = QueryMatcher(query, .words)
        return Set(
            Self.documents.indices.filter { matcher.matches([TextSection(field: 0, text: Self.documents[$0])]) })
    }

    @Test(
        "A plus adds nothing if all words are required; otherwise it marks the required ones",
        arguments: [
            ("alpha beta", true, ["alpha", "beta"]), ("+alpha beta", true, ["alpha", "beta"]),
            ("alpha +beta gamma", true, ["alpha", "beta", "gamma"]), ("+alpha beta", false, ["alpha"]),
            ("+alpha +beta gamma", false, ["alpha", "beta"]),
            ("(+alpha beta) gamma", true, ["alpha", "beta", "gamma"]),
            ("+alpha (beta OR beta)", true, ["alpha", "beta"]),
        ])
    func plus(text: String, matchesAll: Bool, needed: [String]) throws {
        let syntax = QuerySyntax(matchesAll: matchesAll)
        let expected = Set(
            Self.documents.indices.filter { place in
                needed.allSatisfy { Self.documents[place].split(separator: " ").map(String.init).contains($0) }
            })
        #expect(found(try syntax.parse(text)) == expected)
        #expect(found(syntax.parse(lenient: text)) == expected)
    }

    @Test("Random queries agree with sets of documents, with an index and without", .seeded)
    func random() throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for (place, text) in Self.documents.enumerated() { try writer.insert(UInt64(place), text: text) }
        }
        let searcher = try store.searcher()
        for _ in 0..<3_000 {
            let alternatives = Self.alternatives(&random, depth: 0)
            let text = Written.text(alternatives)
            for matchesAll in [false, true] {
                let syntax = QuerySyntax(matchesAll: matchesAll)
                let expected = SetEvaluation(documents: Self.documents, matchesAll: matchesAll).found(alternatives)
                let query = try syntax.parse(text)
                let name = "«\(text)», \(matchesAll ? "all" : "any"), read as \(query)"
                #expect(found(query) == expected, "\(name)")
                #expect(Set(try searcher.matches(query).map { Int($0) }) == expected, "\(name)")
                #expect(syntax.parse(lenient: text) == query, "\(name)")
            }
        }
    }

    @Test("One more plus never finds more, and finds the same if all words are required", .seeded)
    func morePlus() throws {
        var random = SeededGenerator()
        for _ in 0..<1_000 {
            var clauses = (0..<2 + random.below(3)).map { _ in Self.clause(&random, depth: 1) }
            let before = Written.text([clauses])
            let place = random.below(clauses.count)
            guard clauses[place].parts[0].sign == .none else { continue }
            clauses[place].parts[0].sign = .plus
            let after = Written.text([clauses])
            let (any, all) = (QuerySyntax(), QuerySyntax(matchesAll: true))
            #expect(found(try any.parse(after)).isSubset(of: found(try any.parse(before))), "\(before), \(after)")
            #expect(found(try all.parse(after)) == found(try all.parse(before)), "\(before), \(after)")
        }
    }

    private static func alternatives(_ random: inout SeededGenerator, depth: Int) -> [[Clause]] {
        (0..<(random.oneIn(3) ? 2 : 1)).map { _ in
            (0..<1 + random.below(3)).map { _ in clause(&random, depth: depth) }
        }
    }

    private static func clause(_ random: inout SeededGenerator, depth: Int) -> Clause {
        Clause(
            parts: (0..<(random.oneIn(4) ? 2 : 1)).map { _ in
                (random.oneIn(2) ? .none : Sign.allCases[random.below(4)], part(&random, depth: depth))
            })
    }

    private static func part(_ random: inout SeededGenerator, depth: Int) -> Written {
        func word() -> String { words[random.below(words.count)] }
        switch random.below(depth < 2 ? 6 : 4) {
        case 0...2: return .word(word())
        case 3: return .phrase(word(), word())
        default: return .group(alternatives(&random, depth: depth + 1))
        }
    }
}
