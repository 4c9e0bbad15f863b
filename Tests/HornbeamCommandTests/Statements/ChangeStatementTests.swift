// SPDX-License-Identifier: Apache-2.0
// Changes of the studio's page as statements and as Swift.

import Foundation
import Hornbeam
import Testing

@testable import HornbeamCommand

@Suite("A change of one entity")
struct ChangeStatementTests {
    private static let city = EntityDescription(
        name: "City",
        columns: [
            .init(name: "id", type: .int64), .init(name: "name", type: .string),
            .init(name: "order", type: .optional(.int32)), .init(name: "founded", type: .optional(.date)),
            .init(name: "data", type: .optional(.json)), .init(name: "$updatedAt", type: .optional(.date)),
        ],
        indexes: [.init(name: "byName", kind: .unique, components: [.init(column: "name")])],
        relations: [
            .init(name: "country", target: "Country", toMany: false, required: true, inverse: "cities"),
            .init(name: "twins", target: "City", toMany: true),
        ])

    private func made(_ json: String, id: Value? = .int(7)) throws -> ChangeStatement {
        try made(json, of: Self.city, id: id)
    }

    private func made(_ json: String, of type: EntityDescription, id: Value?) throws -> ChangeStatement {
        let change = try Array(json.utf8).withUnsafeBytes { try EntityChange(json: $0) }
        return try ChangeStatement(change, of: type, id: id) { ["City": .int64, "Country": .string][$0] }
    }

    private func flaws(_ json: String) -> [String] {
        do {
            _ = try made(json)
            return []
        } catch let error as FieldErrors {
            return error.fields.map { "\($0.name): \($0.message)" }
        } catch {
            return ["\(error)"]
        }
    }

