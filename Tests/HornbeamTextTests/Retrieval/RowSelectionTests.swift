// SPDX-License-Identifier: Apache-2.0
// When the documents of a search's rows are found beforehand: as soon as that takes less than asking about single ones.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Rows that a search is restricted to")
struct RowSelectionTests {
    private static let count: UInt64 = 10_000

    private static func view() -> MemoryView {
        MemoryView((0..<count).map { TestDocument(row: $0, fields: [[["word"]]]) }, fieldCount: 1)
    }

    @Test("The documents of few rows are found for the first search that goes through some more")
    func few() {
        let view = Self.view()
        #expect(RowSelection([1, 20, 300]).isWorthwhile(500, limit: 10, view))
        #expect(RowSelection((0..<1_000).map { 10 * $0 }).isWorthwhile(500, limit: 10, view))
        #expect(!RowSelection((0..<1_000).map { 10 * $0 }).isWorthwhile(5, limit: 10, view), "which asks about five")
    }

    @Test("Those of many rows once so many searches asked about single ones", arguments: [1, 10, 100])
    func many(limit: Int) throws {
        let view = Self.view()
        let rows = (0..<Self.count).filter { $0 % 100 > 0 }
        let selection = RowSelection(rows)
        var searches = 0
        while !selection.isWorthwhile(2_000, limit: limit, view) { searches += 1 }
        #expect(searches > 0 || limit == 100)
        #expect(searches < 100)
        let documents = try selection.documents(view)
        #expect(Array(UnsafeBufferPointer(start: documents.docnos, count: documents.count)) == rows.map { UInt32($0) })
        #expect(selection.isWorthwhile(1, limit: 1, view), "they are known now")
    }

    @Test("A search that wants all asks about all that it goes through")
    func unlimited() {
        let view = Self.view()
        let rows = (0..<Self.count).filter { $0 % 100 > 0 }
        #expect(RowSelection(rows).isWorthwhile(2_000, limit: .max, view))
        #expect(!RowSelection(rows).isWorthwhile(20, limit: .max, view))
    }
}
