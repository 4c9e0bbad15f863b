// SPDX-License-Identifier: Apache-2.0
// The code of Docs/query-language.md.

import Foundation
import Hornbeam
import Testing

@EntityModel
struct ClubMember {
    let id: Int
    var name: String
    var age: Int
}

@Suite("The query language, as its page shows it")
struct QueryLanguageTests {
    private func club() throws -> Database {
        let database = try Database.inMemory(models: ClubMember.self)
        try database.write { (context) throws in
            try ClubMember(id: 1, name: "Ann", age: 31).save(to: &context)
            try ClubMember(id: 2, name: "Bob", age: 12).save(to: &context)
            try ClubMember(id: 3, name: "Cy", age: 70).save(to: &context)
        }
        return database
    }

    @Test("A query")
    func query() throws {
        let database = try club()
        let rows = try database.query("SELECT name, age FROM ClubMember WHERE age >= ? ORDER BY name", 18)
        #expect(rows.map(\.json) == [#"{"name":"Ann","age":31}"#, #"{"name":"Cy","age":70}"#])
        let names = try rows.map { try $0.value("name", as: String.self) }
        #expect(names == ["Ann", "Cy"])
    }

    @Test("A statement that is run again")
    func statement() throws {
        struct Line: Decodable, Equatable {
            var name: String
            var age: Int
        }
        let database = try club()
        let adults = try Statement("SELECT name, age FROM ClubMember WHERE age >= $least ORDER BY age DESC LIMIT 10")
        var members: [Line] = []
        var seen: [Value?] = []
        try database.read { (context) throws in
            let oldest = try adults.resolve(in: context, named: ["least": 18])
            members = try oldest.map { try $0.decode(Line.self) }
            try adults.forEach(in: context, named: ["least": 65]) { row in
                seen.append(row["name"])
                return true
            }
        }
        #expect(members == [Line(name: "Cy", age: 70), Line(name: "Ann", age: 31)])
        #expect(seen == [.string("Cy")])
    }

    @Test("Changing data")
    func changes() throws {
        let database = try club()
        #expect(try database.execute("UPDATE ClubMember SET age = age + 1 WHERE id = ?", 3).count == 1)
        try database.write { (context) throws in
            let gone = try Statement("DELETE FROM ClubMember WHERE age > ? RETURNING name").execute(in: &context, 70)
            #expect(gone.count == 1 && gone.rows.map(\.json) == [#"{"name":"Cy"}"#])
        }
        #expect(try database.query("SELECT id FROM ClubMember").count == 2)
    }
}
