// SPDX-License-Identifier: Apache-2.0
// The bytes of a view's entries: group ‖ order ‖ row id ‖ ordinal (always 0) → the id of the entity if the row id isn't
// the id, in the form of a map index's entry. Every component marks its own end, so a group's entries are those whose
// keys begin with the group's bytes, and the k-th of them is the k-th of the tree from there on.

import HornbeamKeys
import HornbeamPages

/// The identity and order of a group: its stored bytes. The type's own `==` may treat more groups as equal than the
/// view does, and doesn't treat NaN as equal to itself.
struct GroupIdentity: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    /// A group without bytes is in no view.
    init(_ group: some IndexKey) { bytes = (try? ViewKey.prefix(of: group)) ?? [] }

    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

enum ViewKey {
    /// Maximum size of a group in a key, in bytes. Longer groups are refused.
    static let groupLimit = 400
    /// Maximum size of an order, in bytes. Further bytes are cut off. No component is a prefix of another, so a cut
    /// order is a prefix of longer ones only, and entities whose orders are cut to the same bytes are ordered by row
    /// id.
    static let orderLimit = 600

    /// Returns the bytes with which the keys of a group's entries begin. Throws `.tooLarge` for a group that is too
    /// long.
    static func prefix(of group: some IndexKey) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 64)
        try append(group, to: &key)
        return key.bytes
    }

    static func append<Group: IndexKey>(_ group: Group, to key: inout KeyWriter) throws(HornbeamError) {
        try KeyCoding.appendComponent(group.columnValue, as: Group.columnType, descending: false, to: &key)
        guard key.bytes.count <= groupLimit else {
            throw HornbeamError(
                .tooLarge,
                "a group takes \(key.bytes.count) bytes, \(groupLimit) are allowed: group by less of the text")
        }
    }

    /// Returns the group of an entry and its size in the key. Returns nil if the key isn't a view's.
    static func group<Group: IndexKey>(of key: Bytes, as _: Group.Type) -> (group: Group, size: Int)? {
        guard let emitted = MapEntryKey.emitted(key) else { return nil }
        var reader = KeyReader(emitted)
        guard let value = try? KeyCoding.readComponent(Group.columnType, from: &reader),
            let group = Group(columnValue: value)
        else { return nil }
        return (group, reader.offset)
    }

    /// Returns the whole key of an entry.
    static func whole(_ key: [UInt8], _ row: RowID) -> [UInt8] { key + row.key + [0, 0, 0, 0] }
}
