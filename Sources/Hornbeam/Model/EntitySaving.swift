// SPDX-License-Identifier: Apache-2.0
// Saving: hook, merge, collisions, row and indexes, then each relation with the entities in it, then hook. If a unique
// key refuses a save, nothing of the save remains in the transaction, which continues. So keys are checked before
// anything is changed. If other entities must be changed or deleted first, or nested entities have unique keys, the
// save makes a savepoint to roll back to. Only the final state of all entities of a save counts: see UniqueBatch.swift.
//
// Saving a nested entity may delete its owner, which is stored already: an entity that makes room may cascade to it, or
// a hook may delete it. The owner is then stored again with its links, and so are nested entities that were deleted
// too.

import HornbeamPages

extension EntityModelProtocol {
    /// Saves the entity, the entities in its relations, and its links. If the stored entity is equal, nothing is
    /// written and no observer is notified, but hooks run.
    public func save(to context: inout Context) throws {
        try save(to: &context, options: Self.defaultMergeStrategy)
    }

    /// Saves the entity, merged with what is stored under its id.
    public func save(to context: inout Context, options: MergeStrategy<Self>) throws {
        try save(to: &context, options: options, checking: nil)
    }

    /// - Parameter check: is called with the value that `willSave` has left, before anything of it is stored.
    func save(
        to context: inout Context, options: MergeStrategy<Self>, checking check: ((Self, Context) throws -> Void)?
    ) throws {
        let session = context.session
        try session.descend("saved", of: "\(Self.entityName) \(id)")
        defer { session.running.depth -= 1 }
        try saveCounted(to: &context, options: options, checking: check)
    }

    /// Saves the entity without counting another level of nested saves.
    @inline(__always)
    func saveCounted(
        to context: inout Context, options: MergeStrategy<Self>, checking check: ((Self, Context) throws -> Void)? = nil
    ) throws {
        let session = context.session
        var changed = self
        try changed.willSave(to: &context)
        try check?(changed, context)
        // A constant: closures needn't copy it.
        let entity = consume changed
        if session.mayHaveUniqueKeys {
            if let batch = try session.run({ _ in try entity.batch(in: context, options: options) }) {
                return try session.saving(batch) { try entity.store(in: &context, options: options) }
            }
            // Its links are made after its row, and one of them may have to be refused.
            if try session.run({ try $0.store(Self.self).type.linksUniqueKeys }) {
                return try session.run { session in
                    try session.whole { _ = try entity.store(in: &context, options: options) }
                }
            }
        }
        try entity.store(in: &context, options: options)
    }

    /// Saves an entity in the relation of an entity that is being saved. Returns its row, and its id if a hook changed
    /// it.
    func saveRelated(
        to context: inout Context, options: MergeStrategy<Self>
    ) throws -> (row: RowID, renamed: Value?) {
        var changed = self
        try changed.willSave(to: &context)
        let entity = consume changed
        let row = try entity.store(in: &context, options: options)
        let session = context.session
        if session.mayHaveUniqueKeys, Self.entityShape.hasUpdatingResolvers,
            let stored = try session.id(of: row, Self.self)
        {
            return (row, stored == id ? nil : stored.columnValue)
        }
        return (row, entity.id == id ? nil : entity.id.columnValue)
    }

    /// Saves the value that `willSave` has left, and returns its row.
    @discardableResult
    func store(in context: inout Context, options: MergeStrategy<Self>) throws -> RowID {
        if options.replaces { return try store(self, options, in: &context) }
        return try store(try context.session.run { try mergedWithStored(options, $0) }, options, in: &context)
    }

    /// - Parameter merged: this value merged with the one stored before.
    private func store(
        _ merged: Self, _ options: MergeStrategy<Self>, in context: inout Context
    ) throws -> RowID {
        let row = try context.session.change("saved", of: "\(Self.entityName) \(id)") { session in
            try merged.storeUnlessHeld(session)
        }
        guard let row else { return try storeMakingRoom(merged, options, in: &context) }
        return try finish(row, merged, options, in: &context)
    }

