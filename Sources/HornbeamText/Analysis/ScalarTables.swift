// SPDX-License-Identifier: Apache-2.0
// The Unicode tables in the form that the tokenizer reads: one bit for each scalar of words, a two-stage table for
// lower case, ranges for the rare checks of the final sigma. Made from the frozen ranges of `UnicodeTables` only, never
// from the toolchain's own properties.

/// Look-up tables over all scalars. Immutable after initialization, so any thread may read them.
struct ScalarTables: @unchecked Sendable {
    static let shared = ScalarTables()

    /// One bit for each scalar, in words of 64.
    private let words: UnsafePointer<UInt64>
    /// For each page of 256 scalars the index of its shifts. Page 0 of `shifts` is all zero.
    private let pages: UnsafePointer<UInt16>
    /// The difference between a scalar's lower case and the scalar.
    private let shifts: UnsafePointer<Int32>

    private static let scalarLimit = 0x11_0000

    private init() {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.scalarLimit / 64)
        words.initialize(repeating: 0, count: Self.scalarLimit / 64)
        let ranges = UnicodeTables.words
        for index in stride(from: 0, to: ranges.count, by: 2) {
            for scalar in Int(ranges[index])...Int(ranges[index + 1]) {
                words[scalar >> 6] |= 1 << UInt64(scalar & 63)
            }
        }
        let pages = UnsafeMutablePointer<UInt16>.allocate(capacity: Self.scalarLimit >> 8)
        pages.initialize(repeating: 0, count: Self.scalarLimit >> 8)
        var shifts = [Int32](repeating: 0, count: 256)
        let runs = UnicodeTables.lower
        for index in stride(from: 0, to: runs.count, by: 4) {
            for scalar in stride(from: Int(runs[index]), through: Int(runs[index + 1]), by: Int(runs[index + 2])) {
                if pages[scalar >> 8] == 0 {
                    pages[scalar >> 8] = UInt16(shifts.count >> 8)
                    shifts.append(contentsOf: repeatElement(0, count: 256))
                }
                shifts[Int(pages[scalar >> 8]) << 8 | scalar & 255] = runs[index + 3]
            }
        }
        let stored = UnsafeMutablePointer<Int32>.allocate(capacity: shifts.count)
        stored.initialize(from: shifts, count: shifts.count)
        (self.words, self.pages, self.shifts) = (UnsafePointer(words), UnsafePointer(pages), UnsafePointer(stored))
    }

    /// Whether the scalar is a letter or a number (general category L* or N*). False beyond the last scalar.
    @inline(__always)
    func isWord(_ scalar: UInt32) -> Bool {
        scalar < Self.scalarLimit && words[Int(scalar >> 6)] >> UInt64(scalar & 63) & 1 == 1
    }

    /// Returns the lower case of the scalar, or the scalar itself if it has none. The tokenizer handles U+0130, which
    /// alone has a mapping to two scalars, and Σ, whose mapping depends on its neighbours.
    @inline(__always)
    func lower(_ scalar: UInt32) -> UInt32 {
        guard scalar < Self.scalarLimit else { return scalar }
        let shift = shifts[Int(pages[Int(scalar >> 8)]) << 8 | Int(scalar & 255)]
        return UInt32(truncatingIfNeeded: Int64(scalar) + Int64(shift))
    }
}

/// Case properties of scalars. Needed only beside a sigma, so the ranges are searched directly.
enum CaseProperties {
    static func isCased(_ scalar: UInt32) -> Bool { isIn(UnicodeTables.cased, scalar) }
    static func isCaseIgnorable(_ scalar: UInt32) -> Bool { isIn(UnicodeTables.caseIgnorable, scalar) }

    /// - Parameter ranges: first and last of each, ascending.
    private static func isIn(_ ranges: [UInt32], _ scalar: UInt32) -> Bool {
        var low = 0
        var high = ranges.count / 2
        while low < high {
            let middle = (low + high) / 2
            if ranges[2 * middle + 1] < scalar { low = middle + 1 } else { high = middle }
        }
        return 2 * low < ranges.count && ranges[2 * low] <= scalar
    }
}

/// The tokenizer's action for a byte of UTF-8: 0 ends the token, 1 begins a scalar beyond ASCII, any other value is the
/// lower-case letter or the digit to append.
enum ASCIITable {
    static let separator: UInt8 = 0
    static let beyond: UInt8 = 1

    /// The table for `unicode`. Bytes that may join letters or digits to one word are `beyond`, too: this depends on
    /// the scalars beside them.
    static let separating: [UInt8] = shared.enumerated().map { byte, mapped in
        "_'.,;".utf8.contains(UInt8(byte)) ? beyond : mapped
    }

    static let shared: [UInt8] = (0...255).map { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): UInt8(byte)
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt8(byte) | 0x20
        case 0x80...0xFF: beyond
        default: separator
        }
    }
}
