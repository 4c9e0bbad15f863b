// SPDX-License-Identifier: Apache-2.0
// Reads the generated tables from text. The compiler takes seconds for literals of thousands of elements. Reading all
// tables takes less than a millisecond, once per process.

enum FrozenNumbers {
    /// Returns the numbers of a text that a script wrote: upper-case hexadecimal digits, optionally behind a minus,
    /// separated by spaces and line feeds. Larger numbers are truncated to the type.
    static func read(_ text: StaticString) -> [Int32] {
        text.withUTF8Buffer { bytes in
            var numbers: [Int32] = []
            numbers.reserveCapacity(bytes.count / 4)
            var (value, isNegative, isInside): (Int32, Bool, Bool) = (0, false, false)
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"):
                    (value, isInside) = (value &<< 4 | Int32(byte - UInt8(ascii: "0")), true)
                case UInt8(ascii: "A")...UInt8(ascii: "F"):
                    (value, isInside) = (value &<< 4 | Int32(byte - UInt8(ascii: "A") + 10), true)
                case UInt8(ascii: "-"): isNegative = true
                default:
                    if isInside { numbers.append(isNegative ? 0 &- value : value) }
                    (value, isNegative, isInside) = (0, false, false)
                }
            }
            if isInside { numbers.append(isNegative ? 0 &- value : value) }
            return numbers
        }
    }

    static func read(_ text: StaticString) -> [UInt32] {
        let numbers: [Int32] = read(text)
        return numbers.map { UInt32(bitPattern: $0) }
    }
}
