// SPDX-License-Identifier: Apache-2.0
// Each built-in reducer keeps the laws of reducers exactly, and accepts any bytes as a partial result; violations in
// other reducers are found.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@Suite("Reducers")
struct ReducerTests {
    private func verify<Reduce: Reducer>(
        _ reducer: Reduce, _ values: [Reduce.Value?], _ location: SourceLocation = #_sourceLocation
    ) throws where Reduce.Result: Equatable & Sendable {
        let rows = values.enumerated().map { (key: MapKey.int($0.offset % 37), value: $0.element) }
        if let violation = try reducer.findViolation(in: rows, seed: SeededGenerator.seed) {
            Issue.record("\(reducer.name): \(violation)", sourceLocation: location)
        }
        if let bytes = reducer.encode(reducer.map(rows: rows)), reducer.partial(ofRows: 0) == nil {
            #expect(bytes.count <= reducer.room, "\(reducer.name)", sourceLocation: location)
        }
        // Any bytes give a partial result or none.
        var random = SeededGenerator()
        for size in 0..<300 {
            let partial = random.bytes(size).withUnsafeBytes { reducer.decode($0) }
            if let partial {
                var sum = partial
                reducer.combine(&sum, with: partial)
                _ = try? reducer.finish(sum)
                _ = reducer.encode(sum)
            }
        }
    }

    @Test("keep their laws for integers, extremes among them", .seeded)
    func integers() throws {
        var random = SeededGenerator()
        let values: [Int?] =
            (0..<1_500).map { _ in random.oneIn(9) ? nil : Int.random(in: -1_000_000...1_000_000, using: &random) }
            + [.max, .min, .max - 1, .min + 1, 0]
        try verify(CountReducer<Int>(), values)
        try verify(IntegerSumReducer<Int>(), values)
        try verify(StatisticsReducer<Int>(), values)
        try verify(AverageReducer<Int>(), values)
        try verify(ChosenValueReducer<Int>.min(), values)
        try verify(ChosenValueReducer<Int>.max(), values)
        try verify(ChosenValueReducer<Int>.first(), values)
        try verify(ChosenValueReducer<Int>.last(), values)
        try verify(TopReducer<Int>.top(5), values)
        try verify(TopReducer<Int>.bottom(20), values)
        try verify(DistinctReducer<Int>(), values)
    }

    @Test("keep their laws for doubles, sums being the same in every order", .seeded)
    func doubles() throws {
        var random = SeededGenerator()
        let values: [Double?] =
            (0..<1_500).map { _ in
                random.oneIn(9)
                    ? nil
                    : Double.random(in: -1...1, using: &random)
                        * Double(sign: .plus, exponent: random.below(40), significand: 1)
            }
            + [0.1, -0.0, 1e300, -1e300, 1e-300]
        try verify(FloatingSumReducer(), values)
        try verify(StatisticsReducer<Double>(), values.map { $0.map { abs($0) < 1e10 ? $0 : 1 } })
        try verify(AverageReducer<Double>(), values)
        try verify(ChosenValueReducer<Double>.max(), values)
        try verify(TopReducer<Double>.top(3), values)
    }

    @Test("NaN is above all numbers, and a sum of it is NaN")
    func nan() throws {
        let rows: [(key: MapKey, value: Double?)] = [(0, 1), (1, .nan), (2, .infinity), (3, -1)]
        #expect(ChosenValueReducer<Double>.max().map(rows: rows)?.isNaN == true)
        #expect(ChosenValueReducer<Double>.min().map(rows: rows) == -1)
        let top = TopReducer<Double>.top(2).map(rows: rows)
        #expect(top.count == 2 && top[0].isNaN && top[1] == .infinity)
        let sum = FloatingSumReducer()
        #expect(sum.finish(sum.map(rows: rows)).isNaN)
    }

    @Test("an unknown variance is NaN, and not 0")
    func unknownVariance() throws {
        let reducer = StatisticsReducer<Double>()
        func variance(_ values: [Double]) -> Double? {
            let rows = values.map { value -> (key: MapKey, value: Double?) in (.null, value) }
            return reducer.finish(reducer.map(rows: rows)).variance
        }
        #expect(variance([1e200, 3e200])?.isNaN == true)
        #expect(variance([1, .nan])?.isNaN == true)
        #expect(variance([1, .infinity])?.isNaN == true)
        #expect(variance([-.infinity, .infinity])?.isNaN == true)
        let great = try #require(variance([1e150, 3e150]))
        #expect(abs(great / 1e300 - 1) < 1e-12)
        #expect(variance([5, 5]) == 0)
    }

    @Test("a sum that doesn't fit an Int throws, unless only a partial sum doesn't fit; a million tenths are 100,000")
    func overflow() throws {
        let sum = IntegerSumReducer<Int>()
        let tooLarge = sum.map(rows: [(0, .max), (1, 1)])
        #expect(throws: HornbeamError.self) { try sum.finish(tooLarge) }
        #expect(try sum.finish(sum.map(rows: [(0, .max), (1, .max), (2, .min), (3, .min)])) == -2)
        let tenths = FloatingSumReducer()
        let rows = [(key: MapKey, value: Double?)](repeating: (0, 0.1), count: 1_000_000)
        #expect(tenths.finish(tenths.map(rows: rows)) == 100_000)
    }

    @Test("an estimate of distinct keys is near, and equal keys are one", arguments: [0, 1, 10, 200, 5_000, 100_000])
    func distinct(count: Int) {
        let reducer = DistinctReducer<Int>()
        var partial = reducer.identity
        for number in 0..<count {
            for _ in 0..<(count < 1000 ? 3 : 1) {
                let one = reducer.map(key: .string("key \(number)"), value: nil)
                reducer.combine(&partial, with: one)
            }
        }
        let estimate = Double(reducer.finish(partial))
        #expect(abs(estimate - Double(count)) <= max(1, 0.2 * Double(count)))
    }

    /// A reducer that forgets its earlier values when it combines.
    private struct Forgetful: Reducer {
        typealias Value = Int
        var name: String { "forgetful" }
        var identity: Int { 0 }
        func map(key: MapKey, value: Int?) -> Int { value ?? 0 }
        func combine(_ partial: inout Int, with next: Int) { partial = next == 0 ? partial : partial - next }
        func finish(_ partial: Int) -> Int { partial }
    }

    @Test("a function that is not associative is found, with few rows")
    func violation() throws {
        let rows = (1...50).map { (key: MapKey.int($0), value: Int?.some($0)) }
        let violation = try #require(try Forgetful().findViolation(in: rows))
        #expect(violation.rows.count <= 4 && violation.expected != violation.found)
    }
}
