// SPDX-License-Identifier: Apache-2.0
// Relations in statements: each operator on to-one and to-many relations, some of whose links lead to entities that
// aren't stored. Typed conditions find the same.

import Hornbeam
import Testing

@EntityModel
private struct Crate {
    let id: Int
    var name: String

    @Relationship(inverse: \.crate)
    var items: [Good]?
}

@EntityModel
private struct Good {
    let id: Int
    var name: String

    @Relationship(inverse: \.items)
    var crate: Crate?
}

@Suite("Relations in statements")
struct RelationStatementTests {
    /// Crate 1 has goods 2 and 0, crate 2 has good 1 and links to 77, which isn't stored, crate 3 has none. Good 3 is
    /// in no crate, and good 5 in crate 9, which isn't stored.
    private func database() throws -> Database {
        let database = try Database.inMemory(models: Crate.self, Good.self)
        try database.write { (context) throws in
            for id in [0, 1, 2, 3, 5] {
                var good = Good(id: id, name: "g\(id)")
                if id == 5 { good.$crate = .id(9) }
                try good.save(to: &context)
            }
            for (id, goods) in [(1, [2, 0]), (2, [1, 77]), (3, [])] {
                var crate = Crate(id: id, name: "c\(id)")
                crate.$items = .ids(goods)
                try crate.save(to: &context)
            }
        }
        return database
    }

    private func ids(_ type: String, _ condition: String, _ parameters: [any ColumnValue] = []) throws -> [Int] {
        let statement = try Statement("SELECT id FROM \(type) WHERE \(condition) ORDER BY id")
        return try database().read { (context) throws in
            try statement.resolve(in: context, parameters).map { try $0.value("id", as: Int.self) }
        }
    }

    @Test(
        "a to-many relation is the array of its targets' ids",
        arguments: [
            ("0 IN items", [1]), ("0 NOT IN items", [2, 3]), ("NOT (0 IN items)", [2, 3]), ("0.0 IN items", [1]),
            ("77 IN items", []), ("77 NOT IN items", [1, 2, 3]), ("'x' IN items", []), ("'x' NOT IN items", [1, 2, 3]),
            ("NULL IN items", []), ("NULL NOT IN items", [3]), ("1 IN items OR 2 IN items", [1, 2]),
            ("1 IN items AND NOT 2 IN items", [2]), ("id IN items", []), ("ARRAY_CONTAINS(items, 0)", [1]),
            ("NOT ARRAY_CONTAINS(items, 77)", [1, 2, 3]), ("ARRAY_LENGTH(items) = 1", [2]),
            ("ARRAY_COUNT(items) = 2", [1]), ("ARRAY_POSITION(items, 0) = 1", [1]), ("ARRAY_SUM(items) = 2", [1]),
            ("ARRAY_MAX(items) >= 1", [1, 2]), ("items[0] = 2", [1]), ("items[-1] = 1", [2]),
            ("items[0] IN (1, 2)", [1, 2]),
            ("items = [2, 0]", [1]), ("items != [2, 0]", [2, 3]), ("items = []", [3]), ("items IN ([1], [])", [2, 3]),
            ("items IS NULL", []), ("items IS NOT NULL", [1, 2, 3]), ("items IS MISSING", []),
            ("items IS VALUED", [1, 2, 3]), ("items[0] IS MISSING", [3]), ("LENGTH(items) IS NULL", [1, 2, 3]),
            ("TYPE(items) = 'array'", [1, 2, 3]), ("ISARRAY(items)", [1, 2, 3]),
            ("ANY g IN items SATISFIES g.id = 0 END", [1]), ("ANY g IN items SATISFIES g.name = 'g1' END", [2]),
            ("ANY g IN items SATISFIES g.id IN (1, 77) END", [2]), ("ANY g IN items SATISFIES TRUE END", [1, 2]),
            ("EVERY g IN items SATISFIES g.id < 2 END", [2, 3]),
            ("ANY AND EVERY g IN items SATISFIES g.id < 2 END", [2]),
            ("ARRAY_LENGTH(ARRAY g.name FOR g IN items END) = 2", [1]),
            ("(ARRAY g.id FOR g IN items WHEN g.id > 0 END) = [1]", [2]),
        ])
    func toMany(condition: String, expected: [Int]) throws {
        #expect(try ids("Crate", condition) == expected)
        // A comparison with TRUE is evaluated row by row.
        #expect(try ids("Crate", "(\(condition)) = TRUE") == expected)
    }

