// SPDX-License-Identifier: Apache-2.0
// Writes compact JSON.

import HornbeamPages

/// Compact JSON as bytes, written from left to right.
struct JSONBytes {
    var bytes: [UInt8] = []
    /// Whether a comma has to come before the next member or element.
    private var needsComma = false

    init() { bytes.reserveCapacity(200) }

    mutating func open(_ sign: Unicode.Scalar) {
        bytes.append(UInt8(ascii: sign))
        needsComma = false
    }

    mutating func close(_ sign: Unicode.Scalar) {
        bytes.append(UInt8(ascii: sign))
        needsComma = true
    }

    /// Prepares for an element of an array: writes the comma before it. To be called before each element.
    mutating func element() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    /// Writes a member's name. To be called before each value of an object.
    /// - Parameter name: as `name(_:)` returns it.
    mutating func member(_ name: [UInt8]) {
        element()
        bytes.append(contentsOf: name)
    }

    /// A member's name with its colon.
    static func name(_ name: String) -> [UInt8] {
        var json = JSONBytes()
        var name = name
        name.withUTF8 { json.string(Bytes($0)) }
        json.bytes.append(UInt8(ascii: ":"))
        return json.bytes
    }

    /// Writes a string.
    /// - Parameter text: its UTF-8.
    mutating func string(_ text: Bytes) {
        guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) else {
            return bytes.append(contentsOf: JSONNode.string(String(decoding: text, as: UTF8.self)).text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\""))
    }
}
