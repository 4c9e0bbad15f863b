// SPDX-License-Identifier: Apache-2.0
// The bytes of a view's entries: group ‖ order ‖ row id ‖ ordinal (always 0) → the id of the entity if the row id isn't
// the id, in the form of a map index's entry. Every component marks its own end, so a group's entries are those whose
// keys begin with the group's bytes, and the k-th of them is the k-th of the tree from there on.

import HornbeamKeys
import HornbeamPages

/// The identity and order of a group: its stored bytes. The type's own `==` may hold more groups equal than the view
/// does, and doesn't hold NaN equal to itself.
struct GroupIdentity: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    /// A group that has no bytes is none of any view.
    init(_ group: some IndexKey) { bytes = (try? ViewKey.prefix(of: group)) ?? [] }

    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

enum ViewKey {
    /// Longest group, in bytes of a key: more is refused.
    static let groupLimit = 400
    /// Longest order: bytes beyond it don't count. No component is a prefix of another, so a cut order is a prefix of
    /// longer ones only, and entities whose orders are cut to the same bytes are ordered by row id.
    static let orderLimit = 600

    /// The bytes with which the keys of a group's entries begin.
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

    /// The group of an entry, and how many bytes of the key it takes; nil if the key is no view's.
    static func group<Group: IndexKey>(of key: Bytes, as _: Group.Type) -> (group: Group, size: Int)? {
        guard let emitted = MapEntryKey.emitted(key) else { return nil }
        var reader = KeyReader(emitted)
        guard let value = try? KeyCoding.readComponent(Group.columnType, from: &reader),
            let group = Group(columnValue: value)
        else { return nil }
        return (group, reader.offset)
    }

    /// The whole key of an entry.
    static func whole(_ key: [UInt8], _ row: RowID) -> [UInt8] { key + row.key + [0, 0, 0, 0] }
}
