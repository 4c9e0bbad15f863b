// SPDX-License-Identifier: Apache-2.0
// The tree that knows positions, compared with a sorted array.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@Suite("Rank tree")
struct RankTreeTests {
    private func row(_ number: Int, print: Int = 0) -> RankedRow {
        // Several rows share a key, so that there are ties.
        RankedRow(key: [UInt8(number % 17)], row: RowID(rawValue: UInt64(number)), fingerprint: print)
    }

    @Test("has the rows and positions of a sorted array through random changes", arguments: SeededGenerator.seeds(4))
    func model(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var model = (0..<200).map { row($0 * 3) }.sorted { $0.order($1) < 0 }
        var tree = RankTree(model)
        for step in 0..<3_000 {
            let number = random.below(600)
            let new = row(number, print: step)
            if let place = model.firstIndex(where: { $0.order(new) == 0 }) {
                #expect(tree.position(of: new) == place, "seed \(seed)")
                if random.oneIn(3) {
                    tree.update(new)
                    model[place].fingerprint = step
                } else {
                    tree.remove(new)
                    model.remove(at: place)
                }
            } else {
                #expect(tree.position(of: new) == nil, "seed \(seed)")
                tree.insert(new)
                model.insert(new, at: model.firstIndex { new.order($0) < 0 } ?? model.count)
            }
            #expect(tree.count == model.count, "seed \(seed)")
        }
        #expect(tree.rows.map(\.row) == model.map(\.row), "seed \(seed)")
        #expect(tree.rows.map(\.fingerprint) == model.map(\.fingerprint), "seed \(seed)")
        for (place, row) in model.enumerated() { #expect(tree.position(of: row) == place, "seed \(seed)") }
    }

    @Test("sorts the rows that it begins with, in whatever order they come", .seeded)
    func unordered() {
        var random = SeededGenerator()
        for count in 0..<40 {
            let rows = (0..<count).map { row($0 * 5) }.shuffled(using: &random)
            var tree = RankTree(rows)
            #expect(tree.rows.map(\.row) == rows.sorted { $0.order($1) < 0 }.map(\.row))
            for row in rows { tree.remove(row) }
            #expect(tree.count == 0)
        }
    }

    @Test("stays low when rows are inserted and removed in order")
    func depth() {
        var tree = RankTree()
        for number in 0..<20_000 {
            tree.insert(RankedRow(key: [], row: RowID(rawValue: UInt64(number)), fingerprint: 0))
            if number >= 5_000 {
                tree.remove(RankedRow(key: [], row: RowID(rawValue: UInt64(number - 5_000)), fingerprint: 0))
            }
        }
        #expect(tree.count == 5_000)
        #expect(tree.height < 60)
    }
}
