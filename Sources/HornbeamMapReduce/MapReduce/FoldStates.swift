// SPDX-License-Identifier: Apache-2.0
// The states of the library's reducers that fold rows in their stored form. Their bytes in the branches of an index:
//
//   sum of integers             16 bytes, two's complement
//   sum of doubles              two counts u8 ‖ as many doubles, whose exact sum it is, those of the second count times
//                               2^128; one more double if the sum is infinite or NaN
//   stats.2, stddev.2,          count u64 ‖ four sizes u8 ‖ least and greatest value as value bytes ‖ sum and sum of
//   average.2                   squares as above
//   min, max, first, last       nothing, or 01 ‖ the value
//   top.n, bottom.n             01 ‖ an array of values
//   distinct.256.2              256 registers of six bits, the first in the highest bits

import HornbeamPages

/// The state of `IntegerSumReducer`.
struct IntegerSumState: FoldState {
    let number: StoredNumber
    private(set) var sum: Int128 = 0

    init(_ number: StoredNumber) { self.number = number }

    mutating func add(value: Bytes) -> Bool {
        guard let bits = number.bits(value) else { return false }
        sum &+= number.integer(bits)
        return true
    }

    mutating func add(partial: Bytes) -> Bool {
        guard partial.count == 16 else { return false }
        sum &+= Int128(littleEndian: partial.loadUnaligned(as: Int128.self))
        return true
    }

    var bytes: [UInt8]? { withUnsafeBytes(of: sum.littleEndian) { Array($0) } }
}

/// The state of `FloatingSumReducer`.
struct FloatingSumState: FoldState {
    private(set) var sum = FloatingSummation()

    mutating func add(value: Bytes) -> Bool {
        guard value.count == 8 else { return false }
        sum.add(Double(bitPattern: ValueBytes.unsigned(value)))
        return true
    }

    mutating func add(partial: Bytes) -> Bool { sum.add(stored: partial) }
    var bytes: [UInt8]? { sum.bytes }
}

// MARK: - Statistics

/// An exact sum of integers. It also takes stored partial sums, which are sums of doubles.
struct WholeSum {
    private var whole: Int128 = 0
    /// The overflow of `whole`: its values whenever it grew too large, and stored partial sums.
    private var rest = FloatingSummation()

    private static let limit = UInt128(1) << 120

    /// - Parameter number: a product of two integers of 64 bits at most.
    @inline(__always)
    mutating func add(_ number: Int128) {
        whole &+= number
        if whole.magnitude > Self.limit { settle() }
    }

    mutating func add(stored bytes: Bytes) -> Bool {
        FloatingSummation.forEachPart(of: bytes) { part, kind in
            // Converts through 64 bits, which the processor can do itself.
            if kind == .small, abs(part) < 0x1p62, let number = Int64(exactly: part) {
                add(Int128(number))
            } else if kind == .small, abs(part) < 0x1p100, let number = Int128(exactly: part) {
                add(number)
            } else {
                rest.add(part: part, kind)
            }
        }
    }

    private mutating func settle() {
        rest.add(whole: whole)
        whole = 0
    }

    var total: FloatingSummation {
        var total = rest
        total.add(whole: whole)
        return total
    }

    /// Appends the `bytes` of the total.
    func append(to bytes: inout [UInt8]) {
        guard rest.isEmpty, whole.magnitude < 1 << 62 else {
            bytes += total.bytes
            return
        }
        let number = Int64(truncatingIfNeeded: whole)
        // The nearest double, and the difference from it, which is a double too.
        let near = Double(number)
        FloatingSummation.append(low: Double(number - Int64(near)), high: near, to: &bytes)
    }
}

/// The state of statistics of integers, for the reducers whose partial is `StatisticsReducer.Partial`.
struct IntegerStatisticsState: FoldState {
    let number: StoredNumber
    let hasSquares: Bool
    private(set) var count = 0
    private(set) var least = Int64.max
    private(set) var greatest = Int64.min
    private var sum = WholeSum()
    private var squares = WholeSum()

    init(_ number: StoredNumber, hasSquares: Bool) {
        self.number = number
        self.hasSquares = hasSquares
    }

