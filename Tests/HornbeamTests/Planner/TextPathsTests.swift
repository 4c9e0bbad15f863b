// SPDX-License-Identifier: Apache-2.0
// Tests for a part of a text by full-text indexes: they give the answers of a scan, for each analyzer, alone and
// beside other conditions, while rows change; and the index is used if it is faster.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let specifications: [String?] = [
    nil, "unicode", "unicode+accents", "unicode+english", "trigrams", "trigrams+accents",
]

private let columns: [ColumnDescription] = [
    ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "title", type: .optional(.string)),
    ColumnDescription(name: "body", type: .string), ColumnDescription(name: "room", type: .int32),
]

private func store(_ analyzer: String?) throws -> CoreStore {
    let indexes = [
        IndexDescription(name: "byRoom", kind: .value, components: [.init(column: "room")]),
        IndexDescription(
            name: "search", kind: .text, components: [.init(column: "title"), .init(column: "body")],
            analyzer: analyzer),
        IndexDescription(name: "bodies", kind: .text, components: [.init(column: "body")], analyzer: analyzer),
    ]
    return try CoreStore([EntityDescription(name: "Item", columns: columns, indexes: indexes)])
}

private let words = [
    "engine", "Engine", "ENGINES", "straße", "STRASSE", "Ünder", "u\u{308}nder", "ΟΔΟΣ", "οδός", "İstanbul", "istanbul",
    "東京都", "京都", "か\u{3099}く", "한국", "can't", "3.14", "a_b", "", "x", "naïve", "the", "the", "of", "\u{212A}elvin",
]
private let separators = [" ", " ", " ", "\n", ", ", "-", "", ".", "\u{AD}", "\r\n", " \u{301}"]

private struct Generator {
    var random: SeededGenerator

    mutating func text() -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...7, using: &random) {
            text += words.randomElement(using: &random) ?? ""
            text += separators.randomElement(using: &random) ?? ""
        }
        return text
    }

    mutating func row(_ id: Int64) -> [Value] {
        let title: Value = Int.random(in: 0..<5, using: &random) == 0 ? .null : .string(text())
        return [.int(id), title, .string(text()), .int(Int64.random(in: 0...5, using: &random))]
    }

    /// Returns a part of a text, mostly one that occurs.
    mutating func part() -> String {
        let scalars = Array(text().unicodeScalars)
        let cuts = [
            Int.random(in: 0...scalars.count, using: &random), Int.random(in: 0...scalars.count, using: &random),
        ]
        var part = ""
        part.unicodeScalars.append(contentsOf: scalars[min(cuts[0], cuts[1])..<max(cuts[0], cuts[1])])
        return switch Int.random(in: 0..<4, using: &random) {
        case 0: part.uppercased()
        case 1: part.lowercased()
        default: part
        }
    }

    mutating func test() -> StringTest {
        let kinds: [StringTest.Kind] = [.contains, .contains, .hasPrefix, .hasSuffix]
        return StringTest(
            kinds.randomElement(using: &random) ?? .contains,
            columns: [[1], [2], [1, 2]].randomElement(using: &random) ?? [2], part(),
            caseSensitive: Bool.random(using: &random), diacriticSensitive: Int.random(in: 0..<4, using: &random) > 0,
            negated: Int.random(in: 0..<8, using: &random) == 0)
    }

    mutating func filter() -> Filter {
        let room = Filter.compare(column: 3, .equal, .int(Int64.random(in: 0...5, using: &random)))
        return switch Int.random(in: 0..<6, using: &random) {
        case 0: .and([.string(test()), room])
        case 1: .or([.string(test()), .string(test())])
        case 2: .or([.string(test()), room])
        case 3: .and([.string(test()), .string(test())])
        case 4: .not(.string(test()))
        default: .string(test())
        }
    }

    mutating func query() -> EntityQuery {
        EntityQuery(
            type: "Item", filter: filter(), sort: Int.random(in: 0..<3, using: &random) == 0 ? [.column(3)] : [],
            limit: Bool.random(using: &random) ? nil : Int.random(in: 1...10, using: &random),
            offset: Int.random(in: 0..<3, using: &random) == 0 ? 2 : 0)
    }
}

@Suite("Parts of texts by full-text indexes")
struct TextPathsTests {
    @Test("the same answers with an index and without, while rows change", .seeded, arguments: specifications)
    func differential(analyzer: String?) throws {
        var generator = Generator(random: SeededGenerator())
        let indexed = try store(analyzer)
        let plain = try CoreStore([EntityDescription(name: "Item", columns: columns)])
        var searches = 0
        for round in 0..<4 {
            for _ in 0..<120 {
                let id = Int64.random(in: 0..<300, using: &generator.random)
                let row = generator.row(id)
                for store in [indexed, plain] {
                    if id.isMultiple(of: 7) {
                        try store["Item"].delete(RowID(rawValue: UInt64(id)))
                    } else {
                        try store.save("Item", row)
                    }
                }
            }
            if round == 2 { try indexed.reopen() }
            for _ in 0..<120 {
                let query = generator.query()
                let plan = try indexed.core.explain(query)
                if plan.access.description.contains("search of index") { searches += 1 }
                let message: Comment = "\(plan) \(query.filter.text(EntityDescription(name: "Item", columns: columns)))"
                #expect(try indexed.ids(query) == plain.ids(query), message)
                #expect(try indexed.core.count(query) == plain.core.count(query), message)
            }
        }
        // Stems don't determine parts.
        #expect(analyzer == "unicode+english" ? searches == 0 : searches > 20, "\(searches)")
    }

