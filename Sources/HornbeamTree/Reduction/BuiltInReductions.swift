// SPDX-License-Identifier: Apache-2.0
// Reductions of numbers at a fixed offset in the values: sums, extremes, statistics. Values too short for the number
// don't count, and neither does NaN.

import HornbeamPages

/// A kind of number that the built-in reductions know. Little-endian in values.
package protocol ReducedNumber: Comparable, Sendable {
    /// Part of the reductions' names, so it must never change.
    static var reductionName: String { get }
    static var storedSize: Int { get }
    /// The type that holds the sum: exact for integers.
    associatedtype Sum: BitwiseCopyable & Sendable & AdditiveArithmetic
    var asSum: Sum { get }
    /// Adds two sums. It must accept any two: the file may have a sum that no values have.
    static func add(_ a: Sum, _ b: Sum) -> Sum
    /// Reads a number. Returns nil if the bytes are not a number.
    static func load(_ bytes: UnsafeRawPointer) -> Self?
    func store(to bytes: UnsafeMutableRawPointer)
}

extension ReducedNumber where Self: FixedWidthInteger & BitwiseCopyable {
    package static var storedSize: Int { bitWidth / 8 }
    package var asSum: Int128 { Int128(self) }
    package static func add(_ a: Int128, _ b: Int128) -> Int128 { a &+ b }
    package static func load(_ bytes: UnsafeRawPointer) -> Self? {
        Self(littleEndian: bytes.loadUnaligned(as: Self.self))
    }
    package func store(to bytes: UnsafeMutableRawPointer) { bytes.storeBytes(of: littleEndian, as: Self.self) }
}

extension Int32: ReducedNumber { package static var reductionName: String { "int32" } }
extension Int64: ReducedNumber { package static var reductionName: String { "int64" } }
extension UInt32: ReducedNumber { package static var reductionName: String { "uint32" } }
extension UInt64: ReducedNumber { package static var reductionName: String { "uint64" } }

extension Double: ReducedNumber {
    package static var reductionName: String { "double" }
    package static var storedSize: Int { 8 }
    package var asSum: Double { self }
    package static func add(_ a: Double, _ b: Double) -> Double { a + b }
    package static func load(_ bytes: UnsafeRawPointer) -> Double? {
        let number = Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
        return number.isNaN ? nil : number
    }
    package func store(to bytes: UnsafeMutableRawPointer) {
        bytes.storeBytes(of: bitPattern.littleEndian, as: UInt64.self)
    }
}

/// Count, sum, least and greatest of numbers.
package struct ReducedStatistics<Number: ReducedNumber>: Equatable {
    package var count: UInt64 = 0
    package var sum: Number.Sum = .zero
    /// The least number and, below, the greatest one. Nil if there is no number.
    package var minimum: Number?
    package var maximum: Number?

    package init() {}

    /// Decodes a reduced value.
    package init(_ bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, bytes.count == Layout.size else { return Self() }
            return Self(reading: start)
        }
    }

    // Count u64 · sum, 16 bytes · least u64 · greatest u64; the last two are undefined if the count is 0.
    fileprivate enum Layout {
        static var sum: Int { 8 }
        static var minimum: Int { 24 }
        static var maximum: Int { 32 }
        static var size: Int { 40 }
    }

    fileprivate init(reading bytes: UnsafeRawPointer) {
        count = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        guard count > 0 else { return }
        sum = bytes.loadUnaligned(fromByteOffset: Layout.sum, as: Number.Sum.self)
        minimum = Number.load(bytes + Layout.minimum)
        maximum = Number.load(bytes + Layout.maximum)
    }

    fileprivate init(_ number: Number) {
        count = 1
        sum = number.asSum
        minimum = number
        maximum = number
    }

    fileprivate func write(to bytes: UnsafeMutableRawPointer) {
        bytes.initializeMemory(as: UInt8.self, repeating: 0, count: Layout.size)
        bytes.storeBytes(of: count.littleEndian, as: UInt64.self)
        bytes.storeBytes(of: sum, toByteOffset: Layout.sum, as: Number.Sum.self)
        minimum?.store(to: bytes + Layout.minimum)
        maximum?.store(to: bytes + Layout.maximum)
    }

    fileprivate mutating func add(_ other: Self) {
        guard other.count > 0 else { return }
        guard count > 0 else {
            self = other
            return
        }
        count &+= other.count
        sum = Number.add(sum, other.sum)
        if let theirs = other.minimum, let ours = minimum { minimum = Swift.min(ours, theirs) }
        if let theirs = other.maximum, let ours = maximum { maximum = Swift.max(ours, theirs) }
    }
}