    mutating func add(value: Bytes) -> Bool {
        guard let bits = number.bits(value) else { return false }
        let integer = number.integer(bits)
        count &+= 1
        note(Int64(truncatingIfNeeded: integer))
        sum.add(integer)
        if hasSquares { squares.add(integer &* integer) }
        return true
    }

    private mutating func note(_ value: Int64) {
        least = min(least, value)
        greatest = max(greatest, value)
    }

    mutating func add(partial: Bytes) -> Bool {
        guard let stored = StoredStatistics(partial) else { return false }
        if stored.count > 0 {
            guard let first = number.bits(stored.least), let last = number.bits(stored.greatest) else { return false }
            note(Int64(truncatingIfNeeded: number.integer(first)))
            note(Int64(truncatingIfNeeded: number.integer(last)))
        }
        count &+= stored.count
        return sum.add(stored: stored.sum) && squares.add(stored: stored.squares)
    }

    var sums: (sum: FloatingSummation, squares: FloatingSummation) { (sum.total, squares.total) }

    var bytes: [UInt8]? {
        StoredStatistics.bytes(count) { part, bytes in
            switch part {
            case .least: if count > 0 { number.append(UInt64(bitPattern: least), to: &bytes) }
            case .greatest: if count > 0 { number.append(UInt64(bitPattern: greatest), to: &bytes) }
            case .sum: sum.append(to: &bytes)
            case .squares: squares.append(to: &bytes)
            }
        }
    }
}

/// The state of statistics of doubles.
struct FloatingStatisticsState: FoldState {
    let hasSquares: Bool
    private(set) var count = 0
    private(set) var least = 0.0
    private(set) var greatest = 0.0
    private(set) var sum = FloatingSummation()
    private(set) var squares = FloatingSummation()

    mutating func add(value: Bytes) -> Bool {
        guard value.count == 8 else { return false }
        let number = Double(bitPattern: ValueBytes.unsigned(value))
        note(number, number)
        count &+= 1
        sum.add(number)
        if hasSquares { squares.add(number, times: number) }
        return true
    }

    /// Must be called before `count` grows.
    private mutating func note(_ first: Double, _ last: Double) {
        least = count == 0 ? first : least.least(first)
        greatest = count == 0 ? last : greatest.greatest(last)
    }

    mutating func add(partial: Bytes) -> Bool {
        guard let stored = StoredStatistics(partial) else { return false }
        if stored.count > 0 {
            guard stored.least.count == 8, stored.greatest.count == 8 else { return false }
            note(
                Double(bitPattern: ValueBytes.unsigned(stored.least)),
                Double(bitPattern: ValueBytes.unsigned(stored.greatest)))
        }
        count &+= stored.count
        return sum.add(stored: stored.sum) && squares.add(stored: stored.squares)
    }

    var bytes: [UInt8]? {
        StoredStatistics.bytes(count) { part, bytes in
            switch part {
            case .least: if count > 0 { ValueBytes.appendLittle(least.bitPattern, 8, to: &bytes) }
            case .greatest: if count > 0 { ValueBytes.appendLittle(greatest.bitPattern, 8, to: &bytes) }
            case .sum: bytes += sum.bytes
            case .squares: bytes += squares.bytes
            }
        }
    }
}

/// The bytes of statistics: count u64, the sizes u8 of four parts, and these: least, greatest, sum, sum of squares.
struct StoredStatistics {
    let count: Int
    let least: Bytes
    let greatest: Bytes
    let sum: Bytes
    let squares: Bytes

    private static let header = 12

    enum Part: Int, CaseIterable { case least, greatest, sum, squares }

