// SPDX-License-Identifier: Apache-2.0
// Aggregates by value: each different value of an index is visited once, with the number of its rows. The result is
// that of all rows one by one, at the cost of the different values.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Sale {
    @Index<Self>(\.price) private var byPrice
    @Index<Self>(\.region, \.year.desc, \.weight) private var byRegion
    @Index<Self>(\.year, \.cost.desc) private var byYear
    @Index<Self>(\.weight.desc) private var byWeight
    @Index<Self>(\.name, \.price, collation: .caseInsensitive) private var byName

    let id: Int
    var region: String?
    var year: Int16
    var price: Int
    var weight: Double?
    var cost: Decimal?
    var kind: Int
    var name: String
    var isPaid: Bool
}

/// An entity with the same properties and no index.
@EntityModel
private struct PlainSale {
    let id: Int
    var region: String?
    var year: Int16
    var price: Int
    var weight: Double?
    var cost: Decimal?
    var kind: Int
    var name: String
    var isPaid: Bool
}

@EntityModel
private struct Text {
    @Index<Self>(\.text, \.number) private var byText
    let id: Int
    var text: String
    var number: Int
}

@Suite("Aggregates by value")
struct GroupScanTests {
    /// - Parameter variety: approximate number of different values of each property.
    private func save(_ id: Int, _ variety: Int, _ context: inout Context, _ random: inout SeededGenerator) throws {
        let regions = ["é", "e\u{301}", "a\u{0}b", "", "r\(random.below(variety))"]
        let region: String? = random.oneIn(6) ? nil : regions[random.below(5)]
        let weights = [.nan, -.infinity, -0.0, 0, 1e300, -1e300, 0x1p-1060, 0x1p1000, -0x1p1000, 0.1]
        let weight: Double? =
            random.oneIn(7) ? nil : random.oneIn(9) ? weights[random.below(10)] : Double(random.below(variety)) / 3
        let price = random.oneIn(20) ? Int.max - random.below(2) : random.below(variety) - variety / 2
        let (year, kind) = (Int16(random.below(min(variety, 50))), random.below(variety))
        let cost = random.oneIn(5) ? nil : Decimal(random.below(variety)) / 8
        let (name, isPaid) = (random.oneIn(2) ? "Ann" : "ANN\(random.below(2))", random.oneIn(2))
        try Sale(
            id: id, region: region, year: year, price: price, weight: weight, cost: cost, kind: kind, name: name,
            isPaid: isPaid
        ).save(to: &context)
        try PlainSale(
            id: id, region: region, year: year, price: price, weight: weight, cost: cost, kind: kind, name: name,
            isPaid: isPaid
        ).save(to: &context)
    }

    /// Returns the answers of both types as text; also errors, without the type's name.
    private func answers<Entity: EntityModelProtocol>(
        _ query: QueryList<Entity>, _ columns: Columns<Entity>, _ context: Context
    ) -> [String] {
        var found: [String] = []
        func ask(_ question: () throws -> Any?) {
            do {
                found.append(String(describing: try question()))
            } catch {
                found.append("\(error)")
            }
        }
        ask { try query.aggregate(.count, .sum(columns.price), in: context) }
        ask { try query.aggregate(.sum(columns.weight), .average(columns.weight), .count, in: context) }
        ask { try query.aggregate(.average(columns.price), .min(columns.price), .max(columns.price), in: context) }
        ask { try query.sum(columns.year, in: context) }
        ask { try query.aggregate(.sum(columns.cost), .average(columns.cost), in: context) }
        ask { try query.aggregate(.sum(columns.cost), .sum(columns.year), .countDistinct(columns.year), in: context) }
        ask { try query.distinct(columns.weight, in: context) }
        ask { try query.grouped(by: columns.year).aggregate(.sum(columns.cost), .count).resolve(in: context) }
        ask { try query.grouped(by: columns.cost).aggregate(.sum(columns.year), .count).resolve(in: context) }
        ask {
            try query.grouped(by: columns.region).aggregate(.average(columns.weight), .max(columns.year), .count)
                .having { _, _, count in count > 2 }.resolve(in: context)
                .map { ("\($0.key ?? "nil")".precomposedStringWithCanonicalMapping, $0.values) }
        }
        ask {
            try query.grouped(by: columns.region, columns.year).aggregate(.count).resolve(in: context)
                .map { ("\($0.key)".precomposedStringWithCanonicalMapping, $0.values) }
        }
        ask { try query.grouped(by: columns.name).aggregate(.count, .sum(columns.kind)).resolve(in: context) }
        ask { try query.grouped(by: columns.kind).aggregate(.count).resolve(in: context) }
        ask { try query.sum(columns.kind, in: context) }
        // −0.0 may be returned as 0.0.
        return found.map { $0.replacing("-0.0", with: "0.0") }
    }

    private struct Columns<Entity: EntityModelProtocol> {
        let region: any KeyPath<Entity, String?> & Sendable
        let year: any KeyPath<Entity, Int16> & Sendable
        let price: any KeyPath<Entity, Int> & Sendable
        let weight: any KeyPath<Entity, Double?> & Sendable
        let cost: any KeyPath<Entity, Decimal?> & Sendable
        let kind: any KeyPath<Entity, Int> & Sendable
        let name: any KeyPath<Entity, String> & Sendable
    }

