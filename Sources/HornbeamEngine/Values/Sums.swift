// SPDX-License-Identifier: Apache-2.0
// Sums and averages. Integers are added in 128 bits, so only a result that doesn't fit fails, never one on the way;
// floating-point numbers are added without error by Shewchuk's method (Adaptive Precision Floating-Point Arithmetic,
// 1997), so that the sum is the same in every order. Decimals have a file of their own: DecimalSums.swift.

public import FoundationEssentials

/// A number that can be summed: integers, floating-point numbers, `Decimal`.
public protocol SummableNumber: Sendable {
    /// Adds up values of this type.
    associatedtype Summation: NumberSummation where Summation.Number == Self
    /// The type of the average.
    associatedtype Average: Sendable
    /// The average of `count` numbers whose sum is `sum`.
    static func average(_ sum: Summation, count: Int) -> Average
}

/// A sum under way.
public protocol NumberSummation: Sendable {
    associatedtype Number
    init()
    mutating func add(_ number: Number)
    /// Adds a number several times.
    mutating func add(_ number: Number, times count: Int)
    /// Subtracts a number that was added. Returns false and changes nothing if that can't be exact; the caller then
    /// adds up the other numbers anew.
    mutating func remove(_ number: Number) -> Bool
    /// The sum. Throws `.invalid` if it doesn't fit the type.
    func total() throws -> Number
}

extension NumberSummation {
    public mutating func add(_ number: Number, times count: Int) {
        for _ in 0..<max(0, count) { add(number) }
    }

    public mutating func remove(_: Number) -> Bool { false }
}

/// A sum of integers.
public struct IntegerSummation<Number: FixedWidthInteger & Sendable>: NumberSummation {
    private var sum: Int128 = 0

    public init() {}

    public mutating func add(_ number: Number) { sum += Int128(truncatingIfNeeded: number) }

    public mutating func add(_ number: Number, times count: Int) {
        sum += Int128(truncatingIfNeeded: number) * Int128(count)
    }

    public mutating func remove(_ number: Number) -> Bool {
        sum -= Int128(truncatingIfNeeded: number)
        return true
    }

    public func total() throws -> Number {
        guard let total = Number(exactly: sum) else {
            throw HornbeamError(
                .invalid, "the sum \(sum) doesn't fit \(Number.self): sum a property of a wider type, or as Double")
        }
        return total
    }

    /// The sum divided by a number, rounded once.
    func mean(of count: Int) -> Double { Self.mean(sum, count) }

    package static func mean(_ sum: Int128, _ count: Int) -> Double {
        let (size, divisor) = (sum.magnitude, UInt128(count.magnitude))
        // Both are exact as doubles.
        if size < 1 << 53, divisor < 1 << 53 { return Double(sum) / Double(count) }
        // The quotient has at least 64 bits, more than a double has, and its last bit is set if there is a remainder.
        // So it rounds to the double that is nearest to the exact quotient.
        let shift = size.leadingZeroBitCount
        let (quotient, rest) = (size << shift).quotientAndRemainder(dividingBy: divisor)
        let mean = Double(rest == 0 ? quotient : quotient | 1) * Double(sign: .plus, exponent: -shift, significand: 1)
        return (sum < 0) == (count < 0) ? mean : -mean
    }
}

/// A sum of doubles without error, rounded once. It is infinite only if the sum itself is beyond the greatest double,
/// however great the intermediate sums are.
///
/// Great numbers have a sum of their own, scaled by 2^-128, which loses none of their bits. So neither sum overflows:
/// 2^60 numbers below 2^960 are less than 2^1020.
public struct FloatingSummation: NumberSummation {
    private var small = ExactSum()
    private var great = ExactSum()
    /// The sum of the infinite and NaN values.
    private var special: Double?

    private static let limit = 0x1p960
    private static let shrinking = 0x1p-128
    private static let growing = 0x1p128

    public init() {}

    public mutating func add(_ number: Double) {
        if abs(number) < Self.limit {
            small.add(number)
        } else if number.isFinite {
            great.add(number * Self.shrinking)
        } else {
            special = (special ?? 0) + number
        }
    }

    public mutating func add(_ number: Double, times count: Int) {
        guard count > 1, number.isFinite else {
            if count > 0 { add(number) }
            return
        }
        var left = count
        while left > 0 {
            // Each part is exact as a double.
            let part = min(left, 1 << 53)
            left -= part
            if abs(number) < Self.limit {
                small.add(number, times: Double(part))
            } else {
                great.add(number * Self.shrinking, times: Double(part))
            }
        }
    }

    public mutating func remove(_ number: Double) -> Bool {
        guard number.isFinite else { return false }
        // Sums are exact, so this leaves the sum of the others.
        add(-number)
        return true
    }

    public func total() -> Double {
        let (value, scale) = rounded
        return value * scale
    }

