// SPDX-License-Identifier: Apache-2.0
// Couchbase Lite's document on array indexes: its person with contacts and phones, its queries and results; the edge
// cases that it leaves to its tests; and its mistakes.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

struct Phone: Codable, Equatable {
    var type: String
    var number: String
    var calls: [Int]?
    var digits: String { number.replacingOccurrences(of: "-", with: "") }
}

struct ContactAddress: Codable, Equatable {
    var street: String
    var city: String
    var state: String
}

struct Contact: Codable, Equatable {
    var type: String
    var address: ContactAddress
    var phones: [Phone] = []
}

@EntityModel
struct ContactPerson: Equatable {
    let id: Int
    var name = ""
    var contacts: [Contact] = []
    var likes: [String] = []
    var marks: [Double]?
}

extension ContactPerson {
    /// The document's person.
    static let sam = ContactPerson(
        id: 1, name: "Sam",
        contacts: [
            Contact(
                type: "primary", address: ContactAddress(street: "1 St", city: "San Pedro", state: "CA"),
                phones: [
                    Phone(type: "home", number: "310-123-4567"), Phone(type: "mobile", number: "310-123-6789"),
                ]),
            Contact(
                type: "secondary", address: ContactAddress(street: "5 St", city: "Seattle", state: "WA"),
                phones: [
                    Phone(type: "home", number: "206-123-4567"), Phone(type: "mobile", number: "206-123-6789"),
                ]),
        ],
        likes: ["soccer", "travel"])

    static func random(_ id: Int, _ random: inout SeededGenerator) -> ContactPerson {
        let words = ["", "a", "b", "é", "e\u{301}", "mobile", "home", String(repeating: "long", count: 260)]
        func word() -> String { words[random.below(words.count)] }
        let contacts = (0..<[0, 0, 1, 2, 4][random.below(5)]).map { _ in
            Contact(
                type: word(), address: ContactAddress(street: "", city: word(), state: ""),
                phones: (0..<random.below(4)).map { _ in
                    let calls = random.oneIn(3) ? nil : (0..<random.below(3)).map { _ in random.below(4) }
                    return Phone(type: word(), number: word(), calls: calls)
                })
        }
        let marks: [Double]? =
            random.oneIn(3)
            ? nil
            : (0..<random.below(3)).map { _ in
                [0.0, -0.0, .nan, 1, 2][random.below(5)]
            }
        return ContactPerson(
            id: id, name: word(), contacts: contacts, likes: (0..<random.below(4)).map { _ in word() }, marks: marks)
    }
}

@Suite("Couchbase Lite's array indexes")
struct ArrayDocumentTests {
    private func people() throws -> Database {
        let database = try Database.inMemory(models: ContactPerson.self)
        try database.write { (context) throws in
            try ContactPerson.sam.save(to: &context)
            for id in 2..<100 { try ContactPerson(id: id, name: "P\(id)", likes: ["sleep"]).save(to: &context) }
        }
        return database
    }

    private let mobiles = ContactPerson.query().unnest(\.contacts).unnest(\.phones).filter { $0.type == "mobile" }
    private let travellers = ContactPerson.query().unnest(\.likes).filter { $0 == "travel" }

    private func rows(_ database: Database) throws -> [[String]] {
        try database.read { context in
            try mobiles.resolve(in: context).map { [$0.entity.name, $0.parent.element.type, $0.element.number] }
        }
    }

    /// {"name": "Sam", "type": "primary", "number": "310-123-6789"} and
    /// {"name": "Sam", "type": "secondary", "number": "206-123-6789"}
    private let expected = [["Sam", "primary", "310-123-6789"], ["Sam", "secondary", "206-123-6789"]]

