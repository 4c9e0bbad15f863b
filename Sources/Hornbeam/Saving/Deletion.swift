// SPDX-License-Identifier: Apache-2.0
// One deletion with all entities that it deletes. Each entity is an object in a list of work, not a recursive call,
// because a long cascade would overflow the stack.

/// The deletion of one entity, independent of its type.
class DeletionStep {
    /// The rows that one of the entity's relations led to.
    fileprivate struct Reached {
        let relation: RelationDescription
        let type: any EntityModelProtocol.Type
        var rows: [RowID]
    }

    /// The rows to handle next, by the relations whose delete rules affect their targets. Some may be deleted before
    /// their turn.
    fileprivate var reached: [Reached] = []

    /// The name of its entity, for errors.
    fileprivate var name: String { "" }
    /// Whether other entities are deleted with this one.
    fileprivate func takesOthers(_ session: TypedTransaction) throws -> Bool { false }
    /// Runs the steps before anything is changed: a check of rules that deny the deletion, the `Deleted` to leave
    /// behind, the hook.
    fileprivate func prepare(in context: inout Context) throws {}
    /// Removes the entity, and notes the rows to handle next.
    fileprivate func remove(in context: inout Context) throws {}
    /// Runs when the entities that its relations led to are handled too.
    fileprivate func end(in context: inout Context) throws {}
    /// Whether the relation of any other entity still leads to an entity.
    fileprivate func isLinked(_ row: RowID, by relation: RelationDescription, in context: Context) throws -> Bool {
        false
    }
    /// Notifies an entity, if it is stored, that the relation to it is gone.
    fileprivate func tell(
        _ row: RowID, _ type: any EntityModelProtocol.Type, _ relation: RelationDescription,
        in context: inout Context
    ) throws {}

    /// Deletes the entity and the entities that are deleted with it. If a hook of one of these throws, none of them is
    /// deleted.
    final func runWhole(in context: inout Context) throws {
        let session = context.session
        try session.descend("deleted", of: name)
        defer { session.running.depth -= 1 }
        try session.run { session in
            // Failed steps leave their rows in it.
            let former = session.running.deleting
            defer { session.running.deleting = former }
            if try takesOthers(session) {
                return try session.whole {
                    try prepare(in: &context)
                    try takeSteps(in: &context)
                }
            }
            // No savepoint here, because making one writes all gathered changes, and nearly always no other entities
            // are deleted.
            try prepare(in: &context)
            guard try takesOthers(session) else { return try takeSteps(in: &context) }
            // The hook has linked the first other entity.
            try session.whole { try takeSteps(in: &context) }
        }
    }

    /// Runs the deletion inside a unit that is undone as a whole.
    final func run(in context: inout Context) throws {
        let session = context.session
        try session.descend("deleted", of: name)
        defer { session.running.depth -= 1 }
        let former = session.running.deleting
        defer { session.running.deleting = former }
        try prepare(in: &context)
        try takeSteps(in: &context)
    }

    /// Runs the steps after `prepare`, of this entity and of all that are deleted with it.
    private func takeSteps(in context: inout Context) throws {
        try remove(in: &context)
        var open = [self]
        while let step = open.last {
            if let next = try step.next(in: &context) {
                open.append(next)
                try next.prepare(in: &context)
                try next.remove(in: &context)
            } else {
                open.removeLast()
                try step.end(in: &context)
            }
        }
    }

    private func next(in context: inout Context) throws -> DeletionStep? {
        while let place = reached.indices.last {
            // Changed in place: with a second reference to the rows each removal would copy them.
            guard let row = reached[place].rows.popLast() else {
                reached.removeLast()
                continue
            }
            let (relation, type) = (reached[place].relation, reached[place].type)
            switch relation.deleteRule {
            case .nullify, .deny: continue
            case .notify:
                try tell(row, type, relation, in: &context)
                continue
            case .whenOrphaned: if try isLinked(row, by: relation, in: context) { continue }
            case .cascade: break
            }
            if let step = try type.deletion(of: row, in: context) { return step }
        }
        return nil
    }
}

/// The steps of a deletion that need only the entity's id and row, not its value.
class RowDeletion<Entity: EntityModelProtocol>: DeletionStep {
    /// The row of the entity, or nil if the entity isn't stored.
    private let stored: RowID?
    /// The transaction's count of saves, which shows whether the entity may have been saved again.
    fileprivate var saves = 0
    /// The rows of the running deletion before this one.
    private var former = EntityRows()
    /// The transaction's count of removals when the row was looked up, which shows whether it may have been removed
    /// since.
    private var removals: Int?

    fileprivate init(at row: RowID?) { stored = row }

    fileprivate var id: Value { .null }

    override fileprivate func takesOthers(_ session: TypedTransaction) throws -> Bool {
        let store = try session.store(Entity.self)
        guard store.type.reaches, try session.isWritable, let row = try row(session), try store.isSaved(row) else {
            return false
        }
        return try store.type.relations.contains { side in
            guard side.description.deleteRule.reaches else { return false }
            return try !store.core.edges.targets(side, of: row, limit: 1).isEmpty
        }
    }

    /// Returns its present row, which a hook may have changed.
    private func row(_ session: TypedTransaction) throws -> RowID? {
        if let stored, try removals == nil || session.core.removals == removals { return stored }
        return try session.store(Entity.self).rowID(ofAny: id)
    }

    override fileprivate func prepare(in context: inout Context) throws {
        let session = context.session
        former = session.running.deleting
        removals = try session.run { session in
            try session.refuseDenied([id], Entity.self)
            return try session.core.removals
        }
        try begin(stored, in: &context)
    }

    /// Makes the `Deleted` that the deletion leaves behind, and calls the hook.
    fileprivate func begin(_ row: RowID?, in context: inout Context) throws {}

