// SPDX-License-Identifier: Apache-2.0
// The first of each group in one call: by an index, from group to group, or by all rows, with equal results.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
struct RoomMessage: Equatable {
    @Index<Self>(\.room, \.sentAt.desc) private var byRoom
    @Index<Self>(\.kind, \.room, \.sentAt) private var byKind

    let id: Int
    var room = 0
    var kind = 0
    var sentAt = 0.0
    var text: String?
}

@EntityModel
struct TitledMessage: Equatable {
    @Index<Self>(\.title, \.sentAt.desc) private var byTitle

    let id: Int
    var title = ""
    var sentAt = 0.0
}

@Suite("the first of each group")
struct FirstOfEachTests {
    private func isLoose(_ query: QueryList<RoomMessage>, _ columns: [Int], _ database: Database) throws -> Bool {
        try database.read { context in
            try Planner(query.coreQuery, context.session.store(RoomMessage.self)).firstScan(by: columns) != nil
        }
    }

    @Test(
        "it equals the result of reading the whole query, with an index and without",
        arguments: SeededGenerator.seeds(3))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let database = try Database.inMemory(models: RoomMessage.self)
        try database.write { context in
            for id in 0..<600 {
                try RoomMessage(
                    id: id, room: random.below(20) - 10, kind: random.below(3), sentAt: Double(random.below(30)),
                    text: random.oneIn(4) ? nil : "t\(random.below(5))"
                ).save(to: &context)
            }
        }
        let queries: [(QueryList<RoomMessage>, isLoose: Bool)] = [
            (RoomMessage.query().sorted(by: \.sentAt.desc), true),
            (RoomMessage.query().sorted(by: \.sentAt), false),
            (RoomMessage.filter(\.kind == 1).sorted(by: \.sentAt), true),
            (RoomMessage.filter(\.kind == 1 && \.room > 2).sorted(by: \.sentAt), true),
            (RoomMessage.filter(\.kind == 7).sorted(by: \.sentAt), true),
            (RoomMessage.filter(\.sentAt > 20).sorted(by: \.sentAt.desc), false),
            (RoomMessage.query(), false), (RoomMessage.query().sorted(by: \.sentAt.desc).limit(50), false),
        ]
        for (place, (query, isLoose)) in queries.enumerated() {
            #expect(try self.isLoose(query, [1], database) == isLoose, "query \(place)")
            var firsts: [Int: RoomMessage] = [:]
            for message in try database.results(query) where firsts[message.room] == nil {
                firsts[message.room] = message
            }
            let found = try database.results(query.first(ofEach: \.room))
            #expect(found == firsts.values.sorted { $0.room < $1.room }, "query \(place)")
        }
        // By several properties, of which one is optional and none is in an index.
        let texts = try database.results(RoomMessage.query().sorted(by: \.sentAt).first(ofEach: \.kind, \.text))
        let pairs = texts.map { "\($0.kind) \($0.text ?? "")" }
        #expect(Set(pairs).count == pairs.count && pairs.count == 18)
        #expect(pairs == pairs.sorted())
        let all = try database.results(RoomMessage.query().sorted(by: \.sentAt))
        for text in texts { #expect(text == all.first { $0.kind == text.kind && $0.text == text.text }) }
    }

    @Test("groups that an index can't distinguish, because their texts are too long, are distinguished by the rows")
    func longKeys() throws {
        let database = try Database.inMemory(models: TitledMessage.self)
        let long = String(repeating: "long ", count: 200)
        try database.write { context in
            for (id, title) in ["a", "a", long + "1", long + "2", long + "1"].enumerated() {
                try TitledMessage(id: id, title: title, sentAt: Double(id)).save(to: &context)
            }
        }
        let query = TitledMessage.query().sorted(by: \.sentAt.desc)
        let scan = try database.read { context in
            try Planner(query.coreQuery, context.session.store(TitledMessage.self)).firstScan(by: [1])
        }
        #expect(scan != nil)
        #expect(try database.results(query.first(ofEach: \.title)).map(\.id) == [1, 4, 3])
    }

    @Test("it is a list like any other, and includes a write's changes so far")
    func list() throws {
        let database = try Database.inMemory(models: RoomMessage.self)
        let latest = RoomMessage.query().sorted(by: \.sentAt.desc).first(ofEach: \.room)
        #expect(try database.results(latest).isEmpty)
        try database.write { context in
            for id in 0..<30 { try RoomMessage(id: id, room: id % 3, sentAt: Double(id)).save(to: &context) }
            #expect(try latest.resolve(in: context).map(\.id) == [27, 28, 29])
            _ = try RoomMessage.query(28).delete(from: &context)
            #expect(try latest.resolve(in: context).map(\.id) == [27, 25, 29])
        }
        #expect(try database.results(latest.filter(\.room > 0).sorted(by: \.sentAt.desc).limit(1)).map(\.id) == [29])
        #expect(try database.read { context in try latest.count(in: context) } == 3)
    }
}
