// SPDX-License-Identifier: Apache-2.0
// Spellings that don't compile, each with a message that names the right one. Without them the compiler's errors would
// only name types and constraints.

public import FoundationEssentials

// MARK: - Conditions

extension EntityModelProtocol {
    @available(
        *, unavailable,
        message: "write 'filter(\\.age > 3)', 'filter(.string(\\.name, contains: …))'; or filter what it resolves to"
    )
    public static func filter(_ isIncluded: (Self) throws -> Bool) -> QueryList<Self> { QueryList() }

    @available(
        *, unavailable, message: "write 'filter(.array(\\.tags, contains: …))', or '.string(…)' for a text property"
    )
    public static func filter<Property, Value>(
        _ keyPath: KeyPath<Self, Property>, contains value: Value
    ) -> QueryList<Self> { QueryList() }
}

extension QueryList {
    @available(
        *, unavailable,
        message: "write 'filter(\\.age > 3)', 'filter(.string(\\.name, contains: …))'; or filter what it resolves to"
    )
    public func filter(_ isIncluded: (Entity) throws -> Bool) -> Self { self }

    @available(
        *, unavailable, message: "write 'filter(.array(\\.tags, contains: …))', or '.string(…)' for a text property"
    )
    public func filter<Property, Value>(_ keyPath: KeyPath<Entity, Property>, contains value: Value) -> Self { self }
}

extension Predicate {
    @available(*, unavailable, message: "a Set is stored as JSON, which no condition looks into: declare an array")
    public static func array<Element>(_ keyPath: KeyPath<Entity, Set<Element>>, contains element: Element) -> Self {
        Self(.all)
    }
}

extension Relation {
    @available(*, unavailable, message: "write '.none(\\.$books)' or '.any(\\.$books)'")
    public var isEmpty: Bool { true }
}

// MARK: - Orders

extension QueryList {
    @available(
        *, unavailable,
        message: "a query is sorted by key paths, as in 'sorted(by: \\.name, \\.age.desc)'; or sort what it resolves to"
    )
    public func sorted(by areInIncreasingOrder: (Entity, Entity) throws -> Bool) -> Self { self }

    @available(
        *, unavailable,
        message: "a query is sorted by properties of its own entities: sort what it resolves to by related ones"
    )
    public func sorted<Shown: EntityModelProtocol>(by keyPath: KeyPath<Entity, Shown?>) -> Self { self }

    @available(
        *, unavailable,
        message: "a query is sorted by properties of its own entities, or '\\.$books.count': sort what it resolves to"
    )
    public func sorted<Shown: EntityModelProtocol>(by keyPath: KeyPath<Entity, [Shown]?>) -> Self { self }

    @available(*, unavailable, message: "write 'sorted(by: \\.name.desc)' for the other direction")
    public func sorted<Property>(by keyPath: KeyPath<Entity, Property>, order: SortOrder) -> Self { self }

    @available(*, unavailable, message: "write 'sorted(by: \\.name, \\.age.desc)'")
    public func order(_ keyPaths: PartialKeyPath<Entity>...) -> Self { self }

    @available(*, unavailable, message: "write 'sorted(by: \\.name, \\.age.desc)'")
    public func order(by keyPaths: PartialKeyPath<Entity>...) -> Self { self }

    @available(*, unavailable, message: "write 'limit(10, offset: 20)'")
    public func offset(_ count: Int) -> Self { self }
}

// MARK: - Results

extension QueryList {
    @available(*, unavailable, message: "write 'distinct(\\.room, in: context)'")
    public func distinct<Property: Sendable>(_ keyPath: KeyPath<Entity, Property>) -> Projection<Entity, Property> {
        select(keyPath)
    }
}

extension Grouping {
    @available(*, unavailable, message: "write 'aggregate(.count).resolve(in: context)'")
    public func count(in context: Context) throws -> [(key: Key, values: Int)] { [] }
}

extension Statement {
    @available(*, unavailable, message: "write 'resolve(in: context)'")
    public func rows(in context: Context) throws -> [ResultRow] { [] }
}

// MARK: - Queries of a type begin with `query()` or `filter`

extension EntityModelProtocol {
    @available(*, unavailable, message: "write 'Book.query().resolve(in: context)'")
    public static func all(in context: Context) throws -> [Self] { [] }

    @available(*, unavailable, message: "write 'Book.query().count(in: context)'")
    public static func count(in context: Context) throws -> Int { 0 }

    @available(*, unavailable, message: "write 'Book.query().first(in: context)'")
    public static func first(in context: Context) throws -> Self? { nil }

    @available(*, unavailable, message: "write 'Book.query().sorted(by: …)'")
    public static func sorted(by keyPaths: PartialKeyPath<Self>...) -> QueryList<Self> { query() }

