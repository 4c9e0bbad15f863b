// SPDX-License-Identifier: Apache-2.0
// Row ids: the dense integers under which rows, edges, index entries and postings know an entity.

package import HornbeamPages

/// The number of a row within its entity type. An integer id below `firstAssigned` is its own row id; all other ids get
/// the next row id from there upward. A row id is never reused.
package struct RowID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// 2^40: the first row id for entities whose id can't be one.
    package static let firstAssigned = RowID(rawValue: 1 << 40)

    package static func < (left: RowID, right: RowID) -> Bool {
        left.rawValue < right.rawValue
    }

    /// Makes the row id that equals an integer id. Returns nil if the id isn't an integer in that range.
    package init?(integerID id: Value) {
        switch id {
        case .int(let value) where value >= 0 && value < Int64(RowID.firstAssigned.rawValue):
            rawValue = UInt64(value)
        case .uint(let value) where value < RowID.firstAssigned.rawValue:
            rawValue = value
        default:
            return nil
        }
    }

    /// The next row id, if there is one.
    package var next: RowID? { rawValue == .max ? nil : RowID(rawValue: rawValue + 1) }

    /// Eight bytes, big-endian: the form in keys.
    package var key: [UInt8] {
        withUnsafeBytes(of: rawValue.bigEndian) { Array($0) }
    }

    /// Eight bytes, little-endian: the form in values.
    package var stored: [UInt8] {
        withUnsafeBytes(of: rawValue.littleEndian) { Array($0) }
    }

    /// Reads the eight bytes of a key at `offset`. Returns nil if the key is too short.
    package init?(key: Bytes, at offset: Int = 0) {
        guard offset >= 0, key.count >= offset + 8 else { return nil }
        rawValue = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Reads a value of exactly eight bytes. Returns nil for other sizes.
    package init?(stored: Bytes) {
        guard stored.count == 8 else { return nil }
        rawValue = UInt64(littleEndian: stored.loadUnaligned(as: UInt64.self))
    }
}

extension RowID: CustomStringConvertible {
    package var description: String { "row \(rawValue)" }
}
