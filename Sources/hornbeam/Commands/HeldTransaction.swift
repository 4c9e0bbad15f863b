// SPDX-License-Identifier: Apache-2.0
// The transaction between BEGIN and COMMIT, with the store that is open for writing meanwhile.

import Hornbeam
import HornbeamTree

/// Belongs to the thread of the command. `Sendable` only so that a lock can hold it.
final class HeldTransaction: @unchecked Sendable {
    let store: TreeStore
    /// Runs the statements and dot commands.
    let core: StoreTransaction

    /// Begins a transaction on a store that is open for writing.
    init(_ store: TreeStore) throws {
        guard let schema = try store.reading({ try SchemaCatalogue.open([], in: $0) }) else {
            throw CommandError("the store has no entity types: 'hornbeam schema apply' makes some")
        }
        self.store = store
        let transaction = try store.beginWrite()
        do {
            core = try StoreTransaction(writing: transaction, schema: schema)
        } catch {
            transaction.abort()
            throw error
        }
    }

    /// Commits the transaction. It has ended even if this throws.
    func commit() throws {
        defer { core.transaction.abort() }
        try core.commit()
    }

    func rollBack() { core.transaction.abort() }
}
