// SPDX-License-Identifier: Apache-2.0
// Lower-cases 64 bytes of ASCII and tells which of them belong to words, eight at a time in an ordinary integer: no
// branch depends on the text, so short words cost no mispredicted ones (Lamport, “Multiple byte processing with
// full-word instructions”, 1975).

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

    /// Writes 64 bytes of ASCII in lower case to `target`, which may be where they are. Bit i tells whether byte i is a
    /// letter or a digit.
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
            // The highest bit of each byte, side by side.
            let bits = ((marks &>> 7) &* 0x0102_0408_1020_4080) &>> 56
            words |= bits &<< UInt64(truncatingIfNeeded: offset)
            offset &+= 8
        }
        return words
    }

    /// The highest bit of each byte that lies between the two, all of them below 0x80.
    @inline(__always)
    private static func within(_ bytes: UInt64, _ first: UInt8, _ last: UInt8) -> UInt64 {
        // A sum of two such bytes doesn't carry into the next.
        let notBefore = bytes &+ ones &* UInt64(0x80 - first)
        let behind = bytes &+ ones &* UInt64(0x7F - last)
        return (notBefore ^ behind) & highs
    }
}
