// SPDX-License-Identifier: Apache-2.0
// The map between rows of any kind, in any order, and documents; and the sections of a document.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Rows and documents")
struct DocumentMapTests {
    enum Order: CaseIterable { case ascending, descending, shuffled }

    private func map(_ transaction: Transaction) throws -> DocumentMap {
        let opened = try #require(try testIndex.open(in: transaction))
        return DocumentMap(testIndex, opened.trees, opened.statistics, in: transaction)
    }

    @Test(
        "Each row leads to its document and back; removed rows lead nowhere", .seeded,
        arguments: DocumentNumbers.allCases, Order.allCases)
    func lookups(numbers: DocumentNumbers, order: Order) throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var rows = Set((0..<1500).map { numbers.number($0) }).sorted()
        if order == .descending { rows.reverse() }
        if order == .shuffled { rows.shuffle(using: &random) }
        let store = try TreeStore.inMemory()
        var documents: [UInt64: UInt32] = [:]
        var next: UInt32 = 0
        for part in [rows[..<700], rows[700...]] {
            try store.write { writer in
                for row in part {
                    try writer.insert(row, text: "x")
                    documents[row] = next
                    next += 1
                }
            }
            try store.write { writer in
                // Whole chunks are removed, and single documents; a third of them are added again, as other documents.
                let leaving = documents.filter { $0.value / 256 == 1 || $0.value % 7 == 0 }.keys.sorted()
                for row in leaving {
                    try writer.remove(row, text: "x")
                    documents[row] = nil
                }
                for row in leaving where row % 3 == 0 {
                    try writer.insert(row, text: "x")
                    documents[row] = next
                    next += 1
                }
            }
        }
        let transaction = try store.beginRead()
        let map = try map(transaction)
        #expect(map.nextDocno == next)
        for row in rows {
            #expect(try map.docno(of: row) == documents[row])
            #expect(try map.docno(of: row ^ 1 << 40) == documents[row ^ 1 << 40])
        }
        for (row, docno) in documents { #expect(try map.row(of: docno) == row) }
        #expect(try store.problems(NaiveIndex(texts: documents.mapValues { _ in "x" })) == [])
    }

    @Test("Consecutive rows take almost no space")
    func size() throws {
        let store = try TreeStore.inMemory()
        try store.write { writer in for row in 0..<UInt64(2560) { try writer.insert(row << 3, text: "") } }
        try store.write { writer in for row in 0..<UInt64(2560) { try writer.insert(row + 1 << 50, text: "") } }
        let transaction = try store.beginRead()
        let tree = try #require(try transaction.tree(testIndex.documentsName))
        for (chunk, limit) in [(UInt32(0), 700), (15, 24)] {
            let bytes = try #require(try transaction.get(tree, DocumentMap.key(chunk: chunk)))
            #expect(bytes.count < limit)
        }
    }

    @Test("Any rows come back from an entry", .seeded)
    func chunks() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for round in 0..<300 {
            let first = Int.random(in: 0..<256, using: &random)
            let count = Int.random(in: 1...256 - first, using: &random)
            let width = UInt64.random(in: 0..<64, using: &random)
            var row = UInt64.random(in: .min ... .max, using: &random) >> UInt64.random(in: 0..<64, using: &random)
            let rows = (0..<count).map { _ -> UInt64 in
                if round % 2 == 0 { row = row &+ 1 } else { row = .random(in: 0...(.max >> width), using: &random) }
                return row
            }
            let exceptions = rows.map { _ in round % 3 == 0 && Bool.random(using: &random) }
            let bytes = RowChunk.encoded(first: first, rows: rows[...], exceptions: exceptions[...], before: rows.first)
            withBytes(bytes) { bytes in
                let chunk = RowChunk(bytes)
                #expect(chunk?.places == first..<first + count && chunk?.before == rows.first)
                #expect((0..<count).allSatisfy { chunk?.row(first + $0) == rows[$0] })
                #expect((0..<count).allSatisfy { chunk?.isException(first + $0) == exceptions[$0] })
                #expect(chunk?.row(first - 1) == nil && chunk?.row(first + count) == nil)
                #expect(RowChunk(Bytes(rebasing: bytes.dropLast())) == nil)
            }
        }
    }
}

