// SPDX-License-Identifier: Apache-2.0
// Lists that are sorted in memory have the order of Swift's sort. They are long enough for each of the ways to sort.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Parcel: Equatable {
    @Index<Self>(\.weight) private var byWeight

    let id: Int
    var weight: Int
    var price: Double?
    var street: String
    var note: String?
    /// Not stored, so that only Swift knows this order.
    var reversed: String { String(street.reversed()) }
}

@Suite("Lists sorted in memory")
struct SortedListsTests {
    private static func parcels(_ count: Int, _ random: inout SeededGenerator) -> [Parcel] {
        var ids = Set<Int>()
        while ids.count < count { ids.insert(random.below(10 * count) - count) }
        let prices: [Double?] = [nil, -0.0, 0, .nan, .infinity, -1.5, 3]
        return ids.sorted().map { id in
            let street = "A long street with a name \(random.below(40))" + (random.oneIn(3) ? "é" : "")
            return Parcel(
                id: id, weight: random.below(count / 3), price: random.oneIn(2) ? prices[random.below(7)] : Double(id),
                street: street, note: random.oneIn(3) ? nil : "\(random.below(5))")
        }
    }

    /// Returns a negative number if `left` comes first. NaN comes after all numbers, nil before them.
    private static func order(_ left: Double?, _ right: Double?) -> Int {
        func rank(_ price: Double?) -> Int { price == nil ? 0 : price?.isNaN ?? false ? 2 : 1 }
        if rank(left) != rank(right) { return rank(left) - rank(right) }
        guard let left, let right, !left.isNaN else { return 0 }
        return left < right ? -1 : left > right ? 1 : 0
    }

    private static func order(_ left: String?, _ right: String?) -> Int {
        guard let left, let right else { return (left == nil ? 0 : 1) - (right == nil ? 0 : 1) }
        return left == right ? 0 : left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars) ? -1 : 1
    }

    private static func sorted(_ parcels: [Parcel], _ order: (Parcel, Parcel) -> Int) -> [Parcel] {
        // The row ids of negative ids come after all others, in the order in which they were assigned.
        parcels.enumerated().sorted { left, right in
            let found = order(left.element, right.element)
            if found != 0 { return found < 0 }
            let (first, second) = (left.element.id, right.element.id)
            if (first < 0) != (second < 0) { return second < 0 }
            return first < 0 ? left.offset < right.offset : first < second
        }.map(\.element)
    }

    @Test("come in the order of their properties, ties by rows, whichever columns are read", .seeded)
    func orders() throws {
        var random = SeededGenerator()
        for count in [40, 700, 3_000] {
            let parcels = Self.parcels(count, &random)
            let database = try Database.inMemory(models: Parcel.self)
            try database.write { context in for parcel in parcels { try parcel.save(to: &context) } }
            try database.read { (context) throws in
                func check(_ name: String, _ query: QueryList<Parcel>, _ order: (Parcel, Parcel) -> Int) throws {
                    let expected = Self.sorted(parcels, order)
                    let ids = expected.map(\.id)
                    let found = try query.resolve(in: context)
                    #expect(found.map(\.id) == ids, "\(name) of \(count)")
                    #expect(found.map(\.street) == expected.map(\.street))
                    #expect(try query.ids(in: context) == ids, "ids \(name) of \(count)")
                    for limit in [1, 7, count / 2, count + 1] {
                        let offset = random.below(count)
                        #expect(
                            try query.limit(limit, offset: offset).ids(in: context)
                                == Array(ids.dropFirst(offset).prefix(limit)), "\(name) \(limit) \(offset)")
                    }
                    let place = random.below(count)
                    #expect(
                        try query.after(expected[place]).resolve(in: context).map(\.id)
                            == Array(ids.dropFirst(place + 1)), "after \(name) of \(count)")
                    let some = try query.filter(\.weight < count / 9).resolve(in: context)
                    #expect(some.map(\.id) == expected.filter { $0.weight < count / 9 }.map(\.id))
                }
                try check("weight", Parcel.query().sorted(by: \.weight)) { $0.weight - $1.weight }
                try check("weight desc", Parcel.query().sorted(by: \.weight.desc)) { $1.weight - $0.weight }
                try check("price", Parcel.query().sorted(by: \.price)) { Self.order($0.price, $1.price) }
                try check("price desc", Parcel.query().sorted(by: \.price.desc)) { Self.order($1.price, $0.price) }
                try check("street", Parcel.query().sorted(by: \.street)) { Self.order($0.street, $1.street) }
                try check("note desc, weight", Parcel.query().sorted(by: \.note.desc, \.weight)) {
                    let order = Self.order($1.note, $0.note)
                    return order == 0 ? $0.weight - $1.weight : order
                }
                try check("reversed", Parcel.query().sorted(by: \.reversed)) { Self.order($0.reversed, $1.reversed) }
            }
        }
    }

    @Test("a statement sorts by the values of expressions, unknown ones where the statement says", .seeded)
    func expressions() throws {
        var random = SeededGenerator()
        let parcels = Self.parcels(1_200, &random)
        let database = try Database.inMemory(models: Parcel.self)
        try database.write { context in for parcel in parcels { try parcel.save(to: &context) } }
        func ids(_ order: String) throws -> [Int] {
            try database.read { context in
                try Statement("SELECT id FROM Parcel ORDER BY \(order)").resolve(in: context).compactMap { $0.id }
            }
        }
        let up = Self.sorted(parcels) { $0.weight % 7 - $1.weight % 7 }
        #expect(try ids("weight % 7") == up.map(\.id))
        #expect(try ids("weight % 7 LIMIT 30 OFFSET 500") == up[500..<530].map(\.id))
        let last = Self.sorted(parcels) { left, right in
            if (left.note == nil) != (right.note == nil) { return left.note == nil ? 1 : -1 }
            let order = Self.order(right.note, left.note)
            return order == 0 ? left.weight - right.weight : order
        }
        #expect(try ids("note DESC NULLS LAST, weight + 0") == last.map(\.id))
        let first = Self.sorted(parcels) { left, right in
            if (left.note == nil) != (right.note == nil) { return left.note == nil ? -1 : 1 }
            return Self.order(right.note, left.note)
        }
        #expect(try ids("note || '' DESC NULLS FIRST") == first.map(\.id))
    }
}

extension ResultRow {
    fileprivate var id: Int? { if case .int(let number)? = self["id"] { Int(number) } else { nil } }
}
