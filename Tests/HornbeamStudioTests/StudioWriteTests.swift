// SPDX-License-Identifier: Apache-2.0
// Changes by the page: they are made, or refused with an error at the wrong field; without --write all are refused.

import Foundation
import Glibc
import HornbeamTestSupport
import Synchronization
import Testing

@Suite("The studio's writes")
struct StudioWriteTests {
    private static let schema = #"""
        {"entities": [
          {"name": "Team",
           "columns": [{"name": "id", "type": "string"}, {"name": "name", "type": "string"}],
           "indexes": [{"name": "byName", "kind": "unique", "components": ["name"]}],
           "relations": [{"name": "jobs", "target": "Job", "toMany": true, "inverse": "team", "deleteRule": "cascade"},
                         {"name": "guard", "target": "Job", "toMany": false, "deleteRule": "deny"}]},
          {"name": "Job",
           "columns": [{"name": "id", "type": "int64"}, {"name": "title", "type": "string"},
                       {"name": "pay", "type": "decimal?"}, {"name": "due", "type": "date?"},
                       {"name": "data", "type": "data?"}, {"name": "order", "type": "json?"}],
           "relations": [{"name": "team", "target": "Team", "toMany": false, "required": true, "inverse": "jobs"}]}
        ]}
        """#
    private static let teams = """
        {"id":"db","name":"Database","jobs":[1,2]}
        {"id":"ui","name":"Page"}

        """
    private static let jobs = """
        {"id":1,"title":"Write","team":"db"}
        {"id":2,"title":"Test","team":"db"}

