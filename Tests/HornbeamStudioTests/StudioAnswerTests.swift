// SPDX-License-Identifier: Apache-2.0
// The answers to the page: types, windows of rows, entities, hits, statements, sizes and the outcome of a check.

import Foundation
import Testing

@Suite("The studio's answers")
struct StudioAnswerTests {
    private func ids(_ reply: [String: Any]) throws -> [String] {
        let rows = try #require(reply["rows"] as? [[Any]], "\(reply)")
        return try rows.map { try #require(($0[1] as? [String: String])?["n"]) }
    }

    @Test("have the types with their counts, columns, indexes and relations")
    func types() throws {
        let (_, studio) = try Studios.shared()
        let reply = try studio.json("api/store")
        let types = try #require((reply["info"] as? [String: Any])?["entityTypes"] as? [[String: Any]])
        let city = try #require(types.first { $0["name"] as? String == "City" })
        #expect(city["entities"] as? Int == StudioStore.cities + 5)
        let schema = try #require((reply["schema"] as? [String: Any])?["entities"] as? [[String: Any]])
        #expect(schema.compactMap { $0["name"] as? String } == ["City", "Country"])
    }

    @Test("have any window of the rows, in the order of ids, of an index, and of a column without one")
    func windows() throws {
        let (_, studio) = try Studios.shared()
        let first = try studio.json("api/rows", ["type": "City", "from": "2000", "count": "2"])
        #expect(first["total"] as? Int == StudioStore.cities + 5)
        #expect(try ids(first) == ["2001", "2002"])
        let sorted = try studio.json("api/rows", ["type": "City", "sort": "-name", "from": "3", "count": "1"])
        let whole = try studio.json("api/rows", ["type": "City", "sort": "-name", "count": "4"])
        #expect(try ids(sorted) == [try ids(whole)[3]])
        let bySize = try studio.json("api/rows", ["type": "City", "sort": "-size", "from": "0", "count": "500"])
        let sizes = try #require(bySize["rows"] as? [[Any]]).compactMap { ($0[3] as? [String: String])?["n"] }
        #expect(sizes == sizes.sorted { Int($0) ?? 0 > Int($1) ?? 0 })
        let behind = try studio.json("api/rows", ["type": "City", "from": "99999999"])
        #expect(try ids(behind).isEmpty)
    }

    @Test("have the rows for which a condition is true, and the place of an error in it")
    func conditions() throws {
        let (_, studio) = try Studios.shared()
        let query = ["type": "City", "where": "size > 990 AND name LIKE 'City 1%'", "sort": "-size"]
        let reply = try studio.json("api/rows", query)
        let statement = "SELECT COUNT(*) AS n FROM City WHERE size > 990 AND name LIKE 'City 1%'"
        let counted = try #require(try studio.run(statement).json()["rows"] as? [[[String: String]]])
        #expect(counted[0][0]["n"].flatMap { Int($0) } == reply["total"] as? Int)
        let wrong = try studio.get("api/rows" + RunningStudio.query(["type": "City", "where": "size >"]))
        #expect(wrong.status == 400)
        #expect((try wrong.json()["error"] as? String)?.contains("at line 1, character") == true)
        #expect(try studio.get("api/rows?type=Nothing").status == 404)
        #expect(try studio.get("api/rows?type=City&sort=nothing").status == 400)
    }

    @Test("have an entity with its relations in both directions, a window at a time")
    func entity() throws {
        let (_, studio) = try Studios.shared()
        let rows = try #require(try studio.json("api/rows", ["type": "City", "count": "1"])["rows"] as? [[Any]])
        let row = try #require(rows[0][0] as? String)
        let entity = try studio.json("api/entity", ["type": "City", "row": row])
        let relations = try #require(entity["relations"] as? [[String: Any]])
        #expect(relations.map { $0["name"] as? String } == ["country", "twin", "twin"])
        let twins = relations[2]
        #expect(twins["isIncoming"] as? Bool == true)
        #expect(twins["count"] as? Int == StudioStore.cities - 1)
        #expect((twins["entities"] as? [Any])?.count == 50)
        let next = try studio.json(
            "api/related", ["type": "City", "row": row, "relation": "twin", "of": "City", "from": "2450"])
        #expect((next["entities"] as? [Any])?.count == 49)
        #expect(try studio.get("api/entity?type=City&row=77777777").status == 404)
        #expect(try studio.get("api/entity?type=City&row=x").status == 400)
    }

    @Test("cut long values, say their size, and have them whole as a file")
    func longValue() throws {
        let (_, studio) = try Studios.shared()
        let rows = try #require(
            try studio.json("api/rows", ["type": "City", "where": "id = 10004"])["rows"] as? [[Any]])
        let note = try #require(rows[0][4] as? [String: Any])
        #expect(note["size"] as? Int == StudioStore.longText)
        #expect((note["t"] as? String)?.count == 200)
        let row = try #require(rows[0][0] as? String)
        let whole = try studio.get("api/value?type=City&row=\(row)&column=3")
        #expect(whole.body.count == StudioStore.longText)
        #expect(whole.headers["content-disposition"]?.hasPrefix("attachment") == true)
        #expect(whole.headers["content-type"] == "text/plain; charset=utf-8")
    }

