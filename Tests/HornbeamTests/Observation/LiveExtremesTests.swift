// SPDX-License-Identifier: Apache-2.0
// The least and greatest values of an observed query: when the entity with such a value is deleted or changed, the
// next value is read at the end of the index.

import FoundationEssentials
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Guest {
    @Index<Self>(\.seen) private var bySeen

    let id: Int
    var kind: Int
    var seen: Int?
    var text: String
}

/// Guests with an index over their groups.
@EntityModel
private struct Member {
    @Index<Self>(\.kind, \.seen) private var byKind

    let id: Int
    var kind: Int?
    var seen: Double?
    var paid: Decimal
    var text: String
}

/// An entity with the same properties and no index.
@EntityModel
private struct Visitor {
    let id: Int
    var kind: Int?
    var seen: Double?
    var paid: Decimal
    var text: String
}

/// The guests, as a model.
private struct GuestBook {
    private var random = SeededGenerator()
    private(set) var guests: [Int: Guest] = [:]

    mutating func change(_ database: Database) throws {
        for _ in 0..<(1 + random.below(3)) {
            let id = random.below(30)
            let seen = random.oneIn(4) ? nil : random.below(12)
            guests[id] = random.oneIn(3) ? nil : Guest(id: id, kind: random.below(2), seen: seen, text: "")
        }
        let guests = guests
        try database.write { context in
            for id in 0..<30 {
                if let guest = guests[id] {
                    try guest.save(to: &context)
                } else {
                    try Guest.delete(id: id, from: &context)
                }
            }
        }
    }
}

@Suite("Least and greatest values, live", .timeLimit(.minutes(30)))
struct LiveExtremesTests {
    private static func database(_ count: Int) throws -> Database {
        let database = try Database.counting(Guest.self)
        let text = String(repeating: "x", count: 200)
        try database.write { context in
            for id in 0..<count {
                try Guest(id: id, kind: id % 2, seen: id % 7 == 0 ? nil : id, text: text).save(to: &context)
            }
        }
        return database
    }

    @Test("cost a look-up in the index when they are removed, not all entities")
    func cost() async throws {
        let database = try Self.database(20_000)
        let guests = Guest.filter(\.kind == 1)
        var elements = database.observe(guests, aggregating: .max(\.seen), .min(\.seen), .count).makeAsyncIterator()
        func save(_ seen: Int?) throws {
            try database.write { try Guest(id: 7, kind: 1, seen: seen, text: "").save(to: &$0) }
        }
        _ = try await elements.next()
        for seen in [50_000, 50_001, 40, 60_000, 59_999, nil] {
            let before = database.store.statistics.cache
            try save(seen)
            let (greatest, least, count) = try #require(try await elements.next())
            let after = database.store.statistics.cache
            #expect(greatest == max(seen ?? 0, 19_997) && least == 1 && count == 10_000)
            let pages = after.hits + after.misses - before.hits - before.misses
            #expect(pages < 200, "\(pages) pages")
        }
    }

    @Test("are those of plain Swift, while entities are added, changed and deleted", .seeded)
    func random() async throws {
        let database = try Self.database(0)
        var book = GuestBook()
        let followed = Guest.filter(\.kind == 1)
        var elements = database.observe(followed, aggregating: .max(\.seen), .min(\.seen), .max(\.id), .count)
            .makeAsyncIterator()
        _ = try await elements.next()
        var shown: [Int?] = [nil, nil, nil, 0]
        for _ in 0..<150 {
            try book.change(database)
            let mine = book.guests.values.filter { $0.kind == 1 }
            let seen = mine.compactMap(\.seen)
            let expected = [seen.max(), seen.min(), mine.map(\.id).max(), mine.count]
            if expected == shown { continue }
            shown = expected
            let (greatest, least, id, count) = try #require(try await elements.next())
            #expect([greatest, least, id, count] == expected)
        }
    }

    private static func members(_ count: Int) throws -> Database {
        let database = try Database.counting(Member.self)
        let text = String(repeating: "x", count: 200)
        try database.write { context in
            for id in 0..<count {
                let kind = id < count / 2 ? 0 : id / 20
                try Member(id: id, kind: kind, seen: Double(id), paid: 1, text: text).save(to: &context)
            }
        }
        return database
    }

    private static func delete(_ id: Int, _ database: Database) throws {
        try database.write { try Member.delete(id: id, from: &$0) }
    }

    private static func pages(_ database: Database) -> Int {
        let cache = database.store.statistics.cache
        return Int(cache.hits + cache.misses)
    }

