// SPDX-License-Identifier: Apache-2.0
// Consumers of changes from the log: an upload, an external index, or any other code that must get each change once,
// including changes made while it wasn't running.

import HornbeamPages
import HornbeamTree
import Synchronization

/// One change of one entity.
public struct LoggedChange: Sendable, Hashable {
    /// The number among all changes of the consumer, one more than the number of the change before.
    public let sequence: UInt64
    /// The number of the state that the change made: `Context.version` in reads of that state.
    public let version: UInt64
    /// The present name of the entity's type.
    public let type: String
    public let kind: ChangeKind
    package let id: Value

    /// Returns the entity's id if the entity is of this type, or nil.
    public func id<Entity: EntityModelProtocol>(of _: Entity.Type) -> Entity.ID? {
        type == Entity.entityName ? id(as: Entity.ID.self) : nil
    }

    /// Returns the entity's id, or nil if it can't be read as this type. For entity types without a model.
    public func id<ID: ColumnValue>(as _: ID.Type) -> ID? { ID(columnValue: id) }
}

/// Changes in the order of their commits. The changes of one commit come in the order of the consumer's types. For each
/// type insertions come first, then updates, changes of links, and deletions.
public struct ChangeBatch: Sendable {
    /// The changes, at least one.
    public let changes: [LoggedChange]
    /// The number of the first change.
    public let first: UInt64
    /// The number of the last change.
    public let last: UInt64
}

/// The next work of a consumer.
public enum PendingChanges: Sendable {
    /// All changes are acknowledged.
    case none
    case batch(ChangeBatch)
    /// The changes with these numbers were dropped: there were more than are kept for the consumer, or a migration made
    /// all entities of a type anew, or it changed relations and the consumer wants links. The consumer must read all
    /// entities of the types in `missedTypes(in:)`, and acknowledge `to`.
    case gap(from: UInt64, to: UInt64)
}

/// The description of a consumer in the file.
public struct ChangeConsumerDescription: Sendable, Equatable {
    public let name: String
    /// The names of the types whose changes it gets.
    public let types: [String]
    /// Whether it gets changes of links as well.
    public let links: Bool
    /// Number of changes that are kept for it.
    public let pending: Int
    /// The number of the last acknowledged change, 0 before the first.
    public let acknowledged: UInt64
    /// Maximum number of changes that are kept for it. Nil for no bound.
    public let retention: Int?
}

/// A consumer of changes from a database's log, registered in the file under its name. Any thread may use this value.
/// Two consumers with one name share their acknowledgements.
public struct ChangeConsumer: Sendable {
    /// The name of the consumer in the file.
    public let name: String
    private let database: Database

    fileprivate init(_ name: String, _ database: Database) {
        self.name = name
        self.database = database
    }

    /// Returns the changes after the acknowledged ones. Until they are acknowledged, each call returns them again.
    /// Throws `.invalid` if the consumer is no longer registered.
    /// - Parameter limit: the maximum number of changes, 1 or more.
    public func next(limit: Int = 100) throws -> PendingChanges {
        try database.read { try next(limit: limit, in: $0) }
    }

    /// Returns the result of `next(limit:)` for the state of the context, so that entities read in this context include
    /// all returned changes. A write's own changes aren't among them: they are logged when it commits.
    public func next(limit: Int = 100, in context: Context) throws -> PendingChanges {
        guard limit > 0 else {
            throw HornbeamError(.invalid, "a consumer asks for \(limit) changes: give 1 or more")
        }
        return try context.session.run { session in
            let core = try session.core
            let (log, consumer) = try stored(core.transaction)
            if consumer.hasGap { return .gap(from: consumer.acknowledged + 1, to: consumer.first - 1) }
            var changes: [LoggedChange] = []
            for (sequence, change) in try log.changes(of: consumer, limit: limit) {
                // A change of an unknown type ends the batch: the changes before it must be delivered and acknowledged
                // first.
                let isTold = core.schema.types[consumer.types[change.type].name] != nil
                if !isTold, !changes.isEmpty { break }
                changes.append(try logged(change, sequence, consumer, core.schema))
            }
            guard let first = changes.first, let last = changes.last else { return .none }
            return .batch(ChangeBatch(changes: changes, first: first.sequence, last: last.sequence))
        }
    }

