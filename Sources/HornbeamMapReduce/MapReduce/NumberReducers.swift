// SPDX-License-Identifier: Apache-2.0
// The reducers of numbers: counts, sums, averages, statistics. Sums are exact whatever the shape of the tree: integers
// are added in 128 bits, floating-point numbers as `FloatingSummation` does, rounded once at the end.

import HornbeamPages

/// Counts rows. Branches store nothing for it: trees know their numbers of entries.
public struct CountReducer<Value: ColumnValue>: Reducer {
    public var name: String { "count" }
    public var identity: Int { 0 }
    public var needsKeys: Bool { false }
    public init() {}
    public func map(key: MapKey, value: Value?) -> Int { 1 }
    public func combine(_ partial: inout Int, with next: Int) { partial &+= next }
    public func finish(_ partial: Int) -> Int { partial }
    public func partial(ofRows count: Int) -> Int? { count }
}

/// Adds up integers. Rows without a value add nothing.
public struct IntegerSumReducer<Value: ColumnValue & FixedWidthInteger>: Reducer, StoredReducer {
    public var name: String { "sum" }
    public var identity: IntegerSummation<Value> { IntegerSummation() }
    public var room: Int { 16 }
    public var needsKeys: Bool { false }
    public init() {}

    public func map(key: MapKey, value: Value?) -> IntegerSummation<Value> {
        var sum = IntegerSummation<Value>()
        if let value { sum.add(value) }
        return sum
    }

    public func combine(_ partial: inout IntegerSummation<Value>, with next: IntegerSummation<Value>) {
        // The sum of numbers of 64 bits can't wrap; one read from a damaged file may.
        partial.exact &+= next.exact
    }

    /// Returns the sum. Throws `.invalid` if it doesn't fit `Value`.
    public func finish(_ partial: IntegerSummation<Value>) throws -> Value { try partial.total() }

    public func encode(_ partial: IntegerSummation<Value>) -> [UInt8]? {
        withUnsafeBytes(of: partial.exact.littleEndian) { Array($0) }
    }

    public func decode(_ bytes: UnsafeRawBufferPointer) -> IntegerSummation<Value>? {
        guard bytes.count == 16 else { return nil }
        var sum = IntegerSummation<Value>()
        sum.exact = Int128(littleEndian: bytes.loadUnaligned(as: Int128.self))
        return sum
    }

    func makeFolder() -> (any StoredFolder)? {
        StoredNumber(Value.self).map { AccumulatingFolder(IntegerSumState($0)) }
    }
}

/// Adds up doubles exactly, and rounds the sum once. Rows without a value add nothing.
public struct FloatingSumReducer: Reducer, StoredReducer {
    public var name: String { "sum" }
    public var identity: FloatingSummation { FloatingSummation() }
    public var needsKeys: Bool { false }
    public init() {}

    public func map(key: MapKey, value: Double?) -> FloatingSummation {
        var sum = FloatingSummation()
        if let value { sum.add(value) }
        return sum
    }

    public func combine(_ partial: inout FloatingSummation, with next: FloatingSummation) { partial.add(next) }
    public func finish(_ partial: FloatingSummation) -> Double { partial.total() }
    public func encode(_ partial: FloatingSummation) -> [UInt8]? { partial.bytes }
    public func decode(_ bytes: UnsafeRawBufferPointer) -> FloatingSummation? { FloatingSummation(bytes) }

    func makeFolder() -> (any StoredFolder)? { AccumulatingFolder(FloatingSumState()) }
}

/// A number of which statistics can be made.
public protocol StatisticalNumber: ColumnValue, Comparable {
    /// Two doubles whose exact sum is the number, the greater one first. The second is 0 if one double is enough.
    var exactParts: (Double, Double) { get }
}

extension StatisticalNumber where Self: FixedWidthInteger {
    public var exactParts: (Double, Double) {
        let nearest = Double(self)
        return (nearest, Double(Int128(self) - Int128(nearest)))
    }
}

extension Int: StatisticalNumber {}
extension Int64: StatisticalNumber {}
extension Int32: StatisticalNumber {}
extension Double: StatisticalNumber {
    public var exactParts: (Double, Double) { (self, 0) }
}

/// Statistics of the values of some rows. Rows without a value don't count.
public struct MapStatistics<Value: Sendable & Equatable>: Sendable, Equatable {
    public let count: Int
    public let sum: Double
    public let sumOfSquares: Double
    /// The least value, nil if there is no value. NaN is above all numbers.
    public let min: Value?
    public let max: Value?