    /// Stores the row. Returns nil, with nothing changed, if others have to make room for it first.
    private func storeUnlessHeld(_ session: TypedTransaction) throws -> RowID? {
        let shape = Self.entityShape
        if !shape.hasResolvers { return try session.save(self) }
        // Its keys are nearly always free, and the save itself notices if one isn't. Looking them up first took half of
        // the save's instructions.
        if !shape.hasCustomResolvers, let row = try session.saveUnlessHeld(self) { return row }
        return try mustMakeRoom(session) ? nil : try session.save(self)
    }

    /// Saves the entity after other entities are changed or deleted by the rules of unique indexes. If the save is
    /// refused, that is undone too.
    @inline(never)
    private func storeMakingRoom(
        _ merged: Self, _ options: MergeStrategy<Self>, in context: inout Context
    ) throws -> RowID {
        try context.session.change("saved", of: "\(Self.entityName) \(id)") { session in
            try session.requireWrite("\(Self.entityName) \(id) can't be saved")
            return try session.whole {
                if let holder = try merged.holderToUpdate(session) {
                    return try merged.withID(holder, session).store(in: &context, options: options)
                }
                try merged.makeRoom(in: &context)
                let row = try session.save(merged)
                return try finish(row, merged, options, in: &context)
            }
        }
    }

    /// Finishes a save once the row is there: saves the value's relations, and calls the hook. Returns the entity's
    /// final row.
    private func finish(
        _ row: RowID, _ merged: Self, _ options: MergeStrategy<Self>, in context: inout Context
    ) throws -> RowID {
        var saver = RelationSaver<Self>(context: context, row: row)
        do {
            try saveRelations(with: &saver)
        } catch {
            try Self.followLinks(of: row, in: context)
            throw error
        }
        // Otherwise the row has the ids of its links already.
        if saver.renamed != nil { try Self.followLinks(of: row, in: context) }
        let kept = saver.isLost ? try storeAgain(merged, saver.renamed, in: &context) : row
        try didSave(to: &context)
        return kept
    }

    /// Stores the entity once more, because saving its nested entities has deleted it.
    /// - Parameter renamed: nested entities whose ids a hook has changed.
    @inline(never)
    private func storeAgain(_ merged: Self, _ renamed: RenamedTargets?, in context: inout Context) throws -> RowID {
        try context.session.change("saved", of: "\(Self.entityName) \(id)") { session in
            try session.whole {
                let row: RowID
                if let stored = try session.storedRow(of: id.columnValue, Self.self) {
                    // A hook has saved it meanwhile, under another row.
                    row = stored
                } else if let stored = try merged.storeUnlessHeld(session) {
                    row = stored
                } else {
                    try merged.makeRoom(in: &context)
                    row = try session.save(merged)
                }
                var saver = RelationSaver<Self>(again: renamed, context: context, row: row)
                try saveRelations(with: &saver)
                guard !saver.isLost else { throw Self.keepsGoing("\(Self.entityName) \(id)") }
                try Self.followLinks(of: row, in: context)
                return row
            }
        }
    }

    /// Sets the row's columns of related ids to the ids of its links, if indexes are over them. Before, they have the
    /// ids of the value, which may differ: a nested entity may be stored under another id, and a link may have been
    /// refused.
    private static func followLinks(of row: RowID, in context: Context) throws {
        try context.session.run { session in
            let store = try session.store(Self.self)
            if !store.type.linkedIDs.isEmpty { try store.followLinks(of: row) }
        }
    }

    /// The error for an entity that was stored a second time, and is gone again.
    static func keepsGoing(_ what: String) -> HornbeamError {
        HornbeamError(
            .invalid,
            "\(what) can't be saved: saving the entities nested in it deletes it each time; look for two of them "
                + "with the same unique key, whose delete rules lead back to it, or for a hook that deletes it")
    }