    @Test("SELECT name, like FROM _ UNNEST likes AS like WHERE like = \"travel\"")
    func single() throws {
        let database = try people()
        func rows() throws -> [[String]] {
            try database.read { context in
                try travellers.resolve(in: context).map { [$0.entity.name, $0.element, "\($0.index)"] }
            }
        }
        #expect(try rows() == [["Sam", "travel", "1"]])
        try database.createIndex(
            ContactPerson.self, withName: "singleIndex", config: ArrayIndexConfiguration(path: "likes"))
        #expect(try rows() == [["Sam", "travel", "1"]])
        let plan = try database.read { context in try travellers.explain(in: context) }
        #expect(plan.access == .index(name: "singleIndex", ranges: 1, entries: 1, reversed: false))
        #expect(plan.filter == nil)
    }

    @Test("the nested query gives the document's two rows, in its order, with an index and without")
    func nested() throws {
        let database = try people()
        #expect(try rows(database) == expected)
        let before = try database.read { context in try mobiles.explain(in: context) }
        #expect(before.access == .rowScan(rows: 99))
        try database.createIndex(
            ContactPerson.self, withName: "nestedArray",
            config: ArrayIndexConfiguration(path: "contacts[].phones", expressions: ["type"]))
        #expect(try rows(database) == expected)
        let plan = try database.read { context in try mobiles.explain(in: context) }
        #expect(plan.access == .index(name: "nestedArray", ranges: 1, entries: 2, reversed: false))
    }

