// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Performance and sizing”.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Event {
    @Index<Self>(\.city, \.day.desc) private var byCity

    let id: Int
    var city: String
    var day: Int
    var visitors: Int
    var title: String
}

@Suite("The guide “Performance and sizing”")
struct PerformanceAndSizingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func filled() throws -> Database {
        let database = try Database(at: folder.path("events.hornbeam"), models: Event.self)
        let events = (1...20_000).map { id in
            Event(id: id, city: "City \(id % 40)", day: id % 1000, visitors: id % 700, title: "Event number \(id)")
        }
        try database.write { context in
            for event in events { try event.save(to: &context) }
        }
        return database
    }

    @Test("Measured plans are as the guide prints them")
    func analyzed() throws {
        let database = try filled()
        var printed = ""
        func print(_ run: PlanRun) { printed = "\(run)" }
        try database.read { context in
            let query = Event.filter(\.city == "City 7" && \.visitors > 600).sorted(by: \.day.desc).limit(5)
            let run = try query.explain(.analyze, in: context)
            print(run)
            #expect(run.pagesRead > 0)
        }
        #expect(
            printed == """
                Event: index byCity, one range of 500 entries → 45 rows
                  filter rows by visitors > 600 → 5 rows from 45
                  limit 5 → 5 rows
                  5 results
                """)
        try database.read { context in
            let slow = try Event.filter(\.visitors > 600).sorted(by: \.day.desc).limit(5).explain(.analyze, in: context)
            print(slow)
        }
        #expect(
            printed == """
                Event: scan of 20000 rows → 20000 rows
                  filter rows by visitors > 600 → 2772 rows from 20000
                  sort by day desc → 2772 rows
                  limit 5 → 5 rows from 2772
                  5 results
                """)
    }

    @Test("A write has the durability that it asks for")
    func durability() throws {
        let path = folder.path("small.hornbeam")
        var options = Database.Options()
        options.durability = .process
        let database = try Database(at: path, models: Event.self, options: options)
        try database.write(durability: .full) { context in
            try Event(id: 1, city: "Oslo", day: 1, visitors: 90, title: "Opening").save(to: &context)
        }
        #expect(try database.read { try $0.ids(Event.self) } == [1])
    }

    @Test("Questions for less give the same answers")
    func less() throws {
        try filled().read { context in
            let oslo = Event.filter(\.city == "City 7")
            let all = try oslo.resolve(in: context)
            #expect(try oslo.count(in: context) == all.count)
            #expect(try oslo.select(\.title).resolve(in: context) == all.map(\.title))
            #expect(try oslo.sum(\.visitors, in: context) == all.reduce(0) { $0 + $1.visitors })
            var seen = 0
            try oslo.forEach(in: context) { _ in seen += 1 }
            #expect(seen == all.count)
            let sorted = oslo.sorted(by: \.day.desc)
            let page = try sorted.limit(20).resolve(in: context)
            let last = try #require(page.last)
            let next = try sorted.after(last).limit(20).ids(in: context)
            #expect(try next == sorted.limit(20, offset: 20).ids(in: context))
        }
    }

    @Test("An event takes about 128 bytes, and a compaction gives free space back")
    func size() throws {
        let database = try filled()
        try database.checkpoint()
        let figures = database.statistics
        let bytesEach = figures.usedBytes / 20_000
        #expect((100...200).contains(bytesEach))
        try database.write { _ = try Event.filter(\.id > 1000).delete(from: &$0) }
        let done = try database.compact()
        print(done.bytesBefore, done.bytesAfter)
        #expect(done.bytesAfter < done.bytesBefore / 2)
    }
}
