// SPDX-License-Identifier: Apache-2.0
// SQLite's opinion on aggregates and groups: random rows, conditions, keys and limits, with indexes over some
// properties.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Order {
    @Index<Self>(\.region, \.year) private var byRegion
    @Index<Self>(\.price) private var byPrice
    @Index<Self>(\.year, \.weight) private var byYear

    let id: Int
    var region: String
    var year: Int
    var price: Int
    /// In quarters, so that sums are exact in any order.
    var weight: Double?
    var isPaid: Bool
}

/// An entity with the same properties and no index.
@EntityModel
private struct PlainOrder {
    let id: Int
    var region: String
    var year: Int
    var price: Int
    var weight: Double?
    var isPaid: Bool
}

@Suite("Aggregates, with SQLite as a second opinion")
struct AggregateOpinionTests {
    private struct Conditions {
        var indexed: Predicate<Order>
        var plain: Predicate<PlainOrder>
        var sql: String
    }

    private func conditions(_ random: inout SeededGenerator) -> Conditions {
        let (year, price) = (2000 + random.below(6), random.below(40))
        let region = ["north", "south", "east", ""][random.below(4)]
        switch random.below(7) {
        case 0: return Conditions(indexed: \.region == region, plain: \.region == region, sql: "region = '\(region)'")
        case 1: return Conditions(indexed: \.year >= year, plain: \.year >= year, sql: "year >= \(year)")
        case 2: return Conditions(indexed: \.price < price, plain: \.price < price, sql: "price < \(price)")
        case 3: return Conditions(indexed: \.weight == nil, plain: \.weight == nil, sql: "weight IS NULL")
        case 4:
            return Conditions(
                indexed: \.region == region && \.year == year, plain: \.region == region && \.year == year,
                sql: "region = '\(region)' AND year = \(year)")
        case 5: return Conditions(indexed: \.isPaid == true, plain: \.isPaid == true, sql: "isPaid = 1")
        default: return Conditions(indexed: \.id >= 0, plain: \.id >= 0, sql: "1")
        }
    }