    @Test("have hostile texts as they are stored")
    func hostile() throws {
        let (_, studio) = try Studios.shared()
        let query = ["type": "City", "where": "id >= 10000 AND id < 10004", "sort": "id"]
        let rows = try #require(try studio.json("api/rows", query)["rows"] as? [[Any]])
        #expect(rows.map { $0[4] as? String } == StudioStore.hostile)
    }

    @Test("have hits with scores and passages, the best first")
    func search() throws {
        let (_, studio) = try Studios.shared()
        let query = ["type": "City", "index": "search", "words": "city AND 17", "count": "5"]
        let reply = try studio.json("api/search", query)
        let hits = try #require(reply["hits"] as? [[String: Any]])
        #expect(reply["total"] as? Int == 1)
        #expect((hits.first?["snippet"] as? String)?.contains("\u{1}17\u{2}") == true)
        #expect((hits.first?["score"] as? Double ?? 0) > 0)
        #expect(try studio.get("api/search?type=City&index=none&words=a").status == 400)
    }

    @Test("have the rows of a statement up to a bound, its plan, and the place of an error")
    func statement() throws {
        let (_, studio) = try Studios.shared()
        let reply = try studio.run("SELECT name, size FROM City WHERE name > ? ORDER BY name", ["City 24"]).json()
        #expect(reply["columns"] as? [String] == ["name", "size"])
        let step = try #require((reply["plan"] as? [[String: Any]])?.first)
        #expect((step["text"] as? String)?.contains("index byName") == true && step["depth"] as? Int == 0)
        #expect(step["rows"] as? Int == (reply["rows"] as? [Any])?.count && step["runs"] is NSNull)
        let all = try studio.run("SELECT id FROM City").json()
        #expect((all["rows"] as? [Any])?.count == 1_000)
        #expect(all["isCut"] as? Bool == true)
        let explained = try studio.run("EXPLAIN SELECT id FROM City").json()
        #expect(explained["columns"] as? [String] == ["plan"] && explained["isPlan"] as? Bool == true)
        let wrong = try studio.run("SELECT nam FROM City")
        #expect(wrong.status == 400)
        #expect((try wrong.json()["error"] as? String)?.contains("at line 1, character 8") == true)
    }

    @Test("have the sizes of trees, with their places in the file")
    func sizes() throws {
        let (_, studio) = try Studios.shared()
        let reply = try studio.json("api/sizes")
        let trees = try #require(reply["trees"] as? [[String: Any]])
        let sum = trees.reduce(0) { $0 + ($1["size"] as? Int ?? 0) }
        let parts = try #require(reply["parts"] as? [[[Int]]])
        #expect(parts.joined().reduce(0) { $0 + $1[1] } == sum)
        #expect(sum > 0 && sum <= reply["fileSize"] as? Int ?? 0)
        #expect(trees.contains { $0["name"] as? String == "e:City" && $0["entries"] as? Int == StudioStore.cities + 5 })
    }

    @Test("tell the steps and the outcome of a check")
    func check() throws {
        let (_, studio) = try Studios.shared()
        let connection = try HTTPConnection(studio.port)
        connection.send(studio.head("api/check"))
        let events = String(decoding: try connection.read(through: "\"indexesOfOtherOrders\":[]"), as: UTF8.self)
        #expect(events.contains("event: step\ndata: \"pages and trees\"\n\n"))
        #expect(events.contains("event: done\ndata: {\"problems\":0,"))
        #expect(events.contains("\"isWhole\":true") && events.contains("\"indexesOfCode\":[]"))
    }
}
