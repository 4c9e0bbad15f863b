// SPDX-License-Identifier: Apache-2.0
// One side of a relation, and the bytes of its links. All links of an entity, of all relations, are stored together in
// one tree of its type: a deletion then removes entries in a few leaves, not in some leaves of each relation. A link
// has an entry at both of its ends, and each gives the place of the other, so that neither has to be searched.
//
//     row ‖ list ‖ place  →  row ‖ place of the other end
//
// A list's number gives the relation, and the kind of its places:
//
//     links      places in the order of linking; of a to-one side 0
//     reverse    links that come from a one-way relation; the places are the sources
//     pairs      of relations that are to-many on both sides: the row of one end ‖ list ‖ the row of the other one, and
//                as the value the places of both

import HornbeamPages
package import HornbeamTree

/// The links, reverse links or pairs that all entities of one type have in one relation.
package struct LinkList: Hashable, Sendable {
    enum Kind: UInt16 {
        case links, reverse, pairs
    }

    /// The links of the type's entities.
    package let tree: TreeID
    /// A number that no other list in the store has.
    package let number: UInt16

    init(_ tree: TreeID, _ relation: UInt16, _ kind: Kind) {
        self.tree = tree
        number = relation << 2 | kind.rawValue
    }

    /// A list whose number is known.
    init(_ tree: TreeID, number: UInt16) {
        self.tree = tree
        self.number = number
    }

    /// Maximum number of relations in a store; their numbers are below it.
    static var mostRelations: UInt16 { 1 << 14 }
}

