// SPDX-License-Identifier: Apache-2.0
// The entries of a run, made before any clock starts: keys in one flat buffer, values as parts of another, so that
// they cost nothing while an engine is measured.

import BenchHarness
import Foundation

/// The form of keys.
enum KeyKind: Sendable {
    /// 16 random bytes.
    case random
    /// 16 bytes, ascending with the entry's number.
    case ascending
    /// A random integer as 8 bytes, big-endian.
    case integer

    var size: Int { self == .integer ? 8 : 16 }
}

/// `count` entries, reproducible from a seed.
struct Entries: Sendable {
    let count: Int
    let keySize: Int
    let valueSize: Int
    private let keys: [UInt8]
    private let values: [UInt8]
    private let lastStart: Int
    /// Entries of another edition have the same keys and other values. Each update must use another one, because an
    /// engine might not write an unchanged value.
    var edition = 0

    /// Values are parts of `text`, or bytes that don't compress if it is nil.
    init(count: Int, keys kind: KeyKind, valueSize: Int, text: [UInt8]? = nil, seed: UInt64) {
        self.count = count
        self.valueSize = valueSize
        keySize = kind.size
        var random = SplitMix(state: seed)
        var keys = [UInt8]()
        keys.reserveCapacity(count * kind.size)
        for index in 0..<count {
            var number = random.next()
            // Ascending, with gaps for later inserts.
            if kind == .ascending { number = UInt64(index) << 20 | number >> 44 }
            withUnsafeBytes(of: number.bigEndian) { keys.append(contentsOf: $0) }
            if kind.size > 8 {
                withUnsafeBytes(of: (number &* 0x9E37_79B9_7F4A_7C15).bigEndian) { keys.append(contentsOf: $0) }
            }
        }
        self.keys = keys
        let wanted = valueSize + 65_536
        if let text {
            var repeated = text
            while repeated.count < wanted { repeated += text }
            values = repeated
        } else {
            values = (0..<(wanted + 7) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        }
        lastStart = values.count - valueSize
    }

    @inline(__always)
    func withKey<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try keys.withUnsafeBytes { all in
            try body(UnsafeRawBufferPointer(rebasing: all[index * keySize..<(index + 1) * keySize]))
        }
    }

    @inline(__always)
    func withValue<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try values.withUnsafeBytes { all in
            let start = (index &* 8_191 &+ edition &* 131) % (lastStart + 1)
            return try body(UnsafeRawBufferPointer(rebasing: all[start..<start + valueSize]))
        }
    }

    /// Returns the expected sum of the first bytes of the values.
    func sum(_ order: ArraySlice<Int>) -> Int { order.reduce(0) { $0 &+ withValue($1) { Int($0[0]) } } }

    func edition(_ edition: Int) -> Entries {
        var entries = self
        entries.edition = edition
        return entries
    }

    func key(_ index: Int) -> [UInt8] { withKey(index) { Array($0) } }

    /// Total bytes of keys and values.
    var bytes: Int { count * (keySize + valueSize) }
}