        """

    private func store() throws -> StudioStore {
        try StudioStore(schema: Self.schema, [("Job", Self.jobs), ("Team", Self.teams)])
    }

    private func row(_ studio: RunningStudio, _ type: String, _ condition: String) throws -> String {
        let rows = try studio.json("api/rows", ["type": type, "where": condition])["rows"] as? [[Any]]
        return try #require(rows?.first?.first as? String)
    }

    private func fields(_ reply: HTTPReply) throws -> [String: String] {
        let fields = try #require(try reply.json()["fields"] as? [[String: String]], "\(reply.text)")
        return Dictionary(fields.map { ($0["name"] ?? "", $0["message"] ?? "") }) { first, _ in first }
    }

    @Test("add, change, link and delete entities, and tell the statement and the Swift")
    func changes() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let added = try studio.change([
            "change": "insert", "type": "Job", "relations": ["team": ["ui"]],
            "values": ["title": "Draw", "pay": "12.50", "due": "2024-05-02T17:30:00Z", "data": "AAEC", "order": "[1]"],
        ]).json()
        #expect((added["statement"] as? String)?.hasPrefix("INSERT INTO Job {\n") == true)
        #expect((added["swift"] as? String)?.contains("Decimal(string: \"12.5\")!") == true, "\(added)")
        let row = try #require(added["row"] as? String)
        let changed = try studio.change([
            "change": "update", "type": "Job", "row": row, "values": ["title": "Draw it", "pay": NSNull()],
        ]).json()
        #expect(
            changed["statement"] as? String == "UPDATE Job\nSET pay = ?,\n    title = ?\nWHERE id = ?"
                || changed["statement"] as? String == "UPDATE Job\nSET title = ?,\n    pay = ?\nWHERE id = ?")
        let state = try #require(changed["transaction"] as? Int)
        #expect(try studio.json("api/store")["transaction"] as? Int == state)
        let found = try studio.run("SELECT VALUE title FROM Job WHERE pay IS NULL AND team = 'ui'").json()
        #expect(found["rows"] as? [[String]] == [["Draw it"]])
        let team = try self.row(studio, "Team", "id = 'ui'")
        // Linking an entity a second time changes nothing.
        for (kind, count) in [("link", "2"), ("link", "2"), ("unlink", "1")] {
            let reply = try studio.change(["change": kind, "type": "Team", "row": team, "relations": ["jobs": ["1"]]])
            #expect(reply.status == 200, "\(reply.text)")
            let jobs = try studio.run("SELECT VALUE ARRAY_LENGTH(jobs) FROM Team WHERE id = 'ui'").json()
            #expect((jobs["rows"] as? [[[String: String]]])?[0][0]["n"] == count)
        }
        #expect(try studio.change(["change": "delete", "type": "Job", "row": row]).status == 200)
        #expect(try studio.get("api/entity?type=Job&row=\(row)").status == 404)
        #expect(try studio.change(["change": "delete", "type": "Job", "row": row]).status == 404)
        #expect(studio.interrupt())
        try store.check()
    }

    @Test("remove links to entities that aren't stored")
    func unstored() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let team = try row(studio, "Team", "id = 'ui'")
        func linked() throws -> [String?] {
            let entity = try studio.json("api/entity", ["type": "Team", "row": team])
            let relations = try #require(entity["relations"] as? [[String: Any]])
            let jobs = try #require(relations.first { $0["name"] as? String == "jobs" })
            return try #require(jobs["entities"] as? [[String: Any]]).map { $0["id"] as? String }
        }
        for (kind, id) in [("link", "1"), ("link", "98"), ("link", "99"), ("unlink", "99")] {
            let reply = try studio.change(["change": kind, "type": "Team", "row": team, "relations": ["jobs": [id]]])
            #expect(reply.status == 200, "\(reply.text)")
        }
        #expect(try Set(linked()) == ["1", "98"])
        for (id, count) in [("98", 1), ("1", 0)] {
            let relations = ["jobs": [id]]
            let reply = try studio.change(["change": "unlink", "type": "Team", "row": team, "relations": relations])
            #expect(reply.status == 200, "\(reply.text)")
            #expect(try linked().count == count)
        }
    }

    @Test("leave JSON texts their quotes")
    func quotes() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let job = try row(studio, "Job", "id = 1")
        let reply = try studio.change([
            "change": "update", "type": "Job", "row": job, "values": ["order": #""1""#],
        ])
        #expect(reply.status == 200, "\(reply.text)")
        let form = try studio.json("api/fields", ["type": "Job", "row": job])
        let fields = try #require(form["fields"] as? [[String: Any]])
        let order = try #require(fields.first { $0["name"] as? String == "order" })
        #expect(order["text"] as? String == #""1""#)
        #expect(try studio.get("api/value?type=Job&row=\(job)&column=5").text == #""1""#)
    }

    @Test("are refused at the fields that are wrong, and change nothing")
    func refusals() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let before = try studio.json("api/store")["transaction"] as? Int
        let job = try row(studio, "Job", "id = 1")
        let wrong = try studio.change([
            "change": "update", "type": "Job", "row": job,
            "values": ["title": NSNull(), "pay": "much", "due": "soon", "data": "#", "order": "{"],
        ])
        #expect(wrong.status == 400)
        #expect(try fields(wrong).keys.sorted() == ["data", "due", "order", "pay", "title"])
        let twice = try studio.change([
            "change": "insert", "type": "Team", "values": ["id": "new", "name": "Database"],
        ])
        #expect(twice.status == 409)
        #expect(try fields(twice)["name"]?.contains("unique") == true, "\(twice.text)")
        let stored = try studio.change(["change": "insert", "type": "Team", "values": ["id": "db", "name": "X"]])
        #expect(try fields(stored)["id"]?.contains("is stored already") == true, "\(stored.text)")
        let missing = try studio.change(["change": "unlink", "type": "Job", "row": job, "relations": ["team": ["db"]]])
        #expect(try fields(missing)["team"]?.contains("is required") == true, "\(missing.text)")
        #expect(try studio.change(["change": "delete", "type": "None", "row": "1"]).status == 404)
        #expect(try studio.json("api/store")["transaction"] as? Int == before)
    }

    @Test("tell what a deletion takes with it, or why it is denied")
    func deletion() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let team = try row(studio, "Team", "id = 'db'")
        let told = try studio.json("api/deletion", ["type": "Team", "row": team])
        let others = try #require(told["others"] as? [[String: Any]])
        #expect(others.count == 1 && others[0]["type"] as? String == "Job" && others[0]["count"] as? Int == 2)
        let page = try row(studio, "Team", "id = 'ui'")
        let guarded = try studio.change(["change": "link", "type": "Team", "row": page, "relations": ["guard": ["1"]]])
        #expect(guarded.status == 200, "\(guarded.text)")
        let denied = try studio.get("api/deletion?type=Team&row=\(page)")
        #expect(denied.status == 409 && denied.text.contains("can't be deleted"))
        #expect(try studio.change(["change": "delete", "type": "Team", "row": page]).status == 409)
        #expect(try studio.change(["change": "delete", "type": "Team", "row": team]).status == 200)
        #expect(try studio.json("api/rows", ["type": "Job"])["total"] as? Int == 0)
    }

    @Test("keep hostile texts and 10 MB as they are sent")
    func values() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let job = try row(studio, "Job", "id = 1")
        for text in StudioStore.hostile + ["a\r\nb\rc", "\u{FEFF}", String(repeating: "long ", count: 2_000_000)] {
            let reply = try studio.change([
                "change": "update", "type": "Job", "row": job, "values": ["title": text],
            ])
            #expect(reply.status == 200, "\(reply.text.prefix(300))")
            #expect(reply.body.count < 5_000)
            #expect(try studio.get("api/value?type=Job&row=\(job)&column=1").body == Array(text.utf8))
        }
        let long = try studio.json("api/fields", ["type": "Job", "row": job])
        let title = try #require(long["fields"] as? [[String: Any]])[1]
        #expect(title["text"] is NSNull && title["size"] as? Int == 10_000_000)
        let tooLong = try studio.change([
            "change": "update", "type": "Job", "row": job, "values": ["title": String(repeating: "a", count: 33 << 20)],
        ])
        #expect(tooLong.status == 413)
    }

    @Test("run statements that change data")
    func statements() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let reply = try studio.run("UPDATE Job SET title = UPPER(title) WHERE id <= ? RETURNING title", ["2"]).json()
        #expect(reply["changed"] as? Int == 2 && reply["rows"] as? [[String]] == [["WRITE"], ["TEST"]])
        let state = try studio.json("api/store")["transaction"] as? Int
        #expect(reply["transaction"] as? Int == state)
        let nothing = try studio.run("DELETE FROM Job WHERE id = 77").json()
        #expect(nothing["changed"] as? Int == 0 && nothing["transaction"] as? Int == state)
        #expect(try studio.run("DELETE FROM Nothing").status == 400)
    }

    @Test("one at a time, however many are asked for at once")
    func together() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let states = Mutex<Set<Int>>([])
        DispatchQueue.concurrentPerform(iterations: 40) { _ in
            let reply = try? studio.run("UPDATE Job SET pay = IFNULL(pay, 0) + 1 WHERE id = 1")
            #expect(reply?.status == 200)
            if let state = try? reply?.json()["transaction"] as? Int { states.withLock { _ = $0.insert(state) } }
        }
        let count = states.withLock { $0.count }
        #expect(count == 40, "each answer tells the state that its own write has made")
        let found = try studio.run("SELECT VALUE pay FROM Job WHERE id = 1").json()
        #expect((found["rows"] as? [[[String: String]]])?[0][0]["n"] == "40")
    }

    @Test("as statements have a plan with the counts of each step")
    func steps() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let reply = try studio.run("UPDATE Job SET pay = 1 WHERE id = 1").json()
        let last = try #require((reply["plan"] as? [[String: Any]])?.last)
        #expect(last["text"] as? String == "set pay" && last["rows"] as? Int == 1)
    }

    @Test("are refused without --write, whatever asks for them")
    func readOnly() throws {
        let (_, studio) = try Studios.shared()
        let reply = try studio.change(["change": "delete", "type": "City", "row": "1"])
        #expect(reply.status == 403 && reply.text.contains("without --write"))
        let get = try studio.get("api/change")
        #expect(get.status == 403)
        for statement in ["DELETE FROM City", "UPDATE City SET size = 0", "INSERT INTO City {}", "UPSERT INTO City {}"]
        {
            let reply = try studio.run(statement)
            #expect(reply.status == 403 && reply.text.contains("without --write"), "\(statement)")
        }
        #expect(try studio.get("api/deletion?type=City&row=1").status == 403)
        #expect(try studio.json("api/store")["isWritable"] as? Bool == false)
        #expect(try studio.run("EXPLAIN DELETE FROM City").status == 200)
    }

    @Test("are asked for as JSON, by the page alone")
    func door() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let body = #"{"change":"delete","type":"Job","row":"1"}"#
        func status(_ more: String...) throws -> Int {
            let more = more + ["Content-Length: \(body.utf8.count)"]
            let head = studio.head("api/change", method: "POST", more: more)
            return try HTTPConnection(studio.port).ask(head + body).status
        }
        #expect(try status() == 415)
        #expect(try status("Content-Type: text/plain") == 415)
        #expect(try status("Content-Type: application/json", "Origin: http://evil.example") == 403)
        #expect(try status("Content-Type: application/json", "Sec-Fetch-Site: same-site") == 403)
        #expect(try studio.get("api/change").status == 405)
        #expect(try studio.json("api/rows", ["type": "Job"])["total"] as? Int == 2)
    }

    @Test("need the right to write, which one program has; the store is whole after Ctrl-C")
    func rights() throws {
        let store = try store()
        let studio = try RunningStudio(store.file, write: true)
        let command = RunningStudio.binaries.appendingPathComponent("hornbeam").path
        let output = store.folder.path("out")
        let code = try Spawned.run(["/bin/sh", "-c", "'\(command)' studio --write '\(store.file)' > '\(output)' 2>&1"])
        #expect(code == 1)
        let text = try store.folder.read("out")
        #expect(text.contains("can't be opened with --write") && text.contains("without --write"), "\(text)")
        // Another studio can read meanwhile.
        let reader = try RunningStudio(store.file)
        #expect(try studio.run("DELETE FROM Job WHERE id = 2").status == 200)
        #expect(try reader.json("api/rows", ["type": "Job"])["total"] as? Int == 1)
        #expect(studio.interrupt())
        try store.check()
        #expect(try RunningStudio(store.file, write: true).json("api/rows", ["type": "Job"])["total"] as? Int == 1)
        store.folder.keep()
    }

    @Test("are completed by words of the language and the store")
    func completions() throws {
        let (_, studio) = try Studios.shared()
        let reply = try studio.post("api/completions", ["before": "SELECT c.na", "after": " FROM City c"]).json()
        #expect(reply["words"] as? [String] == ["name"] && reply["replaced"] as? Int == 2)
        #expect(try studio.post("api/completions", ["before": 1]).status == 400)
        let long = String(repeating: " ", count: 400_000) + "SELECT c.na"
        let none = try studio.post("api/completions", ["before": long, "after": " FROM City c"]).json()
        #expect(none["words"] as? [String] == [])
    }
}