    @available(*, unavailable, message: "write 'Book.query().sorted(by: …)'")
    public static func order(by keyPaths: PartialKeyPath<Self>...) -> QueryList<Self> { query() }

    @available(*, unavailable, message: "write 'Book.query().limit(…)'")
    public static func limit(_ count: Int) -> QueryList<Self> { query() }

    @available(*, unavailable, message: "write 'context.find(Book.self, 1)', or 'Book.query(1).resolve(in: context)'")
    public static func find(_ id: ID, in context: Context) throws -> Self? { nil }

    @available(*, unavailable, message: "write 'context.find(Book.self, 1)', or 'Book.query(1).resolve(in: context)'")
    public static func find(id: ID, in context: Context) throws -> Self? { nil }

    @available(*, unavailable, message: "write 'context.find(Book.self, 1) != nil'")
    public static func exists(_ id: ID, in context: Context) throws -> Bool { false }

    @available(*, unavailable, message: "write 'Book.query().delete(from: &context)'")
    public static func deleteAll(in context: inout Context) throws {}

    @available(*, unavailable, message: "write 'Book.query().delete(from: &context)'")
    public static func deleteAll(from context: inout Context) throws {}
}

// MARK: - Saving and deleting

extension EntityModelProtocol {
    @available(*, unavailable, message: "write 'book.save(to: &context)', which replaces what is stored under the id")
    public func insert(into context: inout Context) throws {}

    @available(*, unavailable, message: "write 'book.save(to: &context)', which replaces what is stored under the id")
    public func update(in context: inout Context) throws {}
}

extension Context {
    @available(*, unavailable, message: "write 'book.save(to: &context)'")
    public func save<Entity: EntityModelProtocol>(_ entity: Entity) throws {}

    @available(*, unavailable, message: "write 'book.delete(from: &context)'")
    public func delete<Entity: EntityModelProtocol>(_ entity: Entity) throws {}

    @available(*, unavailable, message: "write 'Book.delete(id: 1, from: &context)'")
    public func delete<Entity: EntityModelProtocol>(_: Entity.Type, id: Entity.ID) throws {}

    @available(*, unavailable, message: "write 'query.resolve(in: context)'")
    public func fetch<Entity>(_ query: QueryList<Entity>) throws -> [Entity] { [] }
}

extension QueryList {
    @_disfavoredOverload
    @available(
        *, unavailable,
        message: "groups need properties that can be told apart: make the type Hashable, or group by a part of it"
    )
    public func grouped<each Key>(by keyPaths: repeat KeyPath<Entity, each Key>) -> Grouping<Entity, Entity.ID> {
        grouped(by: \Entity.id)
    }
}

extension Equatable {
    @_disfavoredOverload
    @available(*, unavailable, message: "a sort needs properties with an order: make the type Comparable")
    public var asc: UInt8 { 0 }

    @_disfavoredOverload
    @available(*, unavailable, message: "a sort needs properties with an order: make the type Comparable")
    public var desc: UInt8 { 0 }
}

// MARK: - Finding

extension Context {
    @_disfavoredOverload
    @available(*, unavailable, message: "say what to find: 'find(Book.self, 1)', or 'let book: Book? = …'")
    public func find<ID>(_ id: ID) throws -> Any? { nil }

    @_disfavoredOverload
    @available(*, unavailable, message: "say what to find: 'all(Book.self)', or 'let books: [Book] = …'")
    public func all() throws -> [Any] { [] }

    @_disfavoredOverload
    @available(*, unavailable, message: "say what to find: 'findAll(Book.self, [1, 2])', or 'let books: [Book?] = …'")
    public func findAll<ID>(_ ids: [ID]) throws -> [Any?] { [] }

    @_disfavoredOverload
    @available(
        *, unavailable, message: "say what to find: 'findAllExisting(Book.self, [1, 2])', or 'let books: [Book] = …'"
    )
    public func findAllExisting<ID>(_ ids: [ID]) throws -> [Any] { [] }
}

// MARK: - Relations in queries, without their '$'

extension QueryList {
    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'with(\\.$author)'")
    public func with(_ keyPaths: PartialKeyPath<Entity>...) -> Self { self }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'with(\\.$author) { … }'")
    public func with<Shown>(
        _ keyPath: KeyPath<Entity, Shown?>, nested: (QueryList<Entity>) -> QueryList<Entity>
    ) -> Self { self }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'id(\\.$author)'")
    public func id(_ keyPaths: PartialKeyPath<Entity>...) -> Self { self }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'related(\\.$author)'")
    public func related<Shown: EntityModelProtocol>(_ keyPath: KeyPath<Entity, Shown?>) -> QueryList<Shown> {
        QueryList<Shown>()
    }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'related(\\.$books)'")
    public func related<Shown: EntityModelProtocol>(_ keyPath: KeyPath<Entity, [Shown]?>) -> QueryList<Shown> {
        QueryList<Shown>()
    }
}

