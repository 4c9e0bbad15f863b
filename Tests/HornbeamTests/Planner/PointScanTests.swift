// SPDX-License-Identifier: Apache-2.0
// Lists of wanted values of any length: where an index takes less than reading all it is taken, with a thousand values
// and with many more.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Account {
    @Unique<Self>(\.email) private var byEmail
    @Index<Self>(\.kind, \.code) private var byKind
    @HashIndex<Self>(\.url) private var byURL

    let id: String
    var email: String
    var kind: Int
    var code: Int
    var url: String
    var tags: [Int]
}

@Suite("Long lists of values")
struct PointScanTests {
    private static let count = 20_000

    private static func database() throws -> Database {
        let database = try Database.counting(Account.self)
        try database.write { context in
            for number in 0..<count {
                try Account(
                    id: "a\(number)", email: "\(number)@x", kind: number % 2, code: number, url: "u\(number / 2)",
                    tags: [number / 2, number % 5]
                ).save(to: &context)
            }
        }
        return database
    }

    @Test("are looked up in unique, compound, hashed and array indexes and among ids, with no cliff")
    func lists() throws {
        let database = try Self.database()
        try database.createIndex(ArrayIndex("tags", \Account.tags))
        let wanted = Array(stride(from: 3, to: Self.count, by: 48)).prefix(400)
        #expect(wanted.count == 400)
        let values = Array(wanted)
        let emails = values.map { "\($0)@x" }
        let urls = values.map { "u\($0 / 2)" }
        let ids = values.map { "a\($0)" }
        let tags = values.map { $0 / 2 + 5 }
        let tagged = Set(tags.flatMap { [$0 * 2, $0 * 2 + 1] }).filter { $0 < Self.count }.sorted()
        func check(_ path: String, _ predicate: Predicate<Account>, _ numbers: [Int]) throws {
            try database.read { try self.check(path, Account.filter(predicate), numbers.map { "a\($0)" }, $0) }
        }
        try check("byEmail", .value(\.email, in: emails), values)
        try check("byKind", \.kind == 1 && .value(\.code, in: values), values)
        try check("byURL", .value(\.url, in: urls), values.flatMap { [$0 - 1, $0] })
        try check("tags", .array(\.tags, containsAny: tags), tagged)
        try check("400 ids", .value(\.id, in: ids), values)
    }

    private func check(_ path: String, _ query: QueryList<Account>, _ expected: [String], _ context: Context) throws {
        let plan = try query.explain(in: context)
        #expect(plan.access.description.contains(path), "\(path): \(plan)")
        #expect(try query.ids(in: context) == expected, "\(path)")
        #expect(try query.count(in: context) == expected.count, "\(path)")
        #expect(try query.sorted(by: \.code.desc).limit(2).ids(in: context) == expected.suffix(2).reversed(), "\(path)")
        #expect(try query.requiringIndex().exists(in: context))
        let run = try query.explain(.analyze, in: context)
        #expect(run.rowsRead == expected.count, "\(path): \(run)")
    }

    @Test("are read by a scan where that takes less, unless there must be an index")
    func prices() throws {
        try Self.database().read { (context) throws in
            let query = Account.filter(.value(\.email, in: (0..<15_000).map { "\($0)@x" }))
            #expect(try query.explain(in: context).access == .rowScan(rows: Self.count))
            #expect(try query.count(in: context) == 15_000)
            #expect(try query.requiringIndex().count(in: context) == 15_000)
            #expect(try query.requiringIndex().explain(in: context).access.description.contains("15000 ranges"))
            let ids = Account.filter(.value(\.id, in: (0..<15_000).map { "a\($0)" }))
            #expect(try ids.explain(in: context).access == .rowScan(rows: Self.count))
            #expect(try ids.requiringIndex().count(in: context) == 15_000)
        }
    }

    @Test("of ids aren't looked up where another path is cheaper")
    func notLookedUp() throws {
        let database = try Self.database()
        let ids = (0..<4_000).map { "a\($0)" }
        let rare = Account.filter(\.url == "u10")
        let both = Account.filter(\.url == "u10" && .value(\.id, in: ids))
        #expect(try database.plan(both).indexes == ["byURL"])
        #expect(try database.results(both).map(\.id) == ["a20", "a21"])
        let alone = try database.pagesRead { _ = try rare.explain(in: $0) }
        #expect(try database.pagesRead { _ = try both.explain(in: $0) } <= alone + 2)
    }

    @Test("with a value that is too long for a key keep their index")
    func long() throws {
        try Self.database().write { (context) throws in
            let long = String(repeating: "l", count: 2_000)
            try Account(id: "b", email: long + "1", kind: 0, code: -1, url: "", tags: []).save(to: &context)
            try Account(id: "c", email: long + "2", kind: 0, code: -2, url: "", tags: []).save(to: &context)
            let query = Account.filter(.value(\.email, in: ["7@x", long + "2", "none"])).requiringIndex()
            #expect(try query.ids(in: context) == ["a7", "c"])
        }
    }
}
