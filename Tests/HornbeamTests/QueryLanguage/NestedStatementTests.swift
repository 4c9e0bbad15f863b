// SPDX-License-Identifier: Apache-2.0
// Statements with deeply nested expressions on a thread with a small stack: they are answered or refused.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Leaf {
    let id: Int
    var name: String
    var tags: [String]
}

@Suite("Deep statements on small stacks")
struct NestedStatementTests {
    private static func database() throws -> Database {
        let database = try Database.inMemory(models: Leaf.self)
        try database.write { (context) throws in try Leaf(id: 1, name: "a", tags: ["a"]).save(to: &context) }
        return database
    }

    /// Returns `inner`, put `count` times into `around` in place of `·`.
    private static func nested(_ around: String, _ inner: String, _ count: Int) -> String {
        let parts = around.components(separatedBy: "·")
        return String(repeating: parts[0], count: count) + inner + String(repeating: parts[1], count: count)
    }

    /// Returns whether the statement was answered; false if it was refused.
    private static func isAnswered(_ database: Database, _ text: String) throws -> Bool {
        do {
            _ = try database.query(text)
            return true
        } catch let error as HornbeamError where error.code == .tooLarge || error.code == .invalid {
            return false
        }
    }

    @Test(
        "nested statements are answered or refused, and never end the process",
        arguments: [
            "(·)", "[·]", #"{"a": ·}"#, "NOT ·", "- ·", "abs(·)", "COALESCE(·, 1)", "CASE WHEN · THEN 1 END",
            "CASE · WHEN 1 THEN 2 END", "ANY x IN [id] SATISFIES · END", "ARRAY · FOR x IN [id] END", "· IS NULL",
            "· + id", "id + (·)", "id IN (·)", "(· BETWEEN 1 AND 2)", "(· || name)", "name LIKE (·)",
            "NOT (· OR (id = 1 AND id = 2))", "(id = 1 AND (· OR id = 3))", "· * 1 - id",
        ])
    func nesting(around: String) async throws {
        try await inSmallThread {
            let database = try Self.database()
            for count in [8, 60, 99, 450, 5_000] {
                let text = Self.nested(around, "id", count)
                for statement in [
                    "SELECT \(text) AS v FROM Leaf", "SELECT id FROM Leaf WHERE \(text)",
                    "EXPLAIN SELECT id FROM Leaf WHERE (\(text)) = 1 ORDER BY \(text)",
                    "SELECT \(text) AS v, COUNT(*) AS n FROM Leaf GROUP BY \(text) HAVING MAX(\(text)) IS VALUED",
                ] {
                    let isAnswered = try Self.isAnswered(database, statement)
                    if count == 8 { #expect(isAnswered, "\(statement)") }
                }
            }
        }
    }

    @Test("five hundred operators in a row are computed there, and many parts of AND, OR and ||")
    func rows() async throws {
        try await inSmallThread {
            let database = try Self.database()
            func value(_ text: String) throws -> Value? {
                try database.query("SELECT VALUE \(text) FROM Leaf WHERE (\(text)) IS VALUED")[0][0]
            }
            #expect(try value(Array(repeating: "id", count: 501).joined(separator: " + ")) == .int(501))
            #expect(try value(Array(repeating: "id", count: 501).joined(separator: " * ")) == .int(1))
            #expect(try value((0..<5_000).map { "id = \($0)" }.joined(separator: " OR ")) == .bool(true))
            #expect(try value(Array(repeating: "id = 1", count: 5_000).joined(separator: " AND ")) == .bool(true))
            #expect(
                try value("LENGTH(" + Array(repeating: "name", count: 5_000).joined(separator: " || ") + ")")
                    == .int(5_000))
        }
    }

    @Test("a part that is too deep and refused is released")
    func release() async throws {
        try await inSmallThread {
            // The many parts of each level make the tree deep. The text ends before all brackets are closed.
            let parts = Array(repeating: "a", count: 300).joined(separator: " || ")
            for around in ["(· || \(parts))", "(· = \(parts) AND a OR b)"] {
                for tail in ["", ")))", " §"] {
                    let text = Self.nested(around, "a", 60).dropLast(3) + tail
                    #expect(throws: HornbeamError.self) { _ = try QueryLanguage.expression(String(text)) }
                }
            }
            let spine = Array(repeating: "a", count: 400).joined(separator: " + ")
            for count in [1, 20, 60] {
                _ = try? QueryLanguage.expression(Self.nested("(·)", spine + " + §", count))
                _ = try? QueryLanguage.expression(Self.nested("(·)", spine, count))
            }
        }
    }

    @Test("nested sources are processed or refused")
    func sources() async throws {
        try await inSmallThread {
            let database = try Self.database()
            for count in [4, 20, 62] {
                let joins = (0..<count).map { "UNNEST l.tags AS t\($0)" }.joined(separator: " ")
                let isAnswered = try Self.isAnswered(database, "SELECT l.id FROM Leaf l \(joins)")
                #expect(isAnswered || count > 4)
                let others = (0..<count).map { "JOIN Leaf AS l\($0) ON l\($0).id = l.id" }.joined(separator: " ")
                let isJoined = try Self.isAnswered(database, "SELECT l.id FROM Leaf l \(others)")
                #expect(isJoined || count > 4)
            }
        }
    }

    @Test("a hundred levels are no more than a stack of the usual size holds")
    func documented() throws {
        let database = try Self.database()
        for around in ["(·)", "abs(·)", "NOT ·", "(id + ·)", "COALESCE(·, 1)"] {
            #expect(
                try Self.isAnswered(database, "SELECT \(Self.nested(around, "id", 98)) AS v FROM Leaf"), "\(around)")
        }
    }
}
