// SPDX-License-Identifier: Apache-2.0
// Statements that change data: the effect of each form on entities, links, indexes and observers, its result, and
// that a refused statement changes nothing.

import Foundation
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

private struct Home: Codable, Equatable, Sendable {
    var city: String
    var street: String?
    var since: Date?
}

@EntityModel
private struct Writer {
    @Unique<Self>(\.email) private var byEmail
    @Index<Self>(\.age) private var byAge
    @FullTextIndex<Self>(\.about) private var search

    let id: Int
    var email: String
    var age: Int?
    var about: String
    var home: Home?
    var marks: [Int]
    @Relationship(inverse: \.writer) var works: [Work]?
}

@EntityModel
private struct Work {
    let id: String
    var title: String
    @Relationship(inverse: \.works) var writer: Writer?
}

@EntityModel
private struct Reading {
    let id: UUID
    var day: Date
    var value: Double
    var small: Int8
    var sum: Decimal
    var bytes: Data?
    var isGood: Bool
}

@EntityModel
private struct Folder {
    let id: Int
    @Relationship(deleteRule: .cascade, inverse: \.folder) var sheets: [Sheet]?
}

@EntityModel
private struct Sheet {
    let id: Int
    var place: Int
    @Relationship(inverse: \.sheets) var folder: Folder?
    @Relationship(deleteRule: .deny, inverse: \.sheet) var seals: [Seal]?
    @Relationship(deleteRule: .whenOrphaned) var notes: [Note]?
}

@EntityModel
private struct Seal {
    let id: Int
    @Relationship(inverse: \.seals) var sheet: Sheet?
}

@EntityModel
private struct Note {
    let id: Int
}

@EntityModel
private struct Seat {
    @Unique<Self>(\.number) private var byNumber
    let id: Int
    var number: Int
}

@Suite("Statements that change data")
struct ChangeStatementTests {
    private func database() throws -> Database {
        let database = try Database.inMemory(
            models: Writer.self, Work.self, Reading.self, Folder.self, Sheet.self, Seal.self, Note.self, Seat.self)
        try database.execute(
            """
            INSERT INTO Writer (id, email, age, about, marks)
            VALUES (1, 'a@x', 30, 'likes engines', [1, 2]), (2, 'b@x', NULL, 'likes trees', []), (3, 'c@x', 50, '', [7])
            """)
        return database
    }

    private func json(_ database: Database, _ text: String, _ parameters: any ColumnValue...) throws -> [String] {
        try database.read { try Statement(text).resolve(in: $0, parameters) }.map(\.json)
    }

