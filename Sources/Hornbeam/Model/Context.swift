// SPDX-License-Identifier: Apache-2.0
// The view of one transaction, in which entities are saved and queries are resolved. Copies are views of the same
// transaction, so a copy is no snapshot and never disagrees with its original.

/// A view of a transaction. `Context()` is a store in memory with one open transaction, for tests and previews.
///
/// A context from a database is valid in the closure that got it, in that closure's thread. Any use of it elsewhere, or
/// later, throws `.invalid`. A `Context()` that a program makes may go from one thread to another. While one thread
/// uses it, calls from any other throw `.invalid`.
///
/// `@unchecked Sendable`: queries are values that any thread may hold, and may begin with a context. The transaction
/// behind it looks at the thread whenever it is used.
public struct Context: @unchecked Sendable {
    package let session: TypedTransaction

    /// Makes a store in memory with one open transaction.
    public init() {
        session = TypedTransaction()
    }

    package init(_ session: TypedTransaction) {
        self.session = session
    }

    /// Runs `body` within the write. If it throws, all its changes are undone. The write can go on if the error is
    /// caught. May be nested. In a read it throws `.readOnly`.
    @discardableResult
    public mutating func transaction<Result>(_ body: (inout Context) throws -> Result) throws -> Result {
        try session.run { session in
            try session.nested {
                var context = Context(session)
                return try body(&context)
            }
        }
    }

    /// Returns the ids of all stored entities of a type, in the order of their row ids.
    public func ids<Entity: EntityModelProtocol>(_: Entity.Type) throws -> [Entity.ID] {
        try session.run { try $0.store(Entity.self).allIDs().compactMap { Entity.ID(columnValue: $0) } }
    }

    /// Returns all stored entities of a type, in the order of their row ids.
    public func all<Entity: EntityModelProtocol>() throws -> [Entity] {
        try Entity.query().resolve(in: self)
    }

    /// Returns all stored entities of a type, in the order of their row ids.
    public func all<Entity: EntityModelProtocol>(_: Entity.Type) throws -> [Entity] { try all() }

    /// Returns the entity with this id, or nil if there is none.
    public func find<Entity: EntityModelProtocol>(_ id: Entity.ID) throws -> Entity? {
        try session.run { try $0.entity(id, Entity.self) }
    }

    /// Returns the entity of a type with this id, `find(Book.self, 1)`, or nil if there is none.
    public func find<Entity: EntityModelProtocol>(_: Entity.Type, _ id: Entity.ID) throws -> Entity? { try find(id) }
    /// Returns the entity of a type with this id, or nil if there is none.
    public func find<Entity: EntityModelProtocol>(_: Entity.Type, id: Entity.ID) throws -> Entity? { try find(id) }

    /// Returns one element for each id, in the order of the ids: the entity, or nil if none is stored under the id.
    public func findAll<Entity: EntityModelProtocol>(_ ids: [Entity.ID]) throws -> [Entity?] {
        try session.run { session in try ids.map { try session.entity($0, Entity.self) } }
    }

    /// Returns one element for each id, in the order of the ids: the entity, or nil if none is stored under the id.
    public func findAll<Entity: EntityModelProtocol>(_: Entity.Type, _ ids: [Entity.ID]) throws -> [Entity?] {
        try findAll(ids)
    }

    /// Returns the entities that are stored under these ids, in the order of the ids.
    public func findAllExisting<Entity: EntityModelProtocol>(_ ids: [Entity.ID]) throws -> [Entity] {
        try session.run { session in try ids.compactMap { try session.entity($0, Entity.self) } }
    }

    /// Returns the entities that are stored under these ids, in the order of the ids.
    public func findAllExisting<Entity: EntityModelProtocol>(_: Entity.Type, _ ids: [Entity.ID]) throws -> [Entity] {
        try findAllExisting(ids)
    }
}