    private func queries(_ variety: Int, _ random: inout SeededGenerator) -> [(QueryList<Sale>, QueryList<PlainSale>)] {
        let (year, price) = (Int16(random.below(min(variety, 50))), random.below(variety))
        let weight = Double(random.below(variety)) / 3
        return [
            (Sale.query(), PlainSale.query()),
            (Sale.query().sorted(by: \.price.desc), PlainSale.query().sorted(by: \.price.desc)),
            (Sale.filter(\.region == "é"), PlainSale.filter(\.region == "é")),
            (Sale.filter(\.region == nil && \.year > year), PlainSale.filter(\.region == nil && \.year > year)),
            (Sale.filter(\.region == "" && \.year == year), PlainSale.filter(\.region == "" && \.year == year)),
            (Sale.filter(\.year == year && \.cost < 4), PlainSale.filter(\.year == year && \.cost < 4)),
            (Sale.filter(\.year <= year), PlainSale.filter(\.year <= year)),
            (Sale.filter(\.price != price), PlainSale.filter(\.price != price)),
            (Sale.filter(\.weight > weight), PlainSale.filter(\.weight > weight)),
            (Sale.filter(\.weight == nil), PlainSale.filter(\.weight == nil)),
            (Sale.filter(.value(\.year, in: [year, 1, 3])), PlainSale.filter(.value(\.year, in: [year, 1, 3]))),
            (
                Sale.filter(\.region == "").filter(.value(\.year, in: [year, 0, 2])),
                PlainSale.filter(\.region == "").filter(.value(\.year, in: [year, 0, 2]))
            ),
            (Sale.filter(\.isPaid == true), PlainSale.filter(\.isPaid == true)),
            (
                Sale.filter(\.name == "ann".collated(.caseInsensitive)),
                PlainSale.filter(\.name == "ann".collated(.caseInsensitive))
            ),
            (Sale.filter(\.price > price).limit(9), PlainSale.filter(\.price > price).limit(9)),
            (Sale.filter(\.region == "none"), PlainSale.filter(\.region == "none")),
            (Sale.filter(\.id > 300), PlainSale.filter(\.id > 300)),
        ]
    }

    @Test(
        "are those of a scan, of few different values and of many, also in an open write",
        arguments: SeededGenerator.seeds(2), [1, 3, 12, 1000])
    func differential(seed: UInt64, variety: Int) throws {
        var random = SeededGenerator(seed: seed &* 31 &+ UInt64(variety))
        let database = try Database.inMemory(models: Sale.self, PlainSale.self)
        try database.createIndex(ValueIndex("paid", \Sale.kind, where: \Sale.isPaid == true))
        let columns = Columns<Sale>(
            region: \.region, year: \.year, price: \.price, weight: \.weight, cost: \.cost, kind: \.kind, name: \.name)
        let plain = Columns<PlainSale>(
            region: \.region, year: \.year, price: \.price, weight: \.weight, cost: \.cost, kind: \.kind, name: \.name)
        func compare(_ context: Context, _ random: inout SeededGenerator) {
            for (place, (query, other)) in queries(variety, &random).enumerated() {
                let (found, wanted) = (answers(query, columns, context), answers(other, plain, context))
                for (question, (one, another)) in zip(found, wanted).enumerated() {
                    #expect(one == another, "query \(place), question \(question)")
                }
            }
        }
        try database.write { context in
            for id in 0..<700 { try save(id, variety, &context, &random) }
        }
        try database.write { context in
            for _ in 0..<150 {
                let id = random.below(800)
                if random.oneIn(3) {
                    try Sale.delete(id: id, from: &context)
                    try PlainSale.delete(id: id, from: &context)
                } else {
                    try save(id, variety, &context, &random)
                }
            }
            compare(context, &random)
        }
        try database.read { compare($0, &random) }
    }