    /// Returns the names of the types whose changes may be lost in a gap: only their entities must be read again. Read
    /// the gap, the types and the entities in one context, so that they belong to one state. Returns an empty list
    /// without a gap, and if only changes of types that the consumer no longer wants are lost.
    public func missedTypes(in context: Context) throws -> [String] {
        try context.session.run { try stored(try $0.core.transaction).1.missed }
    }

    /// Returns the note that the consumer has set, which is empty at first.
    public func note(in context: Context) throws -> [UInt8] {
        try context.session.run { try stored(try $0.core.transaction).1.note }
    }

    /// Stores a note with the consumer's position in the log, such as the name of the sent changes in another system.
    /// If a write sets a note and acknowledges changes, both are stored or neither is. Throws `.tooLarge` for more than
    /// 500 bytes.
    public func setNote(_ note: [UInt8], in context: inout Context) throws {
        try context.session.change("noted", of: "consumer “\(name)”") { session in
            let (log, consumer) = try stored(try session.core.transaction)
            try log.setNote(note, of: consumer, name)
        }
    }

    private func logged(
        _ change: StoredChange, _ sequence: UInt64, _ consumer: StoredConsumer, _ schema: Schema
    ) throws -> LoggedChange {
        let type = consumer.types[change.type].name
        guard let idType = schema.types[type]?.idType else {
            throw HornbeamError(
                .schemaMismatch,
                "change \(sequence) of consumer “\(name)” is of type \(type), which the store doesn't have any more: "
                    + "acknowledge(through: \(sequence)) to go on without it")
        }
        guard let id = change.id.withUnsafeBytes({ ValueBytes.decode($0, as: idType) }) else {
            throw ChangeLog.damaged("change \(sequence) of consumer “\(name)” has an id that is not readable")
        }
        return LoggedChange(sequence: sequence, version: change.version, type: type, kind: change.kind, id: id)
    }

    private func stored(_ transaction: Transaction) throws -> (ChangeLog, StoredConsumer) {
        guard let log = try ChangeLog(in: transaction), let consumer = try log.consumer(name) else {
            throw HornbeamError(.invalid, "consumer “\(name)” isn't registered any more: ask the database for it anew")
        }
        return (log, consumer)
    }

    /// Acknowledges a batch and all changes before it. They are never returned again, and are removed from the file.
    /// The acknowledgement is as durable as a write.
    public func acknowledge(_ batch: ChangeBatch) throws { try acknowledge(through: batch.last) }

    /// Acknowledges a batch within a write, so that the write's other changes and the acknowledgement are both stored,
    /// or neither is. Throws `.conflict` if the batch isn't the next one any more, because another consumer with this
    /// name was faster. Then let the write throw, so that it isn't committed.
    public func acknowledge(_ batch: ChangeBatch, in context: inout Context) throws {
        try acknowledge(through: batch.last, in: &context, expecting: batch.first)
    }

    /// Acknowledges all changes up to this number, or a gap that ends with it. Has no effect for changes that are
    /// already acknowledged. Throws `.invalid` if no change has this number yet.
    public func acknowledge(through sequence: UInt64) throws {
        try database.write { try acknowledge(through: sequence, in: &$0) }
    }

    /// Acknowledges all changes up to this number within a write. Throws `.invalid` if no change has this number yet.
    public func acknowledge(through sequence: UInt64, in context: inout Context) throws {
        try acknowledge(through: sequence, in: &context, expecting: nil)
    }

    /// - Parameter first: must be the change that comes next.
    private func acknowledge(
        through sequence: UInt64, in context: inout Context, expecting first: UInt64?
    ) throws {
        try context.session.change("acknowledged", of: "changes of consumer “\(name)”") { session in
            let (log, consumer) = try stored(try session.core.transaction)
            if let first, first != consumer.acknowledged + 1 {
                throw HornbeamError(
                    .conflict,
                    "consumer “\(name)” can't acknowledge changes from \(first) on: "
                        + "change \(consumer.acknowledged + 1) comes next; ask it for the next changes")
            }
            try log.acknowledge(consumer, name, through: sequence)
        }
    }
}