    /// Returns the value to store: the entity merged with the stored one. Index entries are made of it, never of the
    /// value passed in.
    func merged(_ options: MergeStrategy<Self>, _ session: TypedTransaction) throws -> Self {
        if options.replaces { return self }
        return try mergedWithStored(options, session)
    }

    /// A function of its own: in generic code even an unused optional costs a look-up of its type.
    @inline(never)
    private func mergedWithStored(_ options: MergeStrategy<Self>, _ session: TypedTransaction) throws -> Self {
        guard let old = try session.entity(id, Self.self) else { return self }
        let merged = options.merge(old, new: self)
        guard merged.id == id else {
            throw HornbeamError(
                .invalid,
                "\(Self.entityName) \(id) can't be saved: its merge strategy changed the id to \(merged.id); keep the "
                    + "id in the strategy, and save an entity with another id by itself")
        }
        // Relations are those of the new value, and indexes are over their ids.
        return try session.store(Self.self).type.linkedIDs.isEmpty ? merged : merged.withRelations(of: self)
    }

    /// Returns this value with the relations of another one.
    private func withRelations(of other: Self) -> Self {
        var copy = self
        for relation in Self.entityShape.relations { relation.access.copy(&copy, other) }
        return copy
    }

    /// Returns this entity and its nested ones, or nil if no nested one has a unique index, as in nearly all saves.
    /// Keys that can be refused must be checked before anything is changed.
    private func batch(in context: Context, options: MergeStrategy<Self>) throws -> UniqueBatch? {
        var check = RelationSaver<Self>(checking: context, batch: nil)
        try saveRelations(with: &check)
        guard let batch = check.batch else { return nil }
        let session = context.session
        if Self.entityShape.refuses {
            try batch.add(try merged(options, session), session, isFinal: true, isFirst: true)
        }
        return batch
    }

    /// Adds this entity, if its unique indexes refuse or the batch is a list, and its nested ones.
    /// - Parameter isFinal: whether `willSave` has already run. For a nested entity it runs when its turn comes.
    func join(
        _ batch: inout UniqueBatch?, in context: Context, options: MergeStrategy<Self>, isFinal: Bool
    ) throws {
        // Looked up once: a generic entity searches for its shape at every mention.
        let shape = Self.entityShape
        if shape.hasResolvers {
            let session = context.session
            let joined = batch ?? UniqueBatch(isList: false)
            if joined.isList || shape.refuses {
                try joined.add(try merged(options, session), session, isFinal: isFinal)
            }
            batch = joined
        }
        var check = RelationSaver<Self>(checking: context, batch: batch)
        try saveRelations(with: &check)
        batch = check.batch
    }
}

extension EntityShape {
    /// Whether a unique index refuses an entity with the key of another.
    fileprivate var refuses: Bool {
        hasResolvers && resolvers.contains { $0.resolver.refuses }
    }
}

// MARK: - Collisions

extension EntityModelProtocol {
    /// Maximum number of rounds, because hooks and resolvers might save and delete in turn for ever.
    private static var collisionRounds: Int { 64 }

    /// Whether, by the rules of its indexes, other entities must be changed or deleted before this one can be saved.
    /// Throws if a rule refuses it, before anything is changed.
    fileprivate func mustMakeRoom(_ session: TypedTransaction) throws -> Bool {
        let shape = Self.entityShape
        guard shape.hasResolvers else { return false }
        if let batch = session.running.batch { try session.releaseKeys(of: self, batch) }
        let collisions = try session.collisions(of: self)
        try refuse(collisions, session)
        if !collisions.isEmpty { return true }
        guard shape.hasCustomResolvers else { return false }
        return try shape.resolvers.contains { index, resolver in
            guard case .custom = resolver.rule else { return false }
            return try session.holder(ofKeyOf: self, index) != nil
        }
    }

