// SPDX-License-Identifier: Apache-2.0
// A transaction that changes data, with the store that is open for writing meanwhile: of one statement, or of those
// between BEGIN and COMMIT.

import Hornbeam
import HornbeamTree

/// Belongs to the thread of the command. `Sendable` only so that a lock can hold it.
final class HeldTransaction: @unchecked Sendable {
    let store: TreeStore
    /// Statements and dot commands run in it.
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

    /// Ends the transaction. It has ended also if this throws.
    func commit() throws {
        defer { core.transaction.abort() }
        try core.commit()
    }

    func rollBack() { core.transaction.abort() }
}
