// SPDX-License-Identifier: Apache-2.0
// Dynamic values as keys. A tag for the type comes first, so that null < false < true < numbers < strings < arrays <
// dictionaries. Arrays and dictionaries end with a zero byte, which is below every tag: they sort item by item, a
// prefix first. Strings sort by a collation and then by their scalars, so equal bytes mean equal strings, and each can
// be read back. A collation belongs to the index: bytes made with one can't be read or compared with another.

/// The first byte of a dynamic value. Zero ends an array or a dictionary.
private enum DynamicTag {
    static let end: UInt8 = 0x00
    static let null: UInt8 = 0x10
    static let `false`: UInt8 = 0x20
    static let `true`: UInt8 = 0x21
    static let number: UInt8 = 0x30
    static let string: UInt8 = 0x40
    static let array: UInt8 = 0x50
    static let dictionary: UInt8 = 0x60
}

extension KeyWriter {
    /// Appends a value. Throws `.tooDeep` if it nests too deep.
    package mutating func append(_ value: DynamicValue, collator: Collator) throws(KeyError) {
        try append(value, collator: collator, depth: 0)
    }

    /// Appends the prefix of the keys of all values that begin with `prefix`: arrays with exactly these first items,
    /// and strings with this prefix (and perhaps others, which have to be checked again). For any other type it is the
    /// value's own key.
    package mutating func append(prefix: DynamicValue, collator: Collator) throws(KeyError) {
        switch prefix {
        case .string(let text):
            bytes.append(DynamicTag.string)
            try append(prefix: text, collator: collator)
        case .array(let items):
            bytes.append(DynamicTag.array)
            for item in items { try append(item, collator: collator, depth: 1) }
        default:
            try append(prefix, collator: collator)
        }
    }

    private mutating func append(_ value: DynamicValue, collator: Collator, depth: Int) throws(KeyError) {
        switch value {
        case .null: bytes.append(DynamicTag.null)
        case .bool(let value): bytes.append(value ? DynamicTag.true : DynamicTag.false)
        case .int(let value): append(DynamicNumber(value))
        case .uint(let value): append(DynamicNumber(value))
        case .double(let value): append(DynamicNumber(value))
        case .string(let value): try append(dynamic: value, collator: collator)
        case .array(let items):
            try checkDepth(depth)
            bytes.append(DynamicTag.array)
            for item in items { try append(item, collator: collator, depth: depth + 1) }
            bytes.append(DynamicTag.end)
        case .dictionary(let entries):
            try checkDepth(depth)
            try append(entries, collator: collator, depth: depth)
        }
    }

    private func checkDepth(_ depth: Int) throws(KeyError) {
        guard depth < DynamicValue.depthLimit else { throw .tooDeep(limit: DynamicValue.depthLimit) }
    }

    private mutating func append(_ number: DynamicNumber) {
        bytes.append(DynamicTag.number)
        append(number.floor)
        if DynamicNumber.hasResidue(OrderedBits.double(number.floor) ?? .nan) { append(number.residue) }
    }

    private mutating func append(dynamic text: String, collator: Collator) throws(KeyError) {
        bytes.append(DynamicTag.string)
        if collator.collation != .binary { try append(text, collator: collator) }
        append(text)
    }

    /// Appends entries in the order of their keys, so that dictionaries compare entry by entry.
    private mutating func append(
        _ entries: [String: DynamicValue], collator: Collator, depth: Int
    ) throws(KeyError) {
        var encoded: [(key: [UInt8], value: DynamicValue)] = []
        encoded.reserveCapacity(entries.count)
        for (name, value) in entries {
            var key = KeyWriter()
            try key.append(dynamic: name, collator: collator)
            encoded.append((key.bytes, value))
        }
        encoded.sort { $0.key.lexicographicallyPrecedes($1.key) }
        bytes.append(DynamicTag.dictionary)
        for (key, value) in encoded {
            bytes.append(contentsOf: key)
            try append(value, collator: collator, depth: depth + 1)
        }
        bytes.append(DynamicTag.end)
    }
}

