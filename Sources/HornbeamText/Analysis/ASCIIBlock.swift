// SPDX-License-Identifier: Apache-2.0
// Lower-cases 64 bytes of ASCII and finds the bytes that belong to words, eight at a time in an ordinary integer. No
// branch depends on the text, so short words cost no mispredictions (Lamport, “Multiple byte processing with full-word
// instructions”, 1975).

enum ASCIIBlock {
    static let size = 64

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// Whether the 64 bytes are ASCII.
    @inline(__always)
    static func isASCII(_ source: UnsafeRawPointer) -> Bool {
        var all: UInt64 = 0
        var offset = 0
        while offset < size {
            all |= source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        return all & highs == 0
    }

    /// Writes 64 bytes of ASCII in lower case to `target`, which may be the same memory. Bit i of the result tells
    /// whether byte i is a letter or a digit.
    @inline(__always)
    static func lower(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) -> UInt64 {
        var words: UInt64 = 0
        var offset = 0
        while offset < size {
            var bytes = UInt64(littleEndian: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            bytes |= within(bytes, UInt8(ascii: "A"), UInt8(ascii: "Z")) &>> 2
            target.storeBytes(of: bytes.littleEndian, toByteOffset: offset, as: UInt64.self)
            let letters = within(bytes, UInt8(ascii: "a"), UInt8(ascii: "z"))
            let marks = letters | within(bytes, UInt8(ascii: "0"), UInt8(ascii: "9"))
            words |= gathered(marks) &<< UInt64(truncatingIfNeeded: offset)
            offset &+= 8
        }
        return words
    }

    /// Does the same as `lower`, and also sets the bits of bytes that join their neighbours to one word by Unicode's
    /// annex 29: an apostrophe or a full stop between two letters or two digits, a comma or a semicolon between two
    /// digits, an underscore between any two of them. Returns nil if that depends on a scalar beyond ASCII, or if there
    /// is an underscore elsewhere, which may be no word by itself.
    /// - Parameters:
    ///   - before: the last byte of the word that is open before the block, in lower case; a space if none is open.
    ///   - behind: the byte behind the block.
    @inline(__always)
    static func lowerJoined(
        _ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, before: UInt8, behind: UInt8
    ) -> UInt64? {
        let underscores = bits(of: UInt8(ascii: "_"), source)
        var words = lower(source, to: target)
        let starts = words &<< 1 | (isWord(before) ? 1 : 0)
        let ends = words &>> 1 | (isWord(behind) || behind >= 0x80 ? 1 &<< 63 : 0)
        if underscores & ~(starts & ends) != 0 || underscores &>> 63 == 1 && behind >= 0x80 { return nil }
        var middles = ~words & starts & ends & ~underscores
        // Most of these bytes are the single space between two words.
        if middles != 0 { middles &= ~bits(of: UInt8(ascii: " "), target) }
        while middles != 0 {
            let place = middles.trailingZeroBitCount
            middles &= middles &- 1
            let middle = target.load(fromByteOffset: place, as: UInt8.self)
            let left = place > 0 ? target.load(fromByteOffset: place &- 1, as: UInt8.self) : before
            let right = place < 63 ? target.load(fromByteOffset: place &+ 1, as: UInt8.self) : behind
            if right >= 0x80 {
                if joinsDigits(middle) { return nil }
            } else if isDigit(left) ? isDigit(right) && joinsDigits(middle) : !isDigit(right) && joinsLetters(middle) {
                words |= 1 &<< UInt64(truncatingIfNeeded: place)
            }
        }
        return words | underscores
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func isWord(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    private static func joinsLetters(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "'") || byte == UInt8(ascii: ".") }

    private static func joinsDigits(_ byte: UInt8) -> Bool {
        joinsLetters(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";")
    }

    /// Bit i is set if byte i of the 64 bytes of ASCII at `source` is `byte`.
    @inline(__always)
    private static func bits(of byte: UInt8, _ source: UnsafeRawPointer) -> UInt64 {
        var found: UInt64 = 0
        var offset = 0
        while offset < size {
            let bytes = UInt64(littleEndian: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            found |= gathered(within(bytes, byte, byte)) &<< UInt64(truncatingIfNeeded: offset)
            offset &+= 8
        }
        return found
    }

    /// Returns the highest bits of the eight bytes, side by side.
    @inline(__always)
    private static func gathered(_ marks: UInt64) -> UInt64 { ((marks &>> 7) &* 0x0102_0408_1020_4080) &>> 56 }

    /// Sets the highest bit of each byte that is within the range. All bytes must be below 0x80.
    @inline(__always)
    private static func within(_ bytes: UInt64, _ first: UInt8, _ last: UInt8) -> UInt64 {
        // A sum of two such bytes doesn't carry into the next.
        let notBefore = bytes &+ ones &* UInt64(0x80 - first)
        let behind = bytes &+ ones &* UInt64(0x7F - last)
        return (notBefore ^ behind) & highs
    }
}
