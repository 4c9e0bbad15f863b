// SPDX-License-Identifier: Apache-2.0
// Collations of indexes, comparisons and sorts. Queries with an index's collation use the index; others give the same
// results without it, and the plan says why.

import Foundation
import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct Townsperson: Equatable {
    @Index<Self>(\.name, collation: .unicode(locale: "sv")) private var byName
    @Index<Self>(\.age, \.nick.desc, collation: .caseInsensitive) private var byAge
    @Unique<Self>(\.email, collation: .caseInsensitive, collisions: .throw) private var byEmail

    let id: Int
    var name = ""
    var age = 0
    var nick: String?
    var email: String?
}

@Suite("collations")
struct CollatedIndexTests {
    private static let names = [
        "", "a", "A", "Å", "å", "a\u{30A}", "ä", "Ö", "ö", "o", "z", "Z", "straße", "STRASSE", "ae", "æ", "aa",
        "e\u{301}a",
        "éA", "Kelvin", "\u{212A}elvin", "x\0y", String(repeating: "Läng", count: 300),
        String(repeating: "läng", count: 300),
    ]
    private static let collations: [TextCollation] = [
        .binary, .asciiCaseInsensitive, .caseInsensitive, .caseAndDiacriticInsensitive, .unicode,
        .unicode(locale: "sv"), .unicode(caseSensitive: false), .unicode(diacriticSensitive: false),
        .unicode(locale: "de", caseSensitive: false, diacriticSensitive: false),
    ]

    private func town() throws -> Database {
        let database = try Database.inMemory(models: Townsperson.self)
        try database.write { (context) throws in
            for (id, name) in Self.names.enumerated() {
                try Townsperson(id: id, name: name, age: id % 3, nick: id % 4 == 0 ? nil : name).save(to: &context)
            }
        }
        return database
    }

    @Test("a query with the index's collation is a range of the index, exact and in its order")
    func used() throws {
        let database = try town()
        let query = Townsperson.filter(\.name > "z".collated(.unicode(locale: "sv")))
            .sorted(by: .by(\.name, collation: .unicode(locale: "sv")))
        let plan = try database.plan(query)
        #expect(plan.access == .index(name: "byName", ranges: 1, entries: plan.candidates, reversed: false))
        #expect(plan.filter == nil && plan.order == .byAccess && plan.isCountKnown && plan.remarks == [])
        #expect(try database.results(query).map(\.name) == ["Z", "å", "a\u{30A}", "Å", "ä", "æ", "ö", "Ö"])
        let reversed = Townsperson.query()
            .sorted(by: .by(\.name, collation: .unicode(locale: "sv"), descending: true)).limit(2)
        #expect(try database.plan(reversed).access.description.hasSuffix("backwards"))
        #expect(try database.results(reversed).map(\.name) == ["Ö", "ö"])
        let equal = Townsperson.filter(\.age == 1 && \.nick == "STRASSE".collated(.caseInsensitive))
        #expect(try database.plan(equal).indexes == ["byAge"])
        #expect(try database.results(equal).map(\.name) == ["STRASSE"])
    }

    @Test("the order of the Unicode collation, of symbols, digits, letters and scripts, by a sort and by an index")
    func unicodeOrder() throws {
        let ordered = [
            "", "_", "~", "😀", "0", "10", "9", "a", "A", "á", "Á", "ä", "aa", "AA", "b", "é", "i", "I", "İ", "ı", "n",
            "ñ", "ss", "ß", "z", "Z", "Zurich", "Zürich", "あ", "日",
        ]
        let database = try Database.inMemory(models: Townsperson.self)
        try database.write { (context) throws in
            for (id, name) in ordered.reversed().enumerated() {
                try Townsperson(id: id, name: name).save(to: &context)
            }
        }
        let query = Townsperson.query().sorted(by: .by(\.name, collation: .unicode))
        #expect(try database.results(query).map(\.name) == ordered)
        try database.createIndex(ValueIndex("root", \Townsperson.name, collation: .unicode))
        #expect(try database.plan(query.requiringIndex()).indexes == ["root"])
        #expect(try database.results(query.requiringIndex()).map(\.name) == ordered)
        let signs = Townsperson.filter(\.name < "0".collated(.unicode)).requiringIndex()
        #expect(try database.results(signs).map(\.name).sorted() == ["", "_", "~", "😀"].sorted())
    }

    @Test("with another collation it is a scan of the same result, and the plan says why")
    func otherCollation() throws {
        let database = try town()
        for collation in Self.collations where collation != .unicode(locale: "sv") {
            let query = Townsperson.filter(\.name == "Å".collated(collation))
            let plan = try database.plan(query)
            #expect(plan.access == .rowScan(rows: Self.names.count))
            let remark = "index byName has another collation: unicode:sv, not \(collation)"
            #expect(plan.remarks == [remark])
            #expect(plan.description.contains(remark))
            #expect(try database.results(query).contains { $0.name == "Å" })
            let sorted = Townsperson.query().sorted(by: .by(\.name, collation: collation))
            #expect(try database.plan(sorted).remarks == [remark])
            #expect(try database.plan(sorted).access == .rowScan(rows: Self.names.count))
        }
        // An index made later is used.
        try database.createIndex(ValueIndex("folded", \Townsperson.name, collation: .caseInsensitive))
        let query = Townsperson.filter(\.name == "Å".collated(.caseInsensitive))
        #expect(try database.plan(query).indexes == ["folded"])
        #expect(try database.plan(query).remarks == [])
        #expect(Set(try database.results(query).map(\.name)) == ["Å", "å", "a\u{30A}"])
        #expect(try database.isWhole())
    }

