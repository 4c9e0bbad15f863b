// SPDX-License-Identifier: Apache-2.0
// The bytes of the change log: consumers, and changes that are kept for them. Specified in Docs/file-format.md; nothing
// of them is trusted before it was read here.

import HornbeamPages

/// A consumer as the file has it.
struct StoredConsumer: Equatable {
    struct TypeName: Equatable {
        var name: String
        /// Whether its changes are wanted still; changes name types by their places here.
        var isWanted: Bool
    }

    /// Unlike any other's.
    let number: UInt32
    /// The last change that it is done with; 0 before the first.
    var acknowledged: UInt64 = 0
    /// The first change that is kept: the one after that, unless the bound has taken some.
    var first: UInt64 = 1
    /// What the next change will be: those from `first` up to it are kept, each of them.
    var next: UInt64 = 1
    /// At most so many changes are kept; 0 is no bound.
    var limit: UInt64 = 0
    var types: [TypeName] = []

    private static let format: UInt8 = 1
    /// Numbers of changes are smaller.
    private static let end: UInt64 = 1 << 63

    init(number: UInt32) { self.number = number }

    var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.format]
        bytes.append(little: number)
        for value in [acknowledged, first, next, limit] { bytes.append(little: value) }
        for type in types {
            let name = Array(type.name.utf8)
            bytes.append(type.isWanted ? 1 : 0)
            bytes.append(little: UInt16(truncatingIfNeeded: name.count))
            bytes += name
        }
        return bytes
    }

    /// Nil if these bytes are none.
    init?(_ bytes: Bytes) {
        var reader = LogReader(bytes)
        guard reader.read(UInt8.self) == Self.format, let number = reader.read(UInt32.self),
            let acknowledged = reader.read(UInt64.self), let first = reader.read(UInt64.self),
            let next = reader.read(UInt64.self), let limit = reader.read(UInt64.self),
            acknowledged < first, first <= next, next < Self.end
        else { return nil }
        self.init(number: number)
        (self.acknowledged, self.first, self.next, self.limit) = (acknowledged, first, next, limit)
        while !reader.rest.isEmpty {
            guard let flag = reader.read(UInt8.self), flag <= 1, let count = reader.read(UInt16.self),
                let text = reader.read(count: Int(count)), let name = String(validating: text, as: UTF8.self)
            else { return nil }
            types.append(TypeName(name: name, isWanted: flag == 1))
        }
    }

    /// The same for these types and this bound. Types that aren't wanted any more keep their places, and of several
    /// places with one name, which a type that takes another's name makes, one is wanted.
    func wanting(_ names: [String], _ limit: UInt64) -> Self {
        var consumer = self
        consumer.limit = limit
        var left = Set(names)
        for place in types.indices { consumer.types[place].isWanted = left.remove(types[place].name) != nil }
        for name in names where left.remove(name) != nil {
            consumer.types.append(TypeName(name: name, isWanted: true))
        }
        return consumer
    }

    /// The names of the types whose changes it gets.
    var wanted: [String] { types.filter(\.isWanted).map(\.name) }
}

/// A change as the file has it.
struct StoredChange {
    let kind: ChangeKind
    /// Of the state that it made.
    let version: UInt64
    /// Its place among the consumer's types.
    let type: Int
    /// The entity's id, as its type's column has it.
    let id: [UInt8]

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

    /// Nil if these bytes are none of this consumer.
    init?(_ bytes: Bytes, of consumer: StoredConsumer) {
        var reader = LogReader(bytes)
        guard let kind = reader.read(UInt8.self).flatMap(ChangeKind.init(rawValue:)),
            let version = reader.read(UInt64.self), let type = reader.read(UInt16.self),
            consumer.types.indices.contains(Int(type))
        else { return nil }
        self.init(kind: kind, version: version, type: Int(type), id: Array(reader.rest))
    }
}

/// Goes through the bytes of the log.
private struct LogReader {
    private(set) var rest: Bytes

    init(_ bytes: Bytes) { rest = bytes }

    mutating func read<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        read(count: MemoryLayout<Number>.size).map { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    mutating func read(count: Int) -> Bytes? {
        guard rest.count >= count else { return nil }
        defer { rest = Bytes(rebasing: rest.dropFirst(count)) }
        return Bytes(rebasing: rest.prefix(count))
    }
}

extension [UInt8] {
    fileprivate mutating func append(little number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
