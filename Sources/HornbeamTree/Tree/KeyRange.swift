// SPDX-License-Identifier: Apache-2.0
// A range of keys given by the separators above a node, and its description in reports of checks, copies and salvage.

import HornbeamPages

/// The keys from `low` up to, but not including, `high`; nil is an open end.
package struct KeyRange: Equatable, Hashable, Sendable {
    package var low: [UInt8]?
    package var high: [UInt8]?

    package init(low: [UInt8]? = nil, high: [UInt8]? = nil) {
        self.low = low
        self.high = high
    }

    package func contains(_ key: [UInt8]) -> Bool {
        if let low, key.lexicographicallyPrecedes(low) { return false }
        guard let high else { return true }
        return key.lexicographicallyPrecedes(high)
    }

    /// The part of the range that belongs to a branch's child.
    func child(_ index: Int, of node: NodeView) -> KeyRange {
        KeyRange(
            low: index == 0 ? low : node.keyBytes(index),
            high: index + 1 < node.count ? node.keyBytes(index + 1) : high)
    }
}

extension KeyRange: CustomStringConvertible {
    package var description: String {
        switch (low, high) {
        case (nil, nil): "all keys"
        case (let low?, nil): "keys from \(Self.words(low)) on"
        case (nil, let high?): "keys before \(Self.words(high))"
        case (let low?, let high?): "keys from \(Self.words(low)) up to \(Self.words(high))"
        }
    }

    private static let shownBytes = 24

    /// The key as text if it is plain ASCII, otherwise in hexadecimal digits. Cuts long keys.
    static func words(_ key: [UInt8]) -> String {
        let shown = key.prefix(shownBytes)
        let rest = key.count > shown.count ? "…" : ""
        if !key.isEmpty, shown.allSatisfy({ 0x20..<0x7F ~= $0 }) {
            return "“\(String(decoding: shown, as: UTF8.self))\(rest)”"
        }
        let digits = shown.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "x'\(digits.joined())\(rest)'"
    }
}

extension NodeView {
    /// A copy of the whole key. For a branch's first entry it has no meaning.
    func keyBytes(_ index: Int) -> [UInt8] { Array(prefix) + Array(cell(index).suffix) }
}