    @Test("an index by key paths and by names, with the last [] or without, is the same one")
    func forms() throws {
        let database = try people()
        try database.createIndex(ArrayIndex("nestedArray", \ContactPerson.contacts, each: \.phones, \.type))
        for path in ["contacts[].phones", "contacts[].phones[]"] {
            try database.createIndex(
                ContactPerson.self, withName: "nestedArray",
                config: ArrayIndexConfiguration(path: path, expressions: ["type"]))
        }
        try database.createIndex(
            ArrayIndex("nestedArray", ArrayPath(\ContactPerson.contacts).each(\.phones), \.type))
        let settings = try database.index(withName: "nestedArray")?.settings
        #expect(settings == ["path": "contacts[].phones", "expressions": "type"])
        #expect(try database.index(withName: "nestedArray")?.entries == 4)
        #expect(try rows(database) == expected)
        #expect(throws: HornbeamError.self) {
            try database.createIndex(
                ContactPerson.self, withName: "nestedArray",
                config: ArrayIndexConfiguration(path: "contacts[].phones", expressions: ["type", "number"]))
        }
        // Several indexes over one path.
        try database.createIndex(ArrayIndex("numbers", \ContactPerson.contacts, each: \.phones, \.number))
        let numbers = ContactPerson.query().unnest(\.contacts).unnest(\.phones).filter { $0.number > "3" }
        let plan = try database.read { context in try numbers.explain(in: context) }
        #expect(plan.access == .index(name: "numbers", ranges: 1, entries: 2, reversed: false))
        #expect(try database.isWhole())
    }

    @Test("contacts[].phones with type holds the types of phones, not those of contacts")
    func phoneTypes() throws {
        let database = try people()
        try database.createIndex(
            ContactPerson.self, withName: "nestedArray",
            config: ArrayIndexConfiguration(path: "contacts[].phones", expressions: ["type"]))
        let counts = try database.read { context in
            try ContactPerson.query().unnest(\.contacts).unnest(\.phones).counts(by: \.type, in: context)
        }
        #expect(counts.map(\.key) == ["home", "mobile"] && counts.map(\.count) == [2, 2])
        let contacts = ContactPerson.query().unnest(\.contacts).filter { $0.type == "primary" }
        #expect(try database.read { context in try contacts.explain(in: context) }.indexes == [])
        #expect(try database.read { context in try contacts.count(in: context) } == 1)
    }

    @Test("paths and expressions without meaning are refused, with advice")
    func refusals() throws {
        let database = try people()
        let configs: [(ArrayIndexConfiguration, String)] = [
            (ArrayIndexConfiguration(path: "likes", expressions: ["type"]), "give no expressions"),
            (ArrayIndexConfiguration(path: ""), "path is empty"),
            (ArrayIndexConfiguration(path: "likes", expressions: []), "are empty"),
            (ArrayIndexConfiguration(path: "likes", expressions: [""]), "are empty"),
            (ArrayIndexConfiguration(path: "contacts"), "name the properties"),
            (ArrayIndexConfiguration(path: "contacts", expressions: [""]), "are empty"),
            (ArrayIndexConfiguration(path: "contatcs", expressions: ["type"]), "did you mean contacts?"),
            (ArrayIndexConfiguration(path: "contacts[].phone", expressions: ["type"]), "did you mean phones?"),
            (ArrayIndexConfiguration(path: "contacts.phones", expressions: ["type"]), "write []"),
            (ArrayIndexConfiguration(path: "contacts[]phones", expressions: ["type"]), "such as contacts[].phones"),
            (ArrayIndexConfiguration(path: "[]"), "is not valid"),
            (ArrayIndexConfiguration(path: "name"), "is no array"),
            (ArrayIndexConfiguration(path: "contacts[].address", expressions: ["city"]), "is no array"),
            (ArrayIndexConfiguration(path: "contacts", expressions: ["address"]), "no order"),
            (ArrayIndexConfiguration(path: "contacts", expressions: ["address.town"]), "no stored property"),
            (ArrayIndexConfiguration(path: "contacts", expressions: ["phones"]), "no order"),
        ]
        for (config, words) in configs {
            let error = #expect(throws: HornbeamError.self, "\(config)") {
                try database.createIndex(ContactPerson.self, withName: "x", config: config)
            }
            #expect(error?.code == .invalid && error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
        #expect(throws: HornbeamError.self) { try database.createIndex(ArrayIndex("x", \ContactPerson.contacts)) }
        #expect(throws: HornbeamError.self) {
            try database.createIndex(ArrayIndex("x", \ContactPerson.contacts, \.address))
        }
        #expect(try database.indexes() == [])
    }

    @Test("expressions may be nested, computed, and several")
    func expressions() throws {
        let database = try people()
        try database.createIndex(
            ContactPerson.self, withName: "city",
            config: ArrayIndexConfiguration(path: "contacts", expressions: ["address.state", "type"]))
        let query = ContactPerson.filter(.any(\.contacts) { $0.address.state == "WA" && $0.type >= "s" })
        #expect(try database.plan(query).access == .index(name: "city", ranges: 1, entries: 1, reversed: false))
        #expect(try database.plan(query).filter == nil)
        #expect(try database.results(query) == [.sam])
        // Both conditions must hold for one element.
        let mixed = ContactPerson.filter(.any(\.contacts) { $0.address.state == "WA" && $0.type == "primary" })
        #expect(try database.plan(mixed).indexes == ["city"])
        #expect(try database.results(mixed) == [])
        try database.createIndex(ArrayIndex("digits", \ContactPerson.contacts, each: \.phones, \.digits, version: "1"))
        let digits = ContactPerson.query().unnest(\.contacts).unnest(\.phones).filter { $0.digits == "2061236789" }
        #expect(try database.read { context in try digits.explain(in: context) }.indexes == ["digits"])
        #expect(try database.read { context in try digits.count(in: context) } == 1)
        // Three levels, of which the last is optional.
        try database.write { (context) throws in
            var sam = ContactPerson.sam
            sam.contacts[1].phones[0].calls = [3, 4, 3]
            try sam.save(to: &context)
        }
        let calls = ArrayPath(\ContactPerson.contacts).each(\.phones).each(\.calls)
        try database.createIndex(ArrayIndex("calls", calls))
        try database.createIndex(
            ContactPerson.self, withName: "calls", config: ArrayIndexConfiguration(path: "contacts[].phones[].calls"))
        let threes = ContactPerson.query().unnest(\.contacts).unnest(\.phones).unnest(\.calls).filter { $0 == 3 }
        let found = try database.read { context in try threes.resolve(in: context) }
        #expect(found.map(\.index) == [0, 2] && found[0].parent.parent.element.type == "secondary")
        #expect(try database.read { context in try threes.explain(in: context) }.indexes == ["calls"])
        #expect(try database.isWhole())
    }

    @Test("an empty array has no entry; arrays may grow, shrink, be reordered and be removed", .seeded)
    func edges() throws {
        let database = try Database.inMemory(models: ContactPerson.self)
        try database.write { (context) throws in try ContactPerson(id: 1, likes: ["x", "x", "y"]).save(to: &context) }
        try database.createIndex(ArrayIndex("likes", \ContactPerson.likes))
        try database.createIndex(ArrayIndex("marks", \ContactPerson.marks))
        func entries() throws -> Int { try database.index(withName: "likes")?.entries ?? -1 }
        func count(_ word: String) throws -> Int {
            try database.read { context in
                try ContactPerson.query().unnest(\.likes).filter { $0 == word }.count(in: context)
            }
        }
        #expect(try entries() == 3 && count("x") == 2 && count("y") == 1)
        for (likes, xs) in [
            (["x", "y"], 1), ([], 0), (["y", "x", "x", "x"], 3), (["x", "y", "x", "x"], 3), (["z"], 0), (["x"], 1),
        ] {
            try database.write { (context) throws in try ContactPerson(id: 1, likes: likes).save(to: &context) }
            #expect(try entries() == likes.count && count("x") == xs)
        }
        // Nil and an empty array, before and after.
        #expect(try database.index(withName: "marks")?.entries == 0)
        try database.write { (context) throws in
            try ContactPerson(id: 2, marks: [1, 1]).save(to: &context)
            try ContactPerson(id: 3, marks: []).save(to: &context)
            try ContactPerson(id: 2, marks: nil).save(to: &context)
            try ContactPerson(id: 4, marks: [.nan]).save(to: &context)
        }
        #expect(try database.index(withName: "marks")?.entries == 1)
        try database.write { (context) throws in
            for id in 1...4 { _ = try ContactPerson.query(id).delete(from: &context) }
        }
        #expect(try entries() == 0)
        #expect(try database.isWhole())
    }

    @Test("removing one of two equal elements removes one entry, and nothing else is written")
    func multiset() throws {
        let database = try Database.inMemory(models: ContactPerson.self)
        try database.createIndex(ArrayIndex("likes", \ContactPerson.likes))
        func keys() throws -> [[UInt8]] {
            let read = try database.store.beginRead()
            defer { read.abort() }
            var cursor = try read.cursor(try #require(try read.tree("m:ContactPerson:likes")))
            var keys: [[UInt8]] = []
            while try cursor.next() { keys.append(Array(cursor.key)) }
            return keys
        }
        try database.write { (context) throws in try ContactPerson(id: 1, likes: ["a", "a", "b"]).save(to: &context) }
        let before = try keys()
        try database.write { (context) throws in try ContactPerson(id: 1, likes: ["a", "b"]).save(to: &context) }
        let after = try keys()
        #expect(before.count == 3 && after.count == 2 && Set(after).isSubset(of: before))
        #expect(before.filter { !after.contains($0) } == [before[1]])
    }

    @Test("equal elements are separate rows, their parents come once, and groups count each element")
    func duplicates() throws {
        let database = try Database.inMemory(models: ContactPerson.self)
        try database.write { (context) throws in
            try ContactPerson(id: 1, name: "A", likes: ["a", "a"]).save(to: &context)
            try ContactPerson(id: 2, name: "B", likes: ["b", "a"]).save(to: &context)
            try ContactPerson(id: 3, name: "C").save(to: &context)
        }
        for isIndexed in [false, true] {
            if isIndexed { try database.createIndex(ArrayIndex("likes", \ContactPerson.likes)) }
            try database.read { (context) throws in
                let all = ContactPerson.query().unnest(\.likes)
                let some = all.filter { $0 == "a" }
                #expect(try all.count(in: context) == 4 && some.count(in: context) == 3)
                #expect(try some.resolve(in: context).map(\.entity.id) == [1, 1, 2])
                #expect(try some.distinctParents(in: context).map(\.id) == [1, 2])
                let counts = try all.counts(by: \.self, in: context)
                #expect(counts.map(\.key) == ["a", "b"] && counts.map(\.count) == [3, 1])
                #expect(try all.limit(2, offset: 1).resolve(in: context).map(\.element) == ["a", "b"])
                #expect(try some.limit(1, offset: 2).resolve(in: context).map(\.entity.name) == ["B"])
                #expect(try some.limit(5, offset: 1).count(in: context) == 2)
                #expect(try all.limit(0).resolve(in: context).isEmpty && all.limit(0).count(in: context) == 0)
                #expect(try some.limit(1, offset: 1).distinctParents(in: context).map(\.name) == ["B"])
                let ordered = ContactPerson.filter(\.id < 3).sorted(by: \.id.desc).unnest(\.likes)
                #expect(try ordered.resolve(in: context).map(\.element) == ["b", "a", "a", "a"])
                let cut = ContactPerson.query().sorted(by: \.id.desc).limit(2).unnest(\.likes).filter { $0 == "a" }
                #expect(try cut.resolve(in: context).map(\.entity.id) == [2])
                #expect(try all.limit(-1).resolve(in: context).isEmpty)
                #expect(try all.limit(1, offset: -1).count(in: context) == 0)
            }
        }
    }

    @Test("any, every, and both are right if none, some or all elements pass", arguments: [false, true])
    func quantifiers(isIndexed: Bool) throws {
        let database = try Database.inMemory(models: ContactPerson.self)
        if isIndexed {
            try database.createIndex(ArrayIndex("likes", \ContactPerson.likes))
            try database.createIndex(ArrayIndex("marks", \ContactPerson.marks))
        }
        try database.write { (context) throws in
            try ContactPerson(id: 1).save(to: &context)
            try ContactPerson(id: 2, likes: ["x", "y"], marks: []).save(to: &context)
            try ContactPerson(id: 3, likes: ["x", "x"], marks: [1, 2]).save(to: &context)
            try ContactPerson(id: 4, likes: ["y"], marks: [1]).save(to: &context)
            for id in 5..<60 { try ContactPerson(id: id, likes: ["y"], marks: [3]).save(to: &context) }
        }
        func ids(_ predicate: Hornbeam.Predicate<ContactPerson>) throws -> [Int] {
            try database.results(ContactPerson.filter(predicate && \.id < 5)).map(\.id)
        }
        #expect(try ids(.any(\.likes) { $0 == "x" }) == [2, 3])
        #expect(try ids(.every(\.likes) { $0 == "x" }) == [1, 3])
        #expect(try ids(.anyAndEvery(\.likes) { $0 == "x" }) == [3])
        #expect(try ids(!.any(\.likes) { $0 == "x" }) == [1, 4])
        #expect(try ids(.any(\.marks) { $0 == 1 }) == [3, 4])
        #expect(try ids(.every(\.marks) { $0 == 1 }) == [1, 2, 4])
        #expect(try ids(.anyAndEvery(\.marks) { $0 == 1 }) == [4])
        let plan = try database.plan(ContactPerson.filter(.any(\.likes) { $0 == "x" }))
        #expect(plan.indexes == (isIndexed ? ["likes"] : []))
        #expect(try database.plan(ContactPerson.filter(.array(\.likes, contains: "x"))).indexes == plan.indexes)
        #expect(try database.plan(ContactPerson.filter(.anyAndEvery(\.likes) { $0 == "x" })).indexes == plan.indexes)
        #expect(try database.plan(ContactPerson.filter(.any(\.likes) { $0 == "x" } || \.name == "n")).indexes == [])
        let either = ContactPerson.filter(.any(\.likes) { $0 == "x" || $0 == "z" } || .any(\.marks) { $0 == 2 })
        #expect(try database.plan(either).indexes == (isIndexed ? ["likes", "marks"] : []))
        #expect(try database.results(either).map(\.id) == [2, 3])
    }

    @Test("an array index stays from one opening to the next, by names and by key paths")
    func reopening() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("db")
        do {
            let database = try Database(at: path, models: ContactPerson.self)
            try database.createIndex(
                ArrayIndex("phones", \ContactPerson.contacts, each: \.phones, \.type, version: "7"))
            try database.createIndex(ArrayIndex("digits", \ContactPerson.contacts, each: \.phones, \.digits))
            try database.write { (context) throws in
                for id in 10..<60 { try ContactPerson(id: id).save(to: &context) }
            }
            try database.close()
        }
        let database = try Database(at: path, models: ContactPerson.self)
        try database.write { (context) throws in try ContactPerson.sam.save(to: &context) }
        #expect(try database.index(withName: "phones")?.state == .current)
        #expect(try database.index(withName: "digits")?.state == .unregistered(missed: 1))
        #expect(try rows(database) == expected)
        #expect(try database.read { context in try mobiles.explain(in: context) }.indexes == ["phones"])
        #expect(try database.isWhole())
        try database.close()
    }
}