    /// Frees the unique keys of this entity by the rules of its indexes.
    fileprivate func makeRoom(in context: inout Context) throws {
        let session = context.session
        var collisions = try session.collisions(of: self)
        // The denials are checked for all of them before the first one is deleted.
        let former = session.running.deleting
        if !collisions.isEmpty { try session.refuseDenied(collisions.map { $0.id.columnValue }, Self.self) }
        defer { session.running.deleting = former }
        for (index, resolver) in Self.entityShape.resolvers {
            guard case .custom(let handler) = resolver.rule else { continue }
            if try resolve(index, handler, in: &context) { collisions = try session.collisions(of: self) }
        }
        for _ in 0..<Self.collisionRounds {
            guard let first = collisions.first else { return }
            try refuse(collisions, session)
            if let (index, holder) = collisions.first(where: { Self.resolver(of: $0.index)?.updates ?? false }) {
                throw try violation(
                    index, by: holder, session,
                    remark: ", and took it while other keys were made free: look for a hook or a resolver "
                        + "that saves it"
                )
            }
            if let row = try session.store(Self.self).rowID(ofAny: first.id.columnValue) {
                try Self.deletion(of: row, in: context)?.run(in: &context)
            }
            collisions = try session.collisions(of: self)
        }
        guard let last = collisions.first else { return }
        throw try violation(
            last.index, by: last.id, session,
            remark: ", and is saved again each time it is deleted to free the key: look for a hook that saves it")
    }

    /// Returns the id of the entity that this one updates by the rule of a unique index, or nil if there is none.
    /// Throws if this one is stored too.
    private func holderToUpdate(_ session: TypedTransaction) throws -> ID? {
        guard Self.entityShape.hasUpdatingResolvers else { return nil }
        let found = try session.collisions(of: self).first { Self.resolver(of: $0.index)?.updates ?? false }
        guard let (index, holder) = found else { return nil }
        guard try session.storedRow(of: id.columnValue, Self.self) == nil else {
            throw try violation(
                index, by: holder, session,
                remark: ", and both are stored: `.update` saves into one stored entity, and can't join two; "
                    + "delete one of them first")
        }
        return holder
    }

    /// Returns the rule of an index, or nil if the model doesn't declare it.
    private static func resolver(of index: IndexDescription) -> CollisionResolver<Self>? {
        entityShape.resolvers.first { $0.index.name == index.name }?.resolver
    }

    /// Returns this value under another id, with its stored properties and its relations.
    private func withID(_ id: ID, _ session: TypedTransaction) throws -> Self {
        let type = try session.store(Self.self).type
        let row = try session.encode(self).withBytes { bytes in
            try type.rewriting(try RowReader(bytes, of: type)) { writer, column in
                if column == 0 { writer.set(id.columnValue, column) }
                return column == 0
            }
        }
        let copy = try row.withBytes { try Self(row: try RowReader($0, of: type)) }
        guard copy.id == id else {
            throw HornbeamError(
                .invalid,
                "\(Self.entityName) \(self.id) can't be saved in place of \(id): its id is computed from other "
                    + "properties; use `collisions: .replace` or `.throw`")
        }
        return copy.withRelations(of: self)
    }

    /// - Parameter remark: text to append to the message.
    private func violation(
        _ index: IndexDescription, by other: ID, _ session: TypedTransaction, remark: String = ""
    ) throws -> HornbeamError {
        let type = try session.store(Self.self).type
        return try session.encode(self).withBytes { bytes in
            try index.violation(of: try RowReader(bytes, of: type), type, by: other.columnValue, remark: remark)
        }
    }

    /// Throws for the first collision in an index that refuses.
    private func refuse(_ collisions: [(index: IndexDescription, id: ID)], _ session: TypedTransaction) throws {
        guard !collisions.isEmpty else { return }
        for (index, existing) in collisions {
            guard Self.resolver(of: index)?.refuses ?? true else { continue }
            throw try violation(index, by: existing, session)
        }
    }

