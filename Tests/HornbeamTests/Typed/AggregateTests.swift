// SPDX-License-Identifier: Apache-2.0
// Aggregates of queries and of groups, compared with plain Swift.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Sale: Equatable {
    @Index<Self>(\.price) private var byPrice
    @Index<Self>(\.region, \.price.desc) private var byRegion

    let id: Int
    var region: String
    var product: String?
    var kind: Kind
    var price: Int
    var weight: Double?
    var cost: Decimal
    var small: Int8

    enum Kind: String, Codable, Sendable { case new, used }
    var year: Int { 2000 + id % 3 }
}

@Suite("Aggregates")
struct AggregateTests {
    private let sales: [Sale] = (1...90).map { number in
        Sale(
            id: number, region: ["north", "south", "East"][number % 3],
            product: number % 4 == 0 ? nil : "p\(number % 5)", kind: number % 7 == 0 ? .used : .new,
            price: number * 37 % 50 - 5, weight: number % 6 == 0 ? nil : Double(number) / 10,
            cost: Decimal(number) / 4, small: 100)
    }

    private func context() throws -> Context {
        var context = Context()
        for sale in sales { try sale.save(to: &context) }
        return context
    }

    @Test("count, sum, average, least and greatest, of all and of a part")
    func whole() throws {
        let context = try context()
        for (query, part) in [
            (Sale.query(), sales), (Sale.filter(\.region == "south"), sales.filter { $0.region == "south" }),
            (Sale.filter(\.price > 20 && \.kind == .new), sales.filter { $0.price > 20 && $0.kind == .new }),
            (Sale.query().sorted(by: \.price).limit(7), Array(sales.sorted { $0.price < $1.price }.prefix(7))),
        ] {
            #expect(try query.sum(\.price, in: context) == part.map(\.price).reduce(0, +))
            let mean = Double(part.map(\.price).reduce(0, +)) / Double(part.count)
            #expect(try query.average(\.price, in: context) == mean)
            #expect(try query.min(\.price, in: context) == part.map(\.price).min())
            #expect(try query.max(\.price, in: context) == part.map(\.price).max())
            let weights = part.compactMap(\.weight)
            let total = try query.sum(\.weight, in: context)
            #expect(abs(total - weights.reduce(0, +)) < 1e-9)
            #expect(try query.average(\.weight, in: context) == total / Double(weights.count))
            #expect(try query.min(\.weight, in: context) == weights.min())
            #expect(try query.max(\.weight, in: context) == weights.max())
            #expect(try query.sum(\.cost, in: context) == part.map(\.cost).reduce(0, +))
            #expect(try query.max(\.year, in: context) == part.map(\.year).max())
            #expect(try query.sum(\.year, in: context) == part.map(\.year).reduce(0, +))
            #expect(
                try query.aggregate(.countDistinct(\.product), in: context) == Set(part.compactMap(\.product)).count)
            #expect(try query.exists(in: context))
        }
        #expect(try Sale.query(in: context).sum(\.price) == sales.map(\.price).reduce(0, +))
        let (count, least, most) = try Sale.query().aggregate(.count, .min(\.price), .max(\.weight), in: context)
        #expect(count == 90 && least == sales.map(\.price).min() && most == sales.compactMap(\.weight).max())
    }

    @Test("the mean of integers is the nearest double, with any sum", .seeded)
    func integerMeans() {
        var random = SeededGenerator()
        for _ in 0..<2_000 {
            let bits = Int128.random(in: 0..<(1 << 40), using: &random)
            let low = Int128.random(in: 1..<(1 << 70), using: &random)
            let sum = (bits << 70 | low) >> Int.random(in: 0..<40, using: &random)
            let count = Int.random(in: 1..<(1 << 12), using: &random)
            let mean = IntegerSummation<Int>.mean(sum, count)
            #expect(IntegerSummation<Int>.mean(-sum, count) == -mean)
            // Doubles of this size are integers.
            guard mean >= 0x1p54 else { continue }
            func distance(_ number: Double) -> Int128 { abs(Int128(number) * Int128(count) - sum) }
            #expect(distance(mean) <= min(distance(mean.nextUp), distance(mean.nextDown)), "\(sum) / \(count)")
        }
        #expect(IntegerSummation<Int>.mean(0, 7) == 0)
    }

    @Test("without values the sum is 0, and there is no average, least or greatest value")
    func nothing() throws {
        let context = try context()
        let none = Sale.filter(\.price > 1000)
        #expect(try none.sum(\.price, in: context) == 0)
        #expect(try none.sum(\.weight, in: context) == 0)
        #expect(try none.average(\.price, in: context) == nil)
        #expect(try none.average(\.cost, in: context) == nil)
        #expect(try none.min(\.price, in: context) == nil)
        #expect(try none.max(\.weight, in: context) == nil)
        #expect(try none.groupConcat(\.region, in: context) == "")
        #expect(try none.distinct(\.region, in: context).isEmpty)
        #expect(try none.grouped(by: \.region).aggregate(.count).resolve(in: context).isEmpty)
        #expect(try !none.exists(in: context))
    }

    @Test("a sum of integers that doesn't fit is an error, but not if only a partial sum doesn't")
    func overflow() throws {
        var context = try context()
        #expect { try Sale.query().sum(\.small, in: context) } throws: { error in
            (error as? HornbeamError)?.code == .invalid && "\(error)".contains("the sum 9000 doesn't fit Int8")
        }
        var numbers = [Int.max, 5, -5, Int.min, Int.max]
        for (id, number) in numbers.enumerated() {
            var sale = sales[id]
            sale.price = number
            sale.region = "big"
            try sale.save(to: &context)
        }
        numbers.removeLast()
        #expect(try Sale.filter(\.region == "big").sum(\.price, in: context) == Int.max - 1)
        #expect(try Sale.filter(\.region == "big").average(\.price, in: context) == Double(Int.max - 1) / 5)
    }

    @Test("a sum of doubles is exact, in any order", .seeded)
    func exactSums() throws {
        var random = SeededGenerator()
        var numbers = [1e100, 1, -1e100, 1e-3, 3e16, 1, -3e16, 0.1, 0.2, 0.3, -0.6]
        var totals: Set<Double> = []
        for _ in 0..<50 {
            numbers.shuffle(using: &random)
            var sum = FloatingSummation()
            for number in numbers { sum.add(number) }
            totals.insert(sum.total())
        }
        #expect(totals == [2.001])
        var special = FloatingSummation()
        special.add(.infinity)
        special.add(1)
        #expect(special.total() == .infinity)
        special.add(-.infinity)
        #expect(special.total().isNaN)
    }

    @Test("it is infinite only if the sum itself is, with any partial sums, and a mean only if it is", .seeded)
    func greatSums() throws {
        var random = SeededGenerator()
        let greatest = Double.greatestFiniteMagnitude
        let half = greatest.ulp / 2
        func expect(_ numbers: [Double], _ total: Double, mean: Double) {
            var numbers = numbers
            for _ in 0..<24 {
                numbers.shuffle(using: &random)
                var sum = FloatingSummation()
                for number in numbers { sum.add(number) }
                #expect(sum.total() == total, "\(numbers)")
                let found = Double.average(sum, count: numbers.count)
                #expect(abs(found - mean) <= mean.ulp, "\(numbers)")
            }
        }
        let (least, lowest) = (Double.leastNonzeroMagnitude, -Double.greatestFiniteMagnitude)
        expect([greatest, greatest, lowest, lowest], 0, mean: 0)
        expect([greatest, greatest, lowest, lowest, 1, 0.5], 1.5, mean: 0.25)
        expect([greatest, greatest, lowest], greatest, mean: greatest / 3)
        expect([greatest, greatest], .infinity, mean: greatest)
        expect([lowest, lowest], -.infinity, mean: lowest)
        // Just below half a step beyond the greatest number, exactly there, and just above.
        expect([greatest, half, -least, 0], greatest, mean: greatest / 4)
        expect([greatest, half], .infinity, mean: 0x1p1023)
        expect([greatest, half, least, 0], .infinity, mean: 0x1p1022)
        expect([lowest, -half, least, 0], lowest, mean: lowest / 4)
        expect([0x1p1023, 0x1p1023, -0x1p971], greatest, mean: greatest / 3)
        // A small rest of great numbers.
        expect([0x1p1023, 0x1p1023, -0x1p1023, -0x1p1023, 1e-300, least], 1e-300, mean: 1e-300 / 6)
        expect([0x1p960, -0x1p959, -0x1p959, 3], 3, mean: 0.75)
        expect([1e308, 1e308, 1e308, -1e308, -1e308, -1e308, 0.1, 0.2, -0.3], 0x1p-55, mean: 0x1p-55 / 9)
    }

    @Test("one aggregate of each group is a plain value")
    func single() throws {
        let context = try context()
        let totals: [(key: String, values: Int)] = try Sale.query().grouped(by: \.region).aggregate(.sum(\.price))
            .having { $0 > 0 }.sorted { $0.values < $1.values }.resolve(in: context)
        let wanted = Dictionary(grouping: sales, by: \.region).mapValues { $0.map(\.price).reduce(0, +) }
        #expect(totals.count == wanted.count && totals.map(\.values) == wanted.values.sorted())
        let means = try Sale.query().grouped(by: \.kind).aggregate(.average(\.weight)).resolve(in: context)
        #expect(means.allSatisfy { ($0.values ?? 0) > 4 })
        let most = try Sale.query().grouped(by: \.kind).aggregate(.max(\.price)).resolve(in: context)
        #expect(most.compactMap(\.values).max() == sales.map(\.price).max())
    }

    @Test("the least and the greatest value are read at an index's end")
    func ends() throws {
        let context = try context()
        let last = Sale.filter(\.price != Int.min).sorted(by: \.price.desc).limit(1)
        #expect(try last.explain(in: context).access.description.contains("byPrice"))
        #expect(try Sale.query().max(\.price, in: context) == sales.map(\.price).max())
        #expect(
            try Sale.filter(\.region == "north").min(\.price, in: context)
                == sales.filter { $0.region == "north" }.map(\.price).min())
    }

    @Test("different values in their order, and texts joined in the query's order")
    func lists() throws {
        let context = try context()
        #expect(try Sale.query().distinct(\.region, in: context) == ["East", "north", "south"])
        #expect(try Sale.query().distinct(\.product, in: context) == ["p0", "p1", "p2", "p3", "p4"])
        #expect(try Set(Sale.query().distinct(\.kind, in: context)) == [.new, .used])
        #expect(try Sale.query().distinct(\.year, in: context) == [2000, 2001, 2002])
        let text = try Sale.filter(\.price > 35).sorted(by: \.price.desc, \.id).groupConcat(
            \.product, separator: "/", in: context)
        let wanted = sales.filter { $0.price > 35 }.sorted { (-$0.price, $0.id) < (-$1.price, $1.id) }
        #expect(text == wanted.compactMap(\.product).joined(separator: "/"))
    }

    @Test("groups by one property and by several, with having and limits")
    func groups() throws {
        let context = try context()
        let byRegion = try Sale.query().grouped(by: \.region).aggregate(.count, .sum(\.price), .average(\.weight))
            .resolve(in: context)
        #expect(byRegion.map(\.key) == ["East", "north", "south"])
        for (region, (count, total, mean)) in byRegion {
            let part = sales.filter { $0.region == region }
            #expect(count == part.count && total == part.map(\.price).reduce(0, +))
            let weights = part.compactMap(\.weight)
            #expect(abs((mean ?? 0) - weights.reduce(0, +) / Double(weights.count)) < 1e-9)
        }
        let pairs = try Sale.query().grouped(by: \.product, \.kind, \.year).aggregate(.count, .max(\.price))
            .resolve(in: context)
        let wanted = Dictionary(grouping: sales) { "\($0.product ?? "nil") \($0.kind) \($0.year)" }
        #expect(pairs.count == wanted.count)
        #expect(pairs.first?.key.0 == nil)
        for (key, (count, most)) in pairs {
            let part = try #require(wanted["\(key.0 ?? "nil") \(key.1) \(key.2)"])
            #expect(count == part.count && most == part.map(\.price).max())
        }
        let frequent = try Sale.query().grouped(by: \.product).aggregate(.count).having { $0 > 13 }.resolve(in: context)
        let counts = Dictionary(grouping: sales, by: \.product).mapValues(\.count).filter { $0.value > 13 }
        #expect(Dictionary(uniqueKeysWithValues: frequent.map { ($0.key, $0.values) }) == counts)
        let cut = try Sale.query().grouped(by: \.price).aggregate(.count).limit(3, offset: 2).resolve(in: context)
        #expect(cut.map(\.key) == Array(Set(sales.map(\.price)).sorted()[2..<5]))
        #expect(try Sale.query().grouped(by: \.price).aggregate(.count).limit(0).resolve(in: context).isEmpty)
        let dearest = try Sale.query().grouped(by: \.region).aggregate(.count, .sum(\.price))
            .sorted { $0.values.1 > $1.values.1 }.limit(2).resolve(in: context)
        let totals = Dictionary(grouping: sales, by: \.region).mapValues { $0.map(\.price).reduce(0, +) }
        #expect(dearest.map(\.values.1) == Array(totals.values.sorted(by: >).prefix(2)))
        #expect(dearest.allSatisfy { totals[$0.key] == $0.values.1 })
        let halves = try Sale.query().grouped(by: \.id.isEven).aggregate(.count).resolve(in: context)
        #expect(Set(halves.map(\.values)) == [45])
    }

    @Test("counts of groups come from an index over the properties, with any fixed values before them", .seeded)
    func countedGroups() throws {
        var random = SeededGenerator()
        var context = Context()
        let texts = ["a", "b", String(repeating: "l", count: 1000), String(repeating: "l", count: 1001)]
        for id in 0..<600 {
            let isRare = Int.random(in: 0..<20, using: &random) == 0
            try Sale(
                id: id, region: isRare ? texts.randomElement(using: &random) ?? "" : "c\(id % 3)", product: nil,
                kind: .new,
                price: isRare ? Int.random(in: 0..<500, using: &random) : id % 4, weight: nil, cost: 0, small: 0
            ).save(to: &context)
        }
        let all: [Sale] = try context.all()
        func check<Key: Hashable & Comparable>(
            _ found: [(key: Key, values: Int)], _ wanted: [Key: Int], _ location: SourceLocation = #_sourceLocation
        ) {
            #expect(found.map(\.key) == wanted.keys.sorted(), sourceLocation: location)
            for (key, count) in found { #expect(wanted[key] == count, sourceLocation: location) }
        }
        func counts<Key: Hashable>(_ sales: [Sale], _ key: (Sale) -> Key) -> [Key: Int] {
            Dictionary(grouping: sales, by: key).mapValues(\.count)
        }
        check(try Sale.query().grouped(by: \.price).aggregate(.count).resolve(in: context), counts(all) { $0.price })
        check(try Sale.query().grouped(by: \.region).aggregate(.count).resolve(in: context), counts(all) { $0.region })
        let some = Sale.filter(.value(\.price, in: 2...60))
        check(
            try some.grouped(by: \.price).aggregate(.count).resolve(in: context),
            counts(all.filter { (2...60).contains($0.price) }) { $0.price })
        let fixed = Sale.filter(\.region == "c1")
        check(
            try fixed.grouped(by: \.price).aggregate(.count).resolve(in: context),
            counts(all.filter { $0.region == "c1" }) { $0.price })
        let pairs = try Sale.query().grouped(by: \.region, \.price).aggregate(.count).resolve(in: context)
        #expect(pairs.count == Set(all.map { "\($0.region) \($0.price)" }).count)
        #expect(pairs.map(\.values).reduce(0, +) == 600)
        // A condition that the index doesn't answer, and a part of the list, are computed from the rows.
        check(
            try fixed.filter(\.id > 300).grouped(by: \.price).aggregate(.count).resolve(in: context),
            counts(all.filter { $0.region == "c1" && $0.id > 300 }) { $0.price })
        check(
            try Sale.query().limit(100).grouped(by: \.price).aggregate(.count).resolve(in: context),
            counts(Array(all.prefix(100))) { $0.price })
    }

    @Test("a grouping without a context says so")
    func withoutContext() {
        #expect { try Sale.query().sum(\.price) } throws: { ($0 as? HornbeamError)?.code == .invalid }
    }
}

extension Int {
    fileprivate var isEven: Bool { self % 2 == 0 }
}