extension Reduction {
    /// Returns the built-in reduction of this name, or nil if there is none.
    package static func builtIn(_ name: String) -> Reduction? {
        // <kind>.<number>@<offset>
        let dot = name.firstIndex(of: ".") ?? name.endIndex
        let at = name.lastIndex(of: "@") ?? name.endIndex
        guard dot < at, at < name.endIndex, let offset = Int(name[name.index(after: at)...]), offset >= 0 else {
            return nil
        }
        let number = numbers.first { $0.reductionName == name[name.index(after: dot)..<at] }
        let reduction = number.flatMap { builtIn(name[..<dot], of: $0, at: offset) }
        // Another spelling of the offset is another name.
        return reduction?.name == name ? reduction : nil
    }

    private static var numbers: [any ReducedNumber.Type] {
        [Int32.self, Int64.self, UInt32.self, UInt64.self, Double.self]
    }

    private static func builtIn<Number: ReducedNumber>(
        _ kind: Substring, of type: Number.Type, at offset: Int
    ) -> Reduction? {
        switch kind {
        case "statistics": statistics(of: type, at: offset)
        case "sum": sum(of: type, at: offset)
        case "minimum": minimum(of: type, at: offset)
        case "maximum": maximum(of: type, at: offset)
        default: nil
        }
    }

    /// Statistics of the numbers at `offset` of the values; decode with `ReducedStatistics`.
    package static func statistics<Number: ReducedNumber>(of: Number.Type, at offset: Int = 0) -> Reduction {
        typealias Statistics = ReducedStatistics<Number>
        return Reduction(
            name: "statistics.\(Number.reductionName)@\(offset)",
            identity: [UInt8](repeating: 0, count: Statistics.Layout.size),
            map: { (_, value, target) in
                let number = Self.number(Number.self, in: value, at: offset)
                (number.map { Statistics($0) } ?? Statistics()).write(to: target)
            },
            combine: { (target, next) in
                var all = Statistics(reading: UnsafeRawPointer(target))
                all.add(Statistics(reading: next))
                all.write(to: target)
            })
    }

    /// The sum of the numbers at `offset` of the values: a `Number.Sum`, which has 16 bytes and is exact for integers.
    package static func sum<Number: ReducedNumber>(of: Number.Type, at offset: Int = 0) -> Reduction {
        let size = MemoryLayout<Number.Sum>.size
        return Reduction(
            name: "sum.\(Number.reductionName)@\(offset)", identity: [UInt8](repeating: 0, count: size),
            map: { (_, value, target) in
                let sum = Self.number(Number.self, in: value, at: offset)?.asSum ?? .zero
                target.storeBytes(of: sum, as: Number.Sum.self)
            },
            combine: { (target, next) in
                let sum = Number.add(
                    target.loadUnaligned(as: Number.Sum.self), next.loadUnaligned(as: Number.Sum.self))
                target.storeBytes(of: sum, as: Number.Sum.self)
            })
    }

    /// The least of the numbers at `offset` of the values. Decode it with `extreme`.
    package static func minimum<Number: ReducedNumber>(of type: Number.Type, at offset: Int = 0) -> Reduction {
        extreme("minimum", type, offset) { Swift.min($0, $1) }
    }

    /// The greatest of the numbers at `offset` of the values. Decode it with `extreme`.
    package static func maximum<Number: ReducedNumber>(of type: Number.Type, at offset: Int = 0) -> Reduction {
        extreme("maximum", type, offset) { Swift.max($0, $1) }
    }

    /// Returns the number of a reduced minimum or maximum, or nil if there was no number.
    package static func extreme<Number: ReducedNumber>(_ bytes: [UInt8], of: Number.Type) -> Number? {
        guard bytes.count == 1 + Number.storedSize, bytes[0] == 1 else { return nil }
        return bytes.withUnsafeBytes { bytes in bytes.baseAddress.flatMap { Number.load($0 + 1) } }
    }

    /// The reduced value is a byte that is 1 if there is a number, and then the number.
    private static func extreme<Number: ReducedNumber>(
        _ name: String, _: Number.Type, _ offset: Int, _ choose: @escaping @Sendable (Number, Number) -> Number
    ) -> Reduction {
        Reduction(
            name: "\(name).\(Number.reductionName)@\(offset)",
            identity: [UInt8](repeating: 0, count: 1 + Number.storedSize),
            map: { (_, value, target) in
                let number = Self.number(Number.self, in: value, at: offset)
                target.initializeMemory(as: UInt8.self, repeating: 0, count: 1 + Number.storedSize)
                target.storeBytes(of: number == nil ? 0 : 1, as: UInt8.self)
                number?.store(to: target + 1)
            },
            combine: { (target, next) in
                guard next.load(as: UInt8.self) == 1, let theirs = Number.load(next + 1) else { return }
                let ours = target.load(as: UInt8.self) == 1 ? Number.load(target + 1) : nil
                target.storeBytes(of: 1, as: UInt8.self)
                (ours.map { choose($0, theirs) } ?? theirs).store(to: target + 1)
            })
    }

    private static func number<Number: ReducedNumber>(_: Number.Type, in value: Bytes, at offset: Int) -> Number? {
        guard offset >= 0, offset <= value.count - Number.storedSize, let start = value.baseAddress else { return nil }
        return Number.load(start + offset)
    }
}
