// SPDX-License-Identifier: Apache-2.0
// Entities with columns of every type, and a store of them with its mirror.

import Foundation
import HornbeamTestSupport
import PostgresTestSupport

@testable import Hornbeam
@testable import HornbeamPostgres

@EntityModel
struct Shelf {
    let id: Int
    var title: String
    var score: Double?

    @Relationship(inverse: \.shelf) var items: [Item]?
    @Relationship(inverse: \.shelves) var owners: [Owner]?
    @Relationship() var neighbours: [Shelf]?
}

@EntityModel
struct Owner {
    let id: String
    var born: Date

    @Relationship(inverse: \.owners) var shelves: [Shelf]?
    @Relationship() var favourite: Item?
}

@EntityModel
struct Item {
    @Index<Self>(\.number) private var byNumber
    @Index<Self>(\.$shelf.id) private var byShelf
    @FullTextIndex<Self>(\.name) private var search

    let id: Int
    var isNew: Bool
    var tiny: Int8
    var short: Int16?
    var middle: Int32
    var number: Int
    var byte: UInt8
    var word: UInt32?
    var mass: UInt64
    var thin: Float
    var ratio: Double
    var part: Double?
    var made: Date
    var seen: Date?
    var key: UUID
    var name: String
    var note: String?
    var link: URL?
    var blob: Data
    var price: Decimal
    var kind: Kind
    var level: Level?
    var tags: [String]
    var counts: [Int]?
    var days: [Date]
    var size: Size?

    @Relationship(inverse: \.items) var shelf: Shelf?
    @Relationship() var parts: [Item]?

    enum Kind: String, Codable, Sendable, CaseIterable { case plain, round, strange }
    enum Level: Int, Codable, Sendable, CaseIterable { case low = -1, high = 7 }
    struct Size: Codable, Equatable, Sendable { var width: Int }

    /// Not stored.
    var half: Int { number / 2 }
}

/// Values for the properties of generated entities and for the conditions on them.
struct Pools {
    static let integers = [-7, -1, 0, 1, 2, 3, 5, 8, 100, Int.max, Int.min]
    static let doubles = [
        0.0, -0.0, 1.5, -1.5, 0.1, .infinity, -.infinity, .nan, Double(bitPattern: 0x7FF8_0000_0000_0123), 1e300,
        1e-300,
        9_007_199_254_740_992,
    ]
    static let floats: [Float] = [0, -0.0, 0.1, 1.5, .infinity, .nan, -3]
    static let masses: [UInt64] = [0, 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max]
    static let decimals: [Decimal] = [
        0, 1, Decimal(string: "1.50") ?? 0, Decimal(string: "-0.001") ?? 0,
        Decimal(string: "99999999999999999999999999999999999999") ?? 0, .nan,
    ]
    /// Dates of which several are within one microsecond.
    static let dates: [Date] =
        [
            0, 0.000_001, 0.000_001_2, 0.000_001_4, 0.000_000_9, -0.000_000_3, 800_000_000.123_456_7,
            800_000_000.123_456_8, 800_000_000.123_457, 1e9, -63_113_904_000.5, 252_423_993_600, 1e15, .infinity,
            -.infinity, .nan,
        ].map { Date(timeIntervalSinceReferenceDate: $0) }
    static let texts = [
        "", "a", "A", "ab", "aB", "abc", "b", "é", "e\u{301}", "e", "É", "ß", "ss", "SS", "ﬁ", "fi", "\u{212A}", "k",
        "K",
        "漢字", "😀", "👨‍👩‍👧", "👨", "a\r\nb", "a\r", "a\n", "\"'\\", "%", "_", "a%b", "a_b", "\u{FFFD}", "NULL", "{a,b}",
        "x, y",
        "e\u{301}a", "ea", "\u{301}", "q\u{303}", "q", "z\u{307}\u{323}", "z\u{323}\u{307}", "'; DROP TABLE x; --",
        "\u{7F}",
        "\u{10FFFF}",
    ]
    static let notes =
        texts + [
            "\0", "a\0b", "a\u{FFFD}b", "\0\0", "é\0", "\u{1}", "\u{2}", "\u{1}\u{1}", "\u{1}\u{2}", "\0\u{1}",
            "a\u{1}b",
            "a\u{2}b", "a\0", "a\u{1}", "A\0B", "\u{3}",
        ]
    static let keys = (0..<6).map { UUID(uuid: (UInt8($0 * 50), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)) }
    static let blobs = [Data(), Data([0]), Data([0, 255]), Data([1]), Data([127, 128])]
    static let links = ["http://a.example/", "http://b.example/?q=%27", "mailto:x@y"].compactMap { URL(string: $0) }
}

extension SeededGenerator {
    mutating func one<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func some<Element>(of elements: [Element], upTo count: Int = 3) -> [Element] {
        (0..<below(count + 1)).map { _ in one(of: elements) }
    }

    mutating func maybe<Element>(_ elements: [Element]) -> Element? { oneIn(4) ? nil : one(of: elements) }

