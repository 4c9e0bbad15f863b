// SPDX-License-Identifier: Apache-2.0
// How a long list lies in its trees after changes all over it: what searches go through is few runs of many postings.

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

    @Test("Runs that are as long as a leaf takes don't crumble when postings come among theirs", arguments: [3, 14])
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
        // As folding brings them: a few at a time, all over the list.
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
        // The last one of each list is what is left.
        #expect(after.count { $0 < 128 } <= 2, "\(after)")
        #expect(try store.problems(model) == [])
    }
}