    @Test("sets the properties that are given, those that are keywords in backquotes")
    func update() throws {
        let made = try made(
            #"{"change":"update","type":"City","row":"1","values":{"name":"Ås","order":"-3","founded":null}}"#
        )
        #expect(made.text == "UPDATE City\nSET name = ?,\n    `order` = ?,\n    founded = ?\nWHERE id = ?")
        #expect(made.parameters == [.string("Ås"), .int(-3), .null, .int(7)])
        #expect(
            made.swift == """
                try database.write { context in
                    guard var entity = try context.find(City.self, id: 7) else { return }
                    entity.name = "Ås"
                    entity.order = -3
                    entity.founded = nil
                    try entity.save(to: &context)
                }
                """)
        _ = try Statement(made.text)
    }

    @Test("adds an entity with its links, in Swift by the memberwise initialiser")
    func insert() throws {
        let made = try made(
            #"""
            {"change": "insert", "type": "City", "values": {"name": "a\"\u0000\u202e\\", "data": "{\"a\":[1]}"},
             "relations": {"country": ["no"], "twins": ["1", "2"]}}
            """#, id: nil)
        #expect(
            made.text == """
                INSERT INTO City {
                  "name": ?,
                  "data": ?,
                  "country": ?,
                  "twins": ?
                } RETURNING META().id
                """)
        #expect(made.parameters.suffix(2) == [.string("no"), .array([.int(1), .int(2)])])
        #expect(
            made.swift == #"""
                try database.write { context in
                    try City(
                        id: try City.nextID(in: &context),
                        name: "a\"\u{0}\u{202E}\\",
                        order: nil,
                        founded: nil,
                        data: try JSONDecoder().decode(Data.self, from: Data("{\"a\":[1]}".utf8)),
                        country: .id("no"),
                        twins: .ids([1, 2])
                    ).save(to: &context)
                }
                """#)
        _ = try Statement(made.text)
    }

    @Test("adds and removes links")
    func links() throws {
        func made(_ kind: String, _ relation: String, _ id: String) throws -> ChangeStatement {
            try self.made(
                "{\"change\":\"\(kind)\",\"type\":\"City\",\"row\":\"1\",\"relations\":{\"\(relation)\":[\"\(id)\"]}}")
        }
        let added = try made("link", "twins", "8")
        #expect(added.text == "UPDATE City\nSET twins = ARRAY_APPEND(twins, ?)\nWHERE id = ?")
        #expect(added.swift.contains("entity.$twins = .appending(ids: [8])\n"))
        let removed = try made("unlink", "twins", "8")
        #expect(removed.text == "UPDATE City\nSET twins = ARRAY_REMOVE(twins, ?)\nWHERE id = ?")
        #expect(removed.swift.contains("try entity.detach(8, relation: \\.$twins, in: &context)\n"))
        #expect(try made("link", "country", "se").text == "UPDATE City\nSET country = ?\nWHERE id = ?")
        let cleared = try made("unlink", "country", "se")
        #expect(cleared.text == "UPDATE City\nSET country = NULL\nWHERE id = ?")
        #expect(cleared.swift.contains("entity.$country = .null\n"))
    }

    @Test("sets the links that remain when one to an entity that isn't stored is removed")
    func unstoredLink() throws {
        let json = #"{"change":"unlink","type":"City","row":"1","relations":{"twins":["8"]}}"#
        let change = try Array(json.utf8).withUnsafeBytes { try EntityChange(json: $0) }
        let made = try ChangeStatement(change, of: Self.city, id: .int(7)) { _ in
            .int64
        } remaining: { relation, target in
            relation == "twins" && target == .int(8) ? [.int(9)] : nil
        }
        #expect(made.text == "UPDATE City\nSET twins = ?\nWHERE id = ?")
        #expect(made.parameters == [.array([.int(9)]), .int(7)])
        #expect(made.swift.contains("try entity.detach(8, relation: \\.$twins, in: &context)\n"))
    }

    @Test("deletes by id")
    func delete() throws {
        let made = try made(#"{"change": "delete", "type": "City", "row": "1"}"#)
        #expect(made.text == "DELETE FROM City\nWHERE id = ?" && made.parameters == [.int(7)])
        #expect(made.swift.contains("try City.delete(id: 7, from: &context)\n"))
    }

    @Test("reads long values from files in Swift")
    func longValues() throws {
        let long = String(repeating: "a", count: 5_000)
        let made = try made(#"{"change":"update","type":"City","row":"1","values":{"name":"\#(long)"}}"#)
        #expect(made.swift.contains("entity.name = try String(contentsOfFile: \"name.txt\", encoding: .utf8)\n"))
    }

    @Test("tells each field what it can't be, all at once")
    func wrongFields() {
        #expect(
            flaws(
                #"""
                {"change": "update", "type": "City", "row": "1",
                 "values": {"name": null, "order": "3000000000", "founded": "soon", "none": "1", "$updatedAt": "x"}}
                """#) == [
                    "name: it can't be null", "order: it must be -2147483648 to 2147483647",
                    #"founded: it must be a text such as "2024-05-02T17:30:00Z", or seconds since 2001-01-01"#,
                    "none: City has no such property", "$updatedAt: City has no such property",
                ])
        #expect(
            flaws(#"{"change":"link","type":"City","row":"1","relations":{"country":["a","b"],"twins":["x"]}}"#) == [
                "country: it leads to one entity", "twins: the id: it must be a whole number",
            ])
        #expect(
            flaws(#"{"change": "update", "type": "City", "row": "1", "values": {"id": "8"}}"#)
                == ["id: an entity keeps its id"])
        #expect(flaws(#"{"change":"update","type":"City","row":"1","values":{"data":"{"}}"#).count == 1)
    }

    @Test("finds the field that an error of the statement is about")
    func errors() throws {
        let made = try made(#"{"change":"update","type":"City","row":"1","values":{"name":"a","order":"1"}}"#)
        let placed = HornbeamError(.invalid, "City.order can't be so, at line 3, character 13:\n      order = ?\n  ^")
        let error = try #require(made.failure(placed) as? FieldErrors)
        #expect(error.fields.map(\.name) == ["order"] && error.fields.map(\.message) == ["City.order can't be so"])
        let other = made.failure(HornbeamError(.invalid, "no, at line 1, character 1:\n  UPDATE\n  ^"))
        #expect((other as? HornbeamError)?.message == "no")
    }

    @Test("tells no field if another type's unique key is taken")
    func otherType() throws {
        func gallery() -> Gallery {
            Gallery(id: UUID(), name: "a", isOpen: true, address: Address(street: "b"), rooms: [], notes: nil)
        }
        var context = Context()
        try gallery().save(to: &context)
        let taken = try #require(throws: HornbeamError.self) { try gallery().save(to: &context) }
        #expect(taken.violation?.indexName == Self.city.indexes[0].name)
        let made = try made(#"{"change":"update","type":"City","row":"1","values":{"name":"a"}}"#)
        #expect(made.failure(taken) is HornbeamError)
    }

    @Test("quotes any name")
    func names() throws {
        let type = EntityDescription(
            name: "a `b`\"", columns: [.init(name: "select", type: .int64), .init(name: "x\" ?--\n/*", type: .string)])
        let values = #""values": {"x\" ?--\n/*": "1", "select": "1"}"#
        let inserted = try made(#"{"change": "insert", "type": "t", \#(values)}"#, of: type, id: nil)
        #expect(inserted.text.contains("\"x\"\" ?--\n/*\": ?") && inserted.parameters.count == 2)
        _ = try Statement(inserted.text)
        let deleted = try made(#"{"change": "delete", "type": "t", "row": "1"}"#, of: type, id: .int(1))
        #expect(deleted.text == "DELETE FROM `a ``b``\"`\nWHERE `select` = ?")
        _ = try Statement(deleted.text)
        let relation = RelationDescription(name: "x; `evil()\n", target: "City", toMany: true, inverse: "{ y }")
        let hostile = EntityDescription(name: "t", columns: type.columns, relations: [relation])
        let unlinked = try made(
            #"{"change": "unlink", "type": "t", "row": "1", "relations": {"x; `evil()\n": ["1"]}}"#, of: hostile,
            id: .int(1))
        #expect(unlinked.swift.contains("detach(1, relation: \\.`$x; evil()`, inverse: \\.`${ y }`, in: &context)"))
        _ = try Statement(unlinked.text)
    }

    @Test(
        "is refused if its body is no change",
        arguments: [
            "", "[]", "{", #"{"change":"move","type":"City","row":"1"}"#, #"{"change":"delete","type":"City"}"#,
            #"{"change":"delete","type":"City","row":"-1"}"#, #"{"change":"delete","type":1,"row":"1"}"#,
            #"{"change":"update","type":"City","row":"1"}"#,
            #"{"change":"update","type":"City","row":"1","values":[]}"#,
            #"{"change":"update","type":"City","row":"1","values":{"a":1}}"#,
            #"{"change":"update","type":"City","row":"1","values":{"a":"1","a":"2"}}"#,
            #"{"change":"link","type":"City","row":"1","relations":{"a":"1"}}"#,
            #"{"change":"delete","type":"City","row":"1","more":1}"#,
        ])
    func bodies(_ json: String) {
        #expect(throws: HornbeamError.self) {
            _ = try Array(json.utf8).withUnsafeBytes { try EntityChange(json: $0) }
        }
    }
}
