// SPDX-License-Identifier: Apache-2.0
// Aggregates from an index alone: no row is read, and `explain` says so. Also the cases in which rows must be read.

import Foundation
import HornbeamKeys
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Sale {
    @Index<Self>(\.region, \.price.desc, \.weight) private var byRegion
    @Index<Self>(\.day) private var byDay

    let id: Int
    var region: String
    var price: Int16
    var weight: Float?
    var day: Date?
    var note: String
}

@EntityModel
private struct PlainSale {
    let id: Int
    var region: String
    var price: Int16
    var weight: Float?
    var day: Date?
    var note: String
}

@EntityModel
private struct Measure {
    @Index<Self>(\.value) private var byValue
    let id: Int
    var value: Double
    var other: Double?
}

@EntityModel
private struct Parcel {
    @Index<Self>(\.cost, \.owner.desc) private var byCost
    @Index<Self>(\.digest, \.tax.desc) private var byDigest
    @Index<Self>(\.owner) private var byOwner
    let id: Int
    var owner: UUID?
    var cost: Decimal
    var tax: Decimal?
    var digest: Data
    var other: UUID?
    var price: Decimal
}

@EntityModel
private struct Memo {
    @FullTextIndex<Self>(\.text) private var search
    let id: Int
    var text: String
}