/// An entity's end of a link: the row and place of an entry's key, or of its value.
package struct LinkEnd: Equatable {
    package var row: RowID
    package var place: UInt64

    @inline(__always)
    init(_ row: RowID, _ place: UInt64) {
        self.row = row
        self.place = place
    }

    /// Reads an entry's value. Returns nil if the bytes are none.
    @inline(__always)
    init?(stored: Bytes) {
        guard stored.count == LinkKey.valueSize else { return nil }
        row = RowID(rawValue: UInt64(littleEndian: stored.loadUnaligned(as: UInt64.self)))
        place = UInt64(littleEndian: stored.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    @inline(__always)
    func withStored<Result>(_ body: (Bytes) throws(StorageError) -> Result) throws(StorageError) -> Result {
        try withUnsafeBytes(of: (row.rawValue.littleEndian, place.littleEndian)) { (bytes) throws(StorageError) in
            try body(bytes)
        }
    }
}

/// The key of an entry, or a prefix of the keys of a list.
struct LinkKey {
    static var size: Int { 18 }
    static var prefixSize: Int { 10 }
    static var valueSize: Int { 16 }

    /// Big-endian; the last two bytes of the place are in the third number.
    private let numbers: (UInt64, UInt64, UInt64)
    private let size: Int

    @inline(__always)
    init(_ list: LinkList, _ end: LinkEnd) {
        numbers = (
            end.row.rawValue.bigEndian, (UInt64(list.number) << 48 | end.place >> 16).bigEndian,
            (end.place << 48).bigEndian
        )
        size = Self.size
    }

    /// A key before all entries of a row in a list: their common prefix.
    @inline(__always)
    init(_ list: LinkList, _ row: RowID) {
        numbers = (row.rawValue.bigEndian, (UInt64(list.number) << 48).bigEndian, 0)
        size = Self.prefixSize
    }

    /// A key after all entries of a row in a list, before the next list.
    @inline(__always)
    init(behind list: LinkList, _ row: RowID) {
        // No list has the greatest number.
        numbers = (row.rawValue.bigEndian, ((UInt64(list.number) + 1) << 48).bigEndian, 0)
        size = Self.prefixSize
    }

    /// Writes the whole key, and a few more bytes.
    @inline(__always)
    func write(to memory: UnsafeMutableRawPointer) { memory.storeBytes(of: numbers, as: (UInt64, UInt64, UInt64).self) }

    @inline(__always)
    func withBytes<Result>(_ body: (Bytes) throws(StorageError) -> Result) throws(StorageError) -> Result {
        try withUnsafeBytes(of: numbers) { (bytes) throws(StorageError) in
            try body(Bytes(start: bytes.baseAddress, count: size))
        }
    }
}

/// An entry of a tree of links.
package struct LinkEntry {
    let list: UInt16
    package let end: LinkEnd
    package let other: LinkEnd

    /// Reads an entry. Returns nil if the bytes are none.
    @inline(__always)
    init?(_ entry: (key: Bytes, value: Bytes)) {
        guard entry.key.count == LinkKey.size, let row = RowID(key: entry.key),
            let place = RowID(key: entry.key, at: LinkKey.prefixSize), let other = LinkEnd(stored: entry.value)
        else { return nil }
        list = UInt16(bigEndian: entry.key.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
        end = LinkEnd(row, place.rawValue)
        self.other = other
    }
}

/// One side of a relation with its lists resolved. A class, because it is passed on with every link that is read or
/// made.
package final class EdgeSide: Sendable {
    /// The targets' side of the links.
    package struct Other: Sendable {
        enum Form {
            /// The other side of a mutual relation, to-one or to-many; the look-up of a one-way relation.
            case one, many, reverse
        }

        package let list: LinkList
        let form: Form
        let isRequired: Bool
        /// The targets' column for the id that the other side leads to, and whether a unique index is over it.
        var linkedID: Int?
        var isUniqueByID = false
    }

    package let type: String
    package let description: RelationDescription
    /// The other side's name in the target type, declared on either side.
    package let inverse: String?
    /// Its name as the name of a JSON member, with the colon.
    let memberName: [UInt8]
    package let list: LinkList
    /// The targets' side of the links, nil if the store doesn't know the target type.
    let other: Other?
    /// The list that shows whether two entities are linked, if both sides are to-many.
    let pairs: LinkList?
    /// Whether the keys of `pairs` begin with this side's entities.
    let beginsPairs: Bool
    /// Whether it is the other side of itself.
    let isOwnInverse: Bool
    /// The sources' column for the id that the relation leads to; nil if it has none.
    let linkedID: Int?
    /// Whether rows at one end of its links have a column with the other end's id.
    let movesIDs: Bool

    init(
        type: String, description: RelationDescription, inverse: String?, list: LinkList, other: Other?,
        pairs: LinkList?, linkedID: Int? = nil
    ) {
        self.linkedID = linkedID
        movesIDs = linkedID != nil || other?.linkedID != nil
        self.type = type
        self.description = description
        self.inverse = inverse
        memberName = JSONBytes.name(description.name)
        self.list = list
        self.other = other
        self.pairs = pairs
        beginsPairs = pairs.map { $0.number >> 2 == list.number >> 2 } ?? false
        isOwnInverse = other?.list == list
    }

    package var name: String { description.name }
    package var target: String { description.target }
    package var isToMany: Bool { description.toMany }

    /// The entry of a link in the list of pairs.
    func pair(_ from: LinkEnd, _ to: LinkEnd) -> (key: LinkEnd, value: LinkEnd) {
        let isFirst = isOwnInverse ? from.row <= to.row : beginsPairs
        let (first, second) = isFirst ? (from, to) : (to, from)
        return (
            LinkEnd(first.row, second.row.rawValue), LinkEnd(RowID(rawValue: first.place), second.place)
        )
    }
}

extension Transaction {
    /// The other end of a link; nil if there is no such link.
    @inline(__always)
    func link(_ list: LinkList, _ end: LinkEnd) throws(StorageError) -> LinkEnd? {
        let found = try LinkKey(list, end).withBytes { (key) throws(StorageError) in try get(list.tree, key) }
        guard let found else { return nil }
        guard let other = LinkEnd(stored: found) else { throw list.damaged("an entry has no other end") }
        return other
    }

    @inline(__always)
    func put(_ list: LinkList, _ end: LinkEnd, _ other: LinkEnd) throws(StorageError) {
        try LinkKey(list, end).withBytes { (key) throws(StorageError) in
            try other.withStored { (value) throws(StorageError) in try put(list.tree, key, value) }
        }
    }

    @inline(__always)
    func delete(_ list: LinkList, _ end: LinkEnd) throws(StorageError) {
        _ = try LinkKey(list, end).withBytes { (key) throws(StorageError) in try delete(list.tree, key) }
    }

    /// Removes all of a row's entries in a list.
    func deleteAll(_ list: LinkList, of row: RowID) throws(StorageError) {
        _ = try LinkKey(list, row).withBytes { (from) throws(StorageError) in
            try LinkKey(behind: list, row).withBytes { (to) throws(StorageError) in
                try deleteRange(list.tree, from: from, to: to)
            }
        }
    }

    /// Counts a row's entries in a list from a place on.
    func count(_ list: LinkList, of row: RowID, from place: UInt64 = 0) throws(StorageError) -> UInt64 {
        try LinkKey(list, LinkEnd(row, place)).withBytes { (from) throws(StorageError) in
            try LinkKey(behind: list, row).withBytes { (to) throws(StorageError) in
                try count(list.tree, from: from, to: to)
            }
        }
    }
}

extension LinkList {
    func damaged(_ reason: String) -> StorageError {
        .corrupt(Corruption(tree: "links", reason: "list \(number): \(reason)"))
    }
}
