// SPDX-License-Identifier: Apache-2.0
// The public interface of the reader. Its connections block, so each has a queue of its own. All functions are
// asynchronous, except the reads of one state within `read`.

public import Hornbeam
import HornbeamTree

/// Reads the entities of a mirror, which another program writes by `PostgresMirror`, with the queries that a program
/// resolves in a `Context`.
///
/// ```swift
/// let reader = try PostgresReader(
///     "postgresql://reader@db1,db2/news", schema: "news", models: Podcast.self, Episode.self)
/// let episodes = try await reader.resolve(
///     Episode.filter(\.year > 2000).sorted(by: \.title).limit(20).with(\.$podcast))
/// ```
///
/// A query becomes SQL, and its results are those that the store would give in the state that the mirror shows:
/// conditions on stored properties and along relations, sorts by properties and by numbers of related entities, limits,
/// `after`, relations that are loaded with `with` and `id`, counts and aggregates. There is one difference: entities
/// that are equal in a sort are in the order of their ids. For integers from 0 on that is the store's order. The store
/// has other ids in the order in which they were first saved or linked, which the mirror doesn't know.
///
/// A query that the server can't answer throws `.unsupported` before anything is sent: conditions and sorts by computed
/// properties, closures, regular expressions or two properties, full-text matches, indexes that the program keeps, and
/// lists that continue from the rows of another list. Lists that are nested in others by `with`, and lists of ids, may
/// also have conditions in Swift, because the reader answers them.
///
/// Parts of texts are searched by Swift's rules. If a text has characters beyond ASCII, the server alone can't decide:
/// rows that may pass are fetched and tested by the reader. If case doesn't matter, these are all rows whose text isn't
/// ASCII.
public final class PostgresReader: Sendable {
    public struct Options: Sendable {
        /// Maximum number of connections. Each is made when all others are busy.
        public var connections = 4
        /// Maximum time for which the server may be silent before a read fails with `.timedOut`.
        public var timeout: Duration = .seconds(30)

        public init() {}
    }

    private let pool: ReaderPool

    /// Makes a reader, which connects at its first read. Then the models are compared with the mirror's layout: a read
    /// throws `.schemaMismatch` if the mirror lacks a property or has it in another type. An optional property that the
    /// mirror lacks is nil. Throws `.invalid` for options that aren't allowed.
    /// - Parameters:
    ///   - address: the server's address in libpq's form: `postgresql://user@host/database`, several hosts, a service.
    ///   - schema: the mirror's schema.
    ///   - models: the entity types to read.
    ///   - options: the number of connections, at least 1, and the timeout, at least a second.
    public convenience init(
        _ address: String, schema: String = "hornbeam", models: any EntityModelProtocol.Type...,
        options: Options = Options()
    ) throws {
        try self.init(address, schema: schema, models: models, options: options)
    }

    public init(
        _ address: String, schema: String = "hornbeam", models: [any EntityModelProtocol.Type],
        options: Options = Options()
    ) throws {
        guard options.timeout >= .seconds(1), options.connections >= 1 else {
            throw HornbeamError(.invalid, "Options.timeout must be 1 s or more, Options.connections 1 or more")
        }
        let settings = ReaderSettings(
            address: address, schema: try mirrorSchema(schema), models: try ModelSet(models),
            names: models.map { $0.entityName },
            timeout: options.timeout)
        pool = ReaderPool(settings, count: options.connections)
    }

    /// Runs `body`, whose reads all see one state of the mirror. It runs on a queue of the reader, and runs again if
    /// the connection is lost meanwhile.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> Result
    ) async throws -> Result {
        try await pool.read(isLong: true) { reading in
            let snapshot = Snapshot(reading)
            defer { snapshot.end() }
            return try body(snapshot)
        }
    }

    // MARK: Entities

    /// Returns the entities of a query.
    public func resolve<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) async throws -> [Entity] {
        try await pool.read(isLong: list.parts.hasNested) { try $0.resolve(list) }
    }

    /// Returns the entity of a query, or nil if there is none.
    public func resolve<Entity: EntityModelProtocol>(_ query: Query<Entity>) async throws -> Entity? {
        try await resolve(query.asList).first
    }

    /// Returns the first entity of a query, or nil if there is none.
    public func first<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) async throws -> Entity? {
        try await resolve(list.limit(1)).first
    }

    /// Returns the entity with an id, or nil if there is none.
    public func find<Entity: EntityModelProtocol>(_: Entity.Type, _ id: Entity.ID) async throws -> Entity? {
        let id = id.columnValue
        return try await pool.read(isLong: false) { try $0.find(Entity.self, id) }
    }

    /// Returns the ids of a query's entities.
    public func ids<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) async throws -> [Entity.ID]
    where Entity.ID: Sendable {
        try await pool.read(isLong: false) { try $0.ids(list) }
    }

    // MARK: Numbers

    /// Returns the number of entities that `resolve` would give.
    public func count<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) async throws -> Int {
        try await pool.read(isLong: false) { try $0.count(list) }
    }

    /// Returns whether there is any entity.
    public func exists<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) async throws -> Bool {
        try await !ids(ofFirst: list)
    }

    /// Returns whether there is no entity.
    public func isEmpty<Entity: EntityModelProtocol>(_ list: QueryList<Entity>) async throws -> Bool {
        try await ids(ofFirst: list)
    }

    private func ids<Entity: EntityModelProtocol>(ofFirst list: QueryList<Entity>) async throws -> Bool {
        try await pool.read(isLong: false) { try $0.isEmpty(list) }
    }

    /// Returns one aggregate: `aggregate(.countDistinct(\.author), of: …)`.
    public func aggregate<Entity: EntityModelProtocol, Result: Sendable>(
        _ aggregate: Aggregate<Entity, Result>, of list: QueryList<Entity>
    ) async throws -> Result {
        try await pool.read(isLong: false) { try $0.aggregate(aggregate, of: list) }
    }

    /// Returns the sum, 0 if there is nothing to add.
    public func sum<Entity: EntityModelProtocol, Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property { try await aggregate(.sum(keyPath), of: list) }

    public func sum<Entity: EntityModelProtocol, Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property?>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property { try await aggregate(.sum(keyPath), of: list) }

    /// Returns the mean: a `Decimal` for decimals, otherwise a `Double`. Returns nil if there are no values.
    public func average<Entity: EntityModelProtocol, Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property.Average? { try await aggregate(.average(keyPath), of: list) }

    public func average<Entity: EntityModelProtocol, Property: SummableNumber>(
        _ keyPath: KeyPath<Entity, Property?>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property.Average? { try await aggregate(.average(keyPath), of: list) }

    /// Returns the least value, or nil if there is none.
    public func min<Entity: EntityModelProtocol, Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property? { try await aggregate(.min(keyPath), of: list) }

    public func min<Entity: EntityModelProtocol, Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property? { try await aggregate(.min(keyPath), of: list) }

    /// Returns the greatest value, or nil if there is none.
    public func max<Entity: EntityModelProtocol, Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property? { try await aggregate(.max(keyPath), of: list) }

    public func max<Entity: EntityModelProtocol, Property: Comparable & Sendable>(
        _ keyPath: KeyPath<Entity, Property?>, of list: QueryList<Entity> = QueryList()
    ) async throws -> Property? { try await aggregate(.max(keyPath), of: list) }
}
