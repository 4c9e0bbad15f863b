// SPDX-License-Identifier: Apache-2.0
// The bytes of a map index's rows. Any bytes may come from a damaged file: bytes that are no row are read as nil.
//
//   key    the emitted key, a dynamic value of Docs/keys.md under the collation of the settings; of more than 1,000
//          bytes: its first 985 bytes ‖ FNV-128 of the whole key, together 1,001
//          row id, 8 bytes big-endian
//          u32 big-endian: counts equal keys of one row from 0, in the order in which they were emitted
//   value  u8: 1 a value was emitted, + 2 a link was, + 4 the id follows, + 8 the whole key does; no other bits
//          if 4: u16 size ‖ id as value bytes: of entities whose id isn't their row id
//          if 2: u16 size ‖ name of the type that the row points to ‖ 00 ‖ id as value bytes
//          if 8: u32 size ‖ the whole emitted key, where the entry's key has only its beginning
//          if 1, to the end: the emitted value as value bytes of the type in the settings
//
// A key that is too long for a tree is cut to its first 985 bytes and a 128-bit hash of the whole key. The entry's
// value has the whole key. So keys with the same first 985 bytes are adjacent, in the order of their hashes, and
// readers sort them (`LongKeys`).

import HornbeamKeys
package import HornbeamPages

/// The positions of the parts of an entry's key.
enum MapEntryKey {
    /// Size of the parts after the emitted key: row id, 8 bytes, and ordinal among the equal keys of one entity, 4
    /// bytes; big-endian.
    static let suffix = 12
    /// Longest emitted key that isn't cut, so that an entry fits the smallest page.
    static let limit = 1_000
    /// The size of each cut key. No other key has it.
    static let cutSize = limit + 1
    /// Bytes of a cut key before its hash.
    static let keptSize = cutSize - 16

    /// Returns the emitted key as it is stored in an entry: cut if it is too long.
    static func cut(_ key: [UInt8]) -> [UInt8] {
        key.count > limit ? key[..<keptSize] + IndexKeyBytes.hashed(key) : key
    }

    static func rowID(_ key: Bytes) -> RowID? { RowID(key: key, at: key.count - suffix) }

    /// Returns the bytes of the emitted key, or nil if the entry's key is too short.
    static func emitted(_ key: Bytes) -> Bytes? {
        key.count > suffix ? Bytes(rebasing: key[..<(key.count - suffix)]) : nil
    }
}