    @Test("of groups cost a look-up in the index too; other unknown values cost reading the group")
    func groups() async throws {
        func pages(_ count: Int) async throws -> (extremes: Int, others: Int) {
            let database = try Self.members(count)
            let query = Member.query()
            let extremes = query.grouped(by: \.kind).aggregate(.max(\.seen), .min(\.seen), .count)
            let others = query.grouped(by: \.kind).aggregate(.countDistinct(\.seen), .sum(\.paid))
            var first = database.observe(extremes).makeAsyncIterator()
            var second = database.observe(others).makeAsyncIterator()
            _ = try await first.next()
            _ = try await second.next()
            var read = (extremes: 0, others: 0)
            // The greatest of the large group and both ends of a small one are deleted.
            for id in [count / 2 - 1, count - 1, count - 20, 0] {
                try Self.delete(id, database)
                let before = Self.pages(database)
                let element = try await first.next()
                let changes = try #require(element?.changes)
                #expect(changes.updates.count == 1 && changes.deletions.isEmpty && changes.insertions.isEmpty)
                let after = Self.pages(database)
                read.extremes += after - before
                let other = try await second.next()
                #expect(other?.changes?.updates.count == 1)
                // A large group is read as a whole.
                if id > count / 2 { read.others += Self.pages(database) - after }
            }
            return read
        }
        let few = try await pages(2_000)
        let many = try await pages(20_000)
        #expect(many.extremes < 2 * few.extremes + 40, "\(few) \(many)")
        #expect(many.others < 2 * few.others + 40, "\(few) \(many)")
    }

    /// Makes a random change to the database and to the model.
    private static func change(_ database: Database, _ random: inout SeededGenerator) throws {
        var changes: [(id: Int, kind: Int?, seen: Double?, paid: Decimal?)] = []
        let rare: [Double?] = [nil, .nan, .infinity, -0.0]
        for _ in 0..<(1 + random.below(4)) {
            let kind = random.oneIn(5) ? nil : random.below(4)
            let seen = random.oneIn(8) ? rare[random.below(4)] : Double(random.below(9))
            let paid = random.oneIn(3) ? nil : Decimal(random.below(5)) / 4
            changes.append((random.below(60), kind, seen, paid))
        }
        try database.write { context in
            for (id, kind, seen, paid) in changes {
                guard let paid else {
                    try Member.delete(id: id, from: &context)
                    try Visitor.delete(id: id, from: &context)
                    continue
                }
                try Member(id: id, kind: kind, seen: seen, paid: paid, text: "").save(to: &context)
                try Visitor(id: id, kind: kind, seen: seen, paid: paid, text: "").save(to: &context)
            }
        }
    }

    /// −0.0 may be returned as 0.0.
    private static func text(_ rows: Any) -> String { "\(rows)".replacing("-0.0", with: "0.0") }

    private static func asked<Key, Values>(
        _ query: GroupedQuery<Visitor, Key, Values>, _ database: Database
    ) throws -> String {
        try database.read { text(try query.resolve(in: $0)) }
    }

    @Test("of groups are those of the query, with an index and without, during all changes", .seeded)
    func randomGroups() async throws {
        var random = SeededGenerator()
        let database = try Database.inMemory(models: Member.self, Visitor.self)
        let followed = Member.filter(\.id != 3).grouped(by: \.kind)
            .aggregate(.max(\.seen), .min(\.seen), .countDistinct(\.seen), .sum(\.paid), .sum(\.seen))
        let ends = Member.filter(\.id != 3).grouped(by: \.kind).aggregate(.max(\.seen), .min(\.seen), .count)
        let plain = Visitor.filter(\.id != 3).grouped(by: \.kind)
            .aggregate(.max(\.seen), .min(\.seen), .countDistinct(\.seen), .sum(\.paid), .sum(\.seen))
        let plainEnds = Visitor.filter(\.id != 3).grouped(by: \.kind).aggregate(.max(\.seen), .min(\.seen), .count)
        var members = database.observe(followed).makeAsyncIterator()
        var memberEnds = database.observe(ends).makeAsyncIterator()
        var visitors = database.observe(plain).makeAsyncIterator()
        _ = try await members.next()
        _ = try await memberEnds.next()
        _ = try await visitors.next()
        var (shown, shownEnds) = ("[]", "[]")
        for _ in 0..<120 {
            try Self.change(database, &random)
            let wanted = try Self.asked(plain, database)
            if wanted != shown {
                shown = wanted
                let (one, other) = (try await members.next(), try await visitors.next())
                #expect(Self.text(one?.rows ?? []) == wanted)
                #expect(Self.text(other?.rows ?? []) == wanted)
            }
            let wantedEnds = try Self.asked(plainEnds, database)
            if wantedEnds != shownEnds {
                shownEnds = wantedEnds
                let found = try await memberEnds.next()
                #expect(Self.text(found?.rows ?? []) == wantedEnds)
            }
        }
    }
}
