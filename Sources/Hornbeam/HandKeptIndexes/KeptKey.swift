// SPDX-License-Identifier: Apache-2.0
// Keys of groups and hashes: one component, as an index has it, read back by its type. Text comes back in its composed
// form, which is equal to what was given.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages

enum KeptKey {
    /// `.tooLarge` if the key is longer than any can be.
    static func bytes<Key: IndexKey>(_ key: Key, _ trees: KeptTrees) throws -> [UInt8] {
        let type = Key.columnType
        guard let value = key.columnValue.converted(to: type) else {
            throw HornbeamError(.invalid, "\(key) can't be a key of index “\(trees.name)”: it is no \(type)")
        }
        var writer = KeyWriter(capacity: 32)
        try KeyCoding.appendComponent(value, as: type, descending: false, to: &writer)
        guard writer.bytes.count <= KeptTrees.maximumKey else {
            throw StorageError.tooLarge(
                what: "a key of index “\(trees.name)”", size: writer.bytes.count, limit: KeptTrees.maximumKey)
        }
        return writer.bytes
    }

    /// `.corrupt` if the bytes are no key of the type.
    static func read<Key: IndexKey>(_ bytes: Bytes, _ trees: KeptTrees) throws -> Key {
        guard let value = value(bytes, Key.columnType), let key = Key(columnValue: value) else {
            throw trees.damaged("a key is no \(Key.columnType)")
        }
        return key
    }

    /// Nil if the bytes are no key of the type.
    static func value(_ bytes: Bytes, _ type: ColumnType) -> Value? {
        var reader = KeyReader(bytes)
        do throws(KeyError) {
            let value = try reader.readPresence() ? try value(&reader, type.unwrapped) : .null
            return reader.isAtEnd ? value : nil
        } catch {
            return nil
        }
    }

    private static func value(_ reader: inout KeyReader, _ type: ColumnType) throws(KeyError) -> Value? {
        switch type {
        case .bool: .bool(try reader.readBool())
        case .int8: .int(Int64(try reader.read(Int8.self)))
        case .int16: .int(Int64(try reader.read(Int16.self)))
        case .int32: .int(Int64(try reader.read(Int32.self)))
        case .int64: .int(try reader.read(Int64.self))
        case .uint8: .uint(UInt64(try reader.read(UInt8.self)))
        case .uint16: .uint(UInt64(try reader.read(UInt16.self)))
        case .uint32: .uint(UInt64(try reader.read(UInt32.self)))
        case .uint64: .uint(try reader.read(UInt64.self))
        case .float: .double(Double(try reader.readFloat()))
        case .double: .double(try reader.readDouble())
        case .date: .date(try reader.readDouble())
        case .uuid: .uuid(UUID(uuid: try reader.readUUID()))
        case .string, .url: .string(try reader.readString())
        case .data: .data(Data(try reader.readBytes()))
        case .decimal: decimal(try reader.readDecimal()).map { .decimal($0) }
        case .json, .array, .optional: nil
        }
    }

    private static func decimal(_ number: KeyDecimal) -> Decimal? {
        if number.isNaN { return .nan }
        return Decimal(string: "\(number.isNegative ? "-" : "")\(number.mantissa)e\(number.exponent)")
    }
}
