// SPDX-License-Identifier: Apache-2.0
// Schema files as people write them, and the messages for their mistakes.

import Foundation
import Hornbeam
import Testing

@testable import HornbeamCommand
@testable import HornbeamEngine

@Suite("Schema files")
struct SchemaFileTests {
    private func parse(_ text: String) throws -> [EntityDescription] {
        try SchemaFile.parse(Data(text.utf8), path: "s.json")
    }

    private func problem(_ text: String) -> String {
        do {
            _ = try parse(text)
            return "none"
        } catch { return "\(error)" }
    }

    private func problem(entity rest: String) -> String {
        problem(
            #"{"entities": [{"name": "P", "columns": [{"name": "id", "type": "int64"},"#
                + #" {"name": "t", "type": "string?"}], "# + "\(rest)}]}")
    }

    @Test("optional parts have defaults; components have a short form")
    func defaults() throws {
        let entities = try parse(
            #"""
            {"entities": [
              {"name": "Package",
               "columns": [{"name": "id", "type": "string"}, {"name": "size", "type": "int64?"}],
               "indexes": [{"name": "bySize", "components": ["-size", {"column": "id"}]}],
               "relations": [{"name": "needs", "target": "Package", "toMany": true}]}]}
            """#)
        #expect(
            entities == [
                EntityDescription(
                    name: "Package",
                    columns: [
                        ColumnDescription(name: "id", type: .string),
                        ColumnDescription(name: "size", type: .optional(.int64)),
                    ],
                    indexes: [
                        IndexDescription(
                            name: "bySize", kind: .value,
                            components: [.init(column: "size", descending: true), .init(column: "id")])
                    ],
                    relations: [RelationDescription(name: "needs", target: "Package", toMany: true)])
            ])
        #expect(try parse(try SchemaFile.text(entities)) == entities)
    }

    @Test("the condition of a full-text index is a WHERE clause, or else has the form of the file")
    func conditions() throws {
        func index(_ condition: String) -> String {
            #""indexes": [{"name": "search", "kind": "text", "components": ["t"], "where": \#(condition)}]"#
        }
        func entities(_ condition: String) throws -> [EntityDescription] {
            try parse(
                #"{"entities": [{"name": "P", "columns": [{"name": "id", "type": "int64"},"#
                    + #" {"name": "t", "type": "string?"}], "# + "\(index(condition))}]}")
        }
        for (text, written) in [
            ("id > 3", "id > 3"), ("id > 3 AND t IS NOT NULL", "id > 3 AND t IS NOT NULL"),
            (#"`id` > 3 AND (id < 9 OR t IS NULL)"#, "id > 3 AND (id < 9 OR t IS NULL)"),
            (#"t IN ['a', 'b'] OR NOT id = 4"#, nil), (#"t = 'it''s'"#, nil),
            ("CONTAINS(t, 'x')", #"CONTAINS(t, \"x\")"#),
        ] {
            let found = try entities(#""\#(text)""#)
            #expect(found[0].indexes[0].condition != nil)
            let again = try SchemaFile.text(found)
            #expect(try parse(again) == found)
            if let written { #expect(again.contains(#""where" : "\#(written)""#)) }
        }
        #expect(problem(entity: index(#""size > 3""#)).contains("size"))
        #expect(problem(entity: index(#""id >""#)).contains("index “search”"))
        #expect(problem(entity: index("3")).contains("s.json: entities[0].indexes"))
    }

    @Test("broken JSON and wrong kinds are reported with their position")
    func kinds() {
        #expect(problem("{") == "s.json: not JSON: no name, at character 2")
        #expect(problem("{\n \"entities\": [,]}") == "s.json: not JSON: no value, at line 2, character 15")
        #expect(problem("{}") == "s.json: at the top: “entities” is missing")
        #expect(
            problem(#"{"entities": [{"name": 5, "columns": []}]}"#)
                == "s.json: entities[0].name: a value of another kind is expected here")
        #expect(
            problem(#"{"entities": [{"name": "A", "columns": [{"name": "id", "type": "integer"}]}]}"#)
                == "s.json: entities[0].columns[0].type: unknown column type “integer”")
        #expect(
            problem(entity: #""indices": []"#)
                == "s.json: entities[0].indices: unknown key; did you mean indexes?")
    }
}