extension Database {
    /// Returns a consumer of changes, and registers it in the file under its name. From then on each change of entities
    /// of these types is logged until the consumer has acknowledged it, even if the file is closed meanwhile. A later
    /// call with this name changes the types and the bound from then on.
    ///
    /// For each change and consumer the file keeps an entry of 24 bytes and the entity's id. Give a bound to a consumer
    /// that may not run for long: changes beyond the bound become a gap. While there are consumers, a write keeps in
    /// memory the former content of the rows that it changes, if a consumer wants their types. A migration that makes
    /// the rows of a type anew is a gap for the consumers of this type.
    ///
    /// Throws `.invalid` for a name that is empty or longer than 200 bytes, and for a bound below 1.
    /// - Parameters:
    ///   - name: the name of the consumer in the file, 1 to 200 bytes in UTF-8.
    ///   - types: the entity types whose changes are logged, at least one.
    ///   - links: whether changes of an entity's relations are reported too, as `.relinked`. If both sides declare the
    ///     relation, they are reported for both entities.
    ///   - retention: maximum number of changes that are kept for it. Nil for no bound.
    public func consumer(
        named name: String, of types: any EntityModelProtocol.Type..., links: Bool = false, retention: Int? = nil
    ) throws -> ChangeConsumer {
        try consumer(named: name, of: types, links: links, retention: retention)
    }

    /// Returns a consumer of changes, with a list of entity types.
    public func consumer(
        named name: String, of types: [any EntityModelProtocol.Type], links: Bool = false, retention: Int? = nil
    ) throws -> ChangeConsumer {
        try consumer(name, types.map { $0.entityName }, models: types, links: links, retention: retention)
    }

    /// Returns a consumer of types by their names, so that the program needs no models for them. Throws
    /// `.unregisteredEntity` for a name without a type.
    public func consumer(
        named name: String, ofTypes types: [String], links: Bool = false, retention: Int? = nil
    ) throws -> ChangeConsumer {
        try consumer(name, types, models: [], links: links, retention: retention)
    }

    /// - Parameter models: the models of the types. A database in memory registers types that it doesn't know yet.
    private func consumer(
        _ name: String, _ types: [String], models: [any EntityModelProtocol.Type], links: Bool, retention: Int?
    ) throws -> ChangeConsumer {
        let size = name.utf8.count
        guard size > 0, size <= ChangeLog.maximumName else {
            throw HornbeamError(
                .invalid, "a consumer's name has 1 to \(ChangeLog.maximumName) bytes, not \(size)")
        }
        guard !types.isEmpty else {
            throw HornbeamError(.invalid, "consumer “\(name)” follows no entity type: name one at least")
        }
        if let retention, retention < 1 {
            throw HornbeamError(.invalid, "consumer “\(name)” can't keep \(retention) changes: give 1 or more, or nil")
        }
        let wish = ChangeWish(types: types, links: links, limit: UInt64(retention ?? 0))
        // Usually it is registered already, with these types and this bound.
        let isThere = try read { (context) throws -> Bool in
            for model in models { _ = try context.session.store(model) }
            return try context.session.run { session in
                for type in types { _ = try session.core.store(type) }
                let stored = try ChangeLog(in: session.core.transaction)?.consumer(name)
                return stored.map { $0 == $0.wanting(wish) } ?? false
            }
        }
        if !isThere {
            try write { context in
                try context.session.run { session in
                    guard let log = try ChangeLog(in: session.core.transaction, create: true) else {
                        throw ChangeLog.damaged("it can't be created")
                    }
                    try log.register(name, wish)
                }
                // Set before the next write begins.
                mayLog.store(true, ordering: .releasing)
            }
        }
        return ChangeConsumer(name, self)
    }

    /// Ends a consumer, even a damaged one, and removes its changes from the file. Returns false if none with this name
    /// is registered.
    @discardableResult
    public func unregisterConsumer(named name: String) throws -> Bool {
        try write { context in
            try context.session.run { session in
                try ChangeLog(in: session.core.transaction)?.remove(name) ?? false
            }
        }
    }

    /// Returns the consumers that are registered in the file, in the order of their names.
    public func changeConsumers() throws -> [ChangeConsumerDescription] {
        try read { context in
            try context.session.run { session in
                guard let log = try ChangeLog(in: session.core.transaction) else { return [] }
                return try log.consumers().map { name, consumer in
                    ChangeConsumerDescription(
                        name: name, types: consumer.wanted, links: consumer.wantsLinks,
                        pending: Int(clamping: consumer.next - consumer.first), acknowledged: consumer.acknowledged,
                        retention: consumer.limit > 0 ? Int(clamping: consumer.limit) : nil)
                }
            }
        }
    }
}
