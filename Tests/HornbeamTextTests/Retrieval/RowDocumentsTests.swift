// SPDX-License-Identifier: Apache-2.0
// Looking up the documents of many rows agrees with single look-ups, and no document belongs to another row: with
// rows added in any order, with gaps, removed and added again, stored and pending.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Documents of rows")
struct RowDocumentsTests {
    @Test("They agree with single look-ups", arguments: SeededGenerator.seeds(3))
    func likeLookups(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var texts: [UInt64: String] = [:]
        // First rows without gaps, then with some, then far apart; small rows added late are exceptions.
        var next: UInt64 = 40
        for round in 0..<9 {
            try store.write(limits: round < 5 ? .none : .standard) { writer in
                for _ in 0..<(round < 5 ? 700 : 120) {
                    next += round % 3 == 0 ? 1 : UInt64(1 + random.below(round % 3 == 1 ? 3 : 1 << 20))
                    let row = round > 1 && random.oneIn(9) ? UInt64(random.below(900)) : next
                    let old = texts[row]
                    let new = random.oneIn(8) ? nil : "word \(random.below(9))"
                    switch (old, new) {
                    case (let old?, let new?): try writer.update(row, from: old, to: new)
                    case (let old?, nil): try writer.remove(row, text: old)
                    case (nil, let new?): try writer.insert(row, text: new)
                    case (nil, nil): break
                    }
                    texts[row] = new
                }
                for row in texts.keys.sorted() where round > 2 && random.oneIn(40) {
                    try writer.remove(row, text: texts[row] ?? "")
                    texts[row] = nil
                }
            }
            let read = try store.beginRead()
            defer { read.abort() }
            let view = try StoredView(#require(try TextSnapshot(testIndex, in: read)))
            let known = texts.keys.sorted()
            for share in [1, 2, 30, 900] {
                var rows = Set(known.filter { _ in random.oneIn(share) })
                for _ in 0..<20 { rows.insert(UInt64(random.below(Int(next) + 90))) }
                let sorted = rows.sorted()
                let note: Comment = "\(sorted.count) rows, round \(round), HORNBEAM_SEED=\(seed)"
                let found = try view.documents(of: sorted)
                #expect(zip(found, found.dropFirst()).allSatisfy { $0 < $1 }, note)
                let looked = try sorted.compactMap { try view.docno(of: $0) }
                #expect(Set(looked).isSubset(of: found), note)
                #expect(looked.count == sorted.count { texts[$0] != nil }, note)
                // The removed documents among the found ones.
                for docno in Set(found).subtracting(looked) {
                    let row = try view.row(of: docno)
                    #expect(rows.contains(row), note)
                    #expect(try view.docno(of: row) != docno, note)
                }
            }
            #expect(try view.documents(of: []) == [])
            // The row of each document, in any order; then again, when chunks are cached.
            let pairs = try known.map { (row: $0, docno: try #require(try view.docno(of: $0))) }
            for _ in 0..<2 {
                let wrong = try pairs.shuffled(using: &random).filter { try view.row(of: $0.docno) != $0.row }
                #expect(wrong.isEmpty, "round \(round), HORNBEAM_SEED=\(seed)")
            }
        }
    }
}
