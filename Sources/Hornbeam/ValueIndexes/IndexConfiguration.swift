// SPDX-License-Identifier: Apache-2.0
// Indexes that are made, listed and dropped by name, with functions like those of Couchbase Lite.

import HornbeamPages
import HornbeamTree

/// The description of an index by the names of properties: `ValueIndexConfiguration(["type", "name"])`.
public protocol IndexConfiguration: Sendable {
    /// Returns the index of an entity type. Registering it throws `.invalid` if the type lacks a property.
    func index<Entity: EntityModelProtocol>(_ name: String, of _: Entity.Type) -> any RegisteredIndex
}

/// A value index over properties by their names, and over expressions of them: `["type", "name desc"]`,
/// `["lower(name)"]`, `["address.city"]`, `["name COLLATE UNICODE"]`.
///
/// Expressions are those of the query language, on the stored properties of one entity. Conditions and sorts of
/// statements by an equal expression use the index. With `where` it has entries only for the entities that meet the
/// condition, and only queries for such entities use it.
public struct ValueIndexConfiguration: IndexConfiguration {
    /// The properties and expressions, the most significant first.
    public var expressions: [String]
    /// The condition in the form of a statement's WHERE clause. Nil for all entities.
    public var condition: String?
    /// The collation of texts among the properties.
    public var collation: TextCollation

    /// - Parameters:
    ///   - expressions: the expressions, the most significant first, with ` desc` after one for its reverse order.
    ///   - condition: comparisons of stored properties with values, IN, BETWEEN, `IS VALUED`, `IS NULL` and the like,
    ///     `CONTAINS` and `ARRAY_CONTAINS`, joined by AND, OR and NOT. Nil for all entities.
    ///   - collation: the order of stored texts. Any but `.binary` needs at least one such text among the properties.
    public init(_ expressions: [String], where condition: String? = nil, collation: TextCollation = .binary) {
        self.expressions = expressions
        self.condition = condition
        self.collation = collation
    }

    public func index<Entity: EntityModelProtocol>(_ name: String, of _: Entity.Type) -> any RegisteredIndex {
        let type = Entity.entityShape.description
        do throws(HornbeamError) {
            let written = try expressions.map { (text) throws(HornbeamError) in
                try ValueIndexDefinition.Component(written: text)
            }
            guard let components = ValueIndexDefinition.collated(written, by: collation, type) else {
                throw HornbeamError(
                    .invalid, "its collation \(collation) is for texts, and none of its properties is stored as a text")
            }
            let condition = try condition.map { (text) throws(HornbeamError) in
                try StoredCondition(statement: text, type)
            }
            return ValueIndex<Entity>(name, components, condition)
        } catch {
            return ValueIndex<Entity>(name, [], nil, flaws: [error.message])
        }
    }
}

extension Database {
    /// Creates an index. Has no effect if the database has an equal one already. Throws `.indexMismatch` if another
    /// index has the name, unless `replace` is true, which drops that one.
    ///
    /// The index is built from all entities in one transaction. Readers don't wait for it, but writers do; a crash
    /// leaves the index absent, or as it was. It stays, for all programs that open the file, until it is dropped.
    ///
    /// - Throws: `.invalid` if the type has no such property, with the nearest name.
    public func createIndex<Entity: EntityModelProtocol>(
        _: Entity.Type, withName name: String, config: some IndexConfiguration, replace: Bool = false
    ) throws {
        try createIndex(config.index(name, of: Entity.self), replace: replace)
    }

    /// Creates an index that is described by key paths.
    public func createIndex(_ index: some RegisteredIndex, replace: Bool = false) throws {
        let registration = index.registration
        try registration.check()
        if let stored = try storedIndex(registration.name), stored.identity != registration.identity {
            let isSame =
                stored.record.entity == registration.entity && stored.record.kind == registration.kind
                && stored.record.settings == registration.settings && stored.record.version == registration.version
            guard replace || isSame else {
                throw HornbeamError(
                    .indexMismatch,
                    "there is another index “\(registration.name)”, \(stored.summary); this one is "
                        + "\(registration.summary): give it another name, or replace that one with replace: true")
            }
            if stored.record.entity != registration.entity || stored.record.kind != registration.kind {
                try unregister(registration.name)
            }
        }
        try register(index)
    }

    private func storedIndex(_ name: String) throws -> StoredIndex? {
        do {
            let read = try store.beginRead()
            defer { read.abort() }
            return try RegisteredCatalogue.read(name, in: read)
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    /// Drops an index of any kind. Returns whether there was one.
    @discardableResult
    public func deleteIndex(withName name: String) throws -> Bool { try unregister(name) }

    /// Returns the names of the indexes that were registered or created at run time, sorted.
    public func indexes() throws -> [String] { try registeredIndexes().map(\.name) }

    /// Returns the index with a name, or nil if there is none.
    public func index(withName name: String) throws -> RegisteredIndexDescription? {
        try registeredIndexes().first { $0.name == name }
    }

    /// Registers the indexes that the file describes completely, so that they follow their entities again, and applies
    /// changes that they have missed. Indexes that need code, or properties that no longer exist, are not registered.
    func registerStored(_ progress: MigrationProgress.Handler?) throws {
        let registered = registered
        for stored in registered.stored where registered.maintained[stored.name] == nil {
            guard let registration = stored.registration(models) else { continue }
            do {
                try register(DescribedIndex(registration: registration), progress: progress)
            } catch let error as HornbeamError where error.code == .corrupt || isReadOnly && error.code == .readOnly {
                // An entity that can't be read, or an index that can't be updated, must not prevent the opening:
                // queries work without the index until it is registered or dropped.
                continue
            }
        }
    }
}

/// An index that the file describes.
private struct DescribedIndex: RegisteredIndex {
    let registration: IndexRegistration
}

extension StoredIndex {
    /// A readable summary, for errors.
    fileprivate var summary: String { Self.summary(record.kind, record.entity, record.version, record.settings) }

    fileprivate static func summary(
        _ kind: String, _ entity: String, _ version: String, _ settings: [String: String]
    ) -> String {
        let details = settings.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "; ")
        return "of kind \(kind) over \(entity), version \(version) (\(details))"
    }

    /// Returns the registration of the index, made of its record without the original code. Returns nil if that is
    /// impossible, or impossible with these models.
    fileprivate func registration(_ models: ModelSet) -> IndexRegistration? {
        guard let model = models.model(record.entity) else { return nil }
        let found: IndexRegistration?
        switch record.kind {
        case ValueIndexDefinition.kind:
            found = ValueIndexDefinition(settings: record.settings).map { definition in
                definition.registration(
                    name, version: record.version, record.entity, model: ObjectIdentifier(model),
                    flaw: definition.flaw(for: model.description))
            }
        case ArrayIndexLayout.kind:
            found = ArrayIndexLayout.configuration(record.settings)?.registration(name, record.version, model)
        default: found = nil
        }
        return found.flatMap { (try? $0.check()) == nil ? nil : $0 }
    }
}

extension EntityModelProtocol {
    fileprivate static var description: EntityDescription { entityShape.description }
}

extension IndexRegistration {
    fileprivate var summary: String { StoredIndex.summary(kind, entity, version, settings) }
}
