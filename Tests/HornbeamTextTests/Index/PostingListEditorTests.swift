// SPDX-License-Identifier: Apache-2.0
// The runs of a long list after changes at many positions: a search reads few runs, each of many postings.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Posting lists that are changed")
struct PostingListEditorTests {
    /// The postings of each run of the index's lists, in order.
    private func runs(_ store: TreeStore) throws -> [Int] {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let tree = try #require(try transaction.tree(testIndex.postingsName))
        var directory = RunDirectory()
        var sizes: [Int] = []
        var cursor = try transaction.cursor(tree)
        while try cursor.next() {
            let first = try #require(cursor.key.bigEndian(at: 4, as: UInt32.self))
            let isRead = directory.read(cursor.value, first: first)
            #expect(isRead)
            sizes.append((0..<directory.count).reduce(0) { $0 + directory.size($1) })
        }
        return sizes
    }

    @Test("Runs of the greatest size aren't split into small ones when postings are inserted", arguments: [3, 14])
    func crumbs(occurrences: Int) throws {
        let store = try TreeStore.inMemory()
        let text = (0..<occurrences).map { "x \(["o", "o o", "o o o"][$0 % 3])" }.joined(separator: " ")
        var model = NaiveIndex()
        try store.write { writer in
            for row in UInt64(0)..<2_400 {
                model[row] = row % 6 == 0 ? "o" : text
                try writer.insert(row, text: model[row] ?? "")
            }
        }
        let before = try runs(store)
        // As in folding: a few at a time, at positions all over the list.
        for round in UInt64(0)..<8 {
            try store.write { writer in
                for row in stride(from: 6 * round, to: 2_400, by: 48) {
                    try writer.update(row, from: "o", to: text)
                    model[row] = text
                }
            }
        }
        let after = try runs(store)
        #expect(after.count <= 2 * before.count + 1, "\(before) became \(after)")
        // The last run of each list may be short.
        #expect(after.count { $0 < 128 } <= 2, "\(after)")
        #expect(try store.problems(model) == [])
    }

    @Test("Two documents with very many occurrences of a word share no block once those between them are removed")
    func heavy() throws {
        let store = try TreeStore.inMemory()
        let often = String(repeating: "o ", count: 200_000)
        try store.write { writer in
            for row in UInt64(0)..<120 { try writer.insert(row, text: row % 2 == 0 ? often : "o") }
        }
        // Few at a time, so that the remaining runs are joined.
        for start in stride(from: UInt64(1), to: 120, by: 40) {
            try store.write { writer in
                for row in stride(from: start, to: start + 40, by: 2) { try writer.remove(row, text: "o") }
            }
        }
        let sizes = try runs(store)
        #expect(sizes.allSatisfy { $0 <= 21 } && sizes.count > 2, "\(sizes)")
        let searcher = try store.searcher()
        #expect(try searcher.matches("o") == stride(from: UInt64(0), to: 120, by: 2).map { $0 })
        #expect(try searcher.matches(.phrase("o o o", slop: 0)).count == 60)
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let problems = try TextCheck(testIndex, in: transaction).run { (body) throws(StorageError) in
            for row in stride(from: UInt64(0), to: 120, by: 2) { try body(row, DocumentText(often)) }
        }
        #expect(problems == [])
    }

    /// While the terms of a batch are folded, the lengths of documents are already the new ones: an old posting would
    /// get its document's new length.
    @Test("A run that shrinks and absorbs a neighbour before its own changes makes no old posting a leader")
    func leadersOfJoinedRuns() throws {
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        let often = String(repeating: "word ", count: 13) + "other"
        try store.write { writer in
            for row in UInt64(0)..<2_048 {
                model[row] = row == 1_024 ? often : "word other"
                try writer.insert(row, text: model[row] ?? "")
            }
        }
        func remove(_ rows: some Sequence<UInt64>, _ writer: TextIndexWriter) throws {
            for row in rows {
                try writer.remove(row, text: model[row] ?? "")
                model[row] = nil
            }
        }
        try store.write { try remove([Array(300..<1_024), Array(1_324..<2_048)].joined(), $0) }
        // The runs of each word.
        #expect(try runs(store) == [300, 300, 300, 300])
        try store.write { writer in
            try remove(0..<100, writer)
            try writer.update(1_024, from: often, to: "word")
            model[1_024] = "word"
        }
        #expect(try runs(store) == [499, 500])
        #expect(try store.problems(model) == [])
    }

    @Test("Only a rewrite of the whole list replaces the bounds of other runs and of fields")
    func boundsOfUnwrittenRuns() throws {
        let store = try TreeStore.inMemory()
        var model: [UInt64: DocumentText] = [:]
        func text(_ first: String, _ second: String = "") -> DocumentText { DocumentText(fields: [[first], [second]]) }
        try store.write { writer in
            for row in UInt64(0)...2_048 {
                model[row] = row == 2_048 ? text("x", "w") : text("w")
                try writer.insert(row, model[row] ?? text(""))
            }
        }
        func remove(_ rows: some Sequence<UInt64>, _ writer: TextIndexWriter) throws {
            for row in rows {
                try writer.remove(row, model[row] ?? text(""))
                model[row] = nil
            }
        }
        try store.write { try remove([Array(200..<1_024), Array(1_424..<2_048)].joined(), $0) }
        #expect(try runs(store) == [200, 400, 1])
        // The number of postings moved after the first run equals that of the last run.
        try store.write { writer in
            try writer.update(0, from: text("w"), to: text("w w"))
            model[0] = text("w w")
            try remove(CollectionOfOne(1_030), writer)
        }
        let read = try store.beginRead()
        defer { read.abort() }
        let problems = try TextCheck(testIndex, in: read).run { (body) throws(StorageError) in
            for (row, text) in model.sorted(by: { $0.key < $1.key }) { try body(row, text) }
        }
        #expect(problems == [])
        let searcher = try TextSearcher(testIndex, in: read)
        #expect(try searcher.search(.field([1], .words("w")), limit: 3).map(\.row) == [2_048])
    }
}
