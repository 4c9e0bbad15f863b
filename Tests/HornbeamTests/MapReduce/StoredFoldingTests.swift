// SPDX-License-Identifier: Apache-2.0
// A reducer that folds values in their stored form gives the results of its own functions: every reducer of the
// library, over every type of numbers, with extremes and NaN among the values, for whole indexes and parts of them.

import Foundation
import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@EntityModel
private struct Reading {
    let id: Int
    var place = 0
    var bits: UInt64 = 0
    var isMissing = false
}

/// A number whose order differs from that of its stored form.
private struct Reversed: IndexKey, Comparable, Equatable {
    let number: Int
    static var columnType: ColumnType { .int64 }
    var columnValue: Value { .int(Int64(number)) }
    init(number: Int) { self.number = number }
    init?(columnValue: Value) {
        guard case .int(let number) = columnValue else { return nil }
        self.number = Int(number)
    }
    static func < (left: Self, right: Self) -> Bool { left.number > right.number }
}

/// Results as text, because NaN isn't equal to itself and its sign has no meaning.
private func text(_ result: Any) -> String { "\(result)".replacingOccurrences(of: "-nan", with: "nan") }

/// The result of an addition as text. The sum of two NaNs depends on the order of the operands, which the compiler
/// chooses.
private func sumText(_ result: Any) -> String { text(result).replacing(/nan\(0x[0-9a-f]+\)/, with: "nan") }

@Suite("Folding rows in their stored form")
struct StoredFoldingTests {
    private func verify<Reduce: Reducer>(
        _ reducer: Reduce, _ make: @escaping @Sendable (UInt64) -> Reduce.Value,
        isSame: (Reduce.Result, Reduce.Result) -> Bool, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let index = MapIndex("readings", version: "1", reducer: reducer) {
            (reading: Reading, emit: inout MapEmitter<Reduce.Value>) in
            emit(key: .int(reading.place), value: reading.isMissing ? nil : make(reading.bits))
        }
        let database = try Database.inMemory(models: Reading.self, indexes: [index])
        var random = SeededGenerator()
        let special: [UInt64] = [
            0, 1, .max, 1 << 63, (1 << 63) - 1, Double.nan.bitPattern, Double.infinity.bitPattern,
            (-Double.infinity).bitPattern, (-0.0).bitPattern, 1.5.bitPattern, 0x1p300.bitPattern,
        ]
        for _ in 0..<4 {
            try database.write { context in
                for _ in 0..<300 {
                    let bits = random.oneIn(40) ? special[random.below(special.count)] : UInt64(random.below(1 << 40))
                    let id = random.below(3_000)
                    try Reading(
                        id: id, place: random.below(1_000), bits: bits, isMissing: random.oneIn(9)
                    ).save(to: &context)
                }
            }
            try database.read { context in
                for _ in 0..<6 {
                    let bounds = [random.below(1_000), random.below(1_000)].sorted()
                    let query = index.query().range(from: .int(bounds[0]), to: .int(bounds[1]))
                    let rows = try query.resolve(in: context).map { (key: $0.key, value: $0.value) }
                    let wanted = try reducer.finish(reducer.map(rows: rows))
                    let found = try query.reduced().resolve(in: context)
                    #expect(isSame(found, wanted), "\(reducer.name): \(found), \(wanted)", sourceLocation: location)
                }
            }
            #expect(try database.check { Issue.record("\(reducer.name): \($0)", sourceLocation: location) })
        }
    }

    private func verify<Reduce: Reducer>(
        _ reducer: Reduce, _ make: @escaping @Sendable (UInt64) -> Reduce.Value,
        _ location: SourceLocation = #_sourceLocation
    ) throws where Reduce.Result: Equatable {
        try verify(reducer, make, isSame: { $0 == $1 || ($0 != $0 && text($0) == text($1)) }, location)
    }

    /// Verifies every reducer that chooses among values.
    private func verifyChoices<Value: ColumnValue & Comparable>(_ make: @escaping @Sendable (UInt64) -> Value) throws {
        try verify(ChosenValueReducer<Value>.min(), make)
        try verify(ChosenValueReducer<Value>.max(), make)
        try verify(ChosenValueReducer<Value>.first(), make)
        try verify(ChosenValueReducer<Value>.last(), make)
        // Compared as texts, because an array with NaN isn't equal to itself.
        try verify(TopReducer<Value>.top(3), make, isSame: { text($0) == text($1) })
        try verify(TopReducer<Value>.bottom(20), make, isSame: { text($0) == text($1) })
        try verify(TopReducer<Value>.top(0), make, isSame: { text($0) == text($1) })
    }

    private func verifyIntegers<Value: ColumnValue & FixedWidthInteger>(_: Value.Type) throws {
        let make: @Sendable (UInt64) -> Value = { Value(truncatingIfNeeded: $0) }
        // Sums that don't fit throw. A wide type can hold them all.
        if Value.bitWidth == 64 { try verify(IntegerSumReducer<Value>(), { make($0 & 0xFF_FFFF) }) }
        try verifyChoices(make)
    }

    @Test("sums and choices of signed integers")
    func signed() throws {
        try verifyIntegers(Int.self)
        try verifyIntegers(Int8.self)
        try verifyIntegers(Int32.self)
    }

    @Test("sums and choices of unsigned integers")
    func unsigned() throws {
        try verifyIntegers(UInt64.self)
        try verifyIntegers(UInt16.self)
    }

