// SPDX-License-Identifier: Apache-2.0
// Indexes made by a program at run time, as the command sees them without the program's code.

import Hornbeam
import HornbeamTestSupport
import HornbeamTree
import Testing

@EntityModel
private struct Shelf {
    let id: Int
    var name: String
    var place: Int?
    var tags: [String]
}

@Suite("The command and indexes made at run time")
struct RuntimeIndexTests {
    /// A store with a value index, a partial one, and one of an array.
    private func store(_ folder: TemporaryFolder) throws -> String {
        let path = folder.path("shelves.hornbeam")
        let database = try Database(at: path, models: Shelf.self)
        try database.write { (context) throws in
            for id in 1...300 {
                try Shelf(id: id, name: "n\(id % 50)", place: id % 3 == 0 ? nil : id, tags: ["t\(id % 7)"])
                    .save(to: &context)
            }
        }
        try database.createIndex(ValueIndex("byName", \Shelf.name))
        try database.createIndex(ValueIndex("placed", \Shelf.place, where: \Shelf.place > 200))
        try database.createIndex(Shelf.self, withName: "tags", config: ArrayIndexConfiguration(path: "tags"))
        try database.close()
        return path
    }

    private func expect(_ run: CommandRun, _ texts: String...) {
        #expect(run.code == 0, "\(run.errors)")
        for text in texts { #expect(run.output.contains(text), "\(run.output)") }
    }

    @Test("sql and query use value indexes, complete and partial ones")
    func queries() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = try store(folder)
        expect(
            try CommandRun("sql", path, "EXPLAIN SELECT id FROM Shelf WHERE name = 'n7'"),
            "index byName, one range of 6")
        expect(
            try CommandRun("sql", path, "EXPLAIN SELECT id FROM Shelf WHERE place > 250"),
            "index placed, one range of 33")
        expect(try CommandRun("sql", path, "SELECT COUNT(*) AS n FROM Shelf WHERE place > 250", "--json"), #"{"n":33}"#)
        expect(try CommandRun("sql", path, "EXPLAIN SELECT id FROM Shelf WHERE place > 150"), "scan of 300 rows")
        expect(try CommandRun("query", path, "Shelf", "--where", "name = 'n7'", "--count"), "6")
    }

    @Test("an index that has missed changes isn't used")
    func missed() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = try store(folder)
        expect(try CommandRun("import", path, "Shelf", "-", input: #"{"id":999,"name":"n7","tags":[]}"# + "\n"))
        let plan = try CommandRun("sql", path, "EXPLAIN SELECT id FROM Shelf WHERE name = 'n7'")
        #expect(plan.code == 0 && !plan.output.contains("byName"), "\(plan.output)")
        expect(try CommandRun("sql", path, "SELECT COUNT(*) AS n FROM Shelf WHERE name = 'n7'", "--json"), #"{"n":7}"#)
        expect(try CommandRun("check", path), "no problems")
    }

    @Test("check verifies value indexes against the entities, and lists the ones it can't check")
    func checked() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = try store(folder)
        expect(try CommandRun("check", path), "no problems", "1 index: tags")
        let store = try TreeStore.open(at: path)
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("m:Shelf:byName"))
        var cursor = try transaction.cursor(tree)
        #expect(try cursor.first())
        _ = try transaction.delete(tree, Array(cursor.key))
        try transaction.commit()
        try store.close()
        let run = try CommandRun("check", path)
        #expect(run.code == 1)
        #expect(run.output.contains("index “byName” of Shelf: an entry for"), "\(run.output)")
        #expect(run.output.contains("index “byName” of Shelf has 299 rows, the entities give 300"), "\(run.output)")
    }
}

@EntityModel
private struct Resident {
    @Index<Self>(\.name, collation: .unicode(locale: "sv")) private var byName
    @HashIndex<Self>(\.name, collation: .caseInsensitive) private var byFold

    let id: Int
    var name: String
}

@Suite("The command and indexes by collations")
struct CollatedIndexCommandTests {
    /// A store whose indexes have the order of another version of their collations.
    private func store(_ folder: TemporaryFolder) throws -> String {
        let path = folder.path("town.hornbeam")
        let database = try Database(at: path, models: Resident.self)
        try database.write { (context) throws in
            for id in 1...300 { try Resident(id: id, name: "N\(id)").save(to: &context) }
        }
        try database.close()
        let store = try TreeStore.open(at: path)
        let transaction = try store.beginWrite()
        let schema = try #require(try transaction.tree("schema"))
        let key = Array("type:Resident".utf8)
        let stored = try #require(try transaction.get(schema, key).map { String(decoding: $0, as: UTF8.self) })
        let changed = stored.replacing("\"icu-", with: "\"icu-0.").replacing("\"fold-", with: "\"fold-0.")
        try transaction.put(schema, key, Array(changed.utf8))
        try transaction.commit()
        try store.close()
        return path
    }

    @Test("after an update of the system such indexes aren't used; importing rebuilds them")
    func updated() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = try store(folder)
        let query = "EXPLAIN SELECT id FROM Resident WHERE name COLLATE (UNICODE 'sv') = 'N7'"
        let plan = try CommandRun("sql", path, query)
        #expect(plan.code == 0 && plan.output.contains("scan of 300 rows"), "\(plan.errors)")
        #expect(plan.output.contains("index byName isn't used: it is in the order of unicode:sv as of icu-0."))
        let check = try CommandRun("check", path)
        #expect(check.code == 0 && check.output.contains("2 indexes: byName of Resident, byFold of Resident"))
        let line = #"{"id":999,"name":"n7"}"# + "\n"
        let imported = try CommandRun("import", path, "Resident", "-", input: line)
        #expect(imported.code == 0, "\(imported.errors)")
        #expect(try CommandRun("sql", path, query).output.contains("index byName, one range of 1 "))
        let folded = "SELECT COUNT(*) AS n FROM Resident WHERE name COLLATE FOLDED = 'n7'"
        #expect(try CommandRun("sql", path, folded, "--json").output == #"{"n":2}"# + "\n")
        let clean = try CommandRun("check", path)
        #expect(clean.code == 0 && !clean.output.contains("another version"))
    }

    @Test("a schema as JSON has collations, and can be applied to another store")
    func schema() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = try store(folder)
        let json = try CommandRun("schema", path, "--json").output
        #expect(json.contains(#""collation" : "unicode:sv""#) && !json.contains("icu-"), "\(json)")
        #expect(try CommandRun("schema", path).output.contains("collation caseInsensitive"))
        let file = try folder.write("schema.json", json)
        let other = folder.path("other.hornbeam")
        let applied = try CommandRun("schema", "apply", other, file)
        #expect(applied.code == 0, "\(applied.errors)")
        #expect(try CommandRun("schema", other, "--json").output == json)
    }
}
