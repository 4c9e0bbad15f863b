// SPDX-License-Identifier: Apache-2.0
// A query with a WHERE in text finds the entities that a statement finds; errors show the position.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

private let models = [
    EntityDescription(
        name: "Package",
        columns: [
            ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string),
            ColumnDescription(name: "size", type: .int64), ColumnDescription(name: "section", type: .optional(.string)),
            ColumnDescription(name: "at", type: .date),
        ],
        relations: [RelationDescription(name: "maintainer", target: "Person", toMany: false, inverse: "packages")]),
    EntityDescription(
        name: "Person", columns: [ColumnDescription(name: "id", type: .string)],
        relations: [RelationDescription(name: "packages", target: "Package", toMany: true, inverse: "maintainer")]),
]

private func store() throws -> CoreStore {
    let store = try CoreStore(models)
    let rows: [[Value]] = [
        [.int(1), .string("libc"), .int(100), .string("libs"), .date(0)],
        [.int(2), .string("curl"), .int(2000), .string("net"), .date(86_400)],
        [.int(3), .string("LibreOffice"), .int(5), .null, .date(172_800)],
    ]
    for row in rows { try store.save("Package", row) }
    try store.save("Person", [.string("ann")])
    let side = try store["Package"].type.relation("maintainer")
    let person = try store["Person"].ensureRowID(of: .string("ann"))
    try store.core.edges.set(side, RowID(rawValue: 2), [person])
    return store
}

private func found(_ entities: FilteredEntities) throws -> [Int64] {
    var ids: [Int64] = []
    try entities.forEach { _, row, _ in
        if case .int(let id) = try row.value(0) { ids.append(id) }
        return true
    }
    return ids
}

@Suite("Queries with a WHERE in text")
struct FilteredEntitiesTests {
    private static let conditions: [(condition: String, ids: [Int64])] = [
        ("section = \"net\" AND size > 1000 OR STARTS_WITH(FOLD(name), \"lib\")", [1, 2, 3]),
        ("STARTS_WITH(name, 'lib')", [1]), ("STARTS_WITH(FOLD(name), 'lib')", [1, 3]), ("section IS NULL", [3]),
        ("section == \"net\"", [2]), ("section != \"net\"", [1]), ("section != 'net' OR section IS NULL", [1, 3]),
        ("NOT (size < 100)", [1, 2]), ("size in [5, 100]", [1, 3]), ("size IN (5, 100)", [1, 3]),
        ("size not in [5, 100]", [2]), ("section NOT IN ('net')", [1]), ("section NOT IN (NULL)", []),
        ("section IS NOT NULL", [1, 2]), ("NOT CONTAINS(FOLD(name), 'lib')", [2]),
        ("CONTAINS(FOLD(name), 'lib') OR CONTAINS(FOLD(section), 'lib')", [1, 3]),
        ("ANY text IN [name, section] SATISFIES CONTAINS(FOLD(text), 'lib') END", [1, 3]),
        ("at >= \"2001-01-02\"", [2, 3]), ("maintainer = 'ann'", [2]), ("maintainer != 'ann'", []),
        ("maintainer IS NULL", [1, 3]), ("maintainer.id = 'ann'", [2]), ("LENGTH(maintainer.id) = 3", [2]),
        ("MATCH(name, 'CURL libc')", [1, 2]), ("MATCH(name, 'curl') OR LENGTH(name) > 4", [2, 3]), ("size = -5", []),
        ("(size > 1 AND (size < 6))", [3]), ("LENGTH(name) = 4", [1, 2]), ("size = 3.5", []), ("Package.size = 5", [3]),
    ]

    private static let orders: [(sort: [SortTerm], clause: String)] = [
        ([], ""), ([.column(2, descending: true)], "ORDER BY size DESC"),
        ([.column(3), .column(2)], "ORDER BY section, size"),
    ]
    private static let parts: [(limit: Int?, offset: Int)] = [
        (nil, 0), (0, 0), (1, 0), (1, 1), (2, 1), (nil, 2), (.max, .max),
    ]

    @Test("agree with a statement, in order, offset and limit", arguments: conditions)
    func meaning(_ condition: String, _ expected: [Int64]) throws {
        let store = try store()
        let all = try FilteredEntities(EntityQuery(type: "Package"), where: condition, in: store.core)
        #expect(try found(all) == expected)
        // A comparison with TRUE is evaluated row by row.
        for condition in [condition, "(\(condition)) = TRUE"] {
            for (sort, order) in Self.orders {
                for (limit, offset) in Self.parts {
                    let query = EntityQuery(type: "Package", sort: sort, limit: limit, offset: offset)
                    let entities = try FilteredEntities(query, where: condition, in: store.core)
                    let part = (limit.map { "LIMIT \($0) " } ?? "") + "OFFSET \(offset)"
                    let text = "SELECT VALUE id FROM Package WHERE \(condition) \(order) \(part)"
                    var same: [Int64] = []
                    try Statement(text).run(in: store.core, StatementParameters()) { row in
                        if case .int(let id)? = row[0] { same.append(id) }
                        return true
                    }
                    #expect(try found(entities) == same, "\(text)")
                    #expect(try entities.count() == same.count, "\(text)")
                }
            }
        }
    }

