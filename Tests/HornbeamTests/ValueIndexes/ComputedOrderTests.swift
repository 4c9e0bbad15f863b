// SPDX-License-Identifier: Apache-2.0
// Orders by computed properties: an index over the property gives them, in either direction and with a limit. Without
// an index the results are equal.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
struct ComputedMeasure: Equatable {
    let id: Int
    var name = ""
    var size = 0
    var weight = 0.0
    var note: String?

    var lowerName: String { name.lowercased() }
    var density: Double { weight / Double(size) }
    var isLarge: Bool { size > 2 }
    var firstLetter: String? { note.flatMap { $0.first.map { String($0) } } }
    var opposite: Mirrored { Mirrored(rawValue: size) }
}

/// A value that is stored as a number with the opposite order.
struct Mirrored: RawRepresentable, Comparable, Sendable {
    let rawValue: Int
    static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
}

@Suite("Orders by computed properties")
struct ComputedOrderTests {
    private static let indexes: [ValueIndex<ComputedMeasure>] = [
        ValueIndex("lower", \.lowerName), ValueIndex("density", \.density),
        ValueIndex("large, size", \.isLarge, \.size), ValueIndex("letter", \.firstLetter),
        ValueIndex("size, letter", \.size, \.firstLetter), ValueIndex("name desc, size", \.lowerName.desc, \.size),
        ValueIndex("size, letter desc", \.size, \.firstLetter.desc, \.isLarge.desc),
    ]

    private static func random(_ id: Int, _ random: inout SeededGenerator) -> ComputedMeasure {
        let names = ["a", "A", "b", "Bb", "", "É", "e\u{301}"]
        return ComputedMeasure(
            id: id, name: names[random.below(names.count)], size: random.below(5),
            weight: [0, -0.0, 1.5, -2, .infinity][random.below(5)],
            note: random.oneIn(3) ? nil : names[random.below(names.count)])
    }

    /// All orders, with the index that gives each.
    private static let orders: [(query: QueryList<ComputedMeasure>, index: String)] = [
        (ComputedMeasure.query().sorted(by: \.lowerName), "lower"),
        (ComputedMeasure.query().sorted(by: \.lowerName.desc), "lower"),
        (ComputedMeasure.query().sorted(by: .by(\.lowerName.desc)), "lower"),
        (ComputedMeasure.query().sorted(by: \.density), "density"),
        (ComputedMeasure.query().sorted(by: \.density.desc), "density"),
        (ComputedMeasure.query().sorted(by: \.isLarge.asc, \.size), "large, size"),
        (ComputedMeasure.query().sorted(by: \.isLarge.desc, \.size.desc), "large, size"),
        (ComputedMeasure.query().sorted(by: \.isLarge.desc), "large, size"),
        (ComputedMeasure.query().sorted(by: \.firstLetter), "letter"),
        (ComputedMeasure.query().sorted(by: \.firstLetter.asc), "letter"),
        (ComputedMeasure.query().sorted(by: \.firstLetter.desc), "letter"),
        (ComputedMeasure.query().sorted(by: \.lowerName, \.size.desc), "name desc, size"),
        (ComputedMeasure.query().sorted(by: \.lowerName.desc, \.size), "name desc, size"),
        (ComputedMeasure.query().sorted(by: \.size, \.firstLetter.desc, \.isLarge.desc), "size, letter desc"),
    ]

    @Test("an index gives the order that a sort gives", .seeded, arguments: SeededGenerator.seeds(4))
    func differential(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let plain = try Database.inMemory(models: ComputedMeasure.self)
        let indexed = try Database.inMemory(models: ComputedMeasure.self, indexes: Self.indexes)
        let measures = (0..<300).map { Self.random($0, &random) }
        for database in [plain, indexed] { try database.write { try $0.saveAll(measures) } }
        for (place, (query, index)) in Self.orders.enumerated() {
            let some = query.limit(5, offset: random.below(3))
            let plan = try indexed.plan(some)
            #expect(plan.order == .byAccess && plan.indexes == [index], "order \(place): \(plan)")
            #expect(try plain.plan(some).access == .rowScan(rows: 300))
            let expected = try plain.results(query).map(\.id)
            #expect(try indexed.results(query).map(\.id) == expected, "order \(place)")
            #expect(try indexed.results(some).map(\.id) == plain.results(some).map(\.id), "order \(place)")
            let last = try plain.read { try query.last().resolve(in: $0)?.id }
            #expect(try indexed.read { try query.last().resolve(in: $0)?.id } == last, "order \(place)")
            // Page by page.
            var (found, page): ([Int], [ComputedMeasure]) = ([], [])
            repeat {
                page = try indexed.results(page.last.map { query.after($0).limit(17) } ?? query.limit(17))
                found += page.map(\.id)
            } while page.count == 17
            #expect(found == expected, "order \(place)")
        }
        #expect(try indexed.isWhole())
    }

