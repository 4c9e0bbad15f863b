// SPDX-License-Identifier: Apache-2.0
// What the file knows of registered indexes: an entry each in the tree `schema`, `index:Name` → identity ‖ JSON, the
// tree of their entries, `m:Type:Name`, and what they have missed, `c:Type:Name`.

import FoundationEssentials
import HornbeamPages
import HornbeamTree

/// A registered index as the file has it.
struct StoredIndex: Sendable, Equatable {
    /// All but the name and the identity.
    struct Record: Codable, Sendable, Equatable {
        var entity: String
        var kind: String
        var version: String
        var settings: [String: String]
        /// A hash of the entity type's columns, as they were when the index was built: other ones give other entities.
        var columns: String
    }

    let name: String
    let identity: [UInt8]
    var record: Record

    var treeName: String { RegisteredCatalogue.treeName(of: name, record.entity) }
    var missedName: String { RegisteredCatalogue.missedName(of: name, record.entity) }
}

enum RegisteredCatalogue {
    private static let prefix = Array("index:".utf8)
    private static let identitySize = 16

    static func treeName(of index: String, _ entity: String) -> String { "m:\(entity):\(index)" }
    static func missedName(of index: String, _ entity: String) -> String { "c:\(entity):\(index)" }

    /// All of them, by name.
    static func read(_ transaction: Transaction) throws -> [StoredIndex] {
        guard let tree = try transaction.tree(SchemaCatalogue.treeName) else { return [] }
        var indexes: [StoredIndex] = []
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(prefix)
        while isValid, cursor.key.starts(with: prefix) {
            let name = String(decoding: cursor.key.dropFirst(prefix.count), as: UTF8.self)
            indexes.append(try decode(name, Array(cursor.value)))
            isValid = try cursor.next()
        }
        return indexes
    }

    static func read(_ name: String, in transaction: Transaction) throws -> StoredIndex? {
        try record(of: name, in: transaction).map { try decode(name, Array($0)) }
    }

    /// Whether the file has the index with this code's entries.
    static func holds(_ registration: IndexRegistration, in transaction: Transaction) throws -> Bool {
        try record(of: registration.name, in: transaction)?.starts(with: registration.identity) ?? false
    }

    /// What the catalogue has of an index.
    static func record(of name: String, in transaction: Transaction) throws -> Bytes? {
        guard let tree = try transaction.tree(SchemaCatalogue.treeName) else { return nil }
        return try transaction.get(tree, prefix + Array(name.utf8))
    }

    private static func decode(_ name: String, _ value: [UInt8]) throws -> StoredIndex {
        guard value.count > identitySize,
            let record = try? JSONDecoder().decode(StoredIndex.Record.self, from: Data(value[identitySize...]))
        else {
            throw StorageError.corrupt(
                Corruption(tree: SchemaCatalogue.treeName, reason: "the registered index “\(name)” is not readable"))
        }
        return StoredIndex(name: name, identity: Array(value[..<identitySize]), record: record)
    }

    static func store(_ index: StoredIndex, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(SchemaCatalogue.treeName, create: true) else { return }
        try transaction.put(tree, prefix + Array(index.name.utf8), try encode(index))
    }

    /// As `record` gives it.
    static func encode(_ index: StoredIndex) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return index.identity + Array(try encoder.encode(index.record))
    }

    /// Forgets an index, and drops its trees.
    static func drop(_ index: StoredIndex, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(SchemaCatalogue.treeName) else { return }
        _ = try transaction.delete(tree, prefix + Array(index.name.utf8))
        for name in [index.treeName, index.missedName, index.placesName] { _ = try transaction.dropTree(name) }
    }

    /// Gives the indexes of a type its new name; nil drops them with it. Their identities say the old name still: they
    /// are built anew when they are next registered.
    static func rename(_ entity: String, to new: String?, in transaction: Transaction) throws {
        for index in try read(transaction) where index.record.entity == entity || index.group == entity {
            guard let new else {
                try drop(index, in: transaction)
                continue
            }
            var renamed = index
            if index.group == entity { renamed.record.settings[HandKeptKind.groupSetting] = new }
            if index.record.entity == entity {
                renamed.record.entity = new
                for name in [\StoredIndex.treeName, \.missedName, \.placesName] {
                    _ = try transaction.renameTree(index[keyPath: name], to: renamed[keyPath: name])
                }
            }
            try store(renamed, in: transaction)
        }
    }

    /// Gives the indexes of a type an identity that no code has: they are built anew when they are next registered.
    /// A migration has changed rows that it doesn't show them, and may go back to the columns that they know; nor can
    /// the rows that they have missed be read any more. Hand-kept indexes, which know ids alone, stay as they are.
    static func outdate(_ entity: String, in transaction: Transaction) throws {
        for index in try read(transaction) where index.record.entity == entity && index.handKept == nil {
            let unknown = [UInt8](repeating: 0, count: identitySize)
            try store(StoredIndex(name: index.name, identity: unknown, record: index.record), in: transaction)
            _ = try transaction.dropTree(index.missedName)
        }
    }

    /// What `StoredIndex.Record.columns` says of a type.
    static func fingerprint(_ type: EntityDescription) -> String {
        let parts = type.columns.map { "\($0.name):\($0.type)" }.sorted()
        let hash = IndexKeyBytes.hashed(Array(parts.joined(separator: "\n").utf8))
        return hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension IndexRegistration {
    /// The index's tree in a state. `.indexNotReady` where it isn't there, is of another version, or has missed
    /// changes.
    func tree(in transaction: Transaction) throws -> TreeID {
        guard try RegisteredCatalogue.holds(self, in: transaction),
            let tree = try transaction.tree(RegisteredCatalogue.treeName(of: name, entity)),
            try transaction.tree(RegisteredCatalogue.missedName(of: name, entity)) == nil
        else {
            throw HornbeamError(
                .indexNotReady,
                "index “\(name)” of \(entity) is not there in this state, is of another version, or has missed "
                    + "changes: register it with database.register(…)")
        }
        return tree
    }
}
