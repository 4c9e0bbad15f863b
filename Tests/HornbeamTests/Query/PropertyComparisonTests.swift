// SPDX-License-Identifier: Apache-2.0
// Conditions that compare two properties of an entity: they agree with Swift's comparison, except for NaN and raw
// values, which are compared as they are stored.

import Foundation
import Hornbeam
import Testing

private enum Size: String, Codable, Comparable {
    case small, large
    static func < (left: Size, right: Size) -> Bool { left == .small && right == .large }
}

/// A type whose values are all equal, but are stored by their texts.
private struct Mark: RawRepresentable, Codable, Equatable, Sendable {
    var rawValue: String
    static func == (left: Mark, right: Mark) -> Bool { true }
}

@EntityModel
private struct Sample {
    @Index<Self>(\.low) private var byLow

    let id: Int
    var low = 0
    var high = 0
    var first: Double?
    var second: Double?
    var third = 0.0
    var size = Size.small
    var other = Size.small
    var mark = Mark(rawValue: "")
    var seal = Mark(rawValue: "")
    var text = ""
    var note: String?
    var decimal: Decimal?
    var limit: Decimal?

    @Relationship() var parent: Sample?

    var doubled: Int { low * 2 }
}

@Suite("Two properties of an entity")
struct PropertyComparisonTests {
    private let context: Context
    private let samples: [Sample]

    init() throws {
        var context = Context()
        let numbers: [Double?] = [nil, -1, 0, 2, .nan, .infinity]
        var samples: [Sample] = []
        for number in 0..<72 {
            let third = numbers[(number / 3) % 6] ?? 1
            samples.append(
                Sample(
                    id: number, low: number % 4, high: number % 3, first: numbers[number % 6],
                    second: numbers[number / 6 % 6], third: third, size: number % 2 == 0 ? .small : .large,
                    other: number % 3 == 0 ? .small : .large, mark: Mark(rawValue: "\(number % 2)"),
                    seal: Mark(rawValue: "\(number % 3)"), text: "\(number % 4)",
                    note: number % 5 == 0 ? nil : "\(number % 3)", decimal: number % 4 == 0 ? nil : Decimal(number % 5),
                    limit: number % 3 == 0 ? nil : Decimal(number % 7)))
        }
        try samples.save(to: &context)
        self.context = context
        self.samples = samples
    }

    private func expect(
        _ predicate: Hornbeam.Predicate<Sample>, at location: SourceLocation = #_sourceLocation,
        _ test: (Sample) -> Bool
    ) throws {
        let expected = samples.filter(test).map(\.id)
        #expect(try Sample.filter(predicate).ids(in: context) == expected, sourceLocation: location)
        // As a part of a condition that an index answers, and negated.
        let part = samples.filter { $0.low == 1 && test($0) }.map(\.id)
        #expect(try Sample.filter(\.low == 1 && predicate).ids(in: context) == part, sourceLocation: location)
        let rest = samples.filter { !test($0) }.map(\.id)
        #expect(try Sample.filter(!predicate).ids(in: context) == rest, sourceLocation: location)
        #expect(try Sample.filter(predicate).count(in: context) == expected.count, sourceLocation: location)
    }

    @Test("of one type are compared as Swift compares them")
    func plain() throws {
        try expect(\.low < \.high) { $0.low < $0.high }
        try expect(\.low <= \.high) { $0.low <= $0.high }
        try expect(\.low > \.high) { $0.low > $0.high }
        try expect(\.low >= \.high) { $0.low >= $0.high }
        try expect(\.low == \.high) { $0.low == $0.high }
        try expect(\.low != \.high) { $0.low != $0.high }
        try expect(\.doubled > \.high) { $0.low * 2 > $0.high }
        try expect(\.size < \.other) { $0.size < $0.other }
        try expect(\.size == \.other) { $0.size == $0.other }
        try expect(\.text == \.note) { $0.text == $0.note }
        try expect(\.note != \.text) { $0.text != $0.note }
    }

    @Test("Nil is equal to nil, and neither less nor greater than anything")
    func optional() throws {
        try expect(\.decimal < \.limit) { sample in
            sample.decimal.flatMap { decimal in sample.limit.map { decimal < $0 } } ?? false
        }
        try expect(\.decimal >= \.limit) { sample in
            sample.decimal.flatMap { decimal in sample.limit.map { decimal >= $0 } } ?? false
        }
        try expect(\.decimal == \.limit) { $0.decimal == $0.limit }
        try expect(\.decimal != \.limit) { $0.decimal != $0.limit }
        try expect(\.text < \.note) { sample in sample.note.map { sample.text < $0 } ?? false }
        try expect(\.note <= \.text) { sample in sample.note.map { $0 <= sample.text } ?? false }
        try expect(\.note > \.text) { sample in sample.note.map { $0 > sample.text } ?? false }
    }

    @Test("NaN equals NaN, and is greater than every number")
    func notANumber() throws {
        func order(_ left: Double, _ right: Double) -> Int {
            if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
            return left < right ? -1 : left > right ? 1 : 0
        }
        func order(_ left: Double?, _ right: Double?) -> Int? {
            left.flatMap { left in right.map { order(left, $0) } }
        }
        try expect(\.first < \.second) { order($0.first, $0.second).map { $0 < 0 } ?? false }
        try expect(\.first <= \.second) { order($0.first, $0.second).map { $0 <= 0 } ?? false }
        try expect(\.first > \.third) { order($0.first, $0.third).map { $0 > 0 } ?? false }
        try expect(\.third >= \.first) { order($0.third, $0.first).map { $0 >= 0 } ?? false }
        try expect(\.first == \.second) { sample in
            order(sample.first, sample.second).map { $0 == 0 } ?? (sample.first == nil && sample.second == nil)
        }
        try expect(\.first != \.third) { order($0.first, $0.third).map { $0 != 0 } ?? true }
    }

    @Test("Raw values decide whether two are equal, whether or not the type has its own ==")
    func rawValues() throws {
        try expect(\.mark == \.seal) { $0.mark.rawValue == $0.seal.rawValue }
        try expect(\.mark != \.seal) { $0.mark.rawValue != $0.seal.rawValue }
    }

    @Test("The plan names both; a path along a relation is refused before a row is read")
    func planAndRefusal() throws {
        let plan = try Sample.filter(\.low < \.high).explain(in: context)
        #expect("\(plan)".contains("low < ") && "\(plan)".contains("high"))
        let empty = Context()
        for predicate in [\Sample.$parent.id == \.low, \Sample.parent?.high == \.low] as [Hornbeam.Predicate<Sample>] {
            let error = #expect(throws: HornbeamError.self) { try Sample.filter(predicate).resolve(in: empty) }
            #expect(error?.code == .invalid && error?.message.contains("Sample.parent") == true)
        }
    }
}
