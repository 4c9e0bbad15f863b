// SPDX-License-Identifier: Apache-2.0
// The least and greatest values of a query that is followed: when the entity that has one goes or changes, the next one
// is read at the index's end.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@EntityModel
private struct Guest {
    @Index<Self>(\.seen) private var bySeen

    let id: Int
    var kind: Int
    var seen: Int?
    var text: String
}

/// Who is there.
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

    @Test("that go cost a look at the index, not at all entities")
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

    @Test("are those of plain Swift, while entities come, change and go", .seeded)
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
}