/// An entry's value: flags u8 (1 value, 2 link, 4 id, 8 key), then its parts, if present: the id of its entity and the
/// link, each u16 size and bytes; the whole of a cut key, u32 size and bytes; the emitted value, to the end.
package struct MapEntryValue {
    private enum Flags {
        static let value: UInt8 = 1
        static let link: UInt8 = 2
        static let id: UInt8 = 4
        static let key: UInt8 = 8
    }

    /// The id of the entry's entity as value bytes. Nil if the row id is the id.
    package private(set) var id: Bytes?
    package private(set) var link: Bytes?
    /// The whole emitted key, if the entry's key is cut.
    package private(set) var key: Bytes?
    package private(set) var value: Bytes?

    package init?(_ bytes: Bytes) {
        guard let flags = bytes.first, flags & ~15 == 0 else { return nil }
        var at = 1
        func part(_ width: Int = 2) -> Bytes? {
            guard bytes.count >= at + width else { return nil }
            let size = Int(ValueBytes.unsigned(Bytes(rebasing: bytes[at..<at + width])))
            at += width
            guard bytes.count >= at + size else { return nil }
            defer { at += size }
            return Bytes(rebasing: bytes[at..<at + size])
        }
        if flags & Flags.id != 0 {
            guard let part = part() else { return nil }
            id = part
        }
        if flags & Flags.link != 0 {
            guard let part = part() else { return nil }
            link = part
        }
        if flags & Flags.key != 0 {
            guard let part = part(4) else { return nil }
            key = part
        }
        if flags & Flags.value != 0 {
            value = Bytes(rebasing: bytes[at...])
        } else if at != bytes.count {
            return nil
        }
    }

    /// Returns the bytes of an entry with these parts, or nil if one of them is too long.
    package static func bytes(
        id: [UInt8]?, link: [UInt8]? = nil, key: [UInt8]? = nil, value: [UInt8]? = nil
    ) -> [UInt8]? {
        var bytes: [UInt8] = [0]
        for (part, flag) in [(id, Flags.id), (link, Flags.link)] {
            guard let part else { continue }
            guard let size = UInt16(exactly: part.count) else { return nil }
            bytes[0] |= flag
            bytes.append(UInt8(truncatingIfNeeded: size))
            bytes.append(UInt8(truncatingIfNeeded: size >> 8))
            bytes += part
        }
        if let key {
            guard let size = UInt32(exactly: key.count) else { return nil }
            bytes[0] |= Flags.key
            ValueBytes.appendLittle(UInt64(size), 4, to: &bytes)
            bytes += key
        }
        if let value {
            bytes[0] |= Flags.value
            bytes += value
        }
        return bytes
    }

    /// Returns the entry's value as this version writes it. Earlier versions wrote the elements of sets in any order.
    /// Returns nil if the values aren't stored as JSON.
    func rewritten<Value: ColumnValue>(as _: Value.Type) -> [UInt8]? {
        guard Value.columnType.unwrapped == .json, let emitted = try? self.value(as: Value.self),
            case .json(let text) = emitted.columnValue
        else { return nil }
        return Self.bytes(
            id: id.map { Array($0) }, link: link.map { Array($0) }, key: key.map { Array($0) },
            value: Array(text.utf8))
    }

    /// Returns the emitted value, or nil if there is none. Throws an error if its bytes are not readable.
    package func value<Value: ColumnValue>(as _: Value.Type) throws(HornbeamError) -> Value? {
        guard let value else { return nil }
        guard let stored = ValueBytes.decode(value, as: Value.columnType) else { throw Self.unreadable }
        guard let decoded = Value(columnValue: stored) else {
            throw HornbeamError(
                .undecodable,
                "the emitted value \(stored.text.shown()) is no \(Value.self): if the type of an index's values has "
                    + "changed, give the index another version")
        }
        return decoded
    }

    static var unreadable: HornbeamError {
        HornbeamError(.corrupt, "corrupt data: an emitted value isn't one of the type that its index has")
    }
}

/// A link of a row to another entity than the one that the row was emitted for.
public struct EntityLink: Sendable, Hashable {
    /// The name of the entity's type.
    public let entity: String
    /// The entity's id as value bytes.
    private let id: [UInt8]

    /// Makes a link to the entity of a type that has this id.
    public init<Entity: EntityModelProtocol>(_: Entity.Type, _ id: Entity.ID) {
        entity = Entity.entityName
        var bytes: [UInt8] = []
        _ = ValueBytes.append(id.columnValue, as: Entity.ID.columnType, to: &bytes)
        self.id = bytes
    }

    /// Returns the entity's id, or nil if the entity is of another type.
    public func id<Entity: EntityModelProtocol>(of _: Entity.Type) -> Entity.ID? {
        guard entity == Entity.entityName else { return nil }
        return id.withUnsafeBytes { ValueBytes.decode($0, as: Entity.ID.columnType) }
            .flatMap { Entity.ID(columnValue: $0) }
    }

    /// The link as bytes: the type's name, a zero byte, the id.
    package var bytes: [UInt8] { Array(entity.utf8) + [0] + id }

    package init?(_ bytes: Bytes) {
        guard let end = bytes.firstIndex(of: 0), let name = ValueBytes.string(Bytes(rebasing: bytes[..<end])) else {
            return nil
        }
        entity = name
        id = Array(bytes[(end + 1)...])
    }
}
