// SPDX-License-Identifier: Apache-2.0
// A store of cities and countries, made by the command.

import Foundation
import HornbeamTestSupport
import Testing

final class StudioStore: Sendable {
    let folder: TemporaryFolder
    var file: String { folder.path("store.hornbeam") }
    static let cities = 2_500
    /// Values that the studio must pass on unchanged.
    static let hostile = ["<script>document.title='owned'</script>", "\u{202E}txt.exe", "a\u{0}b", "\"'><img src=x>"]
    static let longText = 10_000_000

    static let schema = #"""
        {"entities": [
          {"name": "Country",
           "columns": [{"name": "id", "type": "string"}, {"name": "name", "type": "string"}],
           "relations": [{"name": "cities", "target": "City", "toMany": true, "inverse": "country"}]},
          {"name": "City",
           "columns": [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"},
                       {"name": "size", "type": "int64"}, {"name": "note", "type": "string?"}],
           "indexes": [{"name": "byName", "components": ["name"]},
                       {"name": "search", "kind": "text", "components": ["name", "note"]}],
           "relations": [{"name": "country", "target": "Country", "toMany": false, "inverse": "cities"},
                         {"name": "twin", "target": "City", "toMany": false}]}
        ]}
        """#

    /// Makes a store with these entities, which are given as lines of JSON.
    init(schema: String, _ entities: [(type: String, lines: String)]) throws {
        folder = try TemporaryFolder()
        try Self.run(["schema", "apply", file, try folder.write("schema.json", schema)])
        for (type, lines) in entities {
            try Self.run(["import", file, type, try folder.write("\(type).jsonl", lines)])
        }
    }

    /// Makes a store of cities. A small one has 10 cities, and no hostile or long values.
    convenience init(isSmall: Bool = false) throws {
        let countries = "{\"id\":\"no\",\"name\":\"Norway\"}\n{\"id\":\"se\",\"name\":\"Sweden\"}\n"
        var lines = ""
        for number in 1...(isSmall ? 10 : Self.cities) {
            let twin = number > 1 ? ",\"twin\":1" : ""
            lines += "{\"id\":\(number),\"name\":\"City \(Self.cities - number)\",\"size\":\(number * 37 % 1_000),"
            lines += "\"note\":null,\"country\":\"\(number % 2 == 0 ? "no" : "se")\"\(twin)}\n"
        }
        let texts = isSmall ? [] : Self.hostile + [String(repeating: "long ", count: Self.longText / 5)]
        for (number, text) in texts.enumerated() {
            let note = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            let name = number < Self.hostile.count ? note : "\"Long\""
            lines += "{\"id\":\(10_000 + number),\"name\":\(name),\"size\":0,\"note\":\(note)}\n"
        }
        try self.init(schema: Self.schema, [("Country", countries), ("City", lines)])
    }

    /// Fails unless the whole store is sound.
    func check() throws { try Self.run(["check", file]) }

    private static func run(_ words: [String]) throws {
        let command = RunningStudio.binaries.appendingPathComponent("hornbeam").path
        try #require(try Spawned.run([command] + words + ["--quiet"]) == 0)
    }
}
