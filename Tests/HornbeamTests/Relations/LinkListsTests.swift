// SPDX-License-Identifier: Apache-2.0
// The tables for a level of a nested query: the targets of several sources are numbered as a plain set would number
// them.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Rows of a level")
struct LinkListsTests {
    private func rows(_ numbers: [UInt64]) -> [RowID] { numbers.map { RowID(rawValue: $0) } }

    /// Close together and far apart, near the ends of the range too.
    private func random(_ random: inout SeededGenerator) -> [RowID] {
        let least: UInt64 = [0, 1 << 40, .max - 2_000][random.below(3)]
        let spread: UInt64 = [1, 20, 2_000][random.below(3)]
        return (0..<random.below(200)).map { _ in
            RowID(rawValue: least + UInt64.random(in: 0..<spread, using: &random))
        }
    }

    @Test("each row once, ascending, with its index; rows that aren't stored have none", .seeded)
    func distinct() {
        var generator = SeededGenerator()
        for _ in 0..<300 {
            let given = random(&generator)
            var distinct = DistinctRows(given)
            #expect(distinct.rows == Set(given).sorted())
            #expect(distinct.places.map { distinct.rows[$0] } == given)
            #expect(distinct.hasRepeats == (Set(given).count < given.count) && distinct.hasRepeats == given.hasRepeats)
            let stored = distinct.rows.filter { _ in Bool.random(using: &generator) }
            distinct.keep(stored)
            #expect(distinct.rows == stored)
            #expect(
                zip(distinct.places, given).allSatisfy { place, row in
                    place < 0 ? !stored.contains(row) : stored[place] == row
                })
        }
    }

    @Test("lists keep their rows in order; without unstored rows they only lose these", .seeded)
    func lists() {
        var generator = SeededGenerator()
        for _ in 0..<100 {
            let lists = (0..<generator.below(8)).map { _ in Array(random(&generator).prefix(generator.below(4))) }
            let links = LinkLists(lists)
            #expect(links.lists == lists)
            var distinct = DistinctRows(links.targets)
            let stored = distinct.rows.filter { _ in generator.below(4) > 0 }
            distinct.keep(stored)
            let (places, ends) = distinct.storedPlaces(links.ends)
            let kept = lists.map { $0.filter { stored.contains($0) } }
            #expect(places.map { stored[$0] } == kept.flatMap { $0 } && ends.count == lists.count)
            #expect(zip([0] + ends, ends).map { $1 - $0 } == kept.map(\.count))
            let firsts = lists.map { list in list.first.flatMap { stored.firstIndex(of: $0) } ?? -1 }
            #expect(distinct.firstPlaces(links.ends) == firsts)
        }
    }

    @Test("a run ascends and leaves out few")
    func runs() {
        let even = (0..<20).map { RowID(rawValue: UInt64($0 * 2)) }
        #expect(even.isRun() && !Array(even.reversed()).isRun() && !even.prefix(8).map { $0 }.isRun())
        #expect(!(even + [RowID(rawValue: 1_000)]).isRun() && (even + even.suffix(1)).isRun())
        #expect(!(even + rows([3])).isRun() && !(even.prefix(10) + rows([1]) + even.suffix(10)).map { $0 }.isRun())
    }
}