    /// Returns a store of 500 rows, few of which match.
    private func filled(_ analyzer: String?) throws -> CoreStore {
        let store = try store(analyzer)
        for id in 0..<Int64(500) {
            let body = id.isMultiple(of: 100) ? "The analytical engine no. \(id)" : "nothing of that kind, number \(id)"
            try store.save("Item", [.int(id), .string("title"), .string(body), .int(id % 5)])
        }
        return store
    }

    private func access(_ store: CoreStore, _ filter: Filter) throws -> String {
        try store.core.explain(EntityQuery(type: "Item", filter: filter)).access.description
    }

    @Test("the plan names the search, and the test that is made on the rows that it finds")
    func plans() throws {
        let trigrams = try filled("trigrams")
        let query = EntityQuery(type: "Item", filter: .string(StringTest(.contains, columns: [2], "LYTICAL eng")))
        let plan = try trigrams.core.explain(query)
        #expect(
            plan.description == """
                Item: search of index search for "\\"lytical eng\\""
                  filter rows by body contains "LYTICAL eng"
                """)
        #expect(try trigrams.ids(query) == [.int(0), .int(100), .int(200), .int(300), .int(400)])
        #expect(try trigrams.core.count(query) == 5)

        let words = try filled(nil)
        let whole = Filter.string(StringTest(.contains, columns: [2], "e analytical engi"))
        #expect(try access(words, whole) == "search of index search for \"\\\"analytical engi\\\"*\"")
        let part = Filter.string(StringTest(.contains, columns: [2], "nalytical"))
        #expect(try access(words, part) == "scan of 500 rows")
    }

    @Test("a test that many rows pass, or one that ignores accents, doesn't use the index")
    func scans() throws {
        let store = try filled("trigrams")
        let many = Filter.string(StringTest(.contains, columns: [2], "number"))
        #expect(try access(store, many) == "scan of 500 rows")
        let folded = Filter.string(StringTest(.contains, columns: [2], "engine", diacriticSensitive: false))
        #expect(try access(store, folded) == "scan of 500 rows")
        let negated = Filter.string(StringTest(.contains, columns: [2], "engine", negated: true))
        #expect(try access(store, negated) == "scan of 500 rows")
    }

    @Test("a query that requires an index takes one for a part of a text, however few rows there are")
    func required() throws {
        let store = try store("trigrams")
        for id in 0..<Int64(5) { try store.save("Item", [.int(id), .null, .string("engine \(id)"), .int(0)]) }
        let part = Filter.string(StringTest(.contains, columns: [2], "gine 3"))
        for filter in [part, .or([part, .string(StringTest(.hasSuffix, columns: [1, 2], "ine 3"))])] {
            var query = EntityQuery(type: "Item", filter: filter)
            #expect(try store.core.explain(query).access.description == "scan of 5 rows")
            query.requiresIndex = true
            #expect(try store.core.explain(query).access.description.contains("search of index"))
            #expect(try store.ids(query) == [.int(3)])
        }
        var short = EntityQuery(type: "Item", filter: .string(StringTest(.contains, columns: [2], "gi")))
        short.requiresIndex = true
        #expect(throws: HornbeamError.self) { try store.ids(short) }
    }

    @Test("each branch of an `or` is searched")
    func union() throws {
        let store = try filled("unicode")
        let filter = Filter.or([
            .string(StringTest(.hasSuffix, columns: [2], " engine no. 300")),
            .and([.string(StringTest(.contains, columns: [2], " analytical ")), .compare(column: 0, .less, .int(150))]),
        ])
        #expect(try access(store, filter).hasPrefix("union of (search of index"))
        #expect(try store.ids(EntityQuery(type: "Item", filter: filter)) == [.int(0), .int(100), .int(300)])
    }

    @Test("the more selective of two indexes is searched, or both are")
    func otherIndexes() throws {
        let store = try filled("unicode")
        try store.save("Item", [.int(900), .null, .string("an analytical one"), .int(77)])
        let filter = Filter.and([
            .string(StringTest(.contains, columns: [2], " analytical ")), .compare(column: 3, .equal, .int(77)),
        ])
        #expect(try access(store, filter).hasPrefix("index byRoom"))
        #expect(try store.ids(EntityQuery(type: "Item", filter: filter)) == [.int(900)])
    }
}