extension KeyReader {
    /// Reads the value, with each number as the narrowest case that holds it (1.0 is read as `int(1)`, which equals
    /// it).
    package mutating func readDynamic(_ collation: Collation) throws(KeyError) -> DynamicValue {
        try readDynamic(collation, depth: 0)
    }

    /// Skips a dynamic value.
    package mutating func skipDynamic(_ collation: Collation) throws(KeyError) {
        var depth = 0
        repeat {
            let start = offset
            switch try readByte() {
            case DynamicTag.null, DynamicTag.false, DynamicTag.true:
                break
            case DynamicTag.number:
                _ = try readNumber(start: start)
            case DynamicTag.string:
                try skipText(collation)
            case DynamicTag.array, DynamicTag.dictionary:
                depth += 1
            case DynamicTag.end where depth > 0:
                depth -= 1
            case let tag:
                throw .unknownTag(tag, at: start)
            }
        } while depth > 0
    }

    /// Skips an array's start and its first `count` items, and returns the number of bytes up to there. The keys of all
    /// arrays with equal first items begin with these bytes. Returns nil for an array with fewer items, and for any
    /// other value.
    package mutating func skipItems(_ count: Int, _ collation: Collation) throws(KeyError) -> Int? {
        guard try readByte() == DynamicTag.array else { return nil }
        for _ in 0..<count {
            if try peek() == DynamicTag.end { return nil }
            try skipDynamic(collation)
        }
        return offset
    }

    private mutating func readDynamic(_ collation: Collation, depth: Int) throws(KeyError) -> DynamicValue {
        let start = offset
        switch try readByte() {
        case DynamicTag.null: return .null
        case DynamicTag.false: return .bool(false)
        case DynamicTag.true: return .bool(true)
        case DynamicTag.number: return try readNumber(start: start).value
        case DynamicTag.string: return .string(try readText(collation))
        case DynamicTag.array:
            try checkDepth(depth)
            return .array(try readItems(collation, depth: depth + 1))
        case DynamicTag.dictionary:
            try checkDepth(depth)
            return .dictionary(try readEntries(collation, depth: depth + 1))
        case let tag: throw .unknownTag(tag, at: start)
        }
    }

    private func checkDepth(_ depth: Int) throws(KeyError) {
        guard depth < DynamicValue.depthLimit else { throw .tooDeep(limit: DynamicValue.depthLimit) }
    }

    private mutating func readNumber(start: Int) throws(KeyError) -> DynamicNumber {
        let floor = try read(UInt64.self)
        var residue: UInt16 = 0
        if DynamicNumber.hasResidue(OrderedBits.double(floor) ?? .nan) { residue = try read(UInt16.self) }
        guard let number = DynamicNumber(floor: floor, residue: residue) else {
            throw .malformed(offset: start, reason: "these bits are never written for a number")
        }
        return number
    }

    private mutating func skipText(_ collation: Collation) throws(KeyError) {
        if collation != .binary { _ = try skipTerminated() }
        _ = try skipTerminated()
    }

    private mutating func readText(_ collation: Collation) throws(KeyError) -> String {
        if collation != .binary { _ = try skipTerminated() }
        return try readString()
    }

    private mutating func readItems(_ collation: Collation, depth: Int) throws(KeyError) -> [DynamicValue] {
        var items: [DynamicValue] = []
        while try peek() != DynamicTag.end { items.append(try readDynamic(collation, depth: depth)) }
        offset += 1
        return items
    }

    private mutating func readEntries(
        _ collation: Collation, depth: Int
    ) throws(KeyError) -> [String: DynamicValue] {
        var entries: [String: DynamicValue] = [:]
        while true {
            let start = offset
            let tag = try readByte()
            if tag == DynamicTag.end { return entries }
            guard tag == DynamicTag.string else { throw .unknownTag(tag, at: start) }
            let name = try readText(collation)
            guard entries.updateValue(try readDynamic(collation, depth: depth), forKey: name) == nil else {
                throw .malformed(offset: start, reason: "the dictionary has two entries “\(name)”")
            }
        }
    }
}

extension KeyError {
    fileprivate static func unknownTag(_ tag: UInt8, at offset: Int) -> KeyError {
        .malformed(offset: offset, reason: "\(tag) is no type of dynamic value")
    }
}
