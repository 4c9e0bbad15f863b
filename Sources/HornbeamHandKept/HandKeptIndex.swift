// SPDX-License-Identifier: Apache-2.0
// Indexes that a program maintains itself, besides those that follow entities automatically: the program decides which
// ids are in them, and in which order. This file has their declarations and the access to them.

import HornbeamTree
import Synchronization

/// An index whose entries the program adds and removes itself: one of `OrderedIDIndex`, `GroupByEntityIndex`,
/// `GroupByKeyIndex`, `HashIDIndex` and `SetIndex`.
///
/// It is stored in the file, and its changes are part of the transaction that makes them. It contains ids of stored
/// entities only: whenever an entity is deleted, in whatever way and by whatever program, its id is removed from all of
/// them.
public protocol HandKeptIndex: Sendable {
    associatedtype Entity: EntityModelProtocol
    /// The view of the index in a transaction.
    associatedtype Content

    var declaration: HandKeptDeclaration { get }
    /// Returns the content of the index in the context's transaction. Throws `.indexNotReady` if that state doesn't
    /// have the index, and `.indexMismatch` if another index has its name.
    func content(in context: Context) throws -> Content
}

extension HandKeptIndex {
    /// The name. It must be unique among all indexes that are registered with a database.
    public var name: String { declaration.stored.name }
}

/// The hand-kept indexes of a program: a struct that has them as properties. Name it when the database is opened, and
/// use the indexes through `Context.indexes(of:)`.
///
/// ```swift
/// struct LibraryIndexes: IndexesType {
///     let allBooks = OrderedIDIndex<Book>("allBooks")
///     let byAuthor = GroupByEntityIndex<Author, Book>("byAuthor")
/// }
/// ```
public protocol IndexesType: Sendable {
    /// Must always make the same indexes: `Context.indexes(of:)` calls it once in a program.
    init()
}

extension IndexesType {
    /// The properties that are indexes, in the order of their declaration.
    var declared: [any HandKeptIndex] {
        Mirror(reflecting: self).children.compactMap { $0.value as? any HandKeptIndex }
    }
}

/// A hand-kept index in the form that a database stores.
public struct HandKeptDeclaration: Sendable {
    let stored: StoredIndex
    /// The index's record in the catalogue.
    let record: [UInt8]
    let models: [any EntityModelProtocol.Type]

    init(
        _ name: String, _ kind: HandKeptKind, over entity: any EntityModelProtocol.Type,
        groups: (any EntityModelProtocol.Type)? = nil, key: ColumnType? = nil
    ) {
        var settings: [String: String] = [:]
        if let groups { settings[HandKeptKind.groupSetting] = groups.entityName }
        if let key { settings[HandKeptKind.keySetting] = "\(key.unwrapped)" }
        stored = StoredIndex(kept: name, kind, entity.entityName, settings)
        record = (try? RegisteredCatalogue.encode(stored)) ?? []
        models = [entity] + (groups.map { [$0] } ?? [])
    }

    /// Throws `.invalid` if no database can have the index.
    func check() throws(HornbeamError) {
        try IndexRegistration.check(name: stored.name)
        guard let key = stored.record.settings[HandKeptKind.keySetting] else { return }
        guard ColumnType(key)?.isOrdered == true else {
            throw HornbeamError(
                .invalid,
                "the keys of index “\(stored.name)” are \(key), which has no order: give them a type that an @Index "
                    + "can have")
        }
    }
}

// MARK: - The kinds

/// A list of ids in an order of the program's own; an id may be in it several times. Every operation on one position
/// takes O(log n).
public struct OrderedIDIndex<Entity: EntityModelProtocol>: HandKeptIndex {
    public let declaration: HandKeptDeclaration

    public init(_ name: String) {
        declaration = HandKeptDeclaration(name, .orderedIDs, over: Entity.self)
    }

    public func content(in context: Context) throws -> OrderedIDs<Entity> {
        OrderedIDs(context, KeptList(try trees(in: context)))
    }
}

/// A list of ids for each of some other entities: the books of an author. The list is removed when the author is
/// deleted.
public struct GroupByEntityIndex<Group: EntityModelProtocol, Entity: EntityModelProtocol>: HandKeptIndex {
    public let declaration: HandKeptDeclaration

