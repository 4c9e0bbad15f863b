// SPDX-License-Identifier: Apache-2.0
// The bytes of a view's entries: group ‖ order ‖ row id ‖ ordinal (always 0) → the id of the entity, where the row id
// isn't the id, as a map index's entry has it. Every component says itself where it ends, so a group's entries are
// those whose keys begin with its bytes, and the k-th of them is the k-th of the tree from there on.

import HornbeamKeys
import HornbeamPages

/// What tells groups apart and orders them: the bytes that they are stored as. Their own `==` may hold more of them
/// equal than the view does, and doesn't hold NaN equal to itself.
struct GroupIdentity: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    /// A group that has no bytes is none of any view.
    init(_ group: some IndexKey) { bytes = (try? ViewKey.prefix(of: group)) ?? [] }

    static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

enum ViewKey {
    /// Longest group, in bytes of a key: more is refused.
    static let groupLimit = 400
    /// Longest order: what is behind it doesn't count. No component is a prefix of another, so a cut order is a prefix
    /// of none but longer ones, and all that is cut to the same bytes goes by the row id.
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
