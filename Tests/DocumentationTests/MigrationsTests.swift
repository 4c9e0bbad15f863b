// SPDX-License-Identifier: Apache-2.0
// The code of Docs/migrations.md.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
struct Colleague {
    let id: Int
    var email: String
    var age: Int
    var fullName: String
    @Relationship() var manager: Colleague?
}

/// An album and its tracks as an earlier version of the program declared them.
@EntityModel
struct Worker {
    let id: Int
    var mail: String
    var age: String
    var first: String
    var last: String
    var ssn: String?
    @Relationship() var boss: Worker?
}

@EntityModel
struct Temp {
    let id: Int
}

@Suite("Migrations, as the document shows them")
struct MigrationsTests {
    private let migrations: [Migration] = [
        .rename("Worker", to: Colleague.self),
        .rename(Colleague.self, "mail", to: \.email),
        .rename(Colleague.self, "boss", to: \.$manager),
        .convert(Colleague.self, \.age, from: String.self) { Int($0) ?? 0 },
        .fill(Colleague.self, \.fullName) { old in
            "\(try old.value("first", as: String.self)) \(try old.value("last", as: String.self))"
        },
        .forget(Colleague.self, "ssn"),
        .drop("Temp"),
        .run("lower-case addresses") { context in
            for var person: Colleague in try context.all() {
                person.email = person.email.lowercased()
                try person.save(to: &context)
            }
        },
    ]

    @Test("A file of the earlier version becomes one of the present, links and all, however often it is opened")
    func example() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("people.hornbeam")
        let earlier = try Database(at: path, models: Worker.self, Temp.self)
        try earlier.write { context in
            try Temp(id: 1).save(to: &context)
            try Worker(id: 1, mail: "A@x", age: "50", first: "Ann", last: "B").save(to: &context)
            var second = Worker(id: 2, mail: "C@x", age: "?", first: "Cy", last: "D", ssn: "17")
            second.$boss = .id(1)
            try second.save(to: &context)
        }
        try earlier.close()
        for _ in 1...2 {
            let database = try Database(at: path, models: Colleague.self, migrations: migrations)
            try database.read { context throws in
                let person = try #require(try context.find(2) as Colleague?)
                #expect(person.email == "c@x" && person.age == 0 && person.fullName == "Cy D")
                #expect(try Colleague.query(2).related(\.$manager).resolve(in: context)?.email == "a@x")
            }
            #expect(database.schemaDescription.map(\.name) == ["Colleague", "Deleted<Colleague>"])
            #expect(!database.schemaDescription[0].columns.map(\.name).contains("ssn"))
            #expect(try database.check())
            try database.close()
        }
    }
}
