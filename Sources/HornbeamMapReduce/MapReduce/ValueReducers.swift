// SPDX-License-Identifier: Apache-2.0
// Reducers that choose among values, an estimate of the number of distinct keys, and reduce functions in the form of
// other systems.

import HornbeamKeys
import HornbeamPages

extension Comparable {
    /// The order in which NaN is above all. By the type's own order NaN would have no position.
    fileprivate func precedes(_ other: Self) -> Bool {
        if self != self { return false }
        return other != other || self < other
    }

    /// The smaller value; the first one if they are equal.
    func least(_ other: Self) -> Self { other.precedes(self) ? other : self }
    func greatest(_ other: Self) -> Self { precedes(other) ? other : self }
}

/// Chooses one of the values of a range of rows: the least, the greatest, the first or the last. Rows without a value
/// don't count. The result is nil if there is no value.
public struct ChosenValueReducer<Value: ColumnValue>: Reducer, StoredReducer {
    /// The raw values are stored in files.
    enum Choice: String {
        case min, max, first, last
    }

    public var name: String { choice.rawValue }
    private let choice: Choice
    private let choose: @Sendable (Value, Value) -> Value

    init(_ choice: Choice, _ choose: @escaping @Sendable (Value, Value) -> Value) {
        self.choice = choice
        self.choose = choose
    }

    public var identity: Value? { nil }
    public var needsKeys: Bool { false }
    public func map(key: MapKey, value: Value?) -> Value? { value }
    public func finish(_ partial: Value?) -> Value? { partial }

    public func combine(_ partial: inout Value?, with next: Value?) {
        guard let next else { return }
        partial = partial.map { choose($0, next) } ?? next
    }

    func makeFolder() -> (any StoredFolder)? {
        switch choice {
        case .min, .max:
            StoredNumber(Value.self).map { AccumulatingFolder(ExtremeState($0, isLeast: choice == .min)) }
        // The stored bytes of an optional are the same for nil and for no value.
        case .first, .last:
            Value.columnType.isOptional ? nil : AccumulatingFolder(PlacedState(isFirst: choice == .first))
        }
    }
}

/// Collects the greatest or the least values of a range of rows, the most extreme first. Equal values are in the order
/// of their rows.
public struct TopReducer<Value: ColumnValue & Comparable>: Reducer, StoredReducer {
    private let count: Int
    private let isLeast: Bool

    init(_ count: Int, isLeast: Bool) {
        self.count = Swift.max(0, count)
        self.isLeast = isLeast
    }

    public var name: String { "\(isLeast ? "bottom" : "top").\(count)" }
    public var identity: [Value] { [] }
    public var needsKeys: Bool { false }
    /// Room for `count` values of the type's width, or of 20 bytes if the width varies.
    public var room: Int { Swift.min(250, 5 + Swift.min(250, count) * (Value.columnType.fixedWidth ?? 20)) }
    public func map(key: MapKey, value: Value?) -> [Value] { count == 0 ? [] : value.map { [$0] } ?? [] }
    public func finish(_ partial: [Value]) -> [Value] { partial }

    public func combine(_ partial: inout [Value], with next: [Value]) {
        var merged: [Value] = []
        var (left, right) = (partial[...], next[...])
        while merged.count < count, !(left.isEmpty && right.isEmpty) {
            guard let first = left.first else {
                merged.append(right.removeFirst())
                continue
            }
            if let second = right.first, isLeast ? second.precedes(first) : first.precedes(second) {
                merged.append(right.removeFirst())
            } else {
                merged.append(left.removeFirst())
            }
        }
        partial = merged
    }

    func makeFolder() -> (any StoredFolder)? {
        guard count > 0 else { return nil }
        return StoredNumber(Value.self).map { AccumulatingFolder(TopState($0, count: count, isLeast: isLeast)) }
    }
}

/// Estimates the number of distinct keys of a range of rows, by HyperLogLog with 256 registers. The standard error is
/// 6.5 %, and less for few keys.
public struct DistinctReducer<Value: ColumnValue>: Reducer, StoredReducer {
    public var name: String { "distinct.256.2" }
    /// The registers, each in the lower six bits of a byte.
    public var identity: [UInt8] { [UInt8](repeating: 0, count: DistinctState.registers) }
    public var room: Int { DistinctState.size }
    public init() {}

    public func map(key: MapKey, value: Value?) -> [UInt8] {
        var registers = identity
        let hash = ((try? key.bytes(.binary)) ?? []).withUnsafeBytes { DistinctState.hash($0) }
        registers[Int(hash & 0xFF)] = UInt8(truncatingIfNeeded: DistinctState.rank(hash))
        return registers
    }

