// SPDX-License-Identifier: Apache-2.0
// The code of Docs/indexes.md on value and array indexes.

import Foundation
import Hornbeam
import Testing

@Suite("Value and array indexes, as their page shows them")
struct ValueAndArrayIndexesTests {
    struct Phone: Codable {
        var type: String
        var number: String
    }

    struct Contact: Codable {
        var type: String
        var city: String
        var phones: [Phone]
    }

    @EntityModel
    struct Person {
        let id: Int
        var name: String
        var type = "person"
        var age: Int?
        var contacts: [Contact] = []
        var likes: [String] = []
        var lowerName: String { name.lowercased() }
    }

    private func people() throws -> Database {
        let database = try Database.inMemory(models: Person.self)
        let contacts = [("primary", "San Pedro", "310"), ("secondary", "Seattle", "206")].map { type, city, area in
            Contact(
                type: type, city: city,
                phones: [
                    Phone(type: "home", number: "\(area)-123-4567"), Phone(type: "mobile", number: "\(area)-123-6789"),
                ])
        }
        try database.write { (context) throws in
            try Person(id: 1, name: "Sam", age: 40, contacts: contacts, likes: ["soccer", "travel"]).save(to: &context)
            try Person(id: 2, name: "Nora", age: 12).save(to: &context)
            for id in 3..<60 { try Person(id: id, name: "A\(id)", age: id, likes: ["sleep"]).save(to: &context) }
        }
        return database
    }

    private func plan(_ database: Database, _ query: QueryList<Person>) throws -> String {
        try database.read { context in "\(try query.explain(in: context))" }
    }

    @Test("Value indexes")
    func values() throws {
        let database = try people()
        try database.createIndex(
            Person.self, withName: "TypeNameIndex", config: ValueIndexConfiguration(["type", "name"]))
        try database.createIndex(ValueIndex("byAge", \Person.age.desc, \.name))
        let query = Person.filter(\.type == "person" && \.name > "M").sorted(by: \.name)
        #expect(try plan(database, query).contains("index TypeNameIndex, one range of 2 entries"))
        #expect(try database.read { context in try query.resolve(in: context) }.map(\.name) == ["Nora", "Sam"])

        try database.createIndex(ValueIndex("adults", \Person.name, where: \Person.age > 17))
        let adults = Person.filter(\.age > 30 && \.name == "Sam")
        #expect(try plan(database, adults).contains("index adults"))
        #expect(try plan(database, Person.filter(\.age > 3 && \.name == "Sam")).contains("index adults") == false)

        try database.createIndex(ValueIndex("lower", \Person.lowerName, version: "1"))
        let found = Person.filter(\.lowerName == "sam")
        #expect(try plan(database, found).contains("index lower"))
        let last = Person.query().sorted(by: \.lowerName.desc).limit(20)
        #expect(try plan(database, last).contains("backwards\n  limit 20 within the access"))
        #expect(try database.indexes() == ["TypeNameIndex", "adults", "byAge", "lower"])
        #expect(try database.deleteIndex(withName: "lower"))
    }

    @Test("By names")
    func names() throws {
        let database = try people()
        try database.createIndex(
            Person.self, withName: "lowerName", config: ValueIndexConfiguration(["lower(name)", "age desc"]))
        try database.createIndex(
            Person.self, withName: "named",
            config: ValueIndexConfiguration(["name"], where: "age > 17 AND name IS VALUED"))
        // The type is nested in this suite, so the suite's name is part of its own.
        let text = "SELECT name FROM `ValueAndArrayIndexesTests.Person` WHERE lower(name) = 'sam' ORDER BY age DESC"
        let sams = try database.query(text)
        #expect(sams.map { $0["name"] } == [.string("Sam")])
        let plan = try database.read { context in try Statement(text).explain(in: context) }
        #expect(plan.contains("index lowerName, one range of 1 entries") && !plan.contains("sort"))
        #expect(try self.plan(database, Person.filter(\.age > 30 && \.name == "Sam")).contains("index named"))
    }

    @Test("Collations")
    func collations() throws {
        let database = try people()
        try database.createIndex(ValueIndex("bySurname", \Person.name, collation: .unicode(locale: "sv")))
        try database.write { context in try Person(id: 100, name: "Åsa").save(to: &context) }
        let late = Person.filter(\.name > "z".collated(.unicode(locale: "sv")))
            .sorted(by: .by(\.name, collation: .unicode(locale: "sv")))
        #expect(try plan(database, late).contains("index bySurname, one range of 1 entries"))
        #expect(try database.read { context in try late.resolve(in: context) }.map(\.name) == ["Åsa"])
        let remark = "index bySurname has another collation: unicode:sv, not binary"
        #expect(try plan(database, Person.filter(\.name > "z")).contains(remark))
    }

    @Test("Arrays and their elements")
    func arrays() throws {
        let database = try people()
        try database.createIndex(Person.self, withName: "singleIndex", config: ArrayIndexConfiguration(path: "likes"))
        try database.createIndex(
            Person.self, withName: "nestedArray",
            config: ArrayIndexConfiguration(path: "contacts[].phones", expressions: ["type"]))
        try database.createIndex(ArrayIndex("numbers", \Person.contacts, each: \.phones, \.number))
        let cities = ArrayPath(\Person.contacts)
        try database.createIndex(ArrayIndex("cities", cities, \.city, \.type))

        let travellers = Person.query().unnest(\.likes).filter { $0 == "travel" }
        let mobiles = Person.query().unnest(\.contacts).unnest(\.phones).filter { $0.type == "mobile" }
        try database.read { (context) throws in
            var lines: [String] = []
            for row in try mobiles.resolve(in: context) {
                lines.append("\(row.entity.name), \(row.parent.element.type), \(row.element.number)")
            }
            #expect(lines == ["Sam, primary, 310-123-6789", "Sam, secondary, 206-123-6789"])
            #expect("\(try mobiles.explain(in: context))".contains("index nestedArray"))
            #expect(try travellers.resolve(in: context).map(\.entity.name) == ["Sam"])

            let counts = try Person.query().unnest(\.contacts).unnest(\.phones).counts(by: \.type, in: context)
            let number = try mobiles.count(in: context)
            let owners = try mobiles.distinctParents(in: context)
            #expect(counts.map(\.key) == ["home", "mobile"] && counts.map(\.count) == [2, 2])
            #expect(number == 2 && owners.map(\.id) == [1])
        }

        let some = Person.filter(.any(\.likes) { $0 == "travel" || $0 == "tea" })
        let all = Person.filter(.every(\.likes) { $0 != "sleep" })
        let both = Person.filter(.anyAndEvery(ArrayPath(\Person.contacts).each(\.phones)) { $0.type == "mobile" })
        #expect(try plan(database, some).contains("index singleIndex"))
        let found = try database.read { context in
            try [some, all, both].map { try $0.resolve(in: context).map(\.name) }
        }
        #expect(found == [["Sam"], ["Sam", "Nora"], []])
        #expect(try database.check())
    }
}
