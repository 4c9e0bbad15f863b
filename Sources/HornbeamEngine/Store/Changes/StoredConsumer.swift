// SPDX-License-Identifier: Apache-2.0
// The bytes of the change log: consumers, and changes that are kept for them. They are specified in
// Docs/file-format.md. Bytes of the file are validated here.

import HornbeamPages
import HornbeamText

/// The changes that a consumer wants.
package struct ChangeWish {
    package var types: [String]
    package var links: Bool
    /// Maximum number of kept changes, 0 if there is no bound.
    package var limit: UInt64

    package init(types: [String], links: Bool, limit: UInt64) {
        self.types = types
        self.links = links
        self.limit = limit
    }
}

/// A consumer as the file has it.
package struct StoredConsumer: Equatable {
    package struct TypeName: Equatable {
        package var name: String
        /// Whether the consumer still wants its changes. Changes refer to types by their position in this list.
        package var isWanted: Bool
        /// Whether the consumer wants changes of its links, too.
        var wantsLinks = false
        /// Whether some of its changes may be missing because of a gap that the consumer hasn't acknowledged yet. It
        /// stays true while the type isn't wanted, because it may be wanted again.
        var isMissed = false

        fileprivate static let wanted: UInt8 = 1
        fileprivate static let links: UInt8 = 2
        fileprivate static let missed: UInt8 = 4

        fileprivate var flags: UInt8 {
            (isWanted ? Self.wanted : 0) | (wantsLinks ? Self.links : 0) | (isMissed ? Self.missed : 0)
        }
    }

    /// A number that no other consumer has.
    let number: UInt32
    /// The last change that the consumer has acknowledged, 0 before the first.
    package var acknowledged: UInt64 = 0
    /// The first change that is kept: the one after the acknowledged ones, unless the limit has removed some.
    package var first: UInt64 = 1
    /// The number of the next change. Every change from `first` to before this one is kept.
    package var next: UInt64 = 1
    /// Maximum number of kept changes, 0 if there is no bound.
    package var limit: UInt64 = 0
    /// The consumer's note, empty at first.
    package var note: [UInt8] = []
    package var types: [TypeName] = []

    private static let format: UInt8 = 2
    /// The format of consumers without a note. It doesn't tell the types whose changes are missed.
    private static let formatWithoutNote: UInt8 = 1
    /// Upper bound of the numbers of changes.
    private static let end: UInt64 = 1 << 63

    init(number: UInt32) { self.number = number }

    var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.format]
        bytes.append(little: number)
        for value in [acknowledged, first, next, limit] { bytes.append(little: value) }
        bytes.append(little: UInt16(truncatingIfNeeded: note.count))
        bytes += note
        for type in types {
            let name = Array(type.name.utf8)
            bytes.append(type.flags)
            bytes.append(little: UInt16(truncatingIfNeeded: name.count))
            bytes += name
        }
        return bytes
    }

    /// Decodes a consumer. Returns nil if the bytes are not one.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        guard let format = reader.byte(), [Self.format, Self.formatWithoutNote].contains(format),
            let number = reader.fixed(UInt32.self),
            let acknowledged = reader.fixed(UInt64.self), let first = reader.fixed(UInt64.self),
            let next = reader.fixed(UInt64.self), let limit = reader.fixed(UInt64.self),
            acknowledged < first, first <= next, next < Self.end
        else { return nil }
        self.init(number: number)
        (self.acknowledged, self.first, self.next, self.limit) = (acknowledged, first, next, limit)
        if format == Self.format {
            guard let count = reader.fixed(UInt16.self), let note = reader.slice(UInt64(count)) else { return nil }
            self.note = Array(note)
        }
        let known = TypeName.wanted | TypeName.links | (format == Self.format ? TypeName.missed : 0)
        while !reader.isAtEnd {
            guard let flags = reader.byte(), flags & ~known == 0,
                flags & TypeName.links == 0 || flags & TypeName.wanted != 0, let count = reader.fixed(UInt16.self),
                let text = reader.slice(UInt64(count)),
                let name = String(validating: text, as: UTF8.self)
            else { return nil }
            types.append(
                TypeName(
                    name: name, isWanted: flags & TypeName.wanted != 0, wantsLinks: flags & TypeName.links != 0,
                    isMissed: flags & TypeName.missed != 0 || format == Self.formatWithoutNote && hasGap))
        }
        if types.contains(where: \.isMissed), !hasGap { return nil }
    }

    /// Whether changes are missed: the next one to acknowledge isn't kept.
    package var hasGap: Bool { first > acknowledged + 1 }

    /// The names of the wanted types of which changes may have been missed.
    package var missed: [String] {
        let names = Set(types.filter(\.isMissed).map(\.name))
        return wanted.filter(names.contains)
    }

    /// Whether changes of each type may be missed.
    var missesAll: Bool { types.allSatisfy(\.isMissed) }

    /// Notes that changes of all types may be missed.
    mutating func missAll() {
        for place in types.indices { types[place].isMissed = true }
    }

    /// The consumer with another wish. Types that it no longer wants keep their positions. If several types have one
    /// name, because a type was renamed to another one's name, only one of them is wanted.
    package func wanting(_ wish: ChangeWish) -> Self {
        var consumer = self
        consumer.limit = wish.limit
        var left = Set(wish.types)
        for place in types.indices {
            let isWanted = left.remove(types[place].name) != nil
            consumer.types[place].isWanted = isWanted
            consumer.types[place].wantsLinks = isWanted && wish.links
        }
        for name in wish.types where left.remove(name) != nil {
            consumer.types.append(TypeName(name: name, isWanted: true, wantsLinks: wish.links))
        }
        return consumer
    }

    var wish: ChangeWish { ChangeWish(types: wanted, links: wantsLinks, limit: limit) }

    package var wantsLinks: Bool { types.contains(where: \.wantsLinks) }

    /// The names of the types whose changes it gets.
    package var wanted: [String] { types.filter(\.isWanted).map(\.name) }
}

/// A change as the file has it.
package struct StoredChange {
    package let kind: ChangeKind
    /// The version of the state that the change made.
    package let version: UInt64
    /// Its position in the consumer's list of types.
    package let type: Int
    /// The bytes of the entity's id in the type of its column.
    package let id: [UInt8]

    var bytes: [UInt8] {
        var bytes: [UInt8] = [kind.rawValue]
        bytes.append(little: version)
        bytes.append(little: UInt16(truncatingIfNeeded: type))
        return bytes + id
    }

    init(kind: ChangeKind, version: UInt64, type: Int, id: [UInt8]) {
        self.kind = kind
        self.version = version
        self.type = type
        self.id = id
    }

    /// Decodes a change. Returns nil if the bytes are not a change of this consumer.
    init?(_ bytes: Bytes, of consumer: StoredConsumer) {
        var reader = ByteReader(bytes)
        guard let kind = reader.byte().flatMap(ChangeKind.init(rawValue:)),
            let version = reader.fixed(UInt64.self), let type = reader.fixed(UInt16.self),
            consumer.types.indices.contains(Int(type))
        else { return nil }
        self.init(kind: kind, version: version, type: Int(type), id: Array(reader.rest))
    }
}

extension [UInt8] {
    fileprivate mutating func append(little number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
