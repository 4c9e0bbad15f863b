// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a statement. It is run, or refused with a typed error, which has a position if the text is
// wrong; its results are JSON that a JSON reader accepts.

import Foundation
import Hornbeam
import HornbeamPages
import HornbeamTree

/// Pieces of statements, one for each byte, so that the fuzzer's input is often a statement.
private let words = [
    "SELECT", "FROM", "Item", "_", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "JOIN", "UNNEST",
    "LEFT", "ON", "AS", "a", "b", "id", "name", "size", "tags", "data", "parent", "children", "(", ")", "[", "]", ",",
    ".", "*", "+", "-", "/", "%", "||", "=", "!=", "<", ">=", "AND", "OR", "NOT", "IS", "NULL", "MISSING", "VALUED",
    "LIKE", "IN", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "ANY", "EVERY", "SATISFIES", "ARRAY", "FOR", "1",
    "2.5", "'a%'", "\"x\"", "?", "$n", "COUNT(*)", "SUM", "MIN", "AVG", "ARRAY_AGG", "GROUP_CONCAT", "DISTINCT",
    "VALUE",
    "EXPLAIN", "MATCH(name, ", "MATCH(search, ", "RANK()", "META().id", "lower", "substr", "array_length", "coalesce",
    "round", "date_part", "tostring", "{\"k\":", "}", "DESC", "NULLS LAST", "a.id", "b.parent.name", "data.list[0]",
    "TRUE",
    "a.children", "Item a", "Item b", "9223372036854775807", ":n", "SELECT * FROM Item", "SELECT id FROM Item WHERE",
    "REGEXP_CONTAINS(name, ", "REGEXP_REPLACE(name, ", "'(a|b)*'", "'[[a-z]&&'", "REPLACE(", "CONCAT", "SPLIT",
    "ESCAPE", "'\\\\'", "INSERT INTO Item", "UPSERT INTO Item", "VALUES", "UPDATE Item SET", "DELETE FROM Item",
    "RETURNING",
    "(id, name, tags) VALUES", "{\"id\": 7, \"name\": 'x', \"tags\": []}", "(SELECT id FROM Item", "EXISTS (SELECT",
    "UNION ALL",
    "UNION", "data.k =", "size = size + 1", "parent =", "children =", "[1, 2]", "'y'", "FROM (SELECT",
    "WITH a AS (SELECT id FROM Item)", "FROM a",
]

private struct StatementStore {
    let store: TreeStore
    let schema: Schema

    /// Some items with trees of them.
    static let shared: StatementStore? = try? make()

    private static func make() throws -> StatementStore {
        let store = try TreeStore.inMemory()
        let type = EntityDescription(
            name: "Item",
            columns: [
                ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string),
                ColumnDescription(name: "size", type: .optional(.double)),
                ColumnDescription(name: "tags", type: .array(.string)),
                ColumnDescription(name: "data", type: .optional(.json)),
            ],
            indexes: [
                IndexDescription(name: "bySize", kind: .value, components: [.init(column: "size")]),
                IndexDescription(name: "search", kind: .text, components: [.init(column: "name")]),
            ],
            relations: [
                RelationDescription(name: "parent", target: "Item", toMany: false, inverse: "children"),
                RelationDescription(name: "children", target: "Item", toMany: true, inverse: "parent"),
            ])
        let transaction = try store.beginWrite()
        guard let schema = try SchemaCatalogue.open([type], in: transaction) else { throw CancellationError() }
        let core = StoreTransaction(transaction, schema: schema)
        let rows = try JSONRows("Item", core: core)
        for line in [
            #"{"id":1,"name":"a b","size":1,"tags":["x","y"],"data":{"list":[1,null,"z"],"k":{"a":true}}}"#,
            #"{"id":2,"name":"b","tags":[],"data":[1,2],"parent":1}"#,
            #"{"id":3,"name":"","size":-2.5,"tags":["x"],"parent":1}"#,
        ] {
            try Array(line.utf8).withUnsafeBytes { _ = try rows.save(line: $0) }
        }
        try core.commit()
        return StatementStore(store: store, schema: schema)
    }
}

/// The first byte chooses whether the rest is text or pieces.
public func fuzzStatements(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first, let shared = StatementStore.shared else { return }
    let rest = input.dropFirst()
    let text =
        choice & 1 == 0
        ? String(decoding: rest, as: UTF8.self) : rest.map { words[Int($0) % words.count] }.joined(separator: " ")
    do {
        let statement = try Statement(text)
        // Joins of joins multiply, and long patterns may take any time: neither is a fault of the parser.
        let upper = text.uppercased()
        let sources = ["JOIN", "UNNEST"].reduce(0) { $0 + upper.components(separatedBy: $1).count - 1 }
        guard sources <= 3, text.utf8.count <= 100 || !upper.contains("REGEXP") else { return }
        if statement.changesData { return try change(by: statement, shared) }
        let transaction = try shared.store.beginRead()
        defer { transaction.abort() }
        let core = StoreTransaction(transaction, schema: shared.schema)
        var count = 0
        let values = StatementParameters(positions: [.int(1), .string("a")], names: ["n": .array([.double(1)])])
        for parameters in [values, StatementParameters()] {
            try? statement.run(in: core, parameters) { row in
                precondition(
                    (try? JSONSerialization.jsonObject(with: Data(row.json.utf8), options: .fragmentsAllowed)) != nil,
                    "\(row.json) is no JSON")
                count += 1
                return count < 100
            }
        }
    } catch let error as HornbeamError {
        precondition(error.code == .invalid || error.code == .tooLarge, "\(error.code): \(error.message)")
    } catch {
        preconditionFailure("\(error)")
    }
}

/// Runs a statement that changes data, and undoes it. The store must be sound after the statement, even if it is
/// refused.
private func change(by statement: Statement, _ shared: StatementStore) throws {
    let transaction = try shared.store.beginWrite()
    defer { transaction.abort() }
    let core = StoreTransaction(transaction, schema: shared.schema)
    let values = StatementParameters(positions: [.int(1), .string("a")], names: ["n": .array([.double(1)])])
    for parameters in [values, StatementParameters()] {
        do {
            let result = try statement.execute(in: core, parameters) { _ in true }
            precondition(result.rows.isEmpty || result.rows.count == result.count, "rows without entities")
        } catch let error as HornbeamError {
            let codes: [HornbeamError.Code] = [
                .invalid, .tooLarge, .alreadyStored, .uniqueViolation, .identityChanged, .missingRelation,
            ]
            precondition(codes.contains(error.code), "\(error.code): \(error.message)")
        } catch let error as StorageError {
            guard case .tooLarge = error else { preconditionFailure("\(error)") }
        }
        try core.flush()
        let isWhole = try EntityCheck(core).run { preconditionFailure("\($0)") }
        precondition(isWhole)
    }
}