    @Test("a filter of the query applies in addition to the condition", arguments: conditions)
    func filter(_ condition: String, _ expected: [Int64]) throws {
        let store = try store()
        let query = EntityQuery(type: "Package", filter: .compare(column: 0, .greater, .int(1)))
        for condition in [condition, "(\(condition)) = TRUE"] {
            let entities = try FilteredEntities(query, where: condition, in: store.core)
            #expect(try found(entities) == expected.filter { $0 > 1 })
            #expect(try entities.count() == expected.count { $0 > 1 })
        }
    }

    @Test("without a condition the query is unchanged")
    func none() throws {
        let store = try store()
        let query = EntityQuery(type: "Package", sort: [.column(2)], limit: 2)
        let entities = try FilteredEntities(query, where: nil, in: store.core)
        #expect(try found(entities) == [3, 1])
        #expect(try entities.explanation() == "\(store.core.explain(query))")
    }

    @Test("the plan shows the conditions tested on rows, and the limit after them")
    func explanation() throws {
        let store = try store()
        let query = EntityQuery(type: "Package", limit: 2, offset: 1)
        let tested = try FilteredEntities(query, where: "size > 1 AND LENGTH(name) = 4", in: store.core)
        let lines = try tested.explanation().split(separator: "\n")
        #expect(lines.suffix(2) == ["  test a condition of WHERE size > 1 AND LENGTH(name) = 4", "  limit 2 from 1"])
        #expect(lines[0].contains("Package: ") && lines.dropLast(2).joined().contains("size > 1"))
        let planned = try FilteredEntities(query, where: "size > 1", in: store.core)
        #expect(try !planned.explanation().contains("WHERE"))
        #expect(try planned.candidates() == 3)
        let related = try FilteredEntities(query, where: "maintainer.id = 'ann'", in: store.core)
        #expect(try !related.explanation().contains("follow"))
    }

    @Test("an analysed count has the counts of its steps")
    func analysedCount() throws {
        let store = try store()
        let query = EntityQuery(type: "Package", limit: 2)
        let entities = try FilteredEntities(query, where: "size > 1", in: store.core, isAnalysed: true)
        #expect(try entities.count() == 2)
        let plan = try entities.explanation()
        #expect(plan.contains("\n  limit 2 → 2 rows"), "\(plan)")
    }

    @Test("parameters have the values that are given, and no others may be given")
    func parameters() throws {
        let store = try store()
        let query = EntityQuery(type: "Package")
        let values = StatementParameters(positions: [.int(1)], names: ["name": .string("curl")])
        let entities = try FilteredEntities(query, where: "size > ? AND name != $name", in: store.core, values)
        #expect(try found(entities) == [1, 3])
        for condition in ["size > 1 AND name != $name", "size > ?", nil] {
            #expect { try FilteredEntities(query, where: condition, in: store.core, values) } throws: { error in
                (error as? HornbeamError)?.code == .invalid
            }
        }
    }

    @Test(
        "errors show the position",
        arguments: [
            ("sise > 3", "Package has no “sise”; did you mean size?", 1, 1), ("size >", "expected a value", 1, 7),
            ("x > 3", "Package has no “x”; there are Package, id, name, size, section, at, maintainer", 1, 1),
            ("size > 3 name", "expected the end", 1, 10), ("(size > 3", "expected “)”", 1, 10),
            ("name = \"x", "no end", 1, 8), ("size # 3", "unexpected “#”", 1, 6), ("", "expected a value", 1, 1),
            ("size > 3 OR\n sise < 2", "did you mean size?", 2, 2), ("size > ?", "no value is given", 1, 8),
            ("size > 3 ORDER BY id", "expected the end", 1, 10), ("COUNT(*) > 3", "aggregate", 1, 1),
            ("maintainer.name = 'x'", "Person has no “name”", 1, 1), ("MATCH(size, 'x')", "is no text", 1, 7),
            ("size IN (SELECT 1)", "expected FROM", 1, 18),
        ])
    func errors(_ text: String, _ words: String, _ line: Int, _ character: Int) throws {
        let core = try store().core
        let error = #expect(throws: HornbeamError.self) {
            try FilteredEntities(EntityQuery(type: "Package"), where: text, in: core)
        }
        let message = error?.message ?? ""
        #expect(error?.code == .invalid && message.hasSuffix("^"))
        #expect(message.contains(words) && message.contains("at line \(line), character \(character):"), "\(text)")
    }

    @Test(
        "conditions in the spelling of Swift are errors that say how they are written",
        arguments: [
            ("size > 1 && size < 3", "unexpected “&”: write AND for &&", 10),
            ("!(size > 1)", "unexpected “!”: write NOT", 1), ("(size > 3) || (size < 2)", "write OR", 12),
            ("size > 3 || size < 2", "write OR", 10), ("name || (size > 3)", "write OR", 9),
            ("(section IS NULL) || name", "write OR", 19), ("section == nil", ": nil is NULL here", 12),
            ("name contains 'x'", "CONTAINS(x, 'part')", 6), ("(name hasPrefix \"x\")", "STARTS_WITH(x, 'part')", 7),
            ("name hasSuffix 'x' AND size > 3", "ENDS_WITH(x, 'part')", 6),
            ("name matches 'x'", "MATCH(x, 'words')", 6),
        ])
    func spelling(_ text: String, _ words: String, _ character: Int) throws {
        try errors(text, words, 1, character)
    }

    @Test("nesting has a limit")
    func nesting() throws {
        for text in [String(repeating: "(", count: 500), String(repeating: "NOT ", count: 500) + "size = 1"] {
            try errors(text, "100 levels", 1, text.hasPrefix("(") ? 101 : 401)
        }
    }
}