    @Test("choices of floating-point numbers, dates and texts, and of a type with an order of its own")
    func others() throws {
        try verifyChoices { Double(bitPattern: $0) }
        try verifyChoices { Float(bitPattern: UInt32(truncatingIfNeeded: $0)) }
        try verifyChoices { Date(timeIntervalSinceReferenceDate: Double($0 & 0xFFFF)) }
        try verifyChoices { "text \($0 & 0xFFFF)" }
        try verifyChoices { Reversed(number: Int(truncatingIfNeeded: $0)) }
    }

    @Test("sums, means and statistics, which are exact")
    func statistics() throws {
        let isSameSum: (Double?, Double?) -> Bool = { sumText($0 as Any) == sumText($1 as Any) }
        try verify(FloatingSumReducer(), { Double(bitPattern: $0) }, isSame: { isSameSum($0, $1) })
        try verify(FloatingSumReducer(), { Double($0) / 7 }, isSame: { isSameSum($0, $1) })
        func verifyStatistics<Value: StatisticalNumber>(_ make: @escaping @Sendable (UInt64) -> Value) throws {
            let isSame: (MapStatistics<Value>, MapStatistics<Value>) -> Bool = { sumText($0) == sumText($1) }
            try verify(StatisticsReducer<Value>(), make, isSame: isSame)
            try verify(AverageReducer<Value>(), make, isSame: { isSameSum($0, $1) })
            try verify(DeviationReducer<Value>(), make, isSame: { isSameSum($0, $1) })
        }
        try verifyStatistics { Int(truncatingIfNeeded: $0) }
        try verifyStatistics { Int32(truncatingIfNeeded: $0) }
        try verifyStatistics { Int64(bitPattern: $0) }
        try verifyStatistics { Double(Int64(bitPattern: $0)) / 3 }
        try verifyStatistics { Double(bitPattern: $0) }
    }

    @Test("estimates of distinct keys go by the keys, in every part and after every change")
    func distinct() throws {
        let index = MapIndex("distinct", version: "1", reducer: .distinctEstimate()) {
            (reading: Reading, emit: inout MapEmitter<Int>) in
            emit(key: [.string("key"), .int(reading.place)], value: reading.id)
        }
        let database = try Database.inMemory(models: Reading.self, indexes: [index])
        for step in 0..<4 {
            try database.write { context in
                for id in 0..<5_000 { try Reading(id: id, place: id % (100 + step * 900)).save(to: &context) }
            }
            let wanted = Double(100 + step * 900)
            try database.read { context in
                let found = Double(try index.query().reduced().resolve(in: context))
                #expect(abs(found - wanted) <= 0.2 * wanted)
                let part = Double(try index.query().prefix([.string("key")]).reduced().resolve(in: context))
                #expect(part == found)
                #expect(try index.query().key([.string("key"), .int(5)]).reduced().resolve(in: context) == 1)
            }
            #expect(try database.isWhole())
        }
    }

    @Test("the registers of an estimate are those that the reducer reads and writes")
    func registers() throws {
        var state = DistinctState()
        var registers = DistinctReducer<Int>().identity
        let reducer = DistinctReducer<Int>()
        for number in 0..<2_000 {
            let bytes = try MapKey.int(number).bytes(.binary)
            bytes.withUnsafeBytes { state.add(key: $0) }
            reducer.combine(&registers, with: reducer.map(key: .int(number), value: nil))
            if number % 100 == 0 {
                let stored = try #require(reducer.encode(registers))
                #expect(state.bytes == stored)
                var other = DistinctState()
                #expect(stored.withUnsafeBytes { other.add(partial: $0) } && other.bytes == stored)
            }
        }
        #expect(![UInt8](repeating: 0, count: 191).withUnsafeBytes { state.add(partial: $0) })
        // Six bits each, from the highest bit of the first byte on.
        let ascending = (0..<256).map { UInt8($0 & 63) }
        let packed = try #require(reducer.encode(ascending))
        #expect(packed.count == 192 && packed.prefix(6) == [0x00, 0x10, 0x83, 0x10, 0x51, 0x87])
        #expect(packed.withUnsafeBytes { reducer.decode($0) } == ascending)
        #expect(reducer.encode([1, 2, 3, 4]) == nil)
    }

    @Test("a value that its type no longer has fails the query, but no save", arguments: [true, false])
    func unknown(isChosen: Bool) throws {
        enum Colour: String, ColumnValue { case red, green }
        /// The type of the values when there was another colour.
        enum Former: String, ColumnValue { case red, green, blue }
        func index<Value: ColumnValue>(_ value: @escaping @Sendable (Reading) -> Value) -> MapIndex<
            Reading, Value, ChosenValueReducer<Value>
        > {
            MapIndex("colours", version: "1", reducer: .last()) { (reading: Reading, emit: inout MapEmitter<Value>) in
                emit(key: .int(reading.id), value: value(reading))
            }
        }
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [Reading.self], [])
        try database.register(index { $0.id == 1 ? Former.blue : .green })
        try database.write { context in
            try Reading(id: 1).save(to: &context)
            if !isChosen { try Reading(id: 2).save(to: &context) }
        }
        try database.close()
        database = try MigratedFile.open(disk, [Reading.self], [])
        let colours = index { $0.id > 2 ? Colour.red : .green }
        try database.register(colours)
        // Only with `isChosen` is the unknown value the last one.
        let code = codeThrown { try database.read { _ = try colours.query().reduced().resolve(in: $0) } }
        #expect(code == (isChosen ? .undecodable : nil))
        #expect(codeThrown { try database.read { _ = try colours.query().resolve(in: $0) } } == .undecodable)
        try database.write { context in try Reading(id: 3).save(to: &context) }
        #expect(try database.read { try colours.query().reduced().resolve(in: $0) } == .red)
    }
}