    init?(_ bytes: Bytes) {
        guard bytes.count >= Self.header else { return nil }
        count = Int(truncatingIfNeeded: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
        var at = Self.header
        func part(_ part: Part) -> Bytes? {
            let size = Int(bytes[8 + part.rawValue])
            guard size <= bytes.count - at else { return nil }
            defer { at += size }
            return Bytes(rebasing: bytes[at..<at + size])
        }
        guard count >= 0, let least = part(.least), let greatest = part(.greatest), let sum = part(.sum),
            let squares = part(.squares),
            at == bytes.count
        else { return nil }
        (self.least, self.greatest, self.sum, self.squares) = (least, greatest, sum, squares)
    }

    /// Encodes a state. Returns nil if a part is longer than 255 bytes.
    @inline(__always)
    static func bytes(_ count: Int, _ append: (Part, inout [UInt8]) -> Void) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96)
        ValueBytes.appendLittle(UInt64(truncatingIfNeeded: count), 8, to: &bytes)
        ValueBytes.appendLittle(0, header - 8, to: &bytes)
        for part in Part.allCases {
            let start = bytes.count
            append(part, &bytes)
            guard let size = UInt8(exactly: bytes.count - start) else { return nil }
            bytes[8 + part.rawValue] = size
        }
        return bytes
    }
}

// MARK: - Chosen values

/// The state of `.min()` and `.max()`, for numbers.
struct ExtremeState: FoldState {
    let number: StoredNumber
    let isLeast: Bool
    private var isThere = false
    private var rank: UInt64 = 0
    private var bits: UInt64 = 0

    init(_ number: StoredNumber, isLeast: Bool) {
        self.number = number
        self.isLeast = isLeast
    }

    mutating func add(value: Bytes) -> Bool {
        guard let new = number.bits(value) else { return false }
        let rank = number.rank(new)
        // The first of equal numbers stays.
        guard !isThere || (isLeast ? rank < self.rank : rank > self.rank) else { return true }
        (isThere, self.rank, bits) = (true, rank, new)
        return true
    }

    mutating func add(partial: Bytes) -> Bool {
        if partial.isEmpty { return true }
        return partial[0] == 1 && add(value: Bytes(rebasing: partial[1...]))
    }

    var bytes: [UInt8]? {
        guard isThere else { return [] }
        var bytes: [UInt8] = [1]
        number.append(bits, to: &bytes)
        return bytes
    }
}

/// The state of `.first()` and `.last()`, for values of any type.
struct PlacedState: FoldState {
    let isFirst: Bool
    /// The chosen value as an encoded partial; empty if there is none.
    private var chosen: [UInt8] = []

    init(isFirst: Bool) { self.isFirst = isFirst }

    mutating func add(value: Bytes) -> Bool {
        if isFirst, !chosen.isEmpty { return true }
        chosen.removeAll(keepingCapacity: true)
        chosen.append(1)
        chosen.append(contentsOf: value)
        return true
    }

    mutating func add(partial: Bytes) -> Bool {
        if partial.isEmpty { return true }
        return partial[0] == 1 && add(value: Bytes(rebasing: partial[1...]))
    }

    var bytes: [UInt8]? { chosen }
}

/// The state of `TopReducer`, for numbers.
struct TopState: FoldState {
    let number: StoredNumber
    let count: Int
    let isLeast: Bool
    /// The ranks of the numbers, descending. A greater rank is better.
    private var ranks: [UInt64] = []
    private var numbers: [UInt64] = []

    init(_ number: StoredNumber, count: Int, isLeast: Bool) {
        self.number = number
        self.count = count
        self.isLeast = isLeast
    }

    mutating func add(value: Bytes) -> Bool {
        guard let bits = number.bits(value) else { return false }
        let rank = isLeast ? ~number.rank(bits) : number.rank(bits)
        if ranks.count == count {
            guard let worst = ranks.last, rank > worst else { return true }
            ranks.removeLast()
            numbers.removeLast()
        }
        var place = ranks.count
        // A new number follows equal ones.
        while place > 0, ranks[place - 1] < rank { place -= 1 }
        ranks.insert(rank, at: place)
        numbers.insert(bits, at: place)
        return true
    }

    mutating func add(partial: Bytes) -> Bool {
        guard partial.count >= 5, partial[0] == 1 else { return false }
        let count = Int(ValueBytes.unsigned(Bytes(rebasing: partial[1..<5])))
        guard partial.count - 5 == count * number.width else { return false }
        for place in 0..<count {
            let start = 5 + place * number.width
            _ = add(value: Bytes(rebasing: partial[start..<start + number.width]))
        }
        return true
    }

