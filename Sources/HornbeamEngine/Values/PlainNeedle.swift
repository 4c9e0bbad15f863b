// SPDX-License-Identifier: Apache-2.0
// Finds an ASCII text in the bytes of others, eight positions at a time: where both its first and its last byte match,
// the bytes between are compared. This is the “generic SIMD” search of Muła, “SIMD-friendly algorithms for substring
// searching”, 2016, with 64-bit words instead of vectors: the compiler splits comparisons of vectors into single bytes.

import HornbeamPages

/// An ASCII text to look for, not empty.
struct PlainNeedle {
    private let bytes: [UInt8]
    private let first: Anchor
    private let last: Anchor
    private let ignoresCase: Bool

    /// A byte and the mask of its bits that don't matter, each eight times.
    private struct Anchor {
        let bytes: UInt64
        let ignored: UInt64

        init(_ byte: UInt8, ignoresCase: Bool) {
            bytes = UInt64(byte) &* PlainNeedle.ones
            // Only letters differ from their other case in that bit.
            ignored = ignoresCase && byte >= 0x61 && byte <= 0x7A ? 0x20 &* PlainNeedle.ones : 0
        }

        /// A word that is zero in each byte that equals the anchor.
        @inline(__always)
        func difference(_ place: UnsafeRawPointer) -> UInt64 {
            (UInt64(littleEndian: place.loadUnaligned(as: UInt64.self)) | ignored) ^ bytes
        }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// Sets the highest bit of each byte that is zero. It may also set that bit in bytes above a zero byte.
    @inline(__always)
    private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & (ones &<< 7) }

    /// Prepares the search for a text. Returns nil if the text is empty, is not all ASCII, or has a carriage return.
    /// - Parameter ignoresCase: whether case is ignored. The text is in lower case then.
    init?(_ text: String, ignoresCase: Bool) {
        bytes = Array(text.utf8)
        // A carriage return may be half of a character.
        guard let first = bytes.first, let last = bytes.last, bytes.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) else {
            return nil
        }
        self.first = Anchor(first, ignoresCase: ignoresCase)
        self.last = Anchor(last, ignoresCase: ignoresCase)
        self.ignoresCase = ignoresCase
    }

    var count: Int { bytes.count }

    /// Whether a text is ASCII, each byte a character.
    static func isPlain(_ text: Bytes) -> Bool {
        guard let start = text.baseAddress, text.count >= 8 else {
            return text.allSatisfy { $0 < 0x80 && $0 != 0x0D }
        }
        var found: UInt64 = 0
        var place = 0
        while place < text.count {
            // The last word overlaps the one before it.
            let word = (start + min(place, text.count &- 8)).loadUnaligned(as: UInt64.self)
            found |= word & (ones &<< 7) | zeros(word ^ 0x0D &* ones)
            place &+= 8
        }
        return found == 0
    }

    /// Whether a text contains the needle.
    func isIn(_ text: Bytes) -> Bool {
        let (size, lastPlace) = (bytes.count, text.count - bytes.count)
        guard let start = text.baseAddress, lastPlace >= 0 else { return false }
        return bytes.withUnsafeBytes { needle in
            // The last word overlaps the one before it, so that it has eight bytes.
            var place = 0
            while lastPlace >= 7, place <= lastPlace {
                let from = min(place, lastPlace &- 7)
                let both = first.difference(start + from) | last.difference(start + (from &+ size &- 1))
                var found = Self.zeros(both)
                while found != 0 {
                    if isEqual(start + (from &+ found.trailingZeroBitCount &>> 3), needle) { return true }
                    found &= found &- 1
                }
                place = from &+ 8
            }
            while place <= lastPlace {
                if isEqual(start + place, needle) { return true }
                place &+= 1
            }
            return false
        }
    }

    /// Whether a text contains the needle at a position.
    func isIn(_ text: Bytes, at place: Int) -> Bool {
        guard let start = text.baseAddress, place >= 0, place <= text.count - bytes.count else { return false }
        return bytes.withUnsafeBytes { isEqual(start + place, $0) }
    }

    @inline(__always)
    private func isEqual(_ place: UnsafeRawPointer, _ needle: Bytes) -> Bool {
        for index in 0..<needle.count {
            var byte = place.load(fromByteOffset: index, as: UInt8.self)
            if ignoresCase, byte >= 0x41, byte <= 0x5A { byte |= 0x20 }
            if byte != needle[index] { return false }
        }
        return true
    }
}