    /// Calls a resolver for each entity with the same key. Returns whether there was any. An entity that it doesn't
    /// change may keep the key.
    private func resolve(
        _ index: IndexDescription, _ handler: CollisionResolver<Self>.Handler, in context: inout Context
    ) throws -> Bool {
        var last: ID?
        for _ in 0..<Self.collisionRounds {
            guard let existing = try context.session.holder(ofKeyOf: self, index), existing != last else { break }
            try handler(existing, self, index.name, &context)
            last = existing
        }
        return last != nil
    }
}

// MARK: - Relations

/// Saves the entities and links of an entity's relations. Used by `saveRelations`, which the macro writes.
///
/// One is made for each entity that is saved. It is so small that generic code copies it without the metadata of its
/// type. Finding them takes longer than saving an entity without relations.
public struct RelationSaver<Entity: EntityModelProtocol> {
    private var context: Context
    /// The row of the entity, or nil while relations are only checked.
    private let row: RowID?
    private var notes: SavingNotes
    /// Whether the entity need not be stored: then only its id is linked.
    private let isByID: Bool
    /// Whether entities that are stored are only linked, because they were saved before.
    private let isAgain: Bool
    /// Whether the entity was deleted while its nested ones were saved. Nothing is linked any more then.
    private(set) var isLost = false

    /// - Parameter isByID: whether the entity need not be stored.
    @inline(__always)
    init(context: Context, row: RowID, isByID: Bool = false) {
        self.context = context
        self.row = row
        self.isByID = isByID
        isAgain = false
        notes = .none
    }

    @inline(__always)
    init(checking context: Context, batch: UniqueBatch?) {
        self.context = context
        row = nil
        isByID = false
        isAgain = false
        notes = batch.map { .batch($0) } ?? .none
    }

    /// Saves the relations again, for an entity that was deleted and stored a second time.
    init(again renamed: RenamedTargets?, context: Context, row: RowID, isByID: Bool = false) {
        self.context = context
        self.row = row
        self.isByID = isByID
        isAgain = true
        notes = renamed.map { .renamed($0) } ?? .none
    }

    /// The entities to check, while relations are only checked.
    var batch: UniqueBatch? {
        if case .batch(let batch) = notes { batch } else { nil }
    }

    /// The nested entities with changed ids. Nearly always nil.
    var renamed: RenamedTargets? {
        if case .renamed(let renamed) = notes { renamed } else { nil }
    }

    /// Saves relation number `number`: first the entities in it, then the links.
    public mutating func save<Target, D, C, K>(_ relation: Relation<Target, D, C, K>, relation number: Int) throws {
        if case .none = relation.content { return }
        let options = relation.isFragment ? Target.fragmentMergeStrategy : Target.defaultMergeStrategy
        guard let row else {
            if let print = context.session.running.fingerprint { return try print.add(relation, number: number) }
            return try check(relation, options)
        }
        let saved = try saveEntities(of: relation, number, options)
        if isLost { return }
        let renamed = renamed
        try context.session.run { session in
            let targets = try saved ?? linkedRows(relation, number, renamed, session)
            let side = try session.side(number, of: Entity.self)
            let core = try session.core
            try core.changeLinks(of: side) {
                if relation.isSlice {
                    for target in targets { try core.edges.append(side, row, target) }
                } else {
                    try core.edges.set(side, row, targets)
                }
            }
        }
    }

    private mutating func check<Target, D, C, K>(
        _ relation: Relation<Target, D, C, K>, _ options: MergeStrategy<Target>
    ) throws {
        guard case .entities(let entities) = relation.content else { return }
        let session = context.session
        try session.descend(into: "\(Target.entityName) can't be saved")
        defer { session.running.nesting -= 1 }
        var batch = batch
        for entity in entities { try entity.join(&batch, in: context, options: options, isFinal: false) }
        if let batch { notes = .batch(batch) }
    }