    /// The sum of floats as a double that rounds to the same float as the exact sum. If the double isn't exact, its
    /// last bit is set, so that it is half-way between two floats only if the exact sum is (S. Boldo, G. Melquiond:
    /// Emulation of FMA and Correctly Rounded Sums, 2008).
    fileprivate func totalToRoundAgain() -> Double {
        if let special { return special }
        let total = small.total
        let rest = small.rest(of: total)
        if rest == 0 || total.significandBitPattern & 1 == 1 { return total }
        return rest > 0 ? total.nextUp : total.nextDown
    }

    /// The sum divided by a number. It can be finite even if the sum isn't.
    package func mean(of count: Int) -> Double {
        let (value, scale) = rounded
        return value / Double(count) * scale
    }

    /// The sum as a product of two numbers. The second one is a power of two.
    private var rounded: (value: Double, scale: Double) {
        if let special { return (special, 1) }
        if great.parts.isEmpty { return (small.total, 1) }
        // Great numbers that cancel each other out leave small ones.
        var (small, great) = (small, ExactSum())
        for part in self.great.parts {
            if abs(part) < 0x1p893 { small.add(part * Self.growing) } else { great.add(part) }
        }
        if great.parts.isEmpty { return (small.total, 1) }
        // The rest is far greater than the parts that lose bits now. Only their sign counts, for half-way cases. It is
        // the sign of the greatest one, since no two parts have a bit in common.
        var lost = 0.0
        for part in small.parts {
            let shrunk = part * Self.shrinking
            if shrunk * Self.growing == part {
                great.add(shrunk)
            } else {
                lost = Double(signOf: part, magnitudeOf: .leastNonzeroMagnitude)
            }
        }
        if lost != 0 { great.add(lost) }
        return (great.total, Self.growing)
    }
}

extension Double {
    /// The power of two of the lowest bit that is set, for a finite number other than zero.
    fileprivate var exponentOfLowestBit: Double.Exponent {
        let bits = significandBitPattern | (isNormal ? 1 << Self.significandBitCount : 0)
        return ulp.exponent + bits.trailingZeroBitCount
    }
}

/// Numbers whose exact sum is that of all added numbers. No two of them have a bit in common; they ascend in magnitude.
/// The caller ensures that no sum overflows.
private struct ExactSum {
    private(set) var parts: [Double] = []

    /// Whether a number may follow another one among the parts that were read. Adding relies on it.
    static func isPart(_ part: Double, behind below: Double?, isSole: Bool) -> Bool {
        // Every sum is less than 2^1020.
        guard abs(part) < 0x1p1020, part != 0 || isSole else { return false }
        return below.map { $0.exponent < part.exponentOfLowestBit } ?? true
    }

    mutating func add(_ number: Double) {
        var number = number
        var kept = 0
        for place in parts.indices {
            var part = parts[place]
            if abs(number) < abs(part) { swap(&number, &part) }
            let high = number + part
            let low = part - (high - number)
            if low != 0 {
                parts[kept] = low
                kept += 1
            }
            number = high
        }
        parts.removeLast(parts.count - kept)
        if number != 0 || parts.isEmpty { parts.append(number) }
    }

    /// Adds a product as its rounded value and the error of the rounding. The error is exact as a double, because it is
    /// a multiple of the number's last bit.
    mutating func add(_ number: Double, times factor: Double) {
        let product = number * factor
        add(product)
        let rest = (-product).addingProduct(number, factor)
        if rest != 0 { add(rest) }
    }

    /// The difference between the exact sum and `total`, rounded.
    func rest(of total: Double) -> Double {
        var rest = self
        rest.add(-total)
        return rest.parts.last ?? 0
    }

    /// The sum, rounded once.
    var total: Double {
        guard var sum = parts.last else { return 0 }
        var rest = 0.0
        var place = parts.count - 1
        while place > 0 {
            place -= 1
            let before = sum
            sum += parts[place]
            rest = parts[place] - (sum - before)
            if rest != 0 { break }
        }
        // Half-way cases: the part below decides to which side.
        if place > 0, rest < 0 && parts[place - 1] < 0 || rest > 0 && parts[place - 1] > 0 {
            let double = rest * 2
            let rounded = sum + double
            if double == rounded - sum { sum = rounded }
        }
        return sum
    }
}

// MARK: - Sums of sums, and their bytes

extension IntegerSummation {
    /// The exact sum.
    package var exact: Int128 {
        get { sum }
        set { sum = newValue }
    }
}

extension FloatingSummation {
    /// Adds another sum, without error.
    package mutating func add(_ other: FloatingSummation) {
        for part in other.small.parts { small.add(part) }
        for part in other.great.parts { great.add(part) }
        if let theirs = other.special { special = (special ?? 0) + theirs }
    }

