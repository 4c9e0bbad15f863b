// SPDX-License-Identifier: Apache-2.0
// When the documents of a search's rows are found in advance: as soon as that takes less than single look-ups.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Rows that a search is restricted to")
struct RowSelectionTests {
    private static let count: UInt64 = 10_000

    private static func view() -> MemoryView {
        MemoryView((0..<count).map { TestDocument(row: $0, fields: [[["word"]]]) }, fieldCount: 1)
    }

    @Test("The documents of few rows are found at the first search with slightly more work")
    func few() {
        let view = Self.view()
        #expect(RowSelection([1, 20, 300]).isWorthwhile(500, limit: 10, view))
        #expect(RowSelection((0..<1_000).map { 10 * $0 }).isWorthwhile(500, limit: 10, view))
        #expect(!RowSelection((0..<1_000).map { 10 * $0 }).isWorthwhile(5, limit: 10, view), "which asks about five")
    }

    @Test("Many rows are read at once after enough single look-ups")
    func many() throws {
        let view = Self.view()
        let rows = (0..<Self.count).filter { $0 % 100 > 0 }
        let selection = RowSelection(rows)
        #expect(!selection.isWorthwhile(2_000, limit: 10, view), "which asks about some fifty")
        for row in 0..<UInt64(100) { #expect(selection.has(row) == (row > 0)) }
        #expect(!selection.isWorthwhile(2_000, limit: 10, view))
        for row in 0..<UInt64(100) { _ = selection.has(row) }
        #expect(!RowSelection(rows).isWorthwhile(2_000, limit: 10, view), "others have not")
        #expect(!selection.isWorthwhile(2_000, limit: 10, Self.view()), "nor has it in another state")
        #expect(!selection.isWorthwhile(2_000, limit: 10, view), "where it began anew")
        for row in 0..<UInt64(200) { _ = selection.has(row) }
        #expect(selection.isWorthwhile(2_000, limit: 10, view))
        let documents = try selection.documents(view)
        #expect(Array(UnsafeBufferPointer(start: documents.docnos, count: documents.count)) == rows.map { UInt32($0) })
        #expect(selection.isWorthwhile(1, limit: 1, view), "they are known now")
    }

    @Test("A selection no larger than the search's own work always pays: none of its rows may match")
    func fewerThanCost() {
        let view = Self.view()
        let rows = (0..<Self.count).filter { $0 % 100 > 0 }
        #expect(RowSelection(rows).isWorthwhile(rows.count, limit: 1, view))
        #expect(!RowSelection(rows).isWorthwhile(rows.count - 1, limit: 1, view))
    }

    @Test("An unlimited search looks up all documents that it reads")
    func unlimited() {
        let view = Self.view()
        let rows = (0..<Self.count).filter { $0 % 100 > 0 }
        #expect(RowSelection(rows).isWorthwhile(2_000, limit: .max, view))
        #expect(!RowSelection(rows).isWorthwhile(20, limit: .max, view))
    }
}