    @Test(
        "a to-one relation is its target's id, or null",
        arguments: [
            ("crate = 1", [0, 2]), ("1 = crate", [0, 2]), ("crate != 1", [1]), ("NOT crate = 1", [1]),
            ("crate > 1", [1]), ("crate <= 2", [0, 1, 2]), ("crate BETWEEN 1 AND 2", [0, 1, 2]),
            ("NOT crate BETWEEN 2 AND 9", [0, 2]), ("crate IN (1, 9)", [0, 2]), ("crate NOT IN (1, 9)", [1]),
            ("crate IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", [0, 1, 2]), ("crate IN ()", []), ("crate NOT IN (1, NULL)", []),
            ("crate = 1.0", [0, 2]), ("crate = 1.5", []), ("crate = 'x'", []), ("crate != 'x'", [0, 1, 2]),
            ("crate = NULL", []), ("crate IS NULL", [3, 5]), ("crate IS NOT NULL", [0, 1, 2]),
            ("crate IS VALUED", [0, 1, 2]), ("crate IS NOT VALUED", [3, 5]), ("crate IS MISSING", []),
            ("crate = 9", []), ("crate != 9", [0, 1, 2]), ("NOT crate = 9", [0, 1, 2]), ("crate.id = 9", []),
            ("crate.id IS NULL", [3, 5]), ("crate.id = 1", [0, 2]), ("crate.name = 'c1'", [0, 2]),
            ("crate.name != 'c1'", [1]), ("crate.name IS NULL", [3, 5]), ("crate.name IS VALUED", [0, 1, 2]),
            ("crate.name LIKE 'c%'", [0, 1, 2]), ("crate + 1 = 3", [1]), ("COALESCE(crate, -1) = -1", [3, 5]),
            ("TYPE(crate) = 'null'", [3, 5]), ("LENGTH(crate) IS NULL", [0, 1, 2, 3, 5]),
            ("ARRAY_LENGTH(crate) IS NULL", [0, 1, 2, 3, 5]), ("CASE crate WHEN 1 THEN TRUE END", [0, 2]),
            ("id IN crate.items", [0, 1, 2]), ("3 IN crate.items", []),
        ])
    func toOne(condition: String, expected: [Int]) throws {
        #expect(try ids("Good", condition) == expected)
        #expect(try ids("Good", "(\(condition)) = TRUE") == expected)
        #expect(try ids("Good", "NOT (NOT (\(condition)))") == expected)
    }

    @Test("a to-one relation is no array, and the error says so")
    func noArray() throws {
        for condition in [
            "1 IN crate", "1 NOT IN crate", "ANY c IN crate SATISFIES TRUE END", "EVERY c IN crate SATISFIES TRUE END",
            "ARRAY_LENGTH(ARRAY c FOR c IN crate END) = 1",
        ] {
            let error = #expect(throws: HornbeamError.self, "\(condition)") { try ids("Good", condition) }
            #expect(error?.message.contains("Good.crate leads to one entity") == true, "\(error?.message ?? "")")
        }
    }