    /// Two counts u8, the parts of both sums and, if there is one, the special sum: each 8 bytes, little-endian.
    package var bytes: [UInt8] {
        var bytes = [UInt8(truncatingIfNeeded: small.parts.count), UInt8(truncatingIfNeeded: great.parts.count)]
        for part in small.parts + great.parts + (special.map { [$0] } ?? []) {
            withUnsafeBytes(of: part.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// Appends the bytes of a sum of one or two numbers that have no bit in common. A zero is left out.
    package static func append(low: Double, high: Double, to bytes: inout [UInt8]) {
        bytes.append((low == 0 ? 0 : 1) + (high == 0 ? 0 : 1))
        bytes.append(0)
        for part in [low, high] where part != 0 {
            withUnsafeBytes(of: part.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        }
    }

    package var isEmpty: Bool { small.parts.isEmpty && great.parts.isEmpty && special == nil }

    /// Adds an integer without error. Its magnitude must not be much more than 2^126.
    package mutating func add(whole: Int128) {
        var rest = whole
        while rest != 0 {
            let near = Double(rest)
            add(near)
            rest -= Int128(near)
        }
    }

    /// Adds a product without error.
    package mutating func add(_ first: Double, times second: Double) {
        let product = first * second
        add(product)
        guard product.isFinite else { return }
        let rest = (-product).addingProduct(first, second)
        if rest != 0 { add(rest) }
    }

    /// The sum that a part belongs to.
    package enum PartKind { case small, great, special }

    package mutating func add(part: Double, _ kind: PartKind) {
        switch kind {
        case .small: small.add(part)
        case .great: great.add(part)
        case .special: special = (special ?? 0) + part
        }
    }

    /// Adds another sum, given as its `bytes`. Returns false, and adds nothing, if they aren't valid.
    package mutating func add(stored bytes: UnsafeRawBufferPointer) -> Bool {
        Self.forEachPart(of: bytes) { part, kind in add(part: part, kind) }
    }

    /// Calls `body` with each part of a sum's `bytes`. Returns false, without a call, if they aren't valid.
    @inline(__always)
    package static func forEachPart(of bytes: UnsafeRawBufferPointer, _ body: (Double, PartKind) -> Void) -> Bool {
        guard bytes.count >= 2, (bytes.count - 2) % 8 == 0 else { return false }
        let count = (bytes.count - 2) / 8
        let first = Int(bytes[0])
        let both = first + Int(bytes[1])
        guard count == both || count == both + 1 else { return false }
        func part(_ place: Int) -> Double {
            let bits = bytes.loadUnaligned(fromByteOffset: 2 + place * 8, as: UInt64.self)
            return Double(bitPattern: UInt64(littleEndian: bits))
        }
        for place in 0..<both {
            let start = place < first ? 0 : first
            let isSole = (place < first ? first : both - first) == 1
            guard ExactSum.isPart(part(place), behind: place > start ? part(place - 1) : nil, isSole: isSole) else {
                return false
            }
        }
        if count > both, part(both).isFinite { return false }
        for place in 0..<count { body(part(place), place < first ? .small : place < both ? .great : .special) }
        return true
    }

    /// Reads `bytes`. Returns nil if they are no sum. The parts are taken unchanged, because they must equal the
    /// written ones.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        var small: [Double] = []
        var great: [Double] = []
        var special: Double?
        let isSum = Self.forEachPart(of: bytes) { part, kind in
            switch kind {
            case .small: small.append(part)
            case .great: great.append(part)
            case .special: special = part
            }
        }
        guard isSum else { return nil }
        self.small = ExactSum(parts: small)
        self.great = ExactSum(parts: great)
        self.special = special
    }
}

/// A sum of floats without error, rounded once.
public struct FloatSummation: NumberSummation {
    private(set) var sum = FloatingSummation()
    public init() {}
    public mutating func add(_ number: Float) { sum.add(Double(number)) }
    public mutating func add(_ number: Float, times count: Int) { sum.add(Double(number), times: count) }
    public mutating func remove(_ number: Float) -> Bool { sum.remove(Double(number)) }
    public func total() -> Float { Float(sum.totalToRoundAgain()) }
}

extension SummableNumber where Self: FixedWidthInteger, Summation == IntegerSummation<Self> {
    public static func average(_ sum: IntegerSummation<Self>, count: Int) -> Double { sum.mean(of: count) }
}

extension Int: SummableNumber { public typealias Summation = IntegerSummation<Int> }
extension Int8: SummableNumber { public typealias Summation = IntegerSummation<Int8> }
extension Int16: SummableNumber { public typealias Summation = IntegerSummation<Int16> }
extension Int32: SummableNumber { public typealias Summation = IntegerSummation<Int32> }
extension Int64: SummableNumber { public typealias Summation = IntegerSummation<Int64> }
extension UInt: SummableNumber { public typealias Summation = IntegerSummation<UInt> }
extension UInt8: SummableNumber { public typealias Summation = IntegerSummation<UInt8> }
extension UInt16: SummableNumber { public typealias Summation = IntegerSummation<UInt16> }
extension UInt32: SummableNumber { public typealias Summation = IntegerSummation<UInt32> }
extension UInt64: SummableNumber { public typealias Summation = IntegerSummation<UInt64> }

extension Double: SummableNumber {
    public static func average(_ sum: FloatingSummation, count: Int) -> Double { sum.mean(of: count) }
}

extension Float: SummableNumber {
    public static func average(_ sum: FloatSummation, count: Int) -> Double { sum.sum.mean(of: count) }
}

extension Decimal: SummableNumber {
    public static func average(_ sum: DecimalSummation, count: Int) -> Decimal { sum.mean(of: count) }
}
