// SPDX-License-Identifier: Apache-2.0
// Indexes by hashes: only for equality, with entries of one size.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Page {
    @HashIndex<Self>(\.url) private var byURL
    @HashIndex<Self>(\.host, \.port) private var byHost

    let id: Int
    var url: String
    var host: String?
    var port: Int
}

@EntityModel
private struct Visitor {
    @HashIndex<Self>(\.name, collation: .caseInsensitive) private var byName
    @HashIndex<Self>(\.town, \.age, \.street, collation: .unicode(locale: "sv", caseSensitive: false))
    private var byHome

    let id: Int
    var name: String
    var age = 0
    var town = ""
    var street: String?
}

/// A type with the properties of the type above, without indexes.
@EntityModel
private struct Stranger {
    let id: Int
    var name: String
    var age = 0
    var town = ""
    var street: String?
}

@Suite("Indexes by hashes")
struct HashIndexTests {
    private let long = String(repeating: "x", count: 3000)

    private func database() throws -> Database {
        let database = try Database.inMemory(models: Page.self)
        try database.write { (context) throws in
            for id in 0..<200 {
                try Page(
                    id: id, url: "\(long)/\(id % 50)", host: id % 3 == 0 ? nil : "h\(id % 5)", port: id % 2
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("answer equality, of all their properties, and lists of values; the entities are as without an index")
    func equality() throws {
        try database().read { (context) throws in
            let one = Page.filter(\.url == "\(long)/7")
            #expect(try one.ids(in: context) == [7, 57, 107, 157])
            #expect(try one.count(in: context) == 4)
            let plan = try one.explain(in: context)
            #expect(plan.access == .index(name: "byURL", ranges: 1, entries: 4, reversed: false))
            // Two values may share a hash, so the rows are compared.
            #expect(plan.filter != nil && !plan.isCountKnown)
            let some = Page.filter(.value(\.url, in: ["\(long)/7", "\(long)/8", "none"]))
            #expect(try some.ids(in: context) == [7, 8, 57, 58, 107, 108, 157, 158])
            #expect(try some.explain(in: context).access.description.contains("3 ranges"))
            let both = Page.filter(\.host == "h2" && \.port == 1)
            #expect(try both.explain(in: context).access.description.contains("byHost"))
            #expect(try both.ids(in: context) == (0..<200).filter { $0 % 3 != 0 && $0 % 5 == 2 && $0 % 2 == 1 })
            let none = Page.filter(\.host == nil && \.port == 0)
            #expect(try none.ids(in: context) == (0..<200).filter { $0 % 3 == 0 && $0 % 2 == 0 })
        }
    }

    @Test("find the one entity that has a key, or none, without a plan, and several with one")
    func single() throws {
        let database = try database()
        try database.write { (context) throws in
            try Page(id: 500, url: "\(long)/only", host: "own", port: 9).save(to: &context)
            try Page(id: 501, url: "last", host: nil, port: 9).save(to: &context)
        }
        func ids(_ query: QueryList<Page>) throws -> [Int] {
            try database.read { context in try query.resolve(in: context).map(\.id) }
        }
        let only = Page.filter(\.url == "\(long)/only")
        #expect(try ids(only) == [500])
        #expect(try ids(only.limit(1, offset: 1)) == [])
        #expect(try ids(only.sorted(by: \.port)) == [500])
        #expect(try ids(Page.filter(\.url == "\(long)/nobody's")) == [])
        #expect(try ids(Page.filter(\.host == "own" && \.port == 9)) == [500])
        #expect(try ids(Page.filter(\.port == 9 && \.host == "own")) == [500])
        #expect(try ids(Page.filter(\.host == "own" && \.port == 8)) == [])
        #expect(try ids(Page.filter(\.host == "own" && \.port == 9 && \.id == 3)) == [])
        // Nil is a value like any other here, and may occur many times.
        #expect(try ids(Page.filter(\.host == nil && \.port == 9)) == [501])
        #expect(try ids(Page.filter(\.url == "\(long)/7").limit(2)) == [7, 57])
        let (count, access) = try database.read { (context) throws in
            (try only.count(in: context), try only.explain(in: context).access.description)
        }
        #expect(count == 1 && access.contains("byURL"))
    }

    @Test("are not used by ranges, parts of a key and sorts")
    func others() throws {
        try database().read { (context) throws in
            for query in [
                Page.filter(\.url > "a"), Page.filter(\.host == "h2"), Page.query().sorted(by: \.url),
                Page.filter(\.url == "\(long)/7").sorted(by: \.port),
            ] {
                let access = try query.explain(in: context).access.description
                #expect(access.contains("scan of 200 rows") || access.contains("byURL, one range of 4"))
                #expect(try query.ids(in: context).count == query.count(in: context))
            }
            #expect(
                try Page.filter(\.url == "\(long)/7").after(
                    Page(id: 57, url: "", host: nil, port: 0)
                ).ids(in: context) == [107, 157])
        }
    }

    @Test("follow changes, and the check finds them in order")
    func changes() throws {
        let database = try database()
        try database.write { (context) throws in
            for id in 0..<200 where id % 4 == 0 { try Page.delete(id: id, from: &context) }
            try Page(id: 7, url: "new", host: nil, port: 3).save(to: &context)
        }
        let new = try database.read { try Page.filter(\.url == "new").ids(in: $0) }
        let old = try database.read { try Page.filter(\.url == "\(long)/7").ids(in: $0) }
        #expect(new == [7] && old == [57, 107, 157])
        #expect(try database.check())
    }

    // MARK: Collations

    private static let names = [
        "", "a", "A", "å", "Å", "a\u{30A}", "ä", "straße", "STRASSE", "Kelvin", "\u{212A}elvin", "z",
        String(repeating: "Läng", count: 300), String(repeating: "läng", count: 300),
    ]
    private static let home = TextCollation.unicode(locale: "sv", caseSensitive: false)

    @Test("find texts equal under their collation, as a scan does", .seeded, arguments: SeededGenerator.seeds(4))
    func collated(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let database = try Database.inMemory(models: Visitor.self, Stranger.self)
        func name() -> String { Self.names[random.below(Self.names.count)] }
        for _ in 0..<300 {
            let id = random.below(120)
            let (name, age, town) = (name(), random.below(3), name())
            let street = random.oneIn(3) ? nil : Self.names[random.below(4)]
            let isGone = random.oneIn(6)
            try database.write { (context) throws in
                if isGone {
                    _ = try Visitor.query(id).delete(from: &context)
                    _ = try Stranger.query(id).delete(from: &context)
                } else {
                    try Visitor(id: id, name: name, age: age, town: town, street: street).save(to: &context)
                    try Stranger(id: id, name: name, age: age, town: town, street: street).save(to: &context)
                }
            }
        }
        try database.read { (context) throws in
            for name in Self.names {
                let wanted = name.collated(.caseInsensitive)
                let found = Visitor.filter(\.name == wanted)
                #expect(try found.requiringIndex().explain(in: context).indexes == ["byName"])
                #expect(try found.ids(in: context) == Stranger.filter(\.name == wanted).ids(in: context))
                #expect(
                    try found.ids(in: context)
                        == Visitor.filter(\.name == wanted && \.age >= 0).sorted(by: \.id).ids(in: context))
                #expect(try found.count(in: context) == found.ids(in: context).count)
                let others = Visitor.filter(\.name != wanted)
                #expect(try others.ids(in: context) == Stranger.filter(\.name != wanted).ids(in: context))
                for street in Self.names.prefix(4) {
                    let (town, street) = (name.collated(Self.home), street.collated(Self.home))
                    let home = Visitor.filter(\.town == town && \.age == 1 && \.street == street)
                    #expect(try home.requiringIndex().explain(in: context).indexes == ["byHome"])
                    #expect(
                        try home.ids(in: context)
                            == Stranger.filter(\.town == town && \.age == 1 && \.street == street).ids(in: context))
                }
            }
        }
        #expect(try database.check())
    }

    @Test("of a collation answer no range, no order and no other collation, and the plan says so")
    func otherCollations() throws {
        let database = try Database.inMemory(models: Visitor.self)
        try database.write { (context) throws in
            for (id, name) in Self.names.enumerated() { try Visitor(id: id, name: name).save(to: &context) }
        }
        try database.read { (context) throws in
            for query in [
                Visitor.filter(\.name > "a".collated(.caseInsensitive)),
                Visitor.query().sorted(by: .by(\.name, collation: .caseInsensitive)),
                Visitor.filter(\.town == "".collated(Self.home)),
            ] {
                #expect(try query.explain(in: context).access == .rowScan(rows: Self.names.count))
            }
            let plain = try Visitor.filter(\.name == "Straße").explain(in: context)
            #expect(plain.remarks == ["index byName has another collation: caseInsensitive, not binary"])
            let folded = Visitor.filter(\.name == "Straße".collated(.caseInsensitive))
            #expect(try folded.requiringIndex().resolve(in: context).map(\.name) == ["straße", "STRASSE"])
        }
        let rows = try database.query("SELECT id FROM Visitor WHERE name COLLATE FOLDED = 'kelvin' ORDER BY id")
        #expect(rows.map(\.json) == [#"{"id":9}"#, #"{"id":10}"#])
    }
}
