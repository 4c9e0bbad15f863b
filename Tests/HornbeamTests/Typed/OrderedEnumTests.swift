// SPDX-License-Identifier: Apache-2.0
// Enums with an order: their own one, which requires decoding entities, or that of their raw values, which an index
// has.

import Hornbeam
import Testing
@testable import HornbeamEngine

/// Ordered by size, unlike the raw values.
private enum Size: String, Comparable, CaseIterable, Sendable {
    case small, middle, large

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    static func < (left: Size, right: Size) -> Bool { left.rank < right.rank }
}

/// Ordered by size, unlike the raw values, whose type has a NaN.
private enum Weight: Double, Codable, Comparable, CaseIterable, Sendable {
    case heavy = 1
    case light = 2

    static func < (left: Weight, right: Weight) -> Bool { left.rawValue > right.rawValue }
}

@EntityModel
private struct Crate {
    let id: Int
    var weight: Weight
    var least: Weight?
    var pieces: [Weight]
}

private enum Level: Int, Comparable, CaseIterable, Sendable {
    case low = 1, high = 5, top = 9

    static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
}

/// Its order is that of its raw values: no further declaration is needed.
extension Level: IndexKey {}

@EntityModel
private struct Parcel {
    @Index<Self>(\.size) private var bySize
    @Index<Self>(\.level) private var byLevel
    @Index<Self>(\.next) private var byNext

    let id: Int
    var size: Size
    var level: Level
    var next: Level?
}

@Suite("Enums with an order")
struct OrderedEnumTests {
    private let context: Context

    init() throws {
        var context = Context()
        for id in 0..<300 {
            try Parcel(
                id: id, size: Size.allCases[id % 30 == 29 ? 2 : id % 2],
                level: Level.allCases[id % 30 == 29 ? 2 : id % 2],
                next: id % 4 == 0 ? nil : Level.allCases[(id + 1) % 3]
            ).save(to: &context)
        }
        self.context = context
    }

    private func expect(
        _ list: QueryList<Parcel>, filter: (Parcel) -> Bool = { _ in true },
        sort: (Parcel, Parcel) -> Bool, _ place: SourceLocation = #_sourceLocation
    ) throws {
        let all: [Parcel] = try context.all()
        let right = all.filter(filter).sorted { sort($0, $1) || (!sort($1, $0) && $0.id < $1.id) }
        #expect(try list.ids(in: context) == right.map(\.id), sourceLocation: place)
    }

    @Test("of their own are used in sorts and comparisons, although the index has the order of raw values")
    func own() throws {
        try expect(Parcel.query().sorted(by: \.size)) { $0.size < $1.size }
        try expect(Parcel.query().sorted(by: \.size.desc)) { $0.size > $1.size }
        try expect(Parcel.filter(\.size > .small), filter: { $0.size > .small }) { _, _ in false }
        let found = try Parcel.filter(\.size == .large).explain(in: context)
        #expect(found.access == .index(name: "bySize", ranges: 1, entries: 10, reversed: false))
    }

    @Test("of their own are used in comparisons too if the raw values are floating-point numbers")
    func floating() throws {
        var context = Context()
        for (id, weight) in Weight.allCases.enumerated() {
            try Crate(id: id, weight: weight, least: weight, pieces: [weight]).save(to: &context)
        }
        try Crate(id: 2, weight: .light, least: nil, pieces: []).save(to: &context)
        func ids(_ predicate: Hornbeam.Predicate<Crate>) throws -> [Int] {
            try Crate.filter(predicate).ids(in: context)
        }
        #expect(try ids(\.weight < .heavy) == [1, 2] && ids(\.weight > .light) == [0])
        #expect(try ids(\.weight <= .light) == [1, 2] && ids(\.weight >= .light) == [0, 1, 2])
        #expect(try ids(\.weight == .heavy) == [0] && ids(\.weight != .heavy) == [1, 2])
        #expect(try ids(\.least < .heavy) == [1] && ids(\.least >= .heavy) == [0])
        #expect(try ids(.any(\.pieces) { $0 < .heavy }) == [1] && ids(.any(\.pieces) { $0 > .light }) == [0])
        #expect(try Crate.query().sorted(by: \.weight).ids(in: context) == [1, 2, 0])
    }

    @Test("of their raw values come from an index, once they declare that they are index keys")
    func raw() throws {
        try expect(Parcel.query().sorted(by: \.level)) { $0.level < $1.level }
        try expect(Parcel.query().sorted(by: \.level.desc)) { $0.level > $1.level }
        try expect(Parcel.filter(\.level >= .high), filter: { $0.level >= .high }) { _, _ in false }
        try expect(Parcel.filter(\.next < .top), filter: { $0.next.map { $0 < .top } ?? false }) { _, _ in false }
        let found = try Parcel.filter(\.level > .high).explain(in: context)
        #expect(found.access == .index(name: "byLevel", ranges: 1, entries: 10, reversed: false))
        let first = Parcel.query().sorted(by: \.level.desc).limit(3)
        #expect(
            try first.explain(in: context).access == .index(name: "byLevel", ranges: 1, entries: 300, reversed: true))
        #expect(try first.ids(in: context) == [29, 59, 89])
    }
}