    /// Returns a date near or far in time, mostly finer than a microsecond.
    mutating func date() -> Date {
        guard oneIn(3) else { return one(of: Pools.dates) }
        return Date(timeIntervalSinceReferenceDate: Double(below(4)) + Double(below(50)) * 1e-7)
    }

    mutating func text() -> String {
        one(of: Pools.notes) + (oneIn(2) ? one(of: Pools.notes) : "")
    }

    mutating func item(_ id: Int) -> Item {
        Item(
            id: id, isNew: oneIn(2), tiny: Int8(one(of: [-128, 0, 3, 127])), short: maybe([-5, 0, 5]),
            middle: Int32(below(5)), number: one(of: Pools.integers), byte: UInt8(below(4)), word: maybe([0, 7, .max]),
            mass: one(of: Pools.masses), thin: one(of: Pools.floats), ratio: one(of: Pools.doubles),
            part: maybe(Pools.doubles), made: date(), seen: oneIn(4) ? nil : date(), key: one(of: Pools.keys),
            name: text(), note: oneIn(4) ? nil : one(of: Pools.notes), link: maybe(Pools.links),
            blob: one(of: Pools.blobs), price: one(of: Pools.decimals), kind: one(of: Item.Kind.allCases),
            level: maybe(Item.Level.allCases), tags: some(of: Pools.notes),
            counts: oneIn(4) ? nil : some(of: [0, 1, 2]),
            days: some(of: Pools.dates, upTo: 2), size: oneIn(2) ? nil : Item.Size(width: below(3)))
    }
}

/// A store and its mirror.
struct MirroredStore {
    let database: Database
    let url: String
    let reader: PostgresReader

    init(items: Int, seed: UInt64) async throws {
        database = try Self.filled(items, seed)
        url = try PostgresServer.shared().makeDatabase()
        var options = PostgresMirror.Options()
        options.indexes = .declared
        try await PostgresMirror(of: database, named: "m", to: url, schema: "news", options: options).update()
        reader = try PostgresReader(url, schema: "news", models: Shelf.self, Item.self, Owner.self)
    }

    private static func filled(_ items: Int, _ seed: UInt64) throws -> Database {
        var random = SeededGenerator(seed: seed)
        let database = try Database.inMemory(models: Shelf.self, Item.self, Owner.self)
        try database.write { context in
            for number in 0..<items { try random.item(number * 3 % 1000).save(to: &context) }
            for number in 1...20 {
                var shelf = Shelf(
                    id: number, title: random.text(), score: random.maybe(Pools.doubles),
                    items: .ids((0..<random.below(8)).map { _ in random.below(items + 5) * 3 % 1000 }))
                // Some links lead to shelves that aren't stored.
                if random.oneIn(2) { shelf.$neighbours = .ids((0..<3).map { _ in random.below(30) }) }
                try shelf.save(to: &context)
            }
            for number in 0..<10 {
                try Owner(
                    id: "owner \(number) é", born: random.date(),
                    shelves: .ids((0..<random.below(5)).map { _ in 1 + random.below(20) }),
                    favourite: random.oneIn(3) ? .null : .id(random.below(items + 20) * 3)
                ).save(to: &context)
            }
            for number in 0..<(items / 2) {
                guard var item: Item = try context.find(random.below(items) * 3 % 1000) else { continue }
                let missing = number % 9 == 0 ? 1 : 0
                item.$parts = .ids((0..<random.below(4)).map { _ in random.below(items) * 3 % 1000 + missing })
                try item.save(to: &context)
            }
        }
        return database
    }
}

extension Database {
    /// Reads synchronously: in asynchronous code, `read` would be the asynchronous one.
    func now<Result>(_ body: (Context) throws -> Result) throws -> Result { try read(body) }

    func change(_ body: (inout Context) throws -> Void) throws { try write(body) }
}

/// An entity as text, with the bytes of its row and its relations. `Date` traps when it describes NaN.
protocol WhollyTold: EntityModelProtocol {
    var relations: String { get }
}

extension WhollyTold {
    var whole: String {
        let type = EntityType(named: Self.entityShape.description)
        var writer = RowWriter(layout: type.layout)
        write(to: &writer)
        return "\((try? writer.finish()) ?? []) \(relations)"
    }
}

extension Relation where Entity: WhollyTold {
    var whole: String {
        let said =
            switch content {
            case .none: "none"
            case .null: "null"
            case .ids(let ids): "\(ids)"
            case .entities(let entities): "\(entities.map(\.whole))"
            }
        return said + (isSlice ? " slice" : "") + (isFragment ? " fragment" : "")
    }
}

extension Item: WhollyTold {
    var relations: String { "\($shelf.whole) \($parts.whole)" }
}

extension Shelf: WhollyTold {
    var relations: String { "\($items.whole) \($owners.whole) \($neighbours.whole)" }
}

extension Owner: WhollyTold {
    var relations: String { "\($shelves.whole) \($favourite.whole)" }
}