@Suite("Aggregates by an index alone")
struct CoveringTests {
    private func context(_ count: Int = 120) throws -> Context {
        var context = Context()
        for id in 0..<count {
            let region = ["north", "süd", "East", ""][id % 4]
            let day = id % 5 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(id % 9) * -1000)
            let weight = id % 3 == 0 ? nil : Float(id) / 8 - 5
            let (price, note) = (Int16(id * 31 % 70 - 20), "n\(id)")
            try Sale(id: id, region: region, price: price, weight: weight, day: day, note: note).save(to: &context)
            try PlainSale(id: id, region: region, price: price, weight: weight, day: day, note: note)
                .save(to: &context)
        }
        return context
    }

    /// Returns the context with unreadable rows: a query that still answers has read no row.
    private func unreadable() throws -> Context {
        let context = try context()
        try context.session.run { session in
            let store = try session.store(Sale.self)
            for id in 0..<120 { try store.transaction.put(store.type.rows, RowID(rawValue: UInt64(id)).key, [0]) }
        }
        return context
    }

    @Test("sums, averages, ends and numbers of values need no row where an index has the property")
    func values() throws {
        let full = try context()
        let context = try unreadable()
        let (sales, plain) = (Sale.query(), PlainSale.query())
        #expect(try sales.sum(\.price, in: context) == plain.sum(\.price, in: full))
        #expect(try sales.sum(\.weight, in: context) == plain.sum(\.weight, in: full))
        #expect(try sales.average(\.price, in: context) == plain.average(\.price, in: full))
        #expect(try sales.min(\.day, in: context) == plain.min(\.day, in: full))
        #expect(try sales.max(\.day, in: context) == plain.max(\.day, in: full))
        #expect(try sales.max(\.region, in: context) == plain.max(\.region, in: full))
        #expect(try sales.aggregate(.countDistinct(\.day), in: context) == 9)
        // If a key doesn't determine the original text, a row is read.
        #expect(try sales.aggregate(.countDistinct(\.region), in: full) == 4)
        #expect(try sales.aggregate(.countDistinct(\.weight), in: context) == 80)
        #expect(try sales.distinct(\.day, in: context) == plain.distinct(\.day, in: full))
        let (count, total, least) = try sales.aggregate(.count, .sum(\.price), .min(\.weight), in: context)
        let (plainCount, plainTotal, plainLeast) = try plain.aggregate(
            .count, .sum(\.price), .min(\.weight), in: full)
        #expect(count == plainCount && total == plainTotal && least == plainLeast)
    }

    @Test("aggregates of a range of the index, and of groups, need no row either")
    func parts() throws {
        let full = try context()
        let context = try unreadable()
        let part = Sale.filter(\.region == "north" && \.price != 4)
        let plain = PlainSale.filter(\.region == "north" && \.price != 4)
        #expect(try part.sum(\.price, in: context) == plain.sum(\.price, in: full))
        #expect(try part.aggregate(.max(\.weight), in: context) == plain.max(\.weight, in: full))
        let either = try Sale.filter(.value(\.region, in: ["north", "süd"])).average(\.weight, in: context)
        #expect(try either == PlainSale.filter(.value(\.region, in: ["north", "süd"])).average(\.weight, in: full))
        let groups = try Sale.query().grouped(by: \.region).aggregate(.count, .sum(\.price), .average(\.weight))
            .resolve(in: context)
        let wanted = try PlainSale.query().grouped(by: \.region).aggregate(.count, .sum(\.price), .average(\.weight))
            .resolve(in: full)
        #expect(groups.map(\.key) == wanted.map(\.key) && groups.map(\.key) == ["", "East", "north", "süd"])
        for (group, other) in zip(groups, wanted) { #expect(group.values == other.values) }
    }

    @Test("texts are joined in the order of the query, in their original form")
    func joined() throws {
        let full = try context()
        let sorted = Sale.query().sorted(by: \.region, \.price.desc, \.weight.asc)
        let other = PlainSale.query().sorted(by: \.region, \.price.desc, \.weight.asc)
        #expect(try sorted.groupConcat(\.region, in: full) == other.groupConcat(\.region, in: full))
        #expect(try sorted.explain(.groupConcat(\.region), in: full).isCovering)
        // The order is that of row ids, not the index's.
        #expect(try !Sale.query().explain(.groupConcat(\.region), in: full).isCovering)
        #expect(try Sale.query().groupConcat(\.region, in: full) == PlainSale.query().groupConcat(\.region, in: full))
        // “e” with a separate accent: the key has the composed letter.
        var context = full
        let text = "Cafe\u{301} \u{212A}"
        try Sale(id: 500, region: text, price: 1, weight: nil, day: nil, note: "").save(to: &context)
        let found = Sale.filter(\.region == text).sorted(by: \.price.desc, \.weight.asc)
        let joined = try found.groupConcat(\.region, in: context)
        #expect(Array(joined.utf8) == Array(text.utf8))
    }

    @Test("a limit takes the rows that the query would take")
    func limited() throws {
        let context = try context()
        for limit in [1, 7, 50] {
            #expect(
                try Sale.query().limit(limit, offset: 3).sum(\.price, in: context)
                    == PlainSale.query().limit(limit, offset: 3).sum(\.price, in: context))
            #expect(
                try Sale.filter(\.region == "East").limit(limit).sum(\.price, in: context)
                    == PlainSale.filter(\.region == "East").limit(limit).sum(\.price, in: context))
            #expect(
                try Sale.query().sorted(by: \.day.desc).limit(limit).max(\.day, in: context)
                    == PlainSale.query().sorted(by: \.day.desc).limit(limit).max(\.day, in: context))
        }
    }

    @Test("explain says covering, and only then")
    func explained() throws {
        let context = try context()
        let plan = try Sale.query().explain(.sum(\.price), .average(\.weight), in: context)
        #expect(plan.isCovering && plan.access == .index(name: "byRegion", ranges: 1, entries: 120, reversed: false))
        #expect(plan.description.contains("covering"))
        #expect(try Sale.filter(\.region == "north" && \.price > 3).explain(.max(\.weight), in: context).isCovering)
        #expect(try Sale.query().grouped(by: \.region).aggregate(.sum(\.price)).explain(in: context).isCovering)
        // Another property, in the result or in the filter.
        #expect(try !Sale.query().explain(.sum(\.price), .countDistinct(\.note), in: context).isCovering)
        #expect(try !Sale.query().explain(.sum(\.price), .max(\.day), in: context).isCovering)
        #expect(try !Sale.filter(\.note != "x").explain(.sum(\.price), in: context).isCovering)
        // An index doesn't have all of an entity.
        #expect(try !Sale.filter(\.region == "north").explain(in: context).isCovering)
    }

    @Test("the least value of an optional property is read after the nils, and of a part without the first group")
    func ends() throws {
        var context = try context()
        for id in 200..<260 {
            try Sale(id: id, region: "", price: 0, weight: nil, day: nil, note: "").save(to: &context)
        }
        let some = Sale.filter(\.day != nil)
        let plan = try some.sorted(by: \.day).limit(1).explain(in: context)
        #expect(plan.filter == nil && plan.isCountKnown && plan.candidates == 96)
        #expect(try some.count(in: context) == 96)
        #expect(try Sale.filter(\.day != nil).sorted(by: \.day.desc).ids(in: context).count == 96)
        #expect(try Sale.query().min(\.day, in: context) == Date(timeIntervalSinceReferenceDate: -8000))
        #expect(try Sale.query().min(\.region, in: context) == "")
        #expect(try Sale.query().max(\.region, in: context) == "süd")
    }

    @Test("NaN counts as one value, with an index and without")
    func distinctNaN() throws {
        var context = Context()
        for (id, value) in [Double.nan, .nan, -.nan, 1, 1, 0, -0.0].enumerated() {
            try Measure(id: id, value: value, other: value).save(to: &context)
        }
        #expect(try Measure.query().aggregate(.countDistinct(\.value), in: context) == 3)
        #expect(try Measure.query().aggregate(.countDistinct(\.other), in: context) == 3)
        let (count, _) = try Measure.query().aggregate(.countDistinct(\.value), .sum(\.id), in: context)
        #expect(count == 3)
    }
    /// For each kind of value, those that keys treat specially: zeros at the end, either sign, escaped bytes, nil.
    private func parcels() throws -> Context {
        var context = Context()
        let costs = [
            "0", "1", "-1", "1.50", "-0.003", "12345678901234567890.123", "-98765432109876543210", "1e15", "1e-6",
            "100",
            "0.1",
        ]
        let digests: [[UInt8]] = [[], [0], [1], [0, 0, 1], [2, 1, 0xFF], [0xFE, 0], [7, 8, 9]]
        for id in 0..<154 {
            let owner =
                id % 4 == 0 ? nil : UUID(uuid: (0, 1, 255, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(id % 9)))
            let cost = try #require(Decimal(string: costs[id % costs.count]))
            let tax = id % 5 == 0 ? nil : Decimal(string: costs[(id + 3) % costs.count])
            try Parcel(
                id: id, owner: owner, cost: cost, tax: tax, digest: Data(digests[id % digests.count]), other: owner,
                price: cost
            ).save(to: &context)
        }
        return context
    }

    @Test("decimals, UUIDs and data are read from their keys, in either direction")
    func otherTypes() throws {
        let full = try parcels()
        let parcels: [Parcel] = try full.all()
        let context = full
        try context.session.run { session in
            let store = try session.store(Parcel.self)
            for id in 0..<154 { try store.transaction.put(store.type.rows, RowID(rawValue: UInt64(id)).key, [0]) }
        }
        let all = Parcel.query()
        #expect(try all.sum(\.cost, in: context) == parcels.map(\.cost).reduce(0, +))
        #expect(try all.sum(\.tax, in: context) == parcels.compactMap(\.tax).reduce(0, +))
        #expect(try all.aggregate(.max(\.tax), in: context) == parcels.compactMap(\.tax).max())
        #expect(try all.aggregate(.countDistinct(\.digest), in: context) == 7)
        #expect(try all.distinct(\.owner, in: context).count == 9)
        #expect(try Set(all.distinct(\.digest, in: context)) == Set(parcels.map(\.digest)))
        #expect(try Set(all.distinct(\.cost, in: context)) == Set(parcels.map(\.cost)))
        let groups = try all.grouped(by: \.digest).aggregate(.count, .sum(\.tax)).resolve(in: context)
        let wanted = Dictionary(grouping: parcels, by: \.digest)
        #expect(groups.count == wanted.count)
        for (digest, (count, tax)) in groups {
            #expect(count == wanted[digest]?.count && tax == wanted[digest]?.compactMap(\.tax).reduce(0, +))
        }
        let pairs = try all.grouped(by: \.cost, \.owner).aggregate(.count).resolve(in: context)
        struct Pair: Hashable {
            let cost: Decimal
            let owner: UUID?
        }
        let counts = Dictionary(grouping: parcels) { Pair(cost: $0.cost, owner: $0.owner) }.mapValues(\.count)
        #expect(pairs.count == counts.count)
        for (key, count) in pairs { #expect(counts[Pair(cost: key.0, owner: key.1)] == count) }
    }

    @Test("the index gives the number of hits of a search, however common its words are")
    func countOfSearch() throws {
        var context = Context()
        for id in 0..<200 { try Memo(id: id, text: id % 2 == 0 ? "common word" : "common").save(to: &context) }
        let either = Memo.filter(.string(\.text, matches: "common word"))
        #expect(try either.count(in: context) == 200)
        try context.session.run { session in
            let store = try session.store(Memo.self)
            for id in 0..<200 { try store.transaction.put(store.type.rows, RowID(rawValue: UInt64(id)).key, [0]) }
        }
        #expect(try either.count(in: context) == 200)
        #expect(try Memo.filter(.string(\.text, matches: "word")).count(in: context) == 100)
        #expect(try Memo.filter(.string(\.text, matches: "nothing")).count(in: context) == 0)
    }

    /// A key may give a value that no row holds. Such a key isn't used: the row is read instead.
    @Test("forged keys (a huge decimal, an invalid number, a malformed escape) are read in the rows")
    func forged() throws {
        let context = try parcels()
        let parcels: [Parcel] = try context.all()
        try context.session.run { session in
            let store = try session.store(Parcel.self)
            func forge(_ name: String, _ id: Int, _ make: (inout KeyWriter) -> Void) throws {
                let index = try #require(store.type.indexes.first { $0.description.name == name })
                let rowID = RowID(rawValue: UInt64(id))
                let row = try #require(try store.transaction.get(store.type.rows, rowID.key))
                let own = try index.key(of: RowReader(row, layout: store.type.layout)).bytes
                #expect(try store.transaction.delete(index.tree, own + rowID.key))
                var key = KeyWriter(capacity: 64)
                make(&key)
                try store.transaction.put(index.tree, key.bytes + rowID.key, [])
            }
            for (id, exponent) in [(1, 201), (12, -201), (23, 20_000), (34, 30_000), (45, -30_000)] {
                let huge = try #require(KeyDecimal(isNegative: id % 2 == 0, mantissa: 7, exponent: exponent))
                try forge("byCost", id) { key in
                    key.appendPresent()
                    key.append(huge)
                    key.appendNil()
                    key.invert(from: key.bytes.count - 1)
                }
            }
            try forge("byCost", 5) { key in
                key.appendPresent()
                key.append(KeyDecimal.nan)
                key.appendNil()
                key.invert(from: key.bytes.count - 1)
            }
            try forge("byDigest", 9) { key in
                key.appendPresent()
                key.bytes += [1, 5, 0]
                key.appendNil()
                key.invert(from: key.bytes.count - 1)
            }
        }
        #expect(try Parcel.query().explain(.sum(\.cost), in: context).isCovering)
        #expect(try Parcel.query().sum(\.cost, in: context) == parcels.map(\.cost).reduce(0, +))
        #expect(try Parcel.query().aggregate(.countDistinct(\.digest), in: context) == 7)
    }

    @Test("explain of groups and of different values names the index that counts them")
    func explainedGroups() throws {
        let context = try parcels()
        let all = Parcel.query()
        let byOwner = try all.grouped(by: \.owner).aggregate(.count).explain(in: context)
        #expect(byOwner.access == .index(name: "byOwner", ranges: 1, entries: 154, reversed: false))
        #expect(byOwner.isCovering)
        let byCost = try all.grouped(by: \.cost).aggregate(.count).explain(in: context)
        #expect(byCost.access.description.contains("byCost") && byCost.isCovering)
        let fixed = Parcel.filter(\.cost == 1).grouped(by: \.owner).aggregate(.count)
        let plan = try fixed.explain(in: context)
        #expect(plan.access == .index(name: "byCost", ranges: 1, entries: 14, reversed: false) && plan.isCovering)
        #expect(try fixed.resolve(in: context).map(\.values).reduce(0, +) == 14)
        #expect(try all.explain(.countDistinct(\.owner), in: context).access.description.contains("byOwner"))
        // No index has the property, or none begins with it.
        let plain = try all.grouped(by: \.other).aggregate(.count).explain(in: context)
        #expect(plain.access == .rowScan(rows: 154) && !plain.isCovering)
        #expect(try !all.explain(.sum(\.price), in: context).isCovering)
        let tax = try all.grouped(by: \.tax).aggregate(.count).explain(in: context)
        #expect(tax.access.description.contains("byDigest") && tax.isCovering)
    }
}