    /// Runs a statement that must fail and change nothing, and returns the error.
    private func refusal(
        _ database: Database, _ text: String, _ location: SourceLocation = #_sourceLocation
    ) throws -> HornbeamError {
        let types = ["Writer", "Work", "Reading", "Folder", "Sheet", "Seal", "Note", "Seat"]
        func state() throws -> [[String]] { try types.map { try json(database, "SELECT * FROM \($0) ORDER BY id") } }
        let (before, version) = (try state(), try database.version)
        let error = #expect(throws: HornbeamError.self, "\(text)", sourceLocation: location) {
            try database.execute(text)
        }
        #expect(try state() == before && database.version == version, sourceLocation: location)
        return try #require(error, sourceLocation: location)
    }

    // MARK: INSERT

    @Test("INSERT saves objects and rows of values, and returns the stored entities")
    func inserts() throws {
        let database = try database()
        let result = try database.execute(
            """
            INSERT INTO Writer {"id": 7, "email": ?, "about": 'a ' || 'b', "marks": [1 + 1], "home": {"city": 'Bonn'}},
                {'id': 8, 'email': $email, 'about': '', 'marks': []}
            RETURNING id, email, home.city AS city
            """, "d@x", named: ["email": "e@x"])
        #expect(result.count == 2)
        #expect(
            result.rows.map(\.json)
                == [#"{"id":7,"email":"d@x","city":"Bonn"}"#, #"{"id":8,"email":"e@x","city":null}"#])
        let writer = try database.read { try #require(try Writer.query(7).resolve(in: $0)) }
        #expect(writer.about == "a b" && writer.marks == [2] && writer.home == Home(city: "Bonn") && writer.age == nil)
        // Indexes have the new entity: the planner's, the unique one, and full text.
        #expect(try json(database, "SELECT id FROM Writer WHERE age = 50") == [#"{"id":3}"#])
        #expect(try json(database, "SELECT id FROM Writer WHERE MATCH(search, 'likes') ORDER BY id").count == 2)
        #expect(try database.execute("INSERT INTO Seat (id, number) VALUES (1, 1)").rows.isEmpty)
    }

    @Test("values are kept exactly, whatever their kind")
    func kinds() throws {
        let database = try database()
        let (id, day, bytes) = (UUID(), Date(timeIntervalSinceReferenceDate: 0.1), Data([0, 255]))
        let values: [any ColumnValue] = [id, day, 0.1, Decimal(string: "0.12345678901234567890") ?? 0, bytes]
        try database.write { (context) throws in
            _ = try Statement(
                "INSERT INTO Reading (id, day, value, small, sum, bytes, isGood) VALUES (?, ?, ?, -128, ?, ?, 1 = 1)"
            ).execute(in: &context, values)
        }
        let stored = try database.read { try #require(try Reading.query(id).resolve(in: $0)) }
        #expect(stored.day == day && stored.value == 0.1 && stored.small == -128 && stored.bytes == bytes)
        #expect(stored.sum == Decimal(string: "0.12345678901234567890") && stored.isGood)
        // Texts with the form of a date, a UUID or data are parsed, and whole doubles become integers.
        try database.execute(
            """
            UPDATE Reading SET day = '2024-05-02T17:30:00Z', small = 4.0 / 2, value = 3, sum = 1.5, bytes = 'AP8='
            """)
        let read = try database.read { try #require(try Reading.query(id).resolve(in: $0)) }
        #expect(read.day.timeIntervalSince1970 == 1_714_671_000 && read.small == 2 && read.value == 3)
        #expect(read.sum == 1.5 && read.bytes == bytes)
    }

    @Test("an id that isn't given is the next integer, or a new UUID; others must be given")
    func ids() throws {
        let database = try database()
        let seats = try database.execute("INSERT INTO Seat (number) VALUES (10), (20) RETURNING id")
        #expect(seats.rows.map(\.json) == [#"{"id":1}"#, #"{"id":2}"#])
        let writer = try database.execute(#"INSERT INTO Writer {"email": 'n', "about": '', "marks": []} RETURNING id"#)
        #expect(writer.rows.map(\.json) == [#"{"id":4}"#])
        let reading = #"INSERT INTO Reading {"day": 0, "value": 1, "small": 1, "sum": 1, "isGood": TRUE} RETURNING id"#
        let made = try (0..<2).map { _ in try database.execute(reading).rows[0].value("id", as: UUID.self) }
        #expect(made[0] != made[1])
        #expect(try refusal(database, "INSERT INTO Work (title) VALUES ('x')").message.contains("Work.id is missing"))
    }

    @Test("INSERT … SELECT copies the rows of a query, also of its own type")
    func insertSelect() throws {
        let database = try database()
        try database.execute("INSERT INTO Seat (id, number) SELECT id, id * 10 FROM Writer")
        // The query is read completely before the first entity is inserted.
        let copied = try database.execute(
            "INSERT INTO Seat (number) SELECT number + 1 FROM Seat ORDER BY id RETURNING *")
        #expect(
            copied.rows.map(\.json)
                == [#"{"id":4,"number":11}"#, #"{"id":5,"number":21}"#, #"{"id":6,"number":31}"#])
        try database.execute(
            "INSERT INTO Work SELECT 'w' || TOSTRING(id) AS id, email AS title, id AS writer FROM Writer")
        try database.execute(#"INSERT INTO Work SELECT VALUE {"id": 'v' || TOSTRING(id), "title": ''} FROM Writer"#)
        #expect(
            try json(database, "SELECT id, writer FROM Work ORDER BY id LIMIT 4")
                == [#"{"id":"v1","writer":null}"#, #"{"id":"v2","writer":null}"#, #"{"id":"v3","writer":null}"#]
                + [#"{"id":"w1","writer":1}"#])
        #expect(
            try refusal(database, "INSERT INTO Seat (id, number) SELECT id FROM Writer").message
                .contains("2 names, and the SELECT has 1 column"))
    }

    @Test("INSERT refuses a stored id, and UPSERT replaces the entity that has it")
    func upsert() throws {
        let database = try database()
        let stored = try refusal(database, "INSERT INTO Seat (id, number) VALUES (9, 9), (9, 10)")
        #expect(stored.code == .alreadyStored)
        #expect(stored.message.contains("Seat 9 is stored already") && stored.message.contains("character 47"))
        try database.execute("INSERT INTO Work (id, title, writer) VALUES ('a', 'A', 1)")
        // As in a save, properties that aren't named become null, and relations that aren't named stay.
        let result = try database.execute(
            #"UPSERT INTO Writer {"id": 1, "email": 'z@x', "about": 'new', "marks": []}, {"id": 5, "email": 'f', "#
                + #""about": '', "marks": []} RETURNING id, age, works"#)
        #expect(result.count == 2)
        #expect(
            result.rows.map(\.json) == [#"{"id":1,"age":null,"works":["a"]}"#, #"{"id":5,"age":null,"works":[]}"#])
        #expect(try json(database, "SELECT id FROM Writer WHERE MATCH(search, 'engines')").isEmpty)
    }

    // MARK: UPDATE

    @Test("UPDATE sets properties of the entities that WHERE finds, by an index")
    func updates() throws {
        let database = try database()
        let result = try database.execute(
            "UPDATE Writer AS w SET w.age = w.age + 1, about = email || '!' WHERE w.age > ? RETURNING id, age, about",
            40)
        #expect(result.count == 1 && result.rows.map(\.json) == [#"{"id":3,"age":51,"about":"c@x!"}"#])
        #expect(try json(database, "SELECT id FROM Writer WHERE age >= 51") == [#"{"id":3}"#])
        let plan = try json(database, "EXPLAIN UPDATE Writer SET age = 1, home.city = 'x' WHERE age > 40 RETURNING id")
        #expect(plan.joined().contains("byAge"), "\(plan)")
        #expect(plan.suffix(2) == [#"{"plan":"  set age, home.city"}"#, #"{"plan":"  return id"}"#])
        #expect(try database.execute("UPDATE Writer SET age = NULL").count == 3)
        #expect(try json(database, "SELECT id FROM Writer WHERE age IS NOT NULL").isEmpty)
        #expect(try database.execute("UPDATE Writer SET age = 1 WHERE FALSE").count == 0)
    }

    @Test("paths lead into values of Codable types and into arrays")
    func paths() throws {
        let database = try database()
        try database.execute("UPDATE Writer SET home.city = 'Bonn', home.street = 'A', marks[-1] = 9 WHERE id = 1")
        #expect(
            try json(database, "SELECT home, marks FROM Writer WHERE id = 1")
                == [#"{"home":{"city":"Bonn","street":"A"},"marks":[1,9]}"#])
        try database.execute("UPDATE Writer SET home.street = MISSING, home.city = home.city || '!' WHERE id = 1")
        let writer = try database.read { try #require(try Writer.query(1).resolve(in: $0)) }
        #expect(writer.home == Home(city: "Bonn!"))
        let refused = try refusal(database, "UPDATE Writer SET marks[5] = 1 WHERE id = 1")
        #expect(
            refused.message.contains("Writer 1: marks[5] leads through a value that is no object, or to no element"))
        #expect(
            try refusal(database, "UPDATE Writer SET age.x = 1").message.contains("nothing in it can be set by itself"))
    }

    @Test("the found entities don't depend on the changes, and values are those before the statement")
    func halloween() throws {
        let database = try database()
        // The index over age is walked upwards, and each entity moves up in the index.
        #expect(try database.execute("UPDATE Writer SET age = age + 1000 WHERE age < 10000").count == 2)
        #expect(
            try json(database, "SELECT age FROM Writer WHERE age IS NOT NULL ORDER BY age")
                == [#"{"age":1030}"#, #"{"age":1050}"#])
        try database.execute("INSERT INTO Work (id, title, writer) VALUES ('a', '', 1), ('b', '', 1), ('c', '', 2)")
        // Computed along a relation before the first entity is linked anew.
        try database.execute("UPDATE Work SET writer = writer.id + 1, title = writer.email")
        #expect(
            try json(database, "SELECT VALUE [id, title, writer] FROM Work ORDER BY id")
                == [#"["a","a@x",2]"#, #"["b","a@x",2]"#, #"["c","b@x",3]"#])
    }

    @Test("relations are ids: null and [] unlink, and ids may be of entities that aren't stored yet")
    func relations() throws {
        let database = try database()
        try database.execute(
            "INSERT INTO Work (id, title, writer) VALUES ('a', 'A', 1), ('b', 'B', NULL), ('c', 'C', 99)")
        #expect(try json(database, "SELECT works FROM Writer WHERE id = 1") == [#"{"works":["a"]}"#])
        try database.execute("UPDATE Writer SET works = ['b', 'a'] WHERE id = 2")
        #expect(
            try json(database, "SELECT VALUE [id, writer] FROM Work ORDER BY id")
                == [#"["a",2]"#, #"["b",2]"#, #"["c",null]"#])
        try database.execute("UPDATE Work SET writer = NULL WHERE id = 'a'")
        #expect(try json(database, "SELECT works FROM Writer WHERE id = 2") == [#"{"works":["b"]}"#])
        try database.execute("UPDATE Writer SET works = ARRAY_APPEND(works, 'a'), marks = ARRAY_REMOVE(marks, 7)")
        // Each work has one writer: the last one that took it.
        #expect(
            try json(database, "SELECT VALUE [id, works, marks] FROM Writer ORDER BY id")
                == [#"[1,[],[1,2]]"#, #"[2,["b"],[]]"#, #"[3,["a"],[]]"#])
        try database.execute("UPDATE Writer SET works = []")
        #expect(try json(database, "SELECT id FROM Work WHERE writer IS NOT NULL").isEmpty)
        try database.execute("INSERT INTO Writer (id, email, about, marks) VALUES (99, '', '', [])")
        #expect(try json(database, "SELECT works FROM Writer WHERE id = 99") == [#"{"works":["c"]}"#])
        #expect(
            try refusal(database, "UPDATE Work SET writer = [1, 2]").message.contains(
                "leads to one Writer: give one id"))
        #expect(try refusal(database, "UPDATE Work SET writer = 'x'").message.contains("it must be a whole number"))
        #expect(try refusal(database, "UPDATE Work SET writer.age = 1").message.contains("UPDATE Writer"))
    }

    @Test("links to unstored entities stay when a relation's new value is made of its former one")
    func unsavedLinks() throws {
        let database = try database()
        try database.execute(
            "INSERT INTO Writer (id, email, about, marks, works) VALUES (60, '', '', [], ['late'])")
        try database.execute("INSERT INTO Work (id, title, writer) VALUES ('a', 'A', NULL), ('o', 'O', 61)")
        try database.execute("UPDATE Writer SET works = ARRAY_APPEND(works, 'a') WHERE id = 60")
        try database.execute("UPDATE Work SET writer = writer WHERE id = 'o'")
        try database.execute("INSERT INTO Work (id, title) VALUES ('late', 'L')")
        try database.execute("INSERT INTO Writer (id, email, about, marks) VALUES (61, 'o', '', [])")
        #expect(
            try json(database, "SELECT VALUE [id, writer] FROM Work ORDER BY id")
                == [#"["a",60]"#, #"["late",60]"#, #"["o",61]"#])
        try database.execute("UPDATE Writer SET works = ['a'] WHERE id = 60")
        #expect(try json(database, "SELECT works FROM Writer WHERE id = 60") == [#"{"works":["a"]}"#])
    }

    @Test("Codable values decode afterwards: removing a missing field creates nothing, dates are seconds")
    func codable() throws {
        let database = try database()
        try database.execute("INSERT INTO Writer (id, email, about, marks) VALUES (60, '', '', [])")
        try database.execute("UPDATE Writer SET home.street = MISSING")
        let date = Date(timeIntervalSinceReferenceDate: 7.5)
        try database.execute("UPDATE Writer SET home.city = 'X', home.since = ? WHERE id = 1", date)
        try database.read { (context) throws in
            #expect(try Writer.query(60).resolve(in: context)?.home == nil)
            #expect(try Writer.query(1).resolve(in: context)?.home?.since == date)
        }
    }

    @Test(
        "a subquery runs once, however deep it is and however often its expression is used",
        .timeLimit(.minutes(2)))
    func nestedSubqueries() throws {
        let database = try database()
        let query = (0..<30).reduce("SELECT id FROM Writer") { inner, _ in
            "SELECT id FROM Writer GROUP BY id HAVING id IN (\(inner))"
        }
        #expect(try database.query(query).count == 3)
    }

    @Test("unique keys count at the end of the statement, and a second holder is refused")
    func uniqueKeys() throws {
        let database = try database()
        try database.execute("INSERT INTO Seat (id, number) VALUES (1, 1), (2, 2), (3, 3)")
        #expect(try database.execute("UPDATE Seat SET number = number + 1").count == 3)
        #expect(
            try database.execute("UPDATE Seat SET number = CASE number WHEN 2 THEN 4 WHEN 4 THEN 2 ELSE 3 END").count
                == 3)
        #expect(
            try json(database, "SELECT VALUE number FROM Seat ORDER BY id") == ["4", "3", "2"])
        #expect(try json(database, "SELECT VALUE id FROM Seat WHERE number = 2") == ["3"])
        let refused = try refusal(database, "UPDATE Seat SET number = 3 WHERE id != 2")
        #expect(refused.code == .uniqueViolation && refused.violation?.existing == .int(2))
        #expect(try refusal(database, "UPDATE Seat SET number = 9").code == .uniqueViolation)
        #expect(try refusal(database, "INSERT INTO Seat (number) VALUES (8), (8)").code == .uniqueViolation)
    }

    // MARK: DELETE

    @Test("DELETE follows delete rules, and RETURNING has the entities as they were")
    func deletes() throws {
        let database = try database()
        try database.execute("INSERT INTO Folder (id) VALUES (1), (2)")
        try database.execute(
            "INSERT INTO Sheet (id, place, folder, notes) VALUES (1, 1, 1, [1, 2]), (2, 2, 1, [2]), (3, 3, 2, [3, 4])")
        try database.execute("INSERT INTO Note (id) VALUES (1), (2), (3), (4)")
        try database.execute("INSERT INTO Seal (id, sheet) VALUES (1, 3)")
        let denied = try refusal(database, "DELETE FROM Folder")
        #expect(denied.code == .deleteDenied && denied.message.contains("Sheet 3 can't be deleted"))
        let plan = try json(database, "EXPLAIN DELETE FROM Folder WHERE id = 1")
        #expect(plan.last == #"{"plan":"  delete, with what delete rules take along"}"#)
        // The cascade deletes both sheets, and the notes that no other sheet has.
        let result = try database.execute("DELETE FROM Folder WHERE id = 1 RETURNING id, sheets")
        #expect(result.count == 1 && result.rows.map(\.json) == [#"{"id":1,"sheets":[1,2]}"#])
        #expect(try json(database, "SELECT VALUE id FROM Sheet") == ["3"])
        #expect(try json(database, "SELECT VALUE id FROM Note ORDER BY id") == ["3", "4"])
        #expect(try database.execute("DELETE FROM Seal").count == 1)
        #expect(try database.execute("DELETE FROM Folder").count == 1)
        #expect(try json(database, "SELECT VALUE id FROM Note").isEmpty)
        #expect(try database.read { try $0.isWhole() })
    }

    @Test("deleted entities are kept where the database keeps them, and inserting one again takes that away")
    func keptDeleted() throws {
        let database = try Database.inMemory(models: Seat.self, keepsDeleted: .forever)
        try database.execute("INSERT INTO Seat (id, number) VALUES (1, 10), (2, 20)")
        try database.execute("DELETE FROM Seat WHERE id = 2")
        let kept = { try database.read { try Deleted<Seat>.query().resolve(in: $0).map(\.entity.number) } }
        #expect(try kept() == [20])
        try database.execute("INSERT INTO Seat (id, number) VALUES (2, 30)")
        #expect(try kept().isEmpty)
        let without = try self.database()
        try without.execute("INSERT INTO Seat (id, number) VALUES (1, 1)")
        try without.execute("DELETE FROM Seat")
        #expect(try without.read { try Deleted<Seat>.query().count(in: $0) } == 0)
        #expect(try refusal(database: without, "DELETE FROM `Deleted<Seat>`").contains("kept by the store"))
    }

    private func refusal(database: Database, _ text: String) throws -> String {
        try #require(#expect(throws: HornbeamError.self) { try database.execute(text) }).message
    }

    // MARK: Transactions

    @Test("in a write a refused statement changes nothing, and the write continues")
    func inWrite() throws {
        let database = try database()
        try database.write { (context) throws in
            try Seat(id: 1, number: 1).save(to: &context)
            let update = try Statement("UPDATE Seat SET number = number + ?")
            #expect(update.changesData)
            #expect(try update.execute(in: &context, 1).count == 1)
            try Seat(id: 2, number: 3).save(to: &context)
            #expect(throws: HornbeamError.self) {
                try Statement("INSERT INTO Seat (id, number) VALUES (3, 4), (4, 3)").execute(in: &context)
            }
            #expect(try update.execute(in: &context, 1).count == 2)
            #expect(try Seat.query().resolve(in: context).map(\.number) == [3, 4])
        }
        #expect(try json(database, "SELECT VALUE number FROM Seat") == ["3", "4"])
        #expect(throws: HornbeamError.self) {
            try database.write { (context) throws in
                try Statement("DELETE FROM Seat").execute(in: &context)
                throw HornbeamError(.failed, "after it")
            }
        }
        #expect(try json(database, "SELECT id FROM Seat").count == 2)
    }

    @Test("each statement is refused by the call for the other kind")
    func calls() throws {
        let database = try database()
        for text in ["SELECT id FROM Seat", "EXPLAIN DELETE FROM Seat"] {
            #expect(try !Statement(text).changesData)
            #expect(try refusal(database, text).message.contains("run by database.query"))
        }
        let error = #expect(throws: HornbeamError.self) { try database.query("DELETE FROM Seat") }
        #expect(error?.message.contains("run by database.execute") == true)
        let read = #expect(throws: HornbeamError.self) {
            try database.read { context in
                var context = context
                try Statement("DELETE FROM Seat").execute(in: &context)
            }
        }
        #expect(read?.code == .readOnly)
        let unused = #expect(throws: HornbeamError.self) { try database.execute("DELETE FROM Seat WHERE id = ?", 1, 2) }
        #expect(unused?.message.contains("1 parameter, and 2 values are given") == true)
    }

    @Test("observers learn of a statement's changes, and of nothing if it changes nothing")
    func observers() throws {
        let database = try database()
        let batch = try database.performBatchUpdates { context in
            try Statement("UPDATE Writer SET age = 30 WHERE id IN (1, 2)").execute(in: &context).count
        }
        #expect(batch.value == 2)
        #expect(batch.changes[Writer.self].updated == [2])
        let deleted = try database.performBatchUpdates { try Statement("DELETE FROM Writer").execute(in: &$0).count }
        #expect(deleted.changes[Writer.self].deleted == [1, 2, 3])
    }

    @Test("an interrupted statement is undone, with links that were waiting before it untouched")
    func interrupted() throws {
        let database = try database()
        try database.write { (context) throws in
            try Statement("INSERT INTO Work (id, title, writer) VALUES ('a', '', 1)").execute(in: &context)
            let (transaction, interruption) = (try context.session.core.transaction, Interruption())
            interruption.set()
            for text in [
                "UPDATE Writer SET age = 1", "DELETE FROM Writer", "INSERT INTO Seat (number) VALUES (1)",
            ] {
                let statement = try Statement(text)
                try Work(id: "b", title: text, writer: .id(2)).save(to: &context)
                transaction.interruption = interruption
                let error = #expect(throws: HornbeamError.self) { try statement.execute(in: &context) }
                #expect(error?.code == .cancelled)
                transaction.interruption = nil
                #expect(try statement.execute(in: &context).count > 0)
            }
        }
        #expect(try json(database, "SELECT VALUE id FROM Work ORDER BY id") == [#""a""#, #""b""#])
        #expect(try database.read { try $0.isWhole() })
    }

    @Test("a context without a database takes them too")
    func context() throws {
        var context = Context()
        try Seat(id: 1, number: 1).save(to: &context)
        try Statement("UPDATE Seat SET number = 5").execute(in: &context)
        #expect(try Seat.query(1).resolve(in: context)?.number == 5)
        #expect(try context.isWhole())
    }

    // MARK: Errors

    @Test(
        "an error says what is wrong, with its position in the text",
        arguments: [
            ("INSERT INTO Nothing (id) VALUES (1)", "there is no entity type “Nothing”", 13),
            ("INSERT INTO Seat (id, nummer) VALUES (1, 2)", "neither a property nor a relation “nummer”", 23),
            ("INSERT INTO Seat (id, id) VALUES (1, 2)", "“id” is there twice", 23),
            (#"INSERT INTO Seat {"id": 1, "number": 2, "id": 3}"#, "“id” is there twice", 47),
            ("INSERT INTO Seat (id) VALUES (1)", "Seat.number is missing, and can't be null", 31),
            ("INSERT INTO Seat (id, number) VALUES (1, NULL)", "Seat.number can't be null", 42),
            ("INSERT INTO Seat (id, number) VALUES (1, 'x')", "it must be a whole number", 42),
            ("INSERT INTO Seat (id, number) VALUES (1, 2.5)", "it must be a whole number", 42),
            ("INSERT INTO Seat (id, number) VALUES (1, other)", "nothing is called “other”", 42),
            ("INSERT INTO Seat (id, number) VALUES (1, COUNT(*))", "COUNT is an aggregate", 42),
            ("INSERT INTO Seat 7", "an entity is an object", 18),
            (
                "INSERT INTO Seat (id, number) VALUES (1, 2) RETURNING COUNT(*)",
                "an aggregate has no place in RETURNING", 55
            ),
            ("UPDATE Seat SET nummer = 1", "neither a property nor a relation “nummer”", 17),
            ("UPDATE Seat SET number = nummer", "Seat has no “nummer”", 26),
            ("UPDATE Seat SET id = 1", "an entity keeps its id", 17),
            ("UPDATE Seat SET number = 1, number = 2", "number is set twice", 29),
            ("UPDATE Writer SET home.city = 'x', home = NULL", "home is set twice", 36),
            ("UPDATE Seat SET number = MAX(number)", "an aggregate has no place in SET", 26),
            ("UPDATE Seat SET number = 1 WHERE COUNT(*) > 1", "COUNT is an aggregate", 34),
            ("UPDATE Seat SET `$updatedAt` = 1", "is kept by the store", 17),
            ("DELETE FROM Seat WHERE nummer = 1", "Seat has no “nummer”", 24),
            ("DELETE FROM Seat RETURNING nummer", "Seat has no “nummer”", 28),
        ])
    func errors(_ text: String, _ words: String, _ character: Int) throws {
        let database = try database()
        try database.execute("INSERT INTO Seat (id, number) VALUES (90, 90)")
        let message = try refusal(database, text).message
        #expect(message.contains(words), "\(message)")
        #expect(message.contains("at line 1, character \(character):"), "\(message)")
    }

    @Test("a value that one of many entities can't hold undoes the whole statement, and names the entity")
    func halfway() throws {
        let database = try database()
        let error = try refusal(database, "UPDATE Writer SET about = CASE id WHEN 3 THEN 7 ELSE 'x' END")
        #expect(error.message.contains("Writer 3: Writer.about, a string, can't be 7"), "\(error.message)")
    }
}