    public func combine(_ partial: inout [UInt8], with next: [UInt8]) {
        for place in partial.indices where next[place] > partial[place] { partial[place] = next[place] }
    }

    public func finish(_ partial: [UInt8]) -> Int {
        let count = Double(DistinctState.registers)
        let sum = partial.reduce(0.0) { $0 + Double(sign: .plus, exponent: -Int($1), significand: 1) }
        let estimate = 0.7213 / (1 + 1.079 / count) * count * count / sum
        let empty = partial.count { $0 == 0 }
        // For few keys, the number of empty registers is a better estimate.
        guard estimate <= 2.5 * count, empty > 0 else { return Int(Swift.min(estimate, 0x1p62).rounded()) }
        return Int((count * Self.naturalLogarithm(count / Double(empty))).rounded())
    }

    /// The logarithm of a number from 1 to 256, by the series of artanh.
    private static func naturalLogarithm(_ number: Double) -> Double {
        let fraction = (number.significand - 1) / (number.significand + 1)
        var (sum, power) = (0.0, fraction)
        for place in 0..<24 {
            sum += power / Double(2 * place + 1)
            power *= fraction * fraction
        }
        return 2 * sum + Double(number.exponent) * 0.693147180559945309417
    }

    public func encode(_ partial: [UInt8]) -> [UInt8]? { DistinctState(registers: partial)?.bytes }

    public func decode(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var state = DistinctState()
        return state.add(partial: bytes) ? state.registerBytes : nil
    }

    func makeFolder() -> (any StoredFolder)? { AccumulatingFolder(DistinctState()) }
}

/// A reduce function in the form of CouchDB and the Indexer protocol: it gets keys and values of rows, or, if
/// `rereduce` is true, no keys and the results of former calls. A function that counts must then add results up;
/// `findViolation` finds one that doesn't.
public struct ReduceFunction: Reducer {
    public typealias Function = @Sendable (_ keys: [MapKey], _ values: [MapKey], _ rereduce: Bool) -> MapKey

    public let name: String
    public let room: Int
    private let function: Function

    /// - Parameters:
    ///   - name: identifies the function in the file; must change when the function does.
    ///   - room: maximum number of bytes of a stored result, 0 to 250. Larger results aren't stored, and queries
    ///     compute them from the rows.
    ///   - function: computes a result from rows or, if `rereduce` is true, from earlier results.
    public init(_ name: String, room: Int = 60, _ function: @escaping Function) {
        self.name = "function.\(name)"
        self.room = room
        self.function = function
    }

    /// The partial of no rows: nil.
    public var identity: MapKey? { nil }
    public func map(key: MapKey, value: MapKey?) -> MapKey? { function([key], [value ?? .null], false) }
    public func map(rows: [(key: MapKey, value: MapKey?)]) -> MapKey? {
        rows.isEmpty ? nil : function(rows.map(\.key), rows.map { $0.value ?? .null }, false)
    }

    public func combine(_ partial: inout MapKey?, with next: MapKey?) {
        guard let next else { return }
        partial = partial.map { function([], [$0, next], true) } ?? next
    }

    /// Returns the result of the function, or null if there are no rows.
    public func finish(_ partial: MapKey?) -> MapKey { partial ?? .null }
}

extension Reducer {
    /// The least value; NaN is above all numbers.
    public static func min<Value: Comparable>() -> Self where Self == ChosenValueReducer<Value> {
        ChosenValueReducer(.min) { $0.least($1) }
    }
    /// The greatest value.
    public static func max<Value: Comparable>() -> Self where Self == ChosenValueReducer<Value> {
        ChosenValueReducer(.max) { $0.greatest($1) }
    }
    /// The value of the first row that has one. Rows whose keys have their first 985 bytes in common have no order
    /// here: any of them may be the first.
    public static func first<Value>() -> Self where Self == ChosenValueReducer<Value> {
        ChosenValueReducer(.first) { first, _ in first }
    }
    /// The value of the last row that has one. Rows whose keys have their first 985 bytes in common have no order here:
    /// any of them may be the last.
    public static func last<Value>() -> Self where Self == ChosenValueReducer<Value> {
        ChosenValueReducer(.last) { _, last in last }
    }
    /// The greatest values, the greatest first.
    public static func top<Value>(_ count: Int) -> Self where Self == TopReducer<Value> {
        TopReducer(count, isLeast: false)
    }
    /// The least values, the least first.
    public static func bottom<Value>(_ count: Int) -> Self where Self == TopReducer<Value> {
        TopReducer(count, isLeast: true)
    }
    /// An estimate of the number of distinct keys, with a standard error of 6.5 %.
    public static func distinctEstimate<Value>() -> Self where Self == DistinctReducer<Value> { DistinctReducer() }
}
