// SPDX-License-Identifier: Apache-2.0
// Patterns and misspelt words against definitions as plain as they can be.

import HornbeamPages
import HornbeamTestSupport
import HornbeamText
import Testing

@Suite("Patterns and fuzzy words")
struct TermPatternTests {
    @Test("A pattern matches what its definition says", arguments: SeededGenerator.seeds(2))
    func patterns(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var found = 0
        for _ in 0..<4_000 {
            let pattern = (0..<random.below(7)).map { _ in ["a", "b", "é", "*", "?"][random.below(5)] }.joined()
            let term = (0..<random.below(8)).map { _ in ["a", "b", "é"][random.below(3)] }.joined()
            let isMatch = TermPattern(pattern, .words).matches(term)
            #expect(isMatch == Self.matches(Array(pattern.unicodeScalars)[...], Array(term.unicodeScalars)[...]))
            found += isMatch ? 1 : 0
        }
        #expect(found > 400)
    }

    private static func matches(
        _ pattern: ArraySlice<Unicode.Scalar>, _ term: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        guard let first = pattern.first else { return term.isEmpty }
        if first == "*" {
            return matches(pattern.dropFirst(), term) || !term.isEmpty && matches(pattern, term.dropFirst())
        }
        guard let head = term.first, first == "?" || first == head else { return false }
        return matches(pattern.dropFirst(), term.dropFirst())
    }

    @Test("What stands between the signs is folded as the index's terms are")
    func folding() {
        #expect(TermPattern("SWI?t*", .words).matches("swiftly"))
        #expect(TermPattern("SWI?t*", .words).head == Array("swi".utf8))
        let unicode = Analyzer(.unicode(keepsAccents: false, stemming: .english))
        #expect(TermPattern("Züri*", unicode).matches("zurich") && TermPattern("Züri*", unicode).isPrefix)
        #expect(TermPattern("e\u{301}*", Analyzer(.unicode(keepsAccents: true, stemming: nil))).matches("état"))
        #expect(!TermPattern("a*b", unicode).isPrefix && TermPattern("*", unicode).matches(""))
    }

    @Test("The distance is that of its definition, and nil beyond the limit", arguments: SeededGenerator.seeds(2))
    func distances(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var found = 0
        for _ in 0..<4_000 {
            let one = (0..<random.below(7)).map { _ in ["a", "b", "é"][random.below(3)] }.joined()
            let other = (0..<random.below(7)).map { _ in ["a", "b", "é"][random.below(3)] }.joined()
            let (limit, same) = (random.below(3), random.below(3))
            let word = FuzzyWord(Array(one.utf8), distance: limit, prefixLength: same)
            let (left, right) = (Array(one.unicodeScalars), Array(other.unicodeScalars))
            let distance = Self.distance(left, right)
            let isIn = distance <= limit && left.prefix(same) == right.prefix(same)
            let computed = other.withBytes { word.distance(to: $0) }
            #expect(computed == (isIn ? distance : nil), "\(one) \(other) \(limit) \(same)")
            found += isIn ? 1 : 0
        }
        #expect(found > 200)
    }

    /// All cells of the table.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var table = Array(repeating: Array(repeating: 0, count: right.count + 1), count: left.count + 1)
        for row in 0...left.count {
            for column in 0...right.count {
                if row == 0 || column == 0 {
                    table[row][column] = row + column
                    continue
                }
                let change = left[row - 1] == right[column - 1] ? 0 : 1
                var cell = min(
                    table[row - 1][column] + 1, table[row][column - 1] + 1, table[row - 1][column - 1] + change)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cell = min(cell, table[row - 2][column - 2] + 1)
                }
                table[row][column] = cell
            }
        }
        return table[left.count][right.count]
    }

    @Test("Without a distance it is that of the word's length")
    func lengths() {
        for (word, distance) in [("ab", 0), ("abc", 1), ("abcde", 1), ("abcdef", 2)] {
            #expect(FuzzyWord(Array(word.utf8), distance: nil, prefixLength: 1).distance == distance)
        }
    }
}

extension TermPattern {
    fileprivate func matches(_ term: String) -> Bool { term.withBytes { matches($0) } }
}

extension String {
    fileprivate func withBytes<Result>(_ body: (Bytes) -> Result) -> Result {
        Array(utf8).withUnsafeBytes { body(Bytes($0)) }
    }
}