    @Test(
        "all comparisons and sorts agree with the sort keys",
        arguments: SeededGenerator.seeds(4))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let database = try Database.inMemory(models: Townsperson.self)
        var indexes: [ValueIndex<Townsperson>] = []
        for (place, collation) in Self.collations.enumerated() {
            indexes.append(ValueIndex("n\(place)", \.name, collation: collation))
            indexes.append(ValueIndex("k\(place)", \.age, \.nick.desc, collation: collation))
        }
        var model: [Int: Townsperson] = [:]
        var used: Set<String> = []
        for round in 0..<4 {
            for index in indexes where random.oneIn(3) || round == 2 { try database.createIndex(index) }
            for _ in 0..<30 {
                let id = random.below(40)
                let name = Self.names[random.below(Self.names.count)]
                let person = Townsperson(
                    id: id, name: name, age: random.below(3), nick: random.oneIn(3) ? nil : Self.names[random.below(20)]
                )
                let isGone = random.oneIn(5)
                model[id] = isGone ? nil : person
                try database.write { (context) throws in
                    if isGone {
                        _ = try Townsperson.query(id).delete(from: &context)
                    } else {
                        try person.save(to: &context)
                    }
                }
            }
            for _ in 0..<40 {
                let collation = Self.collations[random.below(Self.collations.count)]
                let collator = try Collator(collation.collation)
                func key(_ text: String) throws -> [UInt8] { try collator.sortKey(of: text) }
                let text = Self.names[random.below(Self.names.count)]
                let bound = text.collated(collation)
                let wanted = try key(text)
                let (filter, holds): (Hornbeam.Predicate<Townsperson>, ([UInt8]) -> Bool) =
                    switch random.below(6) {
                    case 0: (\.name == bound, { $0 == wanted })
                    case 1: (\.name != bound, { $0 != wanted })
                    case 2: (\.name < bound, { $0.lexicographicallyPrecedes(wanted) })
                    case 3: (\.name <= bound, { !wanted.lexicographicallyPrecedes($0) })
                    case 4: (\.name > bound, { wanted.lexicographicallyPrecedes($0) })
                    default: (\.name >= bound, { !$0.lexicographicallyPrecedes(wanted) })
                    }
                let descending = random.oneIn(2)
                let query = Townsperson.filter(filter)
                    .sorted(by: .by(\.name, collation: collation, descending: descending))
                let expected = try model.values.map { ($0.id, try key($0.name)) }.filter { holds($0.1) }
                    .sorted { left, right in
                        if left.1 == right.1 { return left.0 < right.0 }
                        return left.1.lexicographicallyPrecedes(right.1) != descending
                    }
                let plan = try database.plan(query)
                #expect(try database.results(query).map(\.id) == expected.map(\.0), "\(plan)")
                #expect(try database.read { context in try query.count(in: context) } == expected.count, "\(plan)")
                used.formUnion(plan.indexes)
                // A compound index, with an optional component.
                let compound = Townsperson.filter(\.age == 1 && \.nick >= bound)
                let some = try model.values.filter { person in
                    try person.age == 1 && person.nick.map { try !key($0).lexicographicallyPrecedes(wanted) } ?? false
                }
                #expect(Set(try database.results(compound).map(\.id)) == Set(some.map(\.id)))
                used.formUnion(try database.plan(compound).indexes)
            }
            #expect(try database.isWhole())
        }
        #expect(used.count >= 8, "\(used)")
    }

    @Test("unique keys are compared by the collation")
    func unique() throws {
        let database = try town()
        try database.write { (context) throws in
            try Townsperson(id: 100, name: "n", email: "Sam@Example.org").save(to: &context)
        }
        let error = #expect(throws: HornbeamError.self) {
            try database.write { try Townsperson(id: 101, name: "m", email: "sam@example.ORG").save(to: &$0) }
        }
        #expect(error?.code == .uniqueViolation)
        let found = Townsperson.filter(\.email == "SAM@EXAMPLE.ORG".collated(.caseInsensitive))
        #expect(try database.plan(found).indexes == ["byEmail"])
        #expect(try database.results(found).map(\.id) == [100])
        #expect(try database.results(Townsperson.filter(\.email == "sam@example.org")).isEmpty)
        #expect(try database.isWhole())
    }

    @Test("an unknown collation, or one over a property that isn't text, is refused with advice")
    func refused() throws {
        let database = try town()
        let unknown = #expect(throws: HornbeamError.self) {
            try database.createIndex(ValueIndex("x", \Townsperson.name, collation: .unicode(locale: "qqq")))
        }
        #expect(unknown?.code == .invalid && unknown?.message.contains("qqq") == true)
        #expect(throws: HornbeamError.self) {
            try database.createIndex(ValueIndex("x", \Townsperson.age, collation: .unicode))
        }
        #expect(throws: HornbeamError.self) {
            try database.results(Townsperson.filter(\.name == "a".collated(.unicode(locale: "qqq"))))
        }
        #expect(try database.indexes() == [])
    }

    @Test("statements compare and sort by COLLATE, with the index and without")
    func statements() throws {
        let database = try town()
        let query =
            "SELECT name FROM Townsperson WHERE name COLLATE (UNICODE 'sv') > 'z' "
            + "ORDER BY name COLLATE (UNICODE 'sv')"
        func names(_ text: String, _ parameters: any ColumnValue...) throws -> [String] {
            let statement = try Statement(text)
            return try database.read { context in
                try statement.resolve(in: context, parameters).compactMap { row in
                    if case .string(let name)? = row["name"] { name } else { nil }
                }
            }
        }
        func plan(_ text: String) throws -> String {
            let statement = try Statement(text)
            return try database.read { context in try statement.explain(in: context) }
        }
        #expect(try names(query) == ["Z", "å", "a\u{30A}", "Å", "ä", "æ", "ö", "Ö"])
        #expect(try plan(query).contains("index byName, one range of 8 entries"))
        #expect(try !plan(query).contains("sort by"))
        let folded = "SELECT name FROM Townsperson WHERE name COLLATE FOLDED = ? ORDER BY id"
        #expect(try names(folded, "strasse") == ["straße", "STRASSE"])
        #expect(try plan(folded.replacing("?", with: "'x'")).contains("index byName has another collation"))
        #expect(
            try names("SELECT name FROM Townsperson WHERE name COLLATE NOCASE IN ('A', 'Å') ORDER BY id")
                == ["a", "A", "Å"])
        #expect(
            try names("SELECT name FROM Townsperson WHERE name COLLATE (UNICODE NOCASE NODIAC) BETWEEN 'A' AND 'a'")
                .sorted() == ["A", "a", "Å", "å", "a\u{30A}", "ä"].sorted())
        #expect(
            try names("SELECT name FROM Townsperson WHERE NOT (name COLLATE NOCASE = 'a') AND id < 4") == ["", "Å"])
        for wrong in [
            "SELECT name COLLATE UNICODE AS name FROM Townsperson",
            "SELECT id FROM Townsperson GROUP BY name COLLATE NOCASE",
            "SELECT id FROM Townsperson WHERE name COLLATE NOCASE = nick COLLATE UNICODE",
            "SELECT id FROM Townsperson WHERE name COLLATE (NODIAC) = 'a'",
            "SELECT id FROM Townsperson WHERE name COLLATE (UNICODE 'qqq') = 'a'",
        ] {
            let error = #expect(throws: HornbeamError.self) { try names(wrong) }
            #expect(error?.code == .invalid, "\(wrong)")
        }
        // The word alone is a name.
        #expect(try names("SELECT name AS collate FROM Townsperson").isEmpty)
    }

    @Test("a collation registered at run time with another version is built anew")
    func registeredVersions() throws {
        let disk = try SimulatedDisk()
        let database = try MigratedFile.open(disk, [Townsperson.self], [])
        try database.write { (context) throws in
            for id in 0..<300 { try Townsperson(id: id, name: "m\(id)").save(to: &context) }
        }
        let index = ValueIndex("later", \Townsperson.name, collation: .unicode)
        try database.createIndex(index)
        // As the other version has left the index: with its identity, and with entries that are useless for this
        // version.
        let changed = try database.store.beginWrite()
        let stored = try #require(try RegisteredCatalogue.read("later", in: changed))
        func identity(_ settings: [String: String]) -> [UInt8] {
            IndexRegistration(
                name: "later", version: stored.record.version, kind: stored.record.kind, settings: settings,
                reduction: nil, entries: { (_: Townsperson, _) in [] }
            ).identity
        }
        #expect(identity(stored.record.settings) == stored.identity)
        var record = stored.record
        record.settings = record.settings.mapValues { $0.replacing("icu-", with: "icu-0.") }
        #expect(record.settings != stored.record.settings)
        let former = StoredIndex(name: "later", identity: identity(record.settings), record: record)
        try RegisteredCatalogue.store(former, in: changed)
        let tree = try #require(try changed.tree(former.treeName))
        _ = try changed.deleteRange(tree, from: [], to: [])
        try changed.commit()
        try database.close()
        let again = try MigratedFile.open(try SimulatedDisk(image: disk.killedImage()), [Townsperson.self], [])
        try again.register(index)
        #expect(try again.index(withName: "later")?.entries == 300)
        let one = Townsperson.filter(\.name == "m7".collated(.unicode))
        #expect(try again.plan(one).indexes == ["later"])
        #expect(try again.results(one).map(\.id) == [7])
        #expect(try again.isWhole())
        try again.close()
    }
}
