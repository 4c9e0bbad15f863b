// SPDX-License-Identifier: Apache-2.0
// Conditions on integer ids: rows are stored in the order of their ids, so a range of them is a range of rows.

import Hornbeam
import HornbeamTestSupport
import Testing

@testable import HornbeamEngine

@EntityModel
struct Numbered: Equatable {
    let id: Int
    var parity: Int
}

@EntityModel
struct SmallNumbered: Equatable {
    let id: UInt8
    var name: String
}

@Suite("A condition on integer ids")
struct IDRangeTests {
    private static func context(_ ids: [Int]) throws -> Context {
        var context = Context()
        for id in ids { try Numbered(id: id, parity: id & 1).save(to: &context) }
        return context
    }

    @Test("reads only the rows of its range, in their order")
    func ranges() throws {
        let context = try Self.context(Array(stride(from: 0, to: 300, by: 3)))
        let query = Numbered.filter(\.id >= 30 && \.id < 60)
        #expect(try query.ids(in: context) == Array(stride(from: 30, to: 60, by: 3)))
        let plan = try query.explain(in: context)
        #expect(plan.access == .idRange(rows: 10) && plan.filter == nil && plan.isCountKnown && plan.candidates == 10)
        #expect(plan.description.contains("range of 10 ids"))
        #expect(try query.count(in: context) == 10)
        let odd = Numbered.filter(\.id > 30 && \.parity == 1 && \.id <= 60)
        #expect(try odd.ids(in: context) == [33, 39, 45, 51, 57])
        #expect(try odd.explain(in: context).access == .idRange(rows: 10))
        #expect(try query.limit(3, offset: 2).ids(in: context) == [36, 39, 42])
        #expect(try query.sorted(by: \.parity.desc).limit(1).ids(in: context) == [33])
        #expect(try Numbered.filter(\.id == 33).ids(in: context) == [33])
        #expect(try Numbered.filter(\.id == 34).ids(in: context) == [])
        #expect(try Numbered.filter(\.id > 60 && \.id < 30).ids(in: context) == [])
        #expect(try Numbered.filter(\.id < -5).ids(in: context) == [])
        #expect(try Numbered.filter(\.id > .max).ids(in: context) == [])
    }

    @Test("finds ids that aren't row ids too, with any bounds", .seeded)
    func odd() throws {
        var random = SeededGenerator()
        let limit = 1 << 40
        var ids: Set<Int> = [0, 1, -1, .min, .max, limit - 1, limit, limit + 1]
        for _ in 0..<60 {
            ids.insert(random.oneIn(3) ? Int.random(in: .min ... .max, using: &random) : random.below(90))
        }
        let context = try Self.context(ids.sorted())
        let bounds = Array(ids) + [2, -2, 45, limit - 2, limit + 2]
        for _ in 0..<200 {
            let low = bounds[random.below(bounds.count)]
            let high = bounds[random.below(bounds.count)]
            func matches(_ condition: Hornbeam.Predicate<Numbered>) throws -> Set<Int> {
                Set(try Numbered.filter(condition).ids(in: context))
            }
            let found = [
                try matches(\.id >= low && \.id < high), try matches(\.id > low && \.id <= high),
                try matches(\.id > low),
                try matches(\.id <= high), try matches(\.id == low), try matches(\.id != low),
                try matches(\.id != low && \.id < high),
            ]
            let wanted = [
                ids.filter { $0 >= low && $0 < high }, ids.filter { $0 > low && $0 <= high }, ids.filter { $0 > low },
                ids.filter { $0 <= high }, ids.filter { $0 == low }, ids.filter { $0 != low },
                ids.filter { $0 != low && $0 < high },
            ]
            #expect(found == wanted, "\(low), \(high)")
        }
    }

    @Test("knows unsigned ids")
    func unsigned() throws {
        var context = Context()
        for id in UInt8(0)...200 { try SmallNumbered(id: id, name: "\(id)").save(to: &context) }
        #expect(try SmallNumbered.filter(\.id > 190).ids(in: context) == Array(191...200))
        #expect(try SmallNumbered.filter(\.id > 190).explain(in: context).access == .idRange(rows: 10))
        #expect(try SmallNumbered.filter(\.id <= 255).count(in: context) == 201)
    }
}