    /// The mean, nil if there is no value.
    public var mean: Double? { count == 0 ? nil : sum / Double(count) }
    /// The mean square of the distances from the mean, nil if there is no value. It is NaN if one of the values is NaN
    /// or infinite, or if the sum of their squares is greater than all doubles (values from about 1e154 on).
    public let variance: Double?
    /// The root of the variance, nil if there is no value.
    public var standardDeviation: Double? { variance?.squareRoot() }
}

/// Count, sum, sum of squares, least and greatest value. Sums are exact until the end, and then rounded once.
public struct StatisticsReducer<Value: StatisticalNumber>: Reducer, StoredReducer {
    public struct Partial {
        var count = 0
        var sum = FloatingSummation()
        var squares = FloatingSummation()
        var extremes: (min: Value, max: Value)?

        /// The mean square of the distances from the mean, nil if there are no values. It is computed from the exact
        /// sums, so that it is right even if it is far smaller than the square of the mean: Σx² − 2m·Σx + n·m² for m
        /// near the mean, less the error of m, (Σx − n·m)² / n. It is NaN if a square is no finite number.
        var variance: Double? {
            guard count > 0 else { return nil }
            let mean = sum.mean(of: count)
            var rest = sum
            let nearest = sum.total()
            rest.add(-nearest)
            var distances = squares
            distances.add(-2 * mean, times: nearest)
            distances.add(-2 * mean, times: rest.total())
            let square = mean * mean
            distances.add(Double(count), times: square)
            distances.add(Double(count), times: (-square).addingProduct(mean, mean))
            var off = sum
            off.add(-Double(count), times: mean)
            let offset = off.total()
            let total = distances.total() - offset * offset / Double(count)
            // `max` would make 0 of NaN, which is the result for infinite values, and for squares beyond all doubles.
            return total.isNaN || !squares.total().isFinite ? .nan : Swift.max(0, total) / Double(count)
        }
    }

    public var name: String { "stats.2" }
    public var identity: Partial { Partial() }
    public var room: Int { 200 }
    public var needsKeys: Bool { false }
    public init() {}

    public func map(key: MapKey, value: Value?) -> Partial {
        guard let value else { return Partial() }
        var partial = Partial(count: 1, extremes: (value, value))
        let (great, small) = value.exactParts
        partial.sum.add(great)
        partial.squares.add(great, times: great)
        if small != 0 {
            partial.sum.add(small)
            partial.squares.add(2 * great, times: small)
            partial.squares.add(small, times: small)
        }
        return partial
    }

    public func combine(_ partial: inout Partial, with next: Partial) {
        partial.count &+= next.count
        partial.sum.add(next.sum)
        partial.squares.add(next.squares)
        guard let theirs = next.extremes else { return }
        guard let ours = partial.extremes else {
            partial.extremes = theirs
            return
        }
        partial.extremes = (ours.min.least(theirs.min), ours.max.greatest(theirs.max))
    }

    public func finish(_ partial: Partial) -> MapStatistics<Value> {
        MapStatistics(
            count: partial.count, sum: partial.sum.total(), sumOfSquares: partial.squares.total(),
            min: partial.extremes?.min, max: partial.extremes?.max, variance: partial.variance)
    }

    public func encode(_ partial: Partial) -> [UInt8]? {
        var isEncoded = true
        func append(_ extreme: Value?, to bytes: inout [UInt8]) {
            guard let extreme else { return }
            isEncoded = ValueBytes.append(extreme.columnValue, as: Value.columnType, to: &bytes) && isEncoded
        }
        let bytes = StoredStatistics.bytes(partial.count) { part, bytes in
            switch part {
            case .least: append(partial.extremes?.min, to: &bytes)
            case .greatest: append(partial.extremes?.max, to: &bytes)
            case .sum: bytes += partial.sum.bytes
            case .squares: bytes += partial.squares.bytes
            }
        }
        return isEncoded ? bytes : nil
    }

    public func decode(_ bytes: UnsafeRawBufferPointer) -> Partial? {
        guard let stored = StoredStatistics(bytes), let sum = FloatingSummation(stored.sum),
            let squares = FloatingSummation(stored.squares)
        else { return nil }
        var partial = Partial(count: stored.count, sum: sum, squares: squares)
        if partial.count > 0 {
            let extremes = [stored.least, stored.greatest].compactMap { part in
                ValueBytes.decode(part, as: Value.columnType).flatMap { Value(columnValue: $0) }
            }
            guard extremes.count == 2 else { return nil }
            partial.extremes = (extremes[0], extremes[1])
        }
        return partial
    }

    func makeFolder() -> (any StoredFolder)? { makeFolder(hasSquares: true) }