    var bytes: [UInt8]? {
        var bytes: [UInt8] = [1]
        ValueBytes.appendLittle(UInt64(numbers.count), 4, to: &bytes)
        for bits in numbers { number.append(bits, to: &bytes) }
        return bytes
    }
}

// MARK: - Distinct keys

/// The state of `DistinctReducer`: its registers, a byte each, eight to a word, the first in the highest byte.
struct DistinctState: FoldState {
    static let registers = 256
    static let size = registers * 6 / 8

    private var words = [UInt64](repeating: 0, count: DistinctState.registers / 8)

    static var needsKeys: Bool { true }

    init() {}

    /// Takes the lower six bits of each register. Returns nil if there are more or fewer registers than a state has.
    init?(registers: [UInt8]) {
        guard registers.count == Self.registers else { return nil }
        for (place, register) in registers.enumerated() {
            words[place / 8] = words[place / 8] << 8 | UInt64(register & 0x3F)
        }
    }

    /// The registers, a byte each.
    var registerBytes: [UInt8] { words.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } } }

    mutating func add(key: Bytes) {
        let hash = Self.hash(key)
        let register = Int(hash & 0xFF)
        let shift = UInt64(56 - 8 * (register % 8))
        let word = words[register / 8]
        let rank = Self.rank(hash)
        guard rank > (word >> shift) & 0xFF else { return }
        words[register / 8] = word & ~(0xFF << shift) | rank << shift
    }

    /// The number of zero bits at the end of the hash's upper part, and one; 57 at most.
    static func rank(_ hash: UInt64) -> UInt64 { UInt64(((hash >> 8) | 1 << 56).trailingZeroBitCount + 1) }

    mutating func add(partial: Bytes) -> Bool {
        guard partial.count == Self.size else { return false }
        for place in words.indices {
            let theirs = Self.spread(partial, place)
            words[place] = Self.greatest(words[place], theirs)
        }
        return true
    }

    /// The greater of each two bytes. All bytes must be less than 128.
    private static func greatest(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let high: UInt64 = 0x8080_8080_8080_8080
        let isLeft = ((((left | high) &- right) & high) >> 7) &* 0xFF
        return left & isLeft | right & ~isLeft
    }

    /// Spreads eight registers of six bits, from six bytes, to a byte each.
    private static func spread(_ bytes: Bytes, _ place: Int) -> UInt64 {
        let high = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place * 6, as: UInt32.self))
        let low = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: place * 6 + 4, as: UInt16.self))
        var word = UInt64(high) << 16 | UInt64(low)
        word = word & 0xFF_FFFF | (word >> 24) << 32
        word = word & 0x0000_0FFF_0000_0FFF | (word & 0x00FF_F000_00FF_F000) << 4
        return word & 0x003F_003F_003F_003F | (word & 0x0FC0_0FC0_0FC0_0FC0) << 2
    }

    var bytes: [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        for word in words {
            var packed: UInt64 = 0
            for register in 0..<8 { packed = packed << 6 | word >> UInt64(56 - 8 * register) & 0x3F }
            for shift in stride(from: 40, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: packed >> UInt64(shift)))
            }
        }
        return bytes
    }

    /// Mixes in eight bytes at a time by a product of 128 bits, whose halves are folded, as wyhash does.
    static func hash(_ bytes: Bytes) -> UInt64 {
        func mixed(_ left: UInt64, _ right: UInt64) -> UInt64 {
            let product = left.multipliedFullWidth(by: right)
            return product.high ^ product.low
        }
        var hash = mixed(UInt64(bytes.count) ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db)
        var place = 0
        while place < bytes.count {
            var word: UInt64 = 0
            if bytes.count - place >= 8 {
                word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            } else {
                for byte in bytes[place...] { word = word << 8 | UInt64(byte) }
            }
            hash = mixed(hash ^ word, 0x8ebc_6af0_9c88_c6e3)
            place += 8
        }
        return mixed(hash ^ 0x5899_65cc_7537_4cc3, 0x1d8e_4e27_c47d_124f)
    }
}
