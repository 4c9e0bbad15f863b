// SPDX-License-Identifier: Apache-2.0
// The changes gathered before a flush: chains of bytes, terms sorted by their bytes, documents in any order, and the
// resulting changes of a term.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Chains of bytes")
struct ByteChainsTests {
    @Test("many chains that grow in turns keep their own bytes in order", .seeded)
    func turns() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var chains = ByteChains()
        // Twice, because the second round uses the memory of the first again.
        for _ in 0..<2 {
            var ends = (0..<40).map { _ in ByteChains.End() }
            var expected = ends.map { _ in [UInt64]() }
            for _ in 0..<60_000 {
                // The first chains grow over many slices, the last ones hardly need one.
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
            // Slices double, so less than half of the memory is unused, apart from the first slices.
            let size = expected.joined().reduce(0) { $0 + max(1, (70 - $1.leadingZeroBitCount) / 7) }
            #expect(chains.used < 2 * size + 40 * 32)
            chains.removeAll()
            #expect(chains.used == 0)
        }
    }
}

@Suite("Gathered changes")
struct ChangeBufferTests {
    /// A change of a term: its positions, or none if the term was removed.
    private struct Change: Equatable {
        let docno: UInt32
        let positions: [UInt32]
        let mustExist: Bool
    }

    /// Returns the changes of all terms, and the order of the terms.
    private func collected(_ buffer: borrowing ChangeBuffer) -> (order: [[UInt8]], changes: [[UInt8]: [Change]]) {
        var order: [[UInt8]] = []
        var all: [[UInt8]: [Change]] = [:]
        var changes = TermChanges()
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            let bytes = buffer.withTerm(term) { Array($0) }
            order.append(bytes)
            let isWhole = buffer.collect(term, to: &changes)
            #expect(isWhole)
            var position = 0
            all[bytes] = (0..<changes.count).map { place in
                let frequency = Int(changes.postings.frequencies[place])
                defer { position += frequency }
                return Change(
                    docno: changes.postings.docnos[place],
                    positions: (position..<position + frequency).map { changes.postings.positions[$0] },
                    mustExist: changes.mustExist(place))
            }
        }
        return (order, all)
    }

    private func add(_ text: String, _ place: UInt32, to buffer: inout ChangeBuffer) -> UInt32 {
        var tokenizer = Tokenizer(.words)
        let count = withBytes(Array(text.utf8)) { buffer.add($0, document: place, from: 0, &tokenizer) }
        buffer.setNewLength(Int64(count), at: place)
        return count
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
        for round in 0..<2 {
            let texts = [words.shuffled(using: &random), words.shuffled(using: &random)]
            for (docno, text) in texts.enumerated() {
                let place = buffer.addDocument(UInt64(docno), UInt32(docno))
                let count = add(text.joined(separator: " "), place, to: &buffer)
                #expect(Int(count) == words.count)
            }
            let (order, changes) = collected(buffer)
            let (plain, long) = (words.filter { $0.utf8.count <= 200 }, words.filter { $0.utf8.count > 200 })
            #expect(order == (plain.sorted() + long.sorted()).map { Array($0.utf8) }, "round \(round)")
            for (term, changes) in changes {
                let expected = texts.enumerated().map { docno, words in
                    let place = words.firstIndex { Array($0.utf8) == term } ?? -1
                    return Change(docno: UInt32(docno), positions: [UInt32(place)], mustExist: false)
                }
                #expect(changes == expected)
            }
            buffer.removeAll()
            #expect(buffer.isEmpty && buffer.sortedTerms(plainLimit: 200).isEmpty)
        }
    }

    /// The case: rows are added, changed and removed in one transaction, many times and in any order. The result must
    /// be the last state of each document, and whether the index had the term before.
    @Test("the last state of each document comes out, ascending, after changes in any order", .seeded)
    func states() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        let words = ["a", "b", "c", "d"]
        for isOrdered in [true, false] {
            var buffer = ChangeBuffer()
            var tokenizer = Tokenizer(.words)
            // Documents with even numbers were there before, with this text.
            var texts: [UInt32: String?] = [:]
            for step in 0..<5_000 {
                let docno = isOrdered ? UInt32(step / 2) : UInt32.random(in: 0..<300, using: &random)
                let known = buffer.place(of: UInt64(docno))
                let place = known ?? buffer.addDocument(UInt64(docno), docno)
                let old: String? = known == nil ? (docno % 2 == 0 ? "a b a" : nil) : texts[docno] ?? nil
                if let old {
                    let count = withBytes(Array(old.utf8)) { buffer.remove($0, document: place, &tokenizer) }
                    if known == nil { buffer.setOldLength(Int64(count), at: place) }
                }
                buffer.setNewLength(-1, at: place)
                texts[docno] = .some(nil)
                guard Int.random(in: 0..<4, using: &random) > 0 else { continue }
                let text = (0..<Int.random(in: 0..<6, using: &random)).map { _ in
                    words.randomElement(using: &random) ?? ""
                }.joined(separator: " ")
                _ = add(text, place, to: &buffer)
                texts[docno] = text
            }
            let (_, changes) = collected(buffer)
            for word in words {
                var expected: [Change] = []
                for (docno, text) in texts.sorted(by: { $0.key < $1.key }) {
                    let tokens = (text ?? "").split(separator: " ")
                    let positions = tokens.indices.filter { tokens[$0] == word }.map { UInt32($0) }
                    let mustExist = docno % 2 == 0 && word < "c"
                    guard mustExist || !positions.isEmpty else { continue }
                    expected.append(Change(docno: docno, positions: positions, mustExist: mustExist))
                }
                #expect(changes[Array(word.utf8)] ?? [] == expected)
            }
            #expect(buffer.documents.sorted().map(\.docno) == texts.keys.sorted())
        }
    }

    @Test("a document removed without its terms is reported")
    func leftBehind() {
        var buffer = ChangeBuffer()
        let place = buffer.addDocument(1, 0)
        _ = add("word", place, to: &buffer)
        buffer.setNewLength(-1, at: place)
        var changes = TermChanges()
        let isWhole = buffer.collect(0, to: &changes)
        #expect(!isWhole)
    }

    @Test("one more posting takes two or three bytes with its position")
    func size() {
        var buffer = ChangeBuffer()
        let text = (0..<50).map { "word\($0)" }.joined(separator: " ")
        func addAll(_ documents: Range<UInt32>) {
            for docno in documents { _ = add(text, buffer.addDocument(UInt64(docno), docno), to: &buffer) }
        }
        addAll(0..<1_000)
        let before = buffer.size
        addAll(1_000..<11_000)
        #expect(buffer.size - before < 3 * 50 * 10_000)
    }
}
