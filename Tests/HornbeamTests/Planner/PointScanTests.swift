// SPDX-License-Identifier: Apache-2.0
// Lists of wanted values of any length: an index is used if it takes less than reading all rows, with a thousand values
// and with many more.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Account {
    @Unique<Self>(\.email, collisions: .replace) private var byEmail
    @Index<Self>(\.kind, \.code) private var byKind
    @HashIndex<Self>(\.url) private var byURL

    let id: String
    var email: String
    var kind: Int
    var code: Int
    var url: String
    var tags: [Int]
}

@EntityModel
private struct Formed {
    @Index<Self>(\.number.desc, \.id) private var byNumber
    @Index<Self>(\.word) private var byWord

    let id: Int
    var number: Int?
    var small: UInt8
    var word: String?
    var real: Double
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

    @Test("of elements are counted, not estimated, even if values are repeated or match nothing")
    func elements() throws {
        let database = try Self.database()
        try database.createIndex(ArrayIndex("tags", \Account.tags))
        try database.read { (context) throws in
            for values in [Array(0..<100), Array(20_000..<20_100), Array(repeating: 4, count: 100)] {
                let wanted = Set(values)
                let all = (0..<Self.count).flatMap { [$0 / 2, $0 % 5] }.filter(wanted.contains)
                let list = Account.query().unnest(\.tags).filter { (tag) in
                    values.dropFirst().reduce(tag == values[0]) { $0 || tag == $1 }
                }
                #expect(try list.count(in: context) == all.count)
            }
        }
    }

    @Test("are read by a scan where that takes less, unless an index is required")
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
            let emails = [long + "2", "none"] + (0..<80).map { "\($0)@x" }
            let many = Account.filter(.value(\.email, in: emails)).requiringIndex()
            #expect(try many.explain(in: context).filter?.hasPrefix("email in [") == true)
            #expect(Set(try many.ids(in: context)) == Set((0..<80).map { "a\($0)" } + ["c"]))
            #expect(try many.count(in: context) == 81)
        }
    }

    @Test("of every form, with nil and without, find the same by a scan and by an index", arguments: [20, 65, 200])
    func forms(count: Int) throws {
        let database = try Database.inMemory(models: Formed.self)
        try database.write { (context) throws in
            for id in 0..<400 {
                try Formed(
                    id: id, number: id % 7 == 0 ? nil : -id, small: UInt8(id % 256), word: id % 5 == 0 ? nil : "w\(id)",
                    real: Double(id) / 2
                ).save(to: &context)
            }
        }
        try database.read { (context) throws in
            let all = try Formed.query().resolve(in: context)
            func check(_ predicate: Predicate<Formed>, _ accepts: (Formed) -> Bool) throws {
                let expected = all.filter(accepts).map(\.id)
                let query = Formed.filter(predicate)
                #expect(try query.ids(in: context) == expected)
                #expect(try query.count(in: context) == expected.count)
                #expect(try Formed.filter(predicate && \.real >= 0).ids(in: context) == expected)
                do {
                    #expect(try query.requiringIndex().ids(in: context) == expected)
                } catch let error as HornbeamError where error.code == .needsIndex {}
            }
            let numbers: [Int?] = (0..<count).map { -3 * $0 }
            let words: [String?] = (0..<count).map { "w\($0 * 3)" }
            let smalls = (0..<count).map { UInt8($0 % 100) }
            let reals = (0..<count).map(Double.init)
            try check(.value(\.number, in: numbers)) { numbers.contains($0.number) && $0.number != nil }
            try check(.value(\.number, in: numbers + [nil])) { (numbers + [nil]).contains($0.number) }
            try check(.value(\.word, in: words)) { words.contains($0.word) && $0.word != nil }
            try check(.value(\.word, in: words + [nil])) { (words + [nil]).contains($0.word) }
            try check(.value(\.small, in: smalls)) { smalls.contains($0.small) }
            try check(.value(\.real, in: reals)) { reals.contains($0.real) }
            let nils = [Int?](repeating: nil, count: count)
            try check(.value(\.number, in: nils)) { $0.number == nil }
            try check(.value(\.word, in: [String?](repeating: nil, count: count))) { $0.word == nil }
        }
    }
}