extension Query {
    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'with(\\.$author)'")
    public func with(_ keyPaths: PartialKeyPath<Entity>...) -> Self { self }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'with(\\.$author) { … }'")
    public func with<Shown>(
        _ keyPath: KeyPath<Entity, Shown?>, nested: (QueryList<Entity>) -> QueryList<Entity>
    ) -> Self { self }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'id(\\.$author)'")
    public func id(_ keyPaths: PartialKeyPath<Entity>...) -> Self { self }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'related(\\.$author)'")
    public func related<Shown: EntityModelProtocol>(_ keyPath: KeyPath<Entity, Shown?>) -> Query<Shown> {
        Query<Shown>(QueryList<Shown>())
    }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in 'related(\\.$books)'")
    public func related<Shown: EntityModelProtocol>(_ keyPath: KeyPath<Entity, [Shown]?>) -> QueryList<Shown> {
        QueryList<Shown>()
    }
}

extension Predicate {
    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in '.any(\\.$books, where: …)'")
    public static func any<Shown: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, [Shown]?>, where predicate: Predicate<Shown>
    ) -> Self { Self(.none) }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in '.all(\\.$books, where: …)'")
    public static func all<Shown: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, [Shown]?>, where predicate: Predicate<Shown>
    ) -> Self { Self(.none) }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in '.none(\\.$books, where: …)'")
    public static func none<Shown: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, [Shown]?>, where predicate: Predicate<Shown>
    ) -> Self { Self(.none) }

    @_disfavoredOverload
    @available(*, unavailable, message: "a relation is named by its '$' form, as in '.has(\\.$author, …)'")
    public static func has<Shown: EntityModelProtocol>(
        _ keyPath: KeyPath<Entity, Shown?>, _ predicate: Predicate<Shown>
    ) -> Self { Self(.none) }
}

// MARK: - Entities as properties. A Codable entity can be stored as a copy.

extension ColumnForms {
    @available(*, unavailable, message: "an entity in another one is a relation: '@Relationship var author: Author?'")
    public static func of<E, V: EntityModelProtocol>(_: KeyPath<E, V>) -> NoForm<V>.Type { NoForm<V>.self }

    @available(*, unavailable, message: "an entity in another one is a relation: '@Relationship var author: Author?'")
    public static func of<E, V: EntityModelProtocol>(_: KeyPath<E, V?>) -> NoForm<V?>.Type { NoForm<V?>.self }

    @available(*, unavailable, message: "an entity in another one is a relation: '@Relationship var author: Author?'")
    public static func of<E, V: EntityModelProtocol>(_: KeyPath<E, [V]>) -> NoForm<[V]>.Type { NoForm<[V]>.self }

    @available(*, unavailable, message: "an entity in another one is a relation: '@Relationship var author: Author?'")
    public static func of<E, V: EntityModelProtocol>(_: KeyPath<E, [V]?>) -> NoForm<[V]?>.Type { NoForm<[V]?>.self }
}

// MARK: - Values of relations

@available(*, unavailable, message: "write '.null' for no link, '.none' to leave it as it is; for a list '.ids([])'")
extension Relation: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .none }
}

@available(*, unavailable, message: "write '.relation([…])', or '.ids([…])' for ids; '.appending(…)' keeps other links")
extension Relation: ExpressibleByArrayLiteral where Cardinality == Relations.ToMany<Entity> {
    public init(arrayLiteral elements: Entity...) { self = .none }
}

@available(*, unavailable, message: "write '.null' for no link, '.none' to leave it as it is; for a list '.ids([])'")
extension Relationship: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .none }
}

@available(*, unavailable, message: "write '.relation([…])', or '.ids([…])' for ids; '.appending(…)' keeps other links")
extension Relationship: ExpressibleByArrayLiteral where Cardinality == Relations.ToMany<Entity> {
    public init(arrayLiteral elements: Entity...) { self = .none }
}

extension Relation where Cardinality == Relations.ToOne<Entity> {
    @available(*, unavailable, message: "write '.relation(entity)', which saves it too, or '.id(entity.id)'")
    public static func id(_ entity: Entity) -> Self { .none }
}

extension Relationship where Cardinality == Relations.ToOne<Entity>, Value == Entity {
    @available(*, unavailable, message: "write '.relation(entity)', which saves it too, or '.id(entity.id)'")
    public static func id(_ entity: Entity) -> Self { .none }
}

extension Relation where Cardinality == Relations.ToMany<Entity> {
    @available(*, unavailable, message: "write 'author.$books = .appending(relation: [book])'")
    public mutating func append(_ entity: Entity) {}
}
