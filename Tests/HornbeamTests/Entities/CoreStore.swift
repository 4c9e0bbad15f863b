// SPDX-License-Identifier: Apache-2.0
// A store, in memory unless another is given, with one open session over given descriptions, and short ways to put
// rows into it.

import HornbeamTree

@testable import Hornbeam
@testable import HornbeamEngine

/// One write transaction over a store, or the next one over the same store after `reopen`.
final class CoreStore {
    let store: TreeStore
    private(set) var session: StoreTransaction
    private var descriptions: [EntityDescription]

    /// - Parameter linkLimits: of its first session.
    init(
        _ descriptions: [EntityDescription], in other: TreeStore? = nil,
        linkLimits: EdgeTrees.Limits = EdgeTrees.Limits()
    ) throws {
        store = try other ?? TreeStore.inMemory()
        self.descriptions = descriptions
        let transaction = try store.beginWrite()
        session = StoreTransaction(
            transaction, schema: try require(SchemaCatalogue.open(descriptions, in: transaction)),
            linkLimits: linkLimits)
    }

    /// Commits, and begins anew with these descriptions.
    func reopen(
        _ new: [EntityDescription]? = nil, _ migrations: [MigrationStep] = [],
        progress: MigrationProgress.Handler? = nil
    ) throws {
        try session.commit()
        if let new { descriptions = new }
        let transaction = try store.beginWrite()
        do {
            let schema = try SchemaCatalogue.open(
                descriptions, in: transaction, migrations: migrations, progress: progress)
            session = StoreTransaction(transaction, schema: try require(schema))
        } catch {
            transaction.abort()
            let again = try store.beginWrite()
            session = StoreTransaction(again, schema: try SchemaCatalogue.load(again))
            throw error
        }
    }

    /// Gives up what was not committed.
    func rollBack() throws {
        session.transaction.abort()
        let transaction = try store.beginWrite()
        session = StoreTransaction(
            transaction, schema: try require(SchemaCatalogue.open(descriptions, in: transaction)))
    }

    subscript(_ type: String) -> EntityStore {
        get throws { try session.store(type) }
    }

    /// Saves a row; values in the order of the columns, the id first.
    @discardableResult
    func save(_ type: String, _ values: [Value]) throws -> RowID {
        let entities = try session.store(type)
        let rowID = try entities.ensureRowID(of: values[0], saving: true)
        try entities.save(try row(type, values), rowID)
        return rowID
    }

    /// The bytes of a row.
    func row(_ type: String, _ values: [Value]) throws -> [UInt8] {
        var row = try session.store(type).makeRow()
        for (column, value) in values.enumerated() { row.set(value, column) }
        return try row.finish()
    }

    func ids(_ query: EntityQuery) throws -> [Value] {
        let entities = try session.store(query.type)
        return try session.rowIDs(query).map { try entities.id(of: $0) ?? .null }
    }

    /// The number of entries of a tree.
    func entries(_ tree: String) throws -> UInt64 {
        try session.settleLinks()
        guard let id = try session.transaction.tree(tree) else { return 0 }
        return try session.transaction.count(id)
    }

    func problems() throws -> [String] {
        try session.flush()
        var problems: [String] = []
        _ = try EntityCheck(session).run { problems.append($0) }
        return problems
    }
}

struct Missing: Error {}

func require<T>(_ value: T?) throws -> T {
    guard let value else { throw Missing() }
    return value
}
