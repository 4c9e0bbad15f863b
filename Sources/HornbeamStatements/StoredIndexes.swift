// SPDX-License-Identifier: Apache-2.0
// The registered indexes of a file without the program's types, as the command reads it: indexes over stored properties
// describe themselves in the file.

import HornbeamPages
package import HornbeamTree

extension StoreTransaction {
    /// A read of a store without the types of its program. Queries use complete value indexes of stored properties, and
    /// a check verifies these. Indexes that need the program's code are skipped.
    package convenience init(reading transaction: Transaction) throws {
        let schema = try SchemaCatalogue.load(transaction)
        self.init(
            transaction, schema: schema, capture: nil,
            registered: try RegisteredIndexes(toldBy: transaction, schema))
    }

    /// The indexes whose entries only the program's code can compute: arrays, maps, views and similar ones. Hand-kept
    /// indexes aren't among them, because no code computes their entries.
    package var indexesOfCode: [String] {
        guard let registered else { return [] }
        return registered.stored.filter {
            $0.handKept == nil && $0.record.build == nil && registered.maintained[$0.name] == nil
        }.map(\.publicName)
    }
}

extension StoreTransaction {
    /// The declared indexes by a collation that has another version here, or isn't available: no query uses them, and
    /// their keys can't be computed.
    package var indexesOfOtherOrders: [String] {
        schema.typeNames.flatMap { name in
            (schema.types[name]?.indexes ?? []).filter { $0.flaw != nil }.map { "\($0.description.name) of \(name)" }
        }
    }
}

extension RegisteredIndexes {
    fileprivate convenience init(toldBy transaction: Transaction, _ schema: Schema) throws {
        let stored = try RegisteredCatalogue.read(transaction)
        var maintained: [String: MaintainedIndex] = [:]
        for index in stored {
            // The check reports an index that can't be used. The others are still read.
            guard let type = schema.types[index.record.entity],
                index.record.columns == RegisteredCatalogue.fingerprint(type.description),
                let registration = index.registration(type.description),
                let trees = try index.readableTrees(transaction),
                let found = try? MaintainedIndex(registration, trees, type)
            else { continue }
            maintained[index.name] = found
        }
        self.init(stored: stored, maintained: maintained)
    }
}

extension StoredIndex {
    /// Returns the trees of the index. Returns nil if one is missing, or if the file's record of one is damaged.
    fileprivate func readableTrees(_ transaction: Transaction) throws(StorageError) -> IndexTrees? {
        do throws(StorageError) {
            return try IndexTrees(of: self, in: transaction)
        } catch {
            guard case .corrupt = error else { throw error }
            return nil
        }
    }

    /// The registration of a value index of stored properties. Returns nil for other indexes, and if a collation of the
    /// index has another version here.
    fileprivate func registration(_ type: EntityDescription) -> IndexRegistration? {
        guard record.kind == ValueIndexDefinition.kind, record.build == nil,
            let definition = ValueIndexDefinition(settings: record.settings), definition.flaw(for: type) == nil
        else { return nil }
        let told = definition.registration(publicName, version: record.version, record.entity, model: nil)
        let versions = ValueIndexDefinition.collationVersions(in:)
        return versions(told.settings) == versions(record.settings) ? told : nil
    }
}
