// SPDX-License-Identifier: Apache-2.0
// Fuzz target: keys. Decoding any bytes gives a value or a typed error; a decoded value encodes to the bytes it came
// from; strings keep their order.

import HornbeamKeys

/// Decodes `input` in every way, and compares the order of two strings cut from it with that of their keys.
public func fuzzKeys(_ input: UnsafeRawBufferPointer) {
    guard let mode = input.first else { return }
    let rest = UnsafeRawBufferPointer(rebasing: input[1...])
    var reader = KeyReader(rest)
    switch mode % 6 {
    case 0: _ = try? reader.readBool()
    case 1: _ = try? reader.readDouble()
    case 2: _ = try? reader.readDecimal()
    case 3: _ = try? reader.readDynamic(.binary)
    case 4: _ = try? reader.readDynamic(.unicode(locale: nil))
    default: compareStrings(rest)
    }
}

private func compareStrings(_ bytes: UnsafeRawBufferPointer) {
    let half = bytes.count / 2
    let left = String(decoding: bytes[..<half], as: UTF8.self)
    let right = String(decoding: bytes[half...], as: UTF8.self)
    var leftKey = KeyWriter()
    leftKey.append(left)
    var rightKey = KeyWriter()
    rightKey.append(right)
    let precedes = leftKey.bytes.lexicographicallyPrecedes(rightKey.bytes)
    precondition(precedes == (left < right), "order of two strings")
    precondition((leftKey.bytes == rightKey.bytes) == (left == right), "equality of two strings")
}