    override fileprivate func remove(in context: inout Context) throws {
        try context.session.change("deleted", of: name) { session in
            guard let row = try row(session) else { return }
            try findTargets(of: row, session)
            try session.store(Entity.self).delete(row)
            saves = try session.core.saves
        }
    }

    private func findTargets(of row: RowID, _ session: TypedTransaction) throws {
        let store = try session.store(Entity.self)
        // An entity that isn't stored only loses its links, as with `detach`: its delete rules don't apply.
        guard store.type.reaches, try store.isSaved(row) else { return }
        for relation in Entity.entityShape.relations.reversed() where relation.description.deleteRule.reaches {
            reached.append(
                Reached(
                    relation: relation.description, type: relation.target,
                    rows: try session.core.edges.targets(session.side(relation), of: row).reversed()))
        }
    }

    override fileprivate func isLinked(
        _ row: RowID, by relation: RelationDescription, in context: Context
    ) throws -> Bool {
        try context.session.run { session in
            let store = try session.store(Entity.self)
            return try store.core.edges.hasOtherSource(try store.type.relation(relation.name), of: row)
        }
    }

    override fileprivate func end(in context: inout Context) throws {
        context.session.running.deleting = former
    }
}

/// The deletion of an entity whose row can't be decoded: an enum may have lost the case of a stored raw value. Without
/// a value no hook is called and no linked entity is notified. It leaves no `Deleted`, because that couldn't be decoded
/// either.
final class UnreadDeletion<Entity: EntityModelProtocol>: RowDeletion<Entity> {
    private let key: Value

    init(_ id: Value, at row: RowID) {
        key = id
        super.init(at: row)
    }

    override fileprivate var id: Value { key }
    override fileprivate var name: String { "\(Entity.entityName) \(key.text)" }
}

final class Deletion<Entity: EntityModelProtocol>: RowDeletion<Entity> {
    private let entity: Entity
    /// Stores the `Deleted` that the deletion leaves behind. A closure, because each use of a property of type
    /// `Deleted` would look up that type.
    private var leave: ((TypedTransaction) throws -> Void)?

    /// - Parameter row: nil if the entity isn't stored. Its hooks run even then.
    init(_ entity: Entity, at row: RowID?) {
        self.entity = entity
        super.init(at: row)
    }

    override fileprivate var id: Value { entity.id.columnValue }
    override fileprivate var name: String { "\(Entity.entityName) \(entity.id)" }

    override fileprivate func begin(_ row: RowID?, in context: inout Context) throws {
        if let row { try keep(row, context) }
        try entity.willDelete(from: &context)
    }

    private func keep(_ row: RowID, _ context: Context) throws {
        let purging = context.session.running.purging
        if !purging.isEmpty, purging.contains(EntityRow(type: Entity.entityName, rowID: row)) { return }
        guard let deleted = try entity.asDeleted(in: context) else { return }
        guard deleted.isAsStored, deleted.id == entity.id else {
            let value = try deleted.resolved(in: context)
            leave = { _ = try $0.save(value) }
            return
        }
        try context.session.run { session in
            // Done first, because a context without a database may register the type now.
            let kept = try session.store(Deleted<Entity>.self)
            let store = try session.store(Entity.self)
            guard let copy = try store.tombstone(of: row, in: kept) else { return }
            let generation = try session.core.generation
            leave = { session in
                let isCurrent = try session.core.generation == generation
                try (isCurrent ? kept : session.store(Deleted<Entity>.self)).saveTombstone(copy)
            }
        }
    }

    override fileprivate func tell(
        _ row: RowID, _ type: any EntityModelProtocol.Type, _ relation: RelationDescription,
        in context: inout Context
    ) throws {
        try type.tell(row, of: entity, relation.name, in: &context)
    }

    override fileprivate func end(in context: inout Context) throws {
        if let leave {
            try context.session.run { session in
                // A hook may have saved the entity again.
                let isSavedAgain =
                    try session.core.saves != saves
                    && session.storedRow(of: entity.id.columnValue, Entity.self) != nil
                if isSavedAgain { return }
                try leave(session)
            }
        }
        try entity.didDelete(from: &context)
        try super.end(in: &context)
    }
}

extension EntityModelProtocol {
    /// Notifies the entity of a row that an entity with a link to it is deleted. Has no effect if the row has no
    /// entity, or one that can't be read.
    fileprivate static func tell(
        _ row: RowID, of source: some EntityModelProtocol, _ relation: String, in context: inout Context
    ) throws {
        let stored: Self? = try context.session.run { session in
            do {
                return try session.store(Self.self).row(row).map { try Self(row: $0) }
            } catch let error as HornbeamError where error.code == .undecodable {
                return nil
            }
        }
        guard var entity = stored, try entity.didLoseLink(from: source, relation: relation, in: &context) else {
            return
        }
        try entity.save(to: &context, options: .replace)
    }
}

extension EntityModelProtocol {
    /// Deletes the entities of some rows as one deletion, inside a unit that is undone as a whole. A relation with the
    /// rule `deny` doesn't forbid it if it leads to an entity of the same deletion.
    /// - Parameter leavingNothing: whether they leave no `Deleted`.
    static func delete(_ rows: [RowID], in context: inout Context, leavingNothing: Bool = false) throws {
        let session = context.session
        let (former, purged) = (session.running.deleting, session.running.purging)
        defer { (session.running.deleting, session.running.purging) = (former, purged) }
        if leavingNothing { session.running.purging.add(rows.map { EntityRow(type: entityName, rowID: $0) }) }
        try session.run { try $0.refuseDenied(rows, Self.self) }
        for row in rows {
            // It may have been deleted with one before it.
            try deletion(of: row, in: context)?.run(in: &context)
        }
    }
}