    @Test("cost by the number of different values, not of rows, and explain says so")
    func cost() throws {
        func pages(_ count: Int) throws -> [Int] {
            let database = try Database.counting(Sale.self)
            try database.write { context in
                for id in 0..<count {
                    try Sale(
                        id: id, region: "r\(id % 3)", year: Int16(id % 4), price: id % 5, weight: Double(id % 6),
                        cost: Decimal(id % 7), kind: 0, name: "", isPaid: false
                    ).save(to: &context)
                }
            }
            let wanted = (0..<count).reduce(0) { $0 + $1 % 5 }
            let questions: [(Context) throws -> Bool] = [
                { try Sale.query().sum(\.price, in: $0) == wanted },
                { context in
                    try Sale.query().grouped(by: \.region).aggregate(.average(\.year), .sum(\.weight))
                        .resolve(in: context).count == 3
                },
                { try Sale.filter(\.year == 2).sum(\.cost, in: $0) > 0 },
                { try Sale.filter(\.price != 3).average(\.price, in: $0) == 1.75 },
                { context in
                    let text = "SELECT region, SUM(weight) AS s, MAX(year) AS y FROM Sale GROUP BY region"
                    return try Statement(text).resolve(in: context).count == 3
                },
            ]
            return try questions.map { ask in
                try database.pagesReadAgain { context in
                    let isRight = try ask(context)
                    #expect(isRight)
                }
            }
        }
        let (few, many) = (try pages(2_000), try pages(40_000))
        for (one, other) in zip(few, many) { #expect(other < 3 * one + 20, "\(few) \(many)") }
        var context = Context()
        for id in 0..<50 {
            try Sale(
                id: id, region: "a", year: 1, price: id % 2, weight: 1, cost: 1, kind: id, name: "", isPaid: true
            ).save(to: &context)
        }
        let sum = try Sale.query().explain(.sum(\.price), in: context)
        #expect(sum.isByValue && sum.isCovering)
        #expect("\(sum)".contains("by value: equal ones at once, counted by the index"))
        #expect(try Sale.filter(\.price != 1).explain(.sum(\.price), in: context).isByValue)
        #expect(try Sale.query().grouped(by: \.region).aggregate(.sum(\.year)).explain(in: context).isByValue)
        #expect(try !Sale.query().explain(.sum(\.kind), in: context).isByValue)
        #expect(try !Sale.query().limit(3).explain(.sum(\.price), in: context).isByValue)
        let text = try Statement("SELECT SUM(price) AS s, COUNT(*) AS n FROM Sale").explain(in: context)
        #expect(text.contains("by value, counted by index byPrice"))
    }

    @Test("distinguish texts that are longer than the part an index keeps", .seeded)
    func longKeys() throws {
        var random = SeededGenerator()
        var context = Context()
        let beginning = String(repeating: "x", count: 890)
        var totals: [String: (count: Int, sum: Int)] = [:]
        for id in 0..<300 {
            let text = ["a", beginning, beginning + "y", beginning + "z", "xx"][random.below(5)]
            let number = random.below(3)
            try Text(id: id, text: text, number: number).save(to: &context)
            let total = totals[text] ?? (0, 0)
            totals[text] = (total.count + 1, total.sum + number)
        }
        let groups = try Text.query().grouped(by: \.text).aggregate(.count, .sum(\.number)).resolve(in: context)
        #expect(groups.map(\.key) == totals.keys.sorted())
        for (key, (count, sum)) in groups { #expect(count == totals[key]?.count && sum == totals[key]?.sum) }
        #expect(try Text.query().grouped(by: \.text).aggregate(.count).resolve(in: context).count == 5)
        #expect(try Text.query().distinct(\.text, in: context) == totals.keys.sorted())
        #expect(try Statement("SELECT DISTINCT text FROM Text LIMIT 4").resolve(in: context).count == 4)
        let counts = try Text.query().grouped(by: \.text).aggregate(.count).resolve(in: context)
        for (key, count) in counts { #expect(count == totals[key]?.count) }
    }
}

@Suite("Sums of many equal numbers")
struct EqualNumbersTests {
    @Test("are those of the numbers one by one", .seeded)
    func sums() throws {
        var random = SeededGenerator()
        let numbers = [
            0, -0.0, 1, 0.1, -0x1p-1070, Double.leastNonzeroMagnitude, 1e300, .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude, 0x1p960, -0x1.fffffffffffffp959, 0x1.fffffffffffffp52, .infinity, .nan,
        ]
        for _ in 0..<300 {
            var (one, all) = (FloatingSummation(), FloatingSummation())
            var (small, smalls) = (FloatSummation(), FloatSummation())
            var (integer, integers) = (IntegerSummation<UInt64>(), IntegerSummation<UInt64>())
            var (decimal, decimals) = (DecimalSummation(), DecimalSummation())
            for _ in 0..<(1 + random.below(4)) {
                let known = numbers[random.below(numbers.count - (random.oneIn(4) ? 0 : 2))]
                let number = random.oneIn(2) ? known : Double(bitPattern: random.next() & ~(1 << 62))
                let exact = Decimal(Int(truncatingIfNeeded: random.next() >> 9)) / pow(10, random.below(20))
                let times = random.below(40)
                let whole = random.next() >> 8
                for _ in 0..<times {
                    one.add(number)
                    small.add(Float(number))
                    integer.add(whole)
                    decimal.add(exact)
                }
                all.add(number, times: times)
                smalls.add(Float(number), times: times)
                integers.add(whole, times: times)
                decimals.add(exact, times: times)
            }
            #expect(one.total() == all.total() || one.total().isNaN && all.total().isNaN)
            let means = (Double.average(one, count: 7), Double.average(all, count: 7))
            #expect(means.0 == means.1 || means.0.isNaN && means.1.isNaN)
            #expect(small.total() == smalls.total() || small.total().isNaN && smalls.total().isNaN)
            #expect((try? integer.total()) == (try? integers.total()))
            #expect(try decimal.total() == decimals.total())
        }
        var great = FloatingSummation()
        great.add(0.1, times: 1 << 60)
        great.add(-0.1, times: (1 << 60) - 3)
        var three = FloatingSummation()
        three.add(0.1, times: 3)
        #expect(great.total() == three.total())
    }
}
