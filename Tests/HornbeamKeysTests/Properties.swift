// SPDX-License-Identifier: Apache-2.0
// Random key components, and the one property that all of them share: the order and equality of the bytes are the
// order and equality of the values.

import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

/// −1, 0 or 1, by `memcmp` and then by the length.
func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
    if left == right { return 0 }
    return left.lexicographicallyPrecedes(right) ? -1 : 1
}

func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
    if left == right { return 0 }
    return left < right ? -1 : 1
}

/// The order of strings by their composed forms. Swift's own `<` on strings in other forms is wrong if one is a prefix
/// of the other: it then compares the sizes of their original forms ("e\u{301}" is neither below, above nor equal to
/// "éa").
func order(_ left: String, _ right: String) -> Int {
    if left == right { return 0 }
    return Normalisation.composedString(left) < Normalisation.composedString(right) ? -1 : 1
}

/// Compares every value with every other.
func expectSameOrder<Value>(
    of values: [Value], model: (Value, Value) -> Int, sourceLocation: SourceLocation = #_sourceLocation,
    encode: (inout KeyWriter, Value) throws -> Void
) rethrows {
    let keys = try values.map { value in
        var key = KeyWriter()
        try encode(&key, value)
        return key.bytes
    }
    for (left, leftKey) in zip(values, keys) {
        for (right, rightKey) in zip(values, keys) {
            let expected = model(left, right)
            let found = order(leftKey, rightKey)
            guard found != expected else { continue }
            Issue.record(
                """
                \(String(reflecting: left)) \(leftKey) and \(String(reflecting: right)) \(rightKey): \
                the keys' order is \(found), not \(expected)
                """, sourceLocation: sourceLocation)
            return
        }
    }
}

/// Writes, reads back, and expects the reader at the end.
func roundTrip<Value>(
    _ value: Value, write: (inout KeyWriter, Value) throws -> Void, read: (inout KeyReader) throws -> Value
) throws -> Value {
    var key = KeyWriter()
    try write(&key, value)
    return try key.bytes.withUnsafeBytes { bytes in
        var reader = KeyReader(bytes)
        let result = try read(&reader)
        try reader.expectEnd()
        return result
    }
}

/// Reads from `bytes`, which need not be a whole key.
func reading<Result>(_ bytes: [UInt8], _ read: (inout KeyReader) throws -> Result) throws -> Result {
    try bytes.withUnsafeBytes { bytes in
        var reader = KeyReader(bytes)
        return try read(&reader)
    }
}

func key(_ write: (inout KeyWriter) throws -> Void) rethrows -> [UInt8] {
    var key = KeyWriter()
    try write(&key)
    return key.bytes
}

// MARK: - Values

enum Samples {
    static let texts: [String] = [
        "", "\0", "\0\0", "\u{1}", "\u{1}\u{1}", "\u{2}", "\0\u{1}", "a", "a\0", "a\0b", "a\u{1}", "ab", "A", "aa", "b",
        "z", "~", "\u{7F}", "\u{80}", "é", "e\u{301}", "e", "e\u{323}\u{301}", "e\u{301}\u{323}", "\u{1EB9}\u{301}",
        "\u{212B}", "Å", "A\u{30A}", "ñ", "n\u{303}", "\u{2126}", "Ω", "ﬁ", "fi", "ß", "ss", "İ", "ı", "i\u{307}",
        "\u{1E9B}\u{323}", "한", "\u{1112}\u{1161}\u{11AB}", "하\u{11AB}", "が", "か\u{3099}", "日本", "あ", "😀",
        "👨‍👩‍👧", "🇩🇪", "\u{1F468}", "\u{E000}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "\u{2CB}",
        "\u{2FF}", "\u{300}", "\u{345}", "\u{340}", "\u{958}", "\u{915}\u{93C}", "й", "и\u{306}",
        String(repeating: "long ", count: 60), String(repeating: "é", count: 300),
        String(repeating: "e\u{301}", count: 300),
    ]

    /// Pieces of text that meet in many ways: some compose, some reorder, some are escaped.
    static func text(_ generator: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<generator.below(5) {
            switch generator.below(4) {
            case 0: text += texts[generator.below(texts.count - 3)]
            case 1: text.unicodeScalars.append(scalar(0x300..<0x370, &generator))
            case 2: text.unicodeScalars.append(scalar(0x20..<0x250, &generator))
            default: text.unicodeScalars.append(scalar(0..<0x2_0000, &generator))
            }
        }
        return text
    }

    static func scalar(_ range: Range<UInt32>, _ generator: inout SeededGenerator) -> Unicode.Scalar {
        Unicode.Scalar(UInt32.random(in: range, using: &generator)) ?? "x"
    }

    static let doubles: [Double] = [
        0.0, -0.0, 1, -1, 1.5, -1.5, 0.1, .pi, .infinity, -.infinity, .nan, -.nan, .signalingNaN,
        Double(bitPattern: 0xFFFF_FFFF_FFFF_FFFF), .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
        .leastNormalMagnitude, .leastNormalMagnitude.nextDown, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
        0x1p53, 0x1p53 + 2, -0x1p53, -0x1p53 - 2, 0x1p62, 0x1p63, (0x1p63).nextDown, (0x1p63).nextUp, -0x1p63,
        (-0x1p63).nextDown, (-0x1p63).nextUp, 0x1p64, (0x1p64).nextDown, (0x1p64).nextUp, 0x1p100, -0x1p100,
    ]

    static func double(_ generator: inout SeededGenerator) -> Double {
        switch generator.below(3) {
        case 0: doubles[generator.below(doubles.count)]
        case 1: Double(bitPattern: generator.next())
        default: Double(Int.random(in: -50...50, using: &generator)) / 4
        }
    }

    /// The order of doubles as keys: NaN equals itself and comes last.
    static func order<Value: BinaryFloatingPoint>(_ left: Value, _ right: Value) -> Int {
        if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
        return left == right ? 0 : left < right ? -1 : 1
    }

    static func bytes(_ generator: inout SeededGenerator) -> [UInt8] {
        let edges: [UInt8] = [0, 0, 1, 1, 2, 0x7F, 0x80, 0xFE, 0xFF]
        return (0..<generator.below(6)).map { _ in edges[generator.below(edges.count)] }
    }
}
