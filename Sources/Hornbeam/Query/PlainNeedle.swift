// SPDX-License-Identifier: Apache-2.0
// Looks for an ASCII text in the bytes of others, sixteen places at a time: where its first byte and its last one both
// are, the bytes between are compared (the “generic SIMD” search of Muła, “SIMD-friendly algorithms for substring
// searching”, 2016).

import HornbeamPages

/// An ASCII text to look for, not empty.
struct PlainNeedle {
    private let bytes: [UInt8]
    private let first: Anchor
    private let last: Anchor
    private let ignoresCase: Bool

    /// A byte, and which of its bits don't matter.
    private struct Anchor {
        let byte: UInt8
        let ignored: UInt8

        init(_ byte: UInt8, ignoresCase: Bool) {
            self.byte = byte
            // Only letters differ in that bit from their other case.
            ignored = ignoresCase && byte >= 0x61 && byte <= 0x7A ? 0x20 : 0
        }

        @inline(__always)
        func isAt(_ place: UnsafeRawPointer) -> SIMD2<UInt64> {
            let found = place.loadUnaligned(as: SIMD16<UInt8>.self) | SIMD16(repeating: ignored)
            return unsafeBitCast(found .== SIMD16(repeating: byte), to: SIMD2<UInt64>.self)
        }
    }

    /// Nil for other texts.
    /// - Parameter ignoresCase: then the text has lower case only.
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

    /// Whether any of these bytes is in it.
    func contains(_ other: UInt8...) -> Bool { bytes.contains { other.contains($0) } }

    /// Whether a text is ASCII, each byte a character.
    static func isPlain(_ text: Bytes) -> Bool {
        guard let start = text.baseAddress, text.count >= 16 else {
            return text.allSatisfy { $0 < 0x80 && $0 != 0x0D }
        }
        var (high, returns) = (SIMD16<UInt8>.zero, SIMD2<UInt64>.zero)
        func look(_ place: Int) {
            let block = (start + place).loadUnaligned(as: SIMD16<UInt8>.self)
            high |= block
            returns |= unsafeBitCast(block .== 0x0D, to: SIMD2<UInt64>.self)
        }
        var place = 0
        while place <= text.count &- 16 {
            look(place)
            place &+= 16
        }
        look(text.count - 16)
        let all = unsafeBitCast(high & 0x80, to: SIMD2<UInt64>.self) | returns
        return all[0] | all[1] == 0
    }

    /// Whether it stands anywhere in a text.
    func isIn(_ text: Bytes) -> Bool {
        let (size, lastPlace) = (bytes.count, text.count - bytes.count)
        guard let start = text.baseAddress, lastPlace >= 0 else { return false }
        return bytes.withUnsafeBytes { needle in
            // The last bytes are looked at once more with some before them, so that there are sixteen.
            var place = 0
            while lastPlace >= 15, place <= lastPlace {
                let from = min(place, lastPlace &- 15)
                var found = first.isAt(start + from) & last.isAt(start + (from &+ size &- 1))
                for half in 0..<2 {
                    while found[half] != 0 {
                        let byte = found[half].trailingZeroBitCount &>> 3
                        if isEqual(start + (from &+ 8 &* half &+ byte), needle) { return true }
                        found[half] &= ~(0xFF &<< UInt64(truncatingIfNeeded: 8 &* byte))
                    }
                }
                place = from &+ 16
            }
            while place <= lastPlace {
                if isEqual(start + place, needle) { return true }
                place &+= 1
            }
            return false
        }
    }

    /// Whether it stands at a place of a text.
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
