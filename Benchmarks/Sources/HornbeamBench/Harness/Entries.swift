// SPDX-License-Identifier: Apache-2.0
// The entries of a run: fixed-size keys and values in one flat buffer, so that making them costs nothing while an
// engine is measured.

/// `count` entries of 16-byte keys and 100-byte values, reproducible from a seed.
struct Entries {
    static let keySize = 16
    static let valueSize = 100

    let count: Int
    private let keys: [UInt8]
    private let values: [UInt8]

    init(count: Int, sorted: Bool, seed: UInt64) {
        self.count = count
        var random = SplitMix(state: seed)
        var numbers = (0..<count).map { _ in random.next() }
        if sorted { numbers.sort() }
        var keys = [UInt8]()
        keys.reserveCapacity(count * Self.keySize)
        for number in numbers {
            for half in [number, number &* 0x9E37_79B9_7F4A_7C15] {
                withUnsafeBytes(of: half.bigEndian) { keys.append(contentsOf: $0) }
            }
        }
        self.keys = keys
        values = (0..<Self.valueSize + 4096).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }

    @inline(__always)
    func withKey<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try keys.withUnsafeBytes { all in
            try body(UnsafeRawBufferPointer(rebasing: all[index * Self.keySize..<(index + 1) * Self.keySize]))
        }
    }

    @inline(__always)
    func withValue<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try values.withUnsafeBytes { all in
            let start = index & 4095
            return try body(UnsafeRawBufferPointer(rebasing: all[start..<start + Self.valueSize]))
        }
    }

    func key(_ index: Int) -> [UInt8] {
        withKey(index) { Array($0) }
    }
}

/// A small, fast, seeded generator.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
