// SPDX-License-Identifier: Apache-2.0
// Repairs a hand-kept index after a damaged file has lost a part of it, or of the entities. Each remaining entry has
// the row of its entity.
// row of each.

import HornbeamPages
import HornbeamTree

extension Database {
    /// Removes invalid entries of a hand-kept index, which are unreadable or lead to entities that aren't stored, and
    /// rebuilds the tree that finds the entries of an entity. For files that were salvaged: `check` reports the indexes
    /// that need it. Lost entries stay lost. Throws `.indexNotReady` if there is no such index. The time depends on the
    /// size of the index.
    ///
    /// - Returns: the number of removed entries.
    @discardableResult
    public func repair(handKept name: String) throws -> Int {
        try indexing {
            let transaction = try store.beginWrite()
            do {
                guard let index = try RegisteredCatalogue.read(name, in: transaction), index.handKept != nil else {
                    throw HornbeamError(
                        .indexNotReady,
                        "the database has no hand-kept index “\(name)”: registeredIndexes() lists those that "
                            + "exist")
                }
                let core = StoreTransaction(transaction, schema: schema)
                let removed = try KeptRepair(index: index, core: core).run()
                try core.commit()
                return removed
            } catch {
                transaction.abort()
                throw error
            }
        }
    }
}

private struct KeptRepair {
    let index: StoredIndex
    let core: StoreTransaction

    func run() throws -> Int {
        let transaction = core.transaction
        let trees = try KeptTrees(index, in: transaction, create: true)
        let members = try core.store(index.record.entity)
        let groups = try index.group.map { try core.store($0) }
        var unfit: [[UInt8]] = []
        var sorter = EntrySorter(transaction)
        var cursor = try transaction.cursor(trees.entries)
        while try cursor.next() {
            let key = Array(cursor.key)
            let row = trees.places == nil ? RowID(key: cursor.key) : RowID(stored: cursor.value)
            guard index.isReadable(key), let row, try members.isSaved(row), try isInGroup(key, groups) else {
                unfit.append(key)
                continue
            }
            if trees.places != nil { try sorter.add(row.key + key, flag: 0) }
        }
        for key in unfit { _ = try transaction.delete(trees.entries, key) }
        if let places = trees.places {
            _ = try transaction.deleteRange(places, from: [], to: [])
            try sorter.finish { place, _, _ in try transaction.append(places, place, []) }
        }
        return unfit.count
    }

    private func isInGroup(_ key: [UInt8], _ groups: EntityStore?) throws -> Bool {
        guard let groups else { return true }
        return try key.withUnsafeBytes { RowID(key: $0) }.map { try groups.isSaved($0) } ?? false
    }
}