    /// - Parameter hasSquares: false if only the sum is needed.
    fileprivate func makeFolder(hasSquares: Bool) -> (any StoredFolder)? {
        guard let number = StoredNumber(Value.self) else { return nil }
        switch number.kind {
        case .signed: return AccumulatingFolder(IntegerStatisticsState(number, hasSquares: hasSquares))
        case .double: return AccumulatingFolder(FloatingStatisticsState(hasSquares: hasSquares))
        case .unsigned, .float: return nil
        }
    }

    // The default is based on the bytes, which have no room for the sums of numbers of very different sizes.
    func partial(of folder: any StoredFolder) -> Partial {
        var partial = Partial()
        var extremes: (Hornbeam.Value, Hornbeam.Value)?
        if let state = (folder as? AccumulatingFolder<IntegerStatisticsState>)?.state {
            partial.count = state.count
            (partial.sum, partial.squares) = state.sums
            extremes = (.int(state.least), .int(state.greatest))
        } else if let state = (folder as? AccumulatingFolder<FloatingStatisticsState>)?.state {
            partial.count = state.count
            (partial.sum, partial.squares) = (state.sum, state.squares)
            extremes = (.double(state.least), .double(state.greatest))
        }
        if partial.count > 0, let extremes, let min = Value(columnValue: extremes.0),
            let max = Value(columnValue: extremes.1)
        {
            partial.extremes = (min, max)
        }
        return partial
    }
}

/// Computes the mean of the values, nil if there are none. The sum is exact; the mean is rounded once.
public struct AverageReducer<Value: StatisticalNumber>: Reducer, StoredReducer {
    public typealias Partial = StatisticsReducer<Value>.Partial

    private let statistics = StatisticsReducer<Value>()
    public var name: String { "average.2" }
    public var identity: Partial { statistics.identity }
    public var room: Int { 80 }
    public var needsKeys: Bool { false }
    public init() {}

    public func map(key: MapKey, value: Value?) -> Partial {
        var partial = statistics.map(key: key, value: value)
        partial.squares = FloatingSummation()
        return partial
    }

    public func combine(_ partial: inout Partial, with next: Partial) {
        statistics.combine(&partial, with: next)
    }

    public func finish(_ partial: Partial) -> Double? {
        partial.count == 0 ? nil : partial.sum.mean(of: partial.count)
    }

    public func encode(_ partial: Partial) -> [UInt8]? { statistics.encode(partial) }
    public func decode(_ bytes: UnsafeRawBufferPointer) -> Partial? { statistics.decode(bytes) }

    func makeFolder() -> (any StoredFolder)? { statistics.makeFolder(hasSquares: false) }
    func partial(of folder: any StoredFolder) -> Partial { statistics.partial(of: folder) }
}

/// Computes the standard deviation of all values, not that of a sample. It is nil if there are no values.
public struct DeviationReducer<Value: StatisticalNumber>: Reducer, StoredReducer {
    public typealias Partial = StatisticsReducer<Value>.Partial

    private let statistics = StatisticsReducer<Value>()
    public var name: String { "stddev.2" }
    public var identity: Partial { statistics.identity }
    public var room: Int { statistics.room }
    public var needsKeys: Bool { false }
    public init() {}
    public func map(key: MapKey, value: Value?) -> Partial { statistics.map(key: key, value: value) }
    public func combine(_ partial: inout Partial, with next: Partial) { statistics.combine(&partial, with: next) }
    public func finish(_ partial: Partial) -> Double? { partial.variance?.squareRoot() }
    public func encode(_ partial: Partial) -> [UInt8]? { statistics.encode(partial) }
    public func decode(_ bytes: UnsafeRawBufferPointer) -> Partial? { statistics.decode(bytes) }

    func makeFolder() -> (any StoredFolder)? { statistics.makeFolder() }
    func partial(of folder: any StoredFolder) -> Partial { statistics.partial(of: folder) }
}

extension Reducer {
    /// The number of rows.
    public static func count<Value>() -> Self where Self == CountReducer<Value> { CountReducer() }
    /// The sum of integers; throws `.invalid` if it doesn't fit their type.
    public static func sum<Value>() -> Self where Self == IntegerSumReducer<Value> { IntegerSumReducer() }
    /// The sum of doubles, rounded once.
    public static func sum() -> Self where Self == FloatingSumReducer { FloatingSumReducer() }
    /// The mean, nil if there are no values.
    public static func average<Value>() -> Self where Self == AverageReducer<Value> { AverageReducer() }
    /// The standard deviation of all values, not that of a sample. It is nil if there are no values, and NaN if the
    /// variance is.
    public static func stddev<Value>() -> Self where Self == DeviationReducer<Value> { DeviationReducer() }
    /// Count, sum, sum of squares, least and greatest value.
    public static func stats<Value>() -> Self where Self == StatisticsReducer<Value> { StatisticsReducer() }
}
