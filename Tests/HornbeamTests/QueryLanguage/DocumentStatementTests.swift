// SPDX-License-Identifier: Apache-2.0
// The examples of UNNEST in the description of array indexes, with the results given there. Its documents are an
// entity type here. Names are those of the properties: it is `Name`, as in the document, not `name`.

import Hornbeam
import Testing

@EntityModel
private struct profiles {
    let id: Int
    var Name: String
    var contacts: [ContactCard]
    var likes: [String]
}

private struct ContactCard: Codable, Equatable, Sendable {
    struct Address: Codable, Equatable, Sendable {
        var street: String
        var city: String
        var state: String
    }
    struct Phone: Codable, Equatable, Sendable {
        var type: String
        var number: String
    }

    var type: String
    var address: Address
    var phones: [Phone]
}

@Suite("Statements of the description")
struct DocumentStatementTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(models: profiles.self)
        let sam = profiles(
            id: 1, Name: "Sam",
            contacts: [
                ContactCard(
                    type: "primary", address: .init(street: "1 St", city: "San Pedro", state: "CA"),
                    phones: [
                        .init(type: "home", number: "310-123-4567"), .init(type: "mobile", number: "310-123-6789"),
                    ]),
                ContactCard(
                    type: "secondary", address: .init(street: "5 St", city: "Seattle", state: "WA"),
                    phones: [
                        .init(type: "home", number: "206-123-4567"), .init(type: "mobile", number: "206-123-6789"),
                    ]),
            ],
            likes: ["soccer", "travel"])
        try database.write { try sam.save(to: &$0) }
        return database
    }

    @Test("a single array")
    func single() throws {
        let rows = try database().query(#"SELECT Name, like FROM _ UNNEST likes as like WHERE like = "travel""#)
        #expect(rows.map(\.json) == [#"{"Name":"Sam","like":"travel"}"#])
    }

    @Test("nested arrays")
    func nested() throws {
        let rows = try database().query(
            """
            SELECT Name, contact.type, phone.number
            FROM profiles
            UNNEST contacts as contact
            UNNEST contact.phones as phone
            WHERE phone.type = "mobile"
            """)
        #expect(
            rows.map(\.json) == [
                #"{"Name":"Sam","type":"primary","number":"310-123-6789"}"#,
                #"{"Name":"Sam","type":"secondary","number":"206-123-6789"}"#,
            ])
    }

    @Test("names are case-sensitive, and the error for a wrong one has the right one and the position")
    func names() throws {
        let error = #expect(throws: HornbeamError.self) {
            try database().query("SELECT name, like FROM _ UNNEST likes as like")
        }
        #expect(
            error?.message == """
                nothing is called “name”; did you mean Name?, at line 1, character 8:
                  SELECT name, like FROM _ UNNEST likes as like
                         ^
                """)
        #expect(throws: HornbeamError.self) { try database().query("SELECT * FROM Profiles") }
    }

    @Test("array literals are refused in UNNEST, repeated elements are rows, groups of elements are counted")
    func literals() throws {
        let error = #expect(throws: HornbeamError.self) {
            try self.database().query(#"SELECT x FROM _ UNNEST ["a", "b"] AS x"#)
        }
        #expect(error?.message.contains("array literals are not supported") == true)
        let database = try self.database()
        try database.write {
            try profiles(id: 2, Name: "Ann", contacts: [], likes: ["travel", "travel"]).save(to: &$0)
        }
        let rows = try database.query(
            "SELECT l, COUNT(*) AS n, COUNT(DISTINCT META().id) AS p FROM _ UNNEST likes AS l GROUP BY l ORDER BY l")
        #expect(rows.map(\.json) == [#"{"l":"soccer","n":1,"p":1}"#, #"{"l":"travel","n":3,"p":2}"#])
    }

    @Test("an empty or missing array has no rows, or one in a left join; a value that is no array is one element")
    func arrays() throws {
        let database = try self.database()
        try database.write { try profiles(id: 2, Name: "Ann", contacts: [], likes: []).save(to: &$0) }
        #expect(try database.query("SELECT l FROM _ AS p UNNEST likes AS l WHERE p.id = 2").isEmpty)
        #expect(
            try database.query("SELECT p.id, l FROM _ AS p LEFT UNNEST likes AS l WHERE p.id = 2").map(\.json)
                == [#"{"id":2}"#])
        #expect(try database.query("SELECT x FROM _ AS p UNNEST contacts[0].nothing AS x").isEmpty)
        let rows = try database.query("SELECT a.city, a.type IS MISSING AS t FROM _ UNNEST contacts[0].address AS a")
        #expect(rows.map(\.json) == [#"{"city":"San Pedro","t":true}"#])
    }
}
