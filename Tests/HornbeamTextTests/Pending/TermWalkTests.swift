// SPDX-License-Identifier: Apache-2.0
// The vocabulary while documents are pending: before, during and after the folding of a batch, every term of a
// document comes once, with the data of its texts.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("The vocabulary while documents are pending")
struct TermWalkTests {
    /// Words, some of which are longer than a key and share the first 200 bytes, and one of exactly these bytes.
    private static let words: [String] = {
        let stems = ["a", "b", "m"].map { String(repeating: $0, count: 200) }
        let long = stems + stems.flatMap { stem in (0..<4).map { stem + String(repeating: "z", count: $0) + "y" } }
        return long + (0..<40).map { ["a", "ab", "m", "q"][$0 % 4] + "\($0 * 7)" }
    }()

    private static func text(_ random: inout SeededGenerator) -> String {
        (0..<random.below(6)).map { _ in words[random.below(words.count)] }.joined(separator: " ")
    }

    private static func vocabulary(_ texts: [UInt64: String]) -> [[UInt8]: (documents: UInt64, occurrences: UInt64)] {
        var counts: [[UInt8]: (documents: UInt64, occurrences: UInt64)] = [:]
        for text in texts.values {
            let tokens = text.split(separator: " ").map { Array($0.utf8) }
            for token in tokens { counts[token, default: (0, 0)].occurrences += 1 }
            for token in Set(tokens) { counts[token, default: (0, 0)].documents += 1 }
        }
        return counts
    }

    /// The part of a term that determines the order of a walk: longer terms with equal heads come in any order.
    private static func head(_ term: [UInt8]) -> ArraySlice<UInt8> { term.prefix(TermDictionary.plainLimit) }

    @Test("A walk through more pending terms than the cache holds evicts no cached one")
    func keeps() throws {
        let store = try TreeStore.inMemory()
        // The first documents of an index are never pending.
        try store.write { try $0.insert(50, text: "first") }
        try store.write(limits: PendingLimits(pending: 1_000_000, slice: 40)) { writer in
            for row in 0..<UInt64(50) {
                let words = (0..<UInt64(100)).map { "w\(row * 100 + $0)" }
                try writer.insert(row, text: "common " + words.joined(separator: " "))
            }
        }
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let snapshot = try #require(try TextSnapshot(testIndex, in: transaction))
        func common() -> PendingPostings? { withBytes(Array("common".utf8)) { snapshot.added(to: $0) } }
        let kept = common()
        #expect(kept?.count == 50)
        var walk = try snapshot.terms(from: [])
        var count = 0
        while try walk.next() {
            #expect(try walk.postings() != nil)
            count += 1
        }
        #expect(count == 5_002)
        #expect(common() === kept)
    }

    @Test("A walk from any term on, with leaps, finds exactly the present terms", arguments: SeededGenerator.seeds(3))
    func walks(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var texts: [UInt64: String] = [:]
        var (foldings, plain, pending) = (0, 0, 0)
        for step in 0..<150 {
            try store.write(limits: PendingLimits(pending: 200, slice: 40)) { writer in
                let (row, new) = (UInt64(random.below(40)), Self.text(&random))
                guard let old = texts[row] else {
                    try writer.insert(row, text: new)
                    texts[row] = new
                    return
                }
                if random.below(2) == 0 {
                    try writer.remove(row, DocumentText(old))
                    texts[row] = nil
                } else {
                    try writer.update(row, from: DocumentText(old), to: DocumentText(new))
                    texts[row] = new
                }
            }
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            let snapshot = try #require(try TextSnapshot(testIndex, in: transaction))
            if snapshot.pending.later !== snapshot.pending.whole { foldings += 1 }
            let note: Comment = "step \(step), HORNBEAM_SEED=\(seed)"
            var left = Self.vocabulary(texts)
            let start = random.below(3) == 0 ? Array(Self.words[random.below(Self.words.count)].utf8) : []
            left = left.filter { !Self.head($0.key).lexicographicallyPrecedes(Self.head(start)) }
            var walk = try snapshot.terms(from: Array(Self.head(start)))
            var isThere = try walk.next()
            while isThere {
                let term = walk.withTerm { [UInt8]($0) }
                let (found, held) = (try walk.frequencies(), try walk.postings()?.documentFrequency)
                let removed = left.removeValue(forKey: term)
                let expected = try #require(removed, note)
                #expect([found.documents, found.occurrences] == [expected.documents, expected.occurrences], note)
                #expect(held.map { UInt64($0) } == expected.documents, note)
                #expect(!left.keys.contains { Self.head($0).lexicographicallyPrecedes(Self.head(term)) }, note)
                if walk.isPlain { plain += 1 } else { pending += 1 }
                if random.below(6) == 0 {
                    let target = term.prefix(1 + random.below(min(term.count, 199))) + [0xFF]
                    left = left.filter { !$0.key.lexicographicallyPrecedes(target) }
                    isThere = try walk.seek(Array(target))
                } else {
                    isThere = try walk.next()
                }
            }
            #expect(left.isEmpty, note)
        }
        #expect(foldings > 10 && plain > 100 && pending > 100, "\(foldings) \(plain) \(pending)")
    }
}
