// SPDX-License-Identifier: Apache-2.0
// Keys of groups and hashes: one component in the form of an index's key, which is read back by its type. Text is read
// back in its composed form, which is equal to the original.

import HornbeamKeys
package import HornbeamPages

package enum KeptKey {
    /// The bytes of a key. Throws `.tooLarge` if the key is longer than `KeptTrees.maximumKey`, and `.invalid` if it
    /// doesn't fit its type.
    package static func bytes<Key: IndexKey>(_ key: Key, _ trees: KeptTrees) throws -> [UInt8] {
        let type = Key.columnType
        guard let value = key.columnValue.converted(to: type) else {
            throw HornbeamError(
                .invalid, "\("\(key)".shown()) can't be a key of index “\(trees.name)”: it is no \(type)")
        }
        var writer = KeyWriter(capacity: 32)
        try KeyCoding.appendComponent(value, as: type, descending: false, to: &writer)
        guard writer.bytes.count <= KeptTrees.maximumKey else {
            throw StorageError.tooLarge(
                what: "a key of index “\(trees.name)”", size: writer.bytes.count, limit: KeptTrees.maximumKey)
        }
        return writer.bytes
    }

    /// Decodes a key. Throws `.corrupt` if the bytes are no key of the type.
    package static func read<Key: IndexKey>(_ bytes: Bytes, _ trees: KeptTrees) throws -> Key {
        guard let value = value(bytes, Key.columnType), let key = Key(columnValue: value) else {
            throw trees.damaged("a key is no \(Key.columnType)")
        }
        return key
    }

    /// Decodes a key of the type. Returns nil if the bytes are no such key.
    static func value(_ bytes: Bytes, _ type: ColumnType) -> Value? {
        var reader = KeyReader(bytes)
        guard let value = try? KeyCoding.readComponent(type, from: &reader), reader.isAtEnd else { return nil }
        return value
    }
}