@Suite("Sections of documents")
struct DocumentSectionsTests {
    @Test("Any division comes back; an invalid one is refused", .seeded)
    func roundTrips() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<500 {
            let sections = DocumentSections(
                fields: (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    (0..<[1, 1, 0, 3][Int.random(in: 0..<4, using: &random)]).map { _ in
                        UInt32.random(in: 0...300, using: &random)
                    }
                })
            var bytes: [UInt8] = []
            sections.encode(to: &bytes)
            withBytes(bytes) { #expect(DocumentSections($0) == (sections.isPlain ? nil : sections)) }
            let noise = (0..<8).map { _ in UInt8.random(in: 0...255, using: &random) }
            withBytes(noise) { _ = DocumentSections($0) }
        }
    }

    @Test(
        "Documents keep how they are divided through changes",
        arguments: [Analyzer.words, Analyzer(.unicode(keepsAccents: false, stemming: nil))])
    func divided(analyzer: Analyzer) throws {
        let index = TextIndex(prefix: "t:", analyzer: analyzer)
        let store = try TreeStore.inMemory()
        var texts: [UInt64: DocumentText] = [
            1: DocumentText(fields: [["one two"], ["three", "four five", ""]]), 2: DocumentText("plain text"),
            3: DocumentText(fields: [[], ["ΟΔΟΣ", "中文字 x"]]),
            200: DocumentText(fields: [[""], ["e\u{301}", "\u{301}a"]]),
        ]
        let transaction = try store.beginWrite()
        let writer = try TextIndexWriter(index, in: transaction)
        for (row, text) in texts.sorted(by: { $0.key < $1.key }) { try writer.insert(row, text) }
        try writer.flush()
        func problems() throws -> [String] {
            try TextCheck(index, in: transaction).run { (body) throws(StorageError) in
                for (row, text) in texts { try body(row, text) }
            }
        }
        #expect(try problems() == [])
        for (row, text) in texts {
            // The sections' tokens are those of the joined text.
            for token in analyzer.tokens(of: text.fields.joined().joined(separator: "\n")) {
                let found = try TextSearcher(index, in: transaction).matches(String(decoding: token, as: UTF8.self))
                #expect(found.contains(row))
            }
        }
        let changed = DocumentText(fields: [["now"], ["in", "two", "parts"]])
        try writer.update(2, from: DocumentText("plain text"), to: changed)
        try writer.update(1, from: texts[1] ?? changed, to: DocumentText("plain"))
        (texts[2], texts[1]) = (changed, DocumentText("plain"))
        try writer.flush()
        #expect(try problems() == [])
        texts[2] = DocumentText(fields: [["now", "in"], ["two", "parts"]])
        #expect(try problems().count == 1, "the same tokens, divided otherwise")
        transaction.abort()
    }

    @Test("Each text has tokens of its own, with every analyzer", arguments: ["trigrams", "words", "unicode"])
    func apart(specification: String) throws {
        let analyzer = try #require(Analyzer(specification: specification))
        var tokens: [String] = []
        let sections = DocumentText(fields: [["abcd"], ["efg", "hi"]]).divide { text, position in
            #expect(position == UInt32(tokens.count))
            let found = analyzer.tokens(of: String(decoding: text, as: UTF8.self))
            tokens += found.map { String(decoding: $0, as: UTF8.self) }
            return UInt32(found.count)
        }
        #expect(tokens == (specification == "trigrams" ? ["abc", "bcd", "efg"] : ["abcd", "efg", "hi"]))
        #expect(sections.fieldLengths == (specification == "trigrams" ? [2, 1] : [1, 2]))
    }
}
