// SPDX-License-Identifier: Apache-2.0
// A limit that is never reached must not cost several times as much as reading all rows. Rows that were already
// returned must not come again when the index is given up.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Sample {
    @Index<Self>(\.rank) private var byRank

    let id: Int
    var rank: Int
    var text: String
}

@EntityModel
private struct NamedSample {
    let id: String
    var text: String
}

@Suite("Walks of an index that find too little")
struct ScanFallbackTests {
    private static let count = 4_000

    private static func database() throws -> Database {
        let database = try Database.counting(Sample.self, NamedSample.self)
        try database.write { context in
            for id in 0..<count {
                // Three rows of each rank. Among the rows of a rare rank, in both directions, the 500th candidate is
                // not the last.
                let rank = id * 7919 % count / 3
                let text = rank % 100 == 66 ? "rare" : "usual"
                try Sample(id: id, rank: rank, text: text).save(to: &context)
                try NamedSample(id: "\(id * 7919 % count)", text: text).save(to: &context)
            }
        }
        return database
    }

    @Test("are given up for a scan: little more than all rows are read")
    func cost() throws {
        let database = try Self.database()
        let queries: [QueryList<Sample>] = [
            .filter(\.text == "none").sorted(by: \.rank).limit(20),
            .filter(\.text == "rare").sorted(by: \.rank).limit(20),
        ]
        for query in queries {
            try database.read { context in
                let run = try query.explain(.analyze, in: context)
                #expect(run.plan.access.description.contains("byRank"))
                #expect(run.rowsRead <= Self.count * 9 / 8 + 1, "\(run)")
            }
            let pages = try database.pagesRead { _ = try query.ids(in: $0) }
            // Looking up each of them would take two or more pages.
            #expect(pages < Self.count, "\(pages) pages")
        }
        try database.read { context in
            let names = NamedSample.filter(\.text == "none").sorted(by: \.id).limit(20)
            let run = try names.explain(.analyze, in: context)
            #expect(run.plan.access.description.contains("ids in their order"))
            #expect(run.rowsRead <= Self.count * 9 / 8 + 1, "\(run)")
            // A query that finds enough rows reads no more than these.
            let usual = try Sample.filter(\.text == "usual").sorted(by: \.rank).limit(20).explain(.analyze, in: context)
            #expect(usual.rowsRead < 50, "\(usual)")
        }
    }

    @Test("give each result once and in order, with offsets, positions, either direction, and extremes", .seeded)
    func results() throws {
        var random = SeededGenerator()
        try Self.database().read { (context) throws in
            let all = try Sample.query().resolve(in: context).filter { $0.text == "rare" }
            let rare = Sample.filter(\.text == "rare")
            let up = all.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }.map(\.id)
            let down = all.sorted { ($1.rank, $0.id) < ($0.rank, $1.id) }.map(\.id)
            #expect(up.count == 39)
            for (order, expected) in [(rare.sorted(by: \.rank), up), (rare.sorted(by: \.rank.desc), down)] {
                for limit in 1...12 {
                    #expect(try order.limit(limit).ids(in: context) == Array(expected.prefix(limit)), "\(limit)")
                }
                for _ in 0..<10 {
                    let (limit, offset) = (1 + random.below(9), random.below(4))
                    #expect(
                        try order.limit(limit, offset: offset).ids(in: context)
                            == Array(expected.dropFirst(offset).prefix(limit)))
                    let place = random.below(expected.count)
                    let last = try #require(try Sample.query(expected[place]).resolve(in: context))
                    #expect(
                        try order.after(last).limit(limit).ids(in: context)
                            == Array(expected.dropFirst(place + 1).prefix(limit)))
                }
                #expect(try order.last().resolve(in: context)?.id == expected.last)
            }
            #expect(try rare.max(\.rank, in: context) == all.map(\.rank).max())
            #expect(try rare.min(\.rank, in: context) == all.map(\.rank).min())
            #expect(try Sample.filter(\.text == "none").max(\.rank, in: context) == nil)
        }
    }

    @Test("don't make a query fail that requires an index, nor a count with an index for its order")
    func requirement() throws {
        try Self.database().read { (context) throws in
            let query = Sample.filter(\.text == "rare").sorted(by: \.rank).limit(3).requiringIndex()
            #expect(try query.ids(in: context).count == 3)
            #expect(try query.count(in: context) == 3)
            #expect(try query.exists(in: context))
            #expect(throws: HornbeamError.self) {
                try Sample.filter(\.text == "rare").limit(3).requiringIndex().count(in: context)
            }
        }
    }
}
