// SPDX-License-Identifier: Apache-2.0
// What gathers before a flush: chains of bytes, terms by their bytes, documents in any order, and what comes out of
// them for a term.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Chains of bytes")
struct ByteChainsTests {
    @Test("many that grow in turns keep their bytes apart, each in its order", .seeded)
    func turns() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var chains = ByteChains()
        // Twice, as memory that was used before is used again.
        for _ in 0..<2 {
            var ends = (0..<40).map { _ in ByteChains.End() }
            var expected = ends.map { _ in [UInt64]() }
            for _ in 0..<60_000 {
                // The first ones grow over many slices, the last ones hardly begin one.
                let range = Bool.random(using: &random) ? 0..<3 : 0..<40
                let place = Int.random(in: range, using: &random)
                let value =
                    UInt64.random(in: .min ... .max, using: &random) >> UInt64.random(in: 0..<64, using: &random)
                chains.append(varint: value, to: &ends[place])
                expected[place].append(value)
            }
            for (end, values) in zip(ends, expected) {
                var reader = chains.reader(end)
                #expect(values.allSatisfy { $0 == reader.varint() })
            }
            // Slices double, so less than half of all is waste, beside the beginnings.
            let size = expected.joined().reduce(0) { $0 + max(1, (70 - $1.leadingZeroBitCount) / 7) }
            #expect(chains.used < 2 * size + 40 * 32)
            chains.removeAll()
            #expect(chains.used == 0)
        }
    }
}

@Suite("Gathered changes")
struct ChangeBufferTests {
    /// The changes of all terms, and the terms in the order in which they come.
    private func collected(_ buffer: borrowing ChangeBuffer) -> (order: [[UInt8]], changes: [[UInt8]: [PostingChange]])
    {
        var order: [[UInt8]] = []
        var all: [[UInt8]: [PostingChange]] = [:]
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            let bytes = buffer.withTerm(term) { Array($0) }
            order.append(bytes)
            all[bytes] = buffer.collect(term)
        }
        return (order, all)
    }

    @Test("terms that differ in one byte, anywhere and in any length, are different terms, and come in order", .seeded)
    func terms() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var words: Set<String> = ["a", "b", "ab", "ba"]
        for size in [1, 7, 8, 9, 15, 16, 17, 24, 199, 200, 201, 300] {
            let word = (0..<size).map { _ in UInt8.random(in: 97...122, using: &random) }
            for place in 0..<size {
                for letter in [UInt8(ascii: "0"), UInt8(ascii: "1")] {
                    var other = word
                    other[place] = letter
                    words.insert(String(decoding: other, as: UTF8.self))
                }
            }
        }
        var buffer = ChangeBuffer()
        var tokenizer = Tokenizer(.words)
        for round in 0..<2 {
            let texts = [words.shuffled(using: &random), words.shuffled(using: &random)]
            for (docno, text) in texts.enumerated() {
                let place = buffer.addDocument(UInt64(docno))
                let bytes = Array(text.joined(separator: " ").utf8)
                let count = bytes.withUnsafeBytes { buffer.count($0, document: place, difference: 1, &tokenizer) }
                #expect(count == words.count)
                buffer.setNewLength(count, at: place)
            }
            let (order, changes) = collected(buffer)
            let (plain, long) = (words.filter { $0.utf8.count <= 200 }, words.filter { $0.utf8.count > 200 })
            #expect(order == (plain.sorted() + long.sorted()).map { Array($0.utf8) }, "round \(round)")
            #expect(changes.values.allSatisfy { $0.map(\.docno) == [0, 1] && $0.map(\.difference) == [1, 1] })
            buffer.removeAll()
            #expect(buffer.isEmpty && buffer.sortedTerms(plainLimit: 200).isEmpty)
        }
    }

    @Test("changes come out summed by document, ascending, whatever the order they came in", .seeded)
    func sums() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for isOrdered in [true, false] {
            var buffer = ChangeBuffer()
            var tokenizer = Tokenizer(.words)
            var expected: [UInt64: Int64] = [:]
            for step in 0..<20_000 {
                let docno = isOrdered ? UInt64(step / 2) << 33 : UInt64.random(in: 0..<300, using: &random) << 40
                let difference: Int32 = isOrdered || Int.random(in: 0..<3, using: &random) > 0 ? 1 : -1
                let place = buffer.place(of: docno) ?? buffer.addDocument(docno)
                // Far longer than it was: what cancels out is left out.
                buffer.setOldLength(1, at: place)
                buffer.setNewLength(1_000_000, at: place)
                _ = Array("Word ".utf8).withUnsafeBytes {
                    buffer.count($0, document: place, difference: difference, &tokenizer)
                }
                expected[docno, default: 0] += Int64(difference)
                #expect(buffer.place(of: docno) == place)
                #expect(buffer.place(of: docno + 1) == nil)
            }
            let (order, changes) = collected(buffer)
            #expect(order == [Array("word".utf8)])
            let found = changes[Array("word".utf8)] ?? []
            let sorted = expected.filter { $0.value != 0 }.sorted { $0.key < $1.key }
            #expect(found.map(\.docno) == sorted.map(\.key) && found.map(\.difference) == sorted.map(\.value))
            #expect(buffer.documents.sorted().map(\.docno) == expected.keys.sorted())
        }
    }

    @Test("a posting more takes two bytes or three")
    func size() {
        var buffer = ChangeBuffer()
        var tokenizer = Tokenizer(.words)
        let text = Array((0..<50).map { "word\($0)" }.joined(separator: " ").utf8)
        func add(_ documents: Range<UInt64>) {
            for docno in documents {
                let place = buffer.addDocument(docno)
                _ = text.withUnsafeBytes { buffer.count($0, document: place, difference: 1, &tokenizer) }
            }
        }
        add(0..<1_000)
        let before = buffer.size
        add(1_000..<11_000)
        #expect(buffer.size - before < 3 * 50 * 10_000)
    }
}