    @Test("links to unstored entities are no values, rows or groups either")
    func results() throws {
        let database = try database()
        func json(_ text: String) throws -> [String] { try database.query(text).map(\.json) }
        #expect(try json("SELECT VALUE items FROM Crate ORDER BY id") == ["[2,0]", "[1]", "[]"])
        #expect(try json("SELECT VALUE crate FROM Good ORDER BY id") == ["1", "2", "1", "null", "null"])
        #expect(try json("SELECT COUNT(crate) AS n FROM Good") == [#"{"n":3}"#])
        #expect(
            try json("SELECT crate, COUNT(*) AS n FROM Good GROUP BY crate")
                == [#"{"crate":null,"n":2}"#, #"{"crate":1,"n":2}"#, #"{"crate":2,"n":1}"#])
        #expect(try json("SELECT VALUE g.id FROM Crate c JOIN c.items AS g ORDER BY g.id") == ["0", "1", "2"])
        #expect(try json("SELECT VALUE g.id FROM Crate c UNNEST c.items AS g ORDER BY g.id") == ["0", "1", "2"])
        #expect(
            try json("SELECT g.id, c.id AS c FROM Good g LEFT JOIN g.crate AS c WHERE g.id > 2 ORDER BY g.id")
                == [#"{"id":3,"c":null}"#, #"{"id":5,"c":null}"#])
        #expect(
            try json("SELECT VALUE g.id FROM Good g JOIN Crate c ON g.crate = c.id ORDER BY g.id") == ["0", "1", "2"])
        #expect(try json("SELECT VALUE c.id FROM Good g JOIN Crate c ON g.id IN c.items WHERE g.id = 1") == ["2"])
    }

    @Test("conditions of statements and of typed queries on to-one relations find the same entities")
    func typed() throws {
        let database = try database()
        func expect(_ condition: String, _ predicate: Predicate<Good>) throws {
            let found = try ids("Good", condition)
            #expect(try database.read { try Good.filter(predicate).ids(in: $0) } == found, "\(condition)")
        }
        try expect("crate = 1", \.$crate.id == 1)
        try expect("crate = 9", \.$crate.id == 9)
        try expect("crate IS NULL", \.$crate.id == nil)
        try expect("crate IS VALUED", \.$crate.id != nil)
        try expect("crate IS NULL OR crate != 9", \.$crate.id != 9)
        try expect("crate IS NULL OR crate != 1", \.$crate.id != 1)
        try expect("crate IN (1, 9)", .value(\.$crate.id, in: [1, 9]))
        try expect("crate IS VALUED", .any(\.$crate))
        try expect("crate IS NULL", .none(\.$crate))
        try expect("crate.name = 'c1'", .has(\.$crate, \.name == "c1"))
        try expect("crate.name IS VALUED", .has(\.$crate, \.name != ""))
        try expect("crate IS NULL OR crate.name = 'c2'", .all(\.$crate, where: \.name == "c2"))
    }

    @Test("conditions of statements and of typed queries on to-many relations find the same entities")
    func typedMany() throws {
        let database = try database()
        func expect(_ condition: String, _ predicate: Predicate<Crate>) throws {
            let found = try ids("Crate", condition)
            #expect(try database.read { try Crate.filter(predicate).ids(in: $0) } == found, "\(condition)")
        }
        try expect("0 IN items", .any(\.$items, where: \.id == 0))
        try expect("77 IN items", .any(\.$items, where: \.id == 77))
        try expect("0 NOT IN items", .none(\.$items, where: \.id == 0))
        try expect("items = []", .none(\.$items))
        try expect("items != []", .any(\.$items))
        try expect("ARRAY_LENGTH(items) = 1", \.$items.count == 1)
        try expect("ARRAY_LENGTH(items) < 2", \.$items.count < 2)
        try expect("ANY g IN items SATISFIES g.id < 2 END", .any(\.$items, where: \.id < 2))
        try expect("EVERY g IN items SATISFIES g.id < 2 END", .all(\.$items, where: \.id < 2))
        try expect("NOT ANY g IN items SATISFIES g.id = 77 END", .none(\.$items, where: \.id == 77))
    }

    @Test("the planner answers comparisons of relations")
    func plans() throws {
        let database = try database()
        func plan(_ text: String) throws -> String { try database.read { try Statement(text).explain(in: $0) } }
        for condition in ["crate = 1", "crate IN (1, 2)", "crate != 1", "crate IS NULL", "crate.name IS NULL"] {
            let found = try plan("SELECT id FROM Good WHERE \(condition)")
            #expect(!found.contains("test a condition"), "\(condition): \(found)")
        }
        for condition in ["0 IN items", "0 NOT IN items"] {
            let found = try plan("SELECT id FROM Crate WHERE \(condition)")
            #expect(!found.contains("test a condition"), "\(condition): \(found)")
        }
    }
}