    public init(_ name: String) {
        declaration = HandKeptDeclaration(name, .groupsByEntity, over: Entity.self, groups: Group.self)
    }

    public func content(in context: Context) throws -> GroupedIDs<Group.ID, Entity> {
        GroupedIDs(context, try trees(in: context), EntityGroupCoding<Group>())
    }
}

/// A list of ids for each of some keys: the books of a genre. Keys have the types of index keys, and are compared as in
/// indexes. If the type is optional, nil is a key, too.
public struct GroupByKeyIndex<Key: IndexKey, Entity: EntityModelProtocol>: HandKeptIndex {
    public let declaration: HandKeptDeclaration

    public init(_ name: String) {
        declaration = HandKeptDeclaration(name, .groupsByKey, over: Entity.self, key: Key.columnType)
    }

    public func content(in context: Context) throws -> GroupedIDs<Key, Entity> {
        GroupedIDs(context, try trees(in: context), KeyGroupCoding<Key>())
    }
}

/// One id for each of some keys: the book with an ISBN. The last id that was set for a key counts.
public struct HashIDIndex<Key: IndexKey, Entity: EntityModelProtocol>: HandKeptIndex {
    public let declaration: HandKeptDeclaration

    public init(_ name: String) {
        declaration = HandKeptDeclaration(name, .hash, over: Entity.self, key: Key.columnType)
    }

    public func content(in context: Context) throws -> HashedIDs<Key, Entity> {
        HashedIDs(context, try trees(in: context))
    }
}

/// A set of ids.
public struct SetIndex<Entity: EntityModelProtocol>: HandKeptIndex {
    public let declaration: HandKeptDeclaration

    public init(_ name: String) {
        declaration = HandKeptDeclaration(name, .set, over: Entity.self)
    }

    public func content(in context: Context) throws -> IDSet<Entity> {
        IDSet(context, try trees(in: context))
    }
}

extension HandKeptIndex {
    fileprivate func trees(in context: Context) throws -> KeptTrees {
        try context.session.run { try $0.keptTrees(declaration) }
    }
}

// MARK: - Reaching them

/// The hand-kept indexes of each declaring type. Made once for each type, because making one computes its record for
/// the catalogue.
private enum KnownIndexes {
    private static let known = Mutex<[ObjectIdentifier: any IndexesType]>([:])

    static func declared<Declared: IndexesType>(_ type: Declared.Type) -> Declared {
        if let declared = known.withLock({ $0[ObjectIdentifier(type)] }) as? Declared { return declared }
        let declared = Declared()
        known.withLock { $0[ObjectIdentifier(type)] = declared }
        return declared
    }
}

/// Hand-kept indexes in a transaction, by the properties that declare them.
@dynamicMemberLookup
public struct HandKeptIndexes<Declared: IndexesType>: Sendable {
    private let context: Context
    private let declared: Declared

    fileprivate init(_ context: Context) {
        self.context = context
        declared = KnownIndexes.declared(Declared.self)
    }

    public subscript<Index: HandKeptIndex>(dynamicMember path: KeyPath<Declared, Index>) -> Index.Content {
        get throws { try declared[keyPath: path].content(in: context) }
    }
}

extension Context {
    /// The view of a hand-kept index in this transaction: `try context[allBooks].append(book.id)`. Getting it takes a
    /// few look-ups in the catalogue; it can be used again as long as the transaction is open.
    public subscript<Index: HandKeptIndex>(_ index: Index) -> Index.Content {
        get throws { try index.content(in: self) }
    }

    /// Returns the hand-kept indexes that a type declares:
    /// `try context.indexes(of: LibraryIndexes.self).allBooks.append(book.id)`. A program can use
    /// `context.indexes.allBooks` if it declares
    ///
    /// ```swift
    /// extension Context {
    ///     var indexes: HandKeptIndexes<LibraryIndexes> { indexes(of: LibraryIndexes.self) }
    /// }
    /// ```
    public func indexes<Declared: IndexesType>(of _: Declared.Type) -> HandKeptIndexes<Declared> {
        HandKeptIndexes(self)
    }
}
