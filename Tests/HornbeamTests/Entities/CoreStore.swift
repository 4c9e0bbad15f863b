// SPDX-License-Identifier: Apache-2.0
// A store with one open transaction over given descriptions, and short functions that put rows into it. It is in
// memory unless another store is given.

import HornbeamTree

@testable import Hornbeam
@testable import HornbeamEngine

/// A write transaction over a store, or the next one over the same store after `reopen`.
final class CoreStore {
    let store: TreeStore
    private(set) var core: StoreTransaction
    private var descriptions: [EntityDescription]

    /// - Parameter linkLimits: the limits of the first transaction.
    init(
        _ descriptions: [EntityDescription], in other: TreeStore? = nil,
        linkLimits: EdgeTrees.Limits = EdgeTrees.Limits()
    ) throws {
        store = try other ?? TreeStore.inMemory()
        self.descriptions = descriptions
        let transaction = try store.beginWrite()
        core = StoreTransaction(
            transaction, schema: try require(SchemaCatalogue.open(descriptions, in: transaction)),
            linkLimits: linkLimits)
    }

    /// Commits, and begins a transaction with these descriptions.
    func reopen(
        _ new: [EntityDescription]? = nil, _ migrations: [MigrationStep] = [],
        progress: MigrationProgress.Handler? = nil
    ) throws {
        try core.commit()
        if let new { descriptions = new }
        let transaction = try store.beginWrite()
        do {
            let schema = try SchemaCatalogue.open(
                descriptions, in: transaction, migrations: migrations, progress: progress)
            core = StoreTransaction(transaction, schema: try require(schema))
        } catch {
            transaction.abort()
            let again = try store.beginWrite()
            core = StoreTransaction(again, schema: try SchemaCatalogue.load(again))
            throw error
        }
    }

    /// Discards uncommitted changes.
    func rollBack() throws {
        core.transaction.abort()
        let transaction = try store.beginWrite()
        core = StoreTransaction(
            transaction, schema: try require(SchemaCatalogue.open(descriptions, in: transaction)))
    }

    subscript(_ type: String) -> EntityStore {
        get throws { try core.store(type) }
    }

    /// Saves a row, given by the values of its columns in order; the id comes first.
    @discardableResult
    func save(_ type: String, _ values: [Value]) throws -> RowID {
        let entities = try core.store(type)
        let rowID = try entities.ensureRowID(of: values[0], saving: true)
        try entities.save(try row(type, values), rowID)
        return rowID
    }

    /// The bytes of a row.
    func row(_ type: String, _ values: [Value]) throws -> [UInt8] {
        var row = try core.store(type).makeRow()
        for (column, value) in values.enumerated() { row.set(value, column) }
        return try row.finish()
    }

    func ids(_ query: EntityQuery) throws -> [Value] {
        let entities = try core.store(query.type)
        return try core.rowIDs(query).map { try entities.id(of: $0) ?? .null }
    }

    /// The number of entries of a tree.
    func entries(_ tree: String) throws -> UInt64 {
        try core.settleLinks()
        guard let id = try core.transaction.tree(tree) else { return 0 }
        return try core.transaction.count(id)
    }

    func problems() throws -> [String] {
        try core.flush()
        var problems: [String] = []
        _ = try EntityCheck(core).run { problems.append($0) }
        return problems
    }
}

struct Missing: Error {}

func require<T>(_ value: T?) throws -> T {
    guard let value else { throw Missing() }
    return value
}