    @Test("an index orders as Swift's comparison does")
    func model() throws {
        var random = SeededGenerator(seed: 5)
        let measures = (0..<100).map { Self.random($0, &random) }
        let database = try Database.inMemory(models: ComputedMeasure.self, indexes: Self.indexes)
        try database.write { try $0.saveAll(measures) }
        #expect(
            try database.results(ComputedMeasure.query().sorted(by: \.lowerName)).map(\.lowerName)
                == measures.map(\.lowerName).sorted())
        #expect(
            try database.results(ComputedMeasure.query().sorted(by: \.isLarge.desc, \.lowerName.desc)).map(\.isLarge)
                == measures.map(\.isLarge).sorted { $0 && !$1 })
        // Values whose stored form has another order are sorted by their own order.
        #expect(
            try database.results(ComputedMeasure.query().sorted(by: \.opposite)).map(\.size)
                == measures.map(\.size).sorted(by: >))
    }

    @Test("a component in the other direction serves comparisons too")
    func descending() throws {
        var random = SeededGenerator(seed: 6)
        let measures = (0..<400).map { Self.random($0, &random) }
        let index = ValueIndex("name desc, size", \ComputedMeasure.lowerName.desc, \.size)
        let database = try Database.inMemory(models: ComputedMeasure.self, indexes: [index])
        try database.write { try $0.saveAll(measures) }
        let query = ComputedMeasure.filter(\.lowerName > "a" && \.lowerName <= "bb").sorted(by: \.lowerName)
        #expect(try database.plan(query).indexes == ["name desc, size"])
        #expect(try database.plan(query).filter == nil)
        let names: [String] = measures.map { $0.lowerName }.filter { (name: String) in name > "a" && name <= "bb" }
        #expect(try database.results(query).map { $0.lowerName } == names.sorted())
        let one = ComputedMeasure.filter(\.lowerName == "bb" && \.size == 1)
        #expect(try database.plan(one).indexes == ["name desc, size"])
        let ids: [Int] = measures.filter { $0.lowerName == "bb" && $0.size == 1 }.map { $0.id }
        #expect(try database.results(one).map { $0.id } == ids)
        #expect(try database.isWhole())
    }

    @Test("a sort that requires an index takes it, and one without an index is refused")
    func required() throws {
        let database = try Database.inMemory(models: ComputedMeasure.self)
        try database.write { (context) throws in
            for id in 0..<50 { try ComputedMeasure(id: id, name: "N\(id)").save(to: &context) }
        }
        let query = ComputedMeasure.query().sorted(by: \.lowerName.desc).limit(3).requiringIndex()
        #expect(throws: HornbeamError.self) { try database.results(query) }
        try database.register(ValueIndex("lower", \ComputedMeasure.lowerName))
        #expect(try database.results(query).map(\.name) == ["N9", "N8", "N7"])
        let run = try database.read { try query.explain(.analyze, in: $0) }
        #expect(run.rowsRead == 3, "\(run)")
    }

    @Test("a live list in such an order follows each commit")
    func live() async throws {
        let database = try Database.inMemory(models: ComputedMeasure.self, indexes: Self.indexes)
        try await database.write { (context) throws in
            for id in 0..<10 { try ComputedMeasure(id: id, name: "N\(id)").save(to: &context) }
        }
        let last = ComputedMeasure.query().sorted(by: \.lowerName.desc).limit(3)
        var results = database.observe(last).makeAsyncIterator()
        #expect(try await results.next()?.entities.map(\.id) == [9, 8, 7])
        try await database.write { (context) throws in try ComputedMeasure(id: 3, name: "n8b").save(to: &context) }
        #expect(try await results.next()?.entities.map(\.id) == [9, 3, 8])
    }
}