    private func text(_ number: Double?) -> String { number.map { "\($0)" } ?? "nil" }
    private func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "nil" }

    /// The SQL equivalents of `text` for numbers.
    private static let columns = [
        "COUNT(*)", "IFNULL(SUM(price), 0)", "IFNULL(CAST(ROUND(AVG(price) * 1000) AS INTEGER), 'nil')",
        "IFNULL(MIN(price), 'nil')",
        "IFNULL(MAX(price), 'nil')", "IFNULL(SUM(weight), 0.0)", "IFNULL(MIN(weight), 'nil')",
        "IFNULL(MAX(weight), 'nil')", "COUNT(DISTINCT region)",
    ]

    @Test("of random selections agree, in total and by groups, while rows change", .seeded)
    func aggregates() throws {
        var random = SeededGenerator()
        let database = try Database.inMemory(models: Order.self, PlainOrder.self)
        var script = [
            "CREATE TABLE Sold (id INTEGER PRIMARY KEY, region TEXT, year INTEGER, price INTEGER, weight REAL, "
                + "isPaid INTEGER)"
        ]
        var found: [String] = []
        var covering = 0
        for _ in 0..<4 {
            try database.write { context in
                for _ in 0..<80 { try change(&context, &script, &random) }
            }
            for _ in 0..<25 {
                let conditions = conditions(&random)
                let limit = 1 + random.below(12)
                try database.read { context in
                    let indexed = Order.filter(conditions.indexed)
                    let plain = PlainOrder.filter(conditions.plain)
                    if try indexed.explain(.sum(\.price), in: context).isCovering { covering += 1 }
                    for query in [try answer(indexed, context), try answer(plain, context)] {
                        found.append(query)
                        script.append(
                            "SELECT \(Self.columns.joined(separator: " || '|' || ")) FROM Sold WHERE \(conditions.sql)")
                    }
                    for groups in [try groups(indexed, limit, context), try groups(plain, limit, context)] {
                        found.append(groups)
                        script.append(
                            "SELECT IFNULL(GROUP_CONCAT(line, ';'), '') FROM (SELECT region || ',' || year || ',' || "
                                + "COUNT(*) || ',' || SUM(price) AS line FROM Sold WHERE \(conditions.sql) "
                                + "GROUP BY region, year HAVING COUNT(*) > 1 ORDER BY region, year LIMIT \(limit))")
                    }
                }
            }
        }
        let answers = try SQLite.run(script)
        try #require(answers.count == found.count)
        let questions = script.filter { $0.hasPrefix("SELECT") }
        for (place, answer) in answers.enumerated() { #expect([found[place]] == answer, "\(questions[place])") }
        #expect(covering > 0)
    }

    private func change(
        _ context: inout Context, _ script: inout [String], _ random: inout SeededGenerator
    ) throws {
        let id = random.below(150)
        if random.oneIn(5) {
            try Order.delete(id: id, from: &context)
            try PlainOrder.delete(id: id, from: &context)
            script.append("DELETE FROM Sold WHERE id = \(id)")
            return
        }
        let order = Order(
            id: id, region: ["north", "south", "east", ""][random.below(4)], year: 2000 + random.below(6),
            price: random.below(40) - 5, weight: random.oneIn(4) ? nil : Double(random.below(40)) / 4 + 0.25,
            isPaid: random.oneIn(2))
        try order.save(to: &context)
        try PlainOrder(
            id: id, region: order.region, year: order.year, price: order.price, weight: order.weight,
            isPaid: order.isPaid
        ).save(to: &context)
        script.append(
            "INSERT OR REPLACE INTO Sold VALUES (\(id), '\(order.region)', \(order.year), \(order.price), "
                + "\(order.weight.map { "\($0)" } ?? "NULL"), \(order.isPaid ? 1 : 0))")
    }

    private func answer(_ query: QueryList<Order>, _ context: Context) throws -> String {
        let (count, sum, average, least, greatest) = try query.aggregate(
            .count, .sum(\.price), .average(\.price), .min(\.price), .max(\.price), in: context)
        let (weight, light, heavy, regions) = try query.aggregate(
            .sum(\.weight), .min(\.weight), .max(\.weight), .countDistinct(\.region), in: context)
        #expect(try query.min(\.price, in: context) == least && query.max(\.price, in: context) == greatest)
        #expect(try query.distinct(\.region, in: context).count == regions)
        return [
            text(count), text(sum), text(average.map { Int(($0 * 1000).rounded()) }), text(least), text(greatest),
            text(weight), text(light), text(heavy),
            text(regions),
        ].joined(separator: "|")
    }

    private func answer(_ query: QueryList<PlainOrder>, _ context: Context) throws -> String {
        let (count, sum, average, least, greatest) = try query.aggregate(
            .count, .sum(\.price), .average(\.price), .min(\.price), .max(\.price), in: context)
        let (weight, light, heavy, regions) = try query.aggregate(
            .sum(\.weight), .min(\.weight), .max(\.weight), .countDistinct(\.region), in: context)
        return [
            text(count), text(sum), text(average.map { Int(($0 * 1000).rounded()) }), text(least), text(greatest),
            text(weight), text(light), text(heavy),
            text(regions),
        ].joined(separator: "|")
    }

    private func groups(_ query: QueryList<Order>, _ limit: Int, _ context: Context) throws -> String {
        let rows = try query.grouped(by: \.region, \.year).aggregate(.count, .sum(\.price)).having { $0.0 > 1 }
            .limit(limit).resolve(in: context)
        return rows.map { "\($0.key.0),\($0.key.1),\($0.values.0),\($0.values.1)" }.joined(separator: ";")
    }

    private func groups(_ query: QueryList<PlainOrder>, _ limit: Int, _ context: Context) throws -> String {
        let rows = try query.grouped(by: \.region, \.year).aggregate(.count, .sum(\.price)).having { $0.0 > 1 }
            .limit(limit).resolve(in: context)
        return rows.map { "\($0.key.0),\($0.key.1),\($0.values.0),\($0.values.1)" }.joined(separator: ";")
    }
}