@Suite("Array indexes compared with scans")
struct ArrayIndexModelTests {
    @Test("every query gives the same answer with and without indexes", arguments: SeededGenerator.seeds(4))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let plain = try Database.inMemory(models: ContactPerson.self)
        let indexed = try Database.inMemory(models: ContactPerson.self)
        var used: Set<String> = []
        for round in 0..<5 {
            if round > 0 || random.oneIn(2) {
                try indexed.createIndex(ArrayIndex("likes", \ContactPerson.likes))
                try indexed.createIndex(ArrayIndex("marks", \ContactPerson.marks))
                try indexed.createIndex(ArrayIndex("phones", \ContactPerson.contacts, each: \.phones, \.type, \.number))
                try indexed.createIndex(
                    ContactPerson.self, withName: "city",
                    config: ArrayIndexConfiguration(path: "contacts", expressions: ["address.city"]))
                try indexed.createIndex(
                    ArrayIndex("calls", ArrayPath(\ContactPerson.contacts).each(\.phones).each(\.calls)))
            }
            for _ in 0..<60 {
                let person = ContactPerson.random(random.below(60), &random)
                let deletes = random.oneIn(5)
                for database in [plain, indexed] {
                    try database.write { (context) throws in
                        if deletes {
                            _ = try ContactPerson.query(person.id).delete(from: &context)
                        } else {
                            try person.save(to: &context)
                        }
                    }
                }
            }
            for _ in 0..<60 {
                var query = ContactPerson.query()
                for _ in 0...random.below(2) {
                    let condition = condition(&random)
                    switch random.below(5) {
                    case 0: query = query.filter(condition || self.condition(&random))
                    case 1: query = query.filter(!condition)
                    default: query = query.filter(condition)
                    }
                }
                if random.oneIn(3) { query = query.sorted(by: \.name.desc) }
                if random.oneIn(4) { query = query.limit(random.below(6), offset: random.below(3)) }
                let plan = try indexed.plan(query)
                let (expected, found) = (try plain.results(query), try indexed.results(query))
                #expect(found.map(\.id) == expected.map(\.id), "\(plan)")
                used.formUnion(plan.indexes)
                try unnest(query, plain, indexed, &random)
            }
            #expect(try indexed.isWhole())
        }
        #expect(used.count >= 3, "\(used)")
    }

    private static let words = ["", "a", "b", "é", "mobile", "home", String(repeating: "long", count: 260)]

    private func condition(_ random: inout SeededGenerator) -> Hornbeam.Predicate<ContactPerson> {
        let word = Self.words[random.below(Self.words.count)]
        let phones = ArrayPath(\ContactPerson.contacts).each(\.phones)
        switch random.below(14) {
        case 0: return .any(\.likes) { $0 == word }
        case 1: return .any(\.likes) { $0 > word }
        case 2: return .every(\.likes) { $0 != word }
        case 3: return .array(\.likes, containsAny: [word, "b"])
        case 4: return .array(\.likes, containsAll: [word, "a"])
        case 5: return .any(\.marks) { $0 == .nan }
        case 6: return .any(\.marks) { $0 >= 0 }
        case 7: return .any(phones) { $0.type == word && $0.number <= "b" }
        case 8: return .any(phones) { $0.type == "a" || $0.type == word }
        case 9: return .any(phones) { $0.type == word && $0.number.hasPrefix("m") }
        case 10: return .any(\.contacts) { $0.address.city == word }
        case 11: return .anyAndEvery(\.contacts) { $0.address.city < word }
        case 12: return .any(phones.each(\.calls)) { $0 > 1 && $0 <= 3 }
        default: return \.name == word
        }
    }

    private func unnest(
        _ query: QueryList<ContactPerson>, _ plain: Database, _ indexed: Database, _ random: inout SeededGenerator
    ) throws {
        let word = Self.words[random.below(Self.words.count)]
        let base = random.oneIn(2) ? ContactPerson.query() : query
        var phones = base.unnest(\.contacts).unnest(\.phones)
        switch random.below(4) {
        case 0: phones = phones.filter { $0.type == word }
        case 1: phones = phones.filter { $0.type == word && $0.number > "a" }
        case 2:
            phones = base.unnest(\.contacts).filter { $0.address.city == word }.unnest(\.phones).filter {
                $0.type >= word
            }
        default: break
        }
        if random.oneIn(3) { phones = phones.limit(random.below(5), offset: random.below(4)) }
        let found = try [plain, indexed].map { database in
            try database.read { context in
                let rows = try phones.resolve(in: context)
                #expect(try phones.count(in: context) == rows.count)
                let counts = try phones.counts(by: \.type, in: context).map { "\($0.key) \($0.count)" }
                let parents = try phones.distinctParents(in: context).map { "\($0.id)" }
                let places = rows.map { "\($0.entity.id) \($0.parent.index) \($0.index) \($0.element.number)" }
                return [places, counts, parents]
            }
        }
        #expect(found[0] == found[1])
    }

    @Test("entries of any bytes give errors, never a trap", .seeded)
    func damage() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<20 {
            let database = try Database.inMemory(models: ContactPerson.self)
            try database.createIndex(ArrayIndex("likes", \ContactPerson.likes))
            try database.write { (context) throws in
                for id in 0..<20 { try ContactPerson(id: id, likes: ["a", "b\(id)"]).save(to: &context) }
            }
            let write = try database.store.beginWrite()
            let tree = try #require(try write.tree("m:ContactPerson:likes"))
            for _ in 0..<3 {
                try write.put(tree, (0...random.below(30)).map { _ in UInt8(random.below(256)) }, [])
            }
            var cursor = try write.cursor(tree)
            #expect(try cursor.first())
            let key = Array(cursor.key)
            _ = try write.delete(tree, key)
            try write.commit()
            for word in ["a", "b1", "zz"] {
                let query = ContactPerson.filter(.any(\.likes) { $0 == word })
                _ = try? database.results(query)
                let range = ContactPerson.query().unnest(\.likes).filter { $0 > word }
                _ = try? database.read { context in try range.resolve(in: context) }
            }
            #expect(try !database.check())
        }
    }
}