    /// Saves the entities in a relation. Returns their rows, or nil if one of them may have been removed again or the
    /// relation holds no entities.
    private mutating func saveEntities<Target, D, C, K>(
        of relation: Relation<Target, D, C, K>, _ number: Int, _ options: MergeStrategy<Target>
    ) throws -> [RowID]? {
        guard case .entities(let entities) = relation.content else { return nil }
        let session = context.session
        try session.descend(into: "\(Target.entityName) can't be saved", failsWrite: true)
        defer { session.running.nesting -= 1 }
        let core = try session.core
        let removals = core.removals
        var rows: [RowID] = []
        rows.reserveCapacity(entities.count)
        let link = try pendingLink(number, session)
        let former = link == nil ? nil : session.running.pendingLink
        defer { if link != nil { session.running.pendingLink = former } }
        for place in entities.indices {
            if isAgain, let row = try storedRow(entities[place], number, place) {
                rows.append(row)
                continue
            }
            if var link {
                link.entity = entities[place].id.columnValue
                session.running.pendingLink = link
            }
            let saved = try entities[place].saveRelated(to: &context, options: options)
            rows.append(saved.row)
            if let id = saved.renamed { rename(number, place, id) }
        }
        if core.removals == removals { return rows }
        if let row, !isLost { isLost = try !isThere(row, session) }
        return nil
    }

    /// The link to be made to each entity in a relation, if their unique keys depend on it.
    private func pendingLink(_ number: Int, _ session: TypedTransaction) throws -> PendingLink? {
        guard let row, session.mayHaveUniqueKeys else { return nil }
        return try session.store(Entity.self).pendingLink(try session.side(number, of: Entity.self), from: row)
    }

    /// Whether the entity whose relations are saved still has its row.
    @inline(never)
    private func isThere(_ row: RowID, _ session: TypedTransaction) throws -> Bool {
        try session.run { session in
            let store = try session.store(Entity.self)
            return try isByID ? store.isKnown(row) : store.isSaved(row)
        }
    }

    @inline(never)
    private func storedRow<Target: EntityModelProtocol>(
        _ entity: Target, _ number: Int, _ place: Int
    ) throws -> RowID? {
        let id = renamed?.id(number, place) ?? entity.id.columnValue
        return try context.session.run { try $0.storedRow(of: id, Target.self) }
    }

    @inline(never)
    private mutating func rename(_ number: Int, _ place: Int, _ id: Value) {
        let targets = renamed ?? RenamedTargets()
        targets.note(number, place, id)
        notes = .renamed(targets)
    }
}

/// Returns the rows that a relation must lead to.
private func linkedRows<Target, D, C, K>(
    _ relation: Relation<Target, D, C, K>, _ number: Int, _ renamed: RenamedTargets?, _ session: TypedTransaction
) throws -> [RowID] {
    let ids = relation.linkedIds ?? []
    guard let renamed else { return try session.rowsToLink(ids, Target.self) }
    return try session.rowsToLink(ids.indices.map { renamed.id(number, $0) ?? ids[$0].columnValue }, Target.self)
}

/// The notes of a saver: while it checks, the batch that it checks; while it saves, nearly always nothing.
private enum SavingNotes {
    case none
    case batch(UniqueBatch)
    case renamed(RenamedTargets)
}

/// The nested entities of one entity whose ids a hook has changed. A class, because a list within `RelationSaver` would
/// have a generic type.
final class RenamedTargets {
    private var targets: [(relation: Int, place: Int, id: Value)] = []

    /// Returns the present id of the entity at a position of a relation, or nil if the value still has its id.
    func id(_ relation: Int, _ place: Int) -> Value? {
        targets.first { $0.relation == relation && $0.place == place }?.id
    }

    func note(_ relation: Int, _ place: Int, _ id: Value) {
        targets.removeAll { $0.relation == relation && $0.place == place }
        targets.append((relation, place, id))
    }
}
