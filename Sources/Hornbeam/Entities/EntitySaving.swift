// SPDX-License-Identifier: Apache-2.0
// Saving: hook, merge, collisions, row and indexes, then each relation with the entities in it, then hook. Collisions
// that must fail are looked for in the whole value, nested entities included, before anything is changed, so that a
// refused save leaves nothing of itself in a transaction that goes on.

extension EntityModelProtocol {
    /// Saves the entity, the entities in its relations, and its links.
    public func save(to context: inout Context) throws {
        try save(to: &context, options: Self.defaultMergeStrategy)
    }

    /// The same, merging with what is stored under the id.
    public func save(to context: inout Context, options: MergeStrategy<Self>) throws {
        let session = context.session
        var changed = self
        try changed.willSave(to: &context)
        // A constant: closures needn't copy it.
        let entity = consume changed
        let row = try session.run { session in
            if session.saveDepth == 0 {
                var check = RelationSaver<Self>(checking: context)
                try entity.saveRelations(with: &check)
            }
            if options.replaces, !Self.entityShape.hasResolvers { return try session.save(entity) }
            let stored = try entity.merged(options, session)
            try stored.resolveCollisions(in: &context)
            return try session.save(stored)
        }
        session.saveDepth += 1
        defer { session.saveDepth -= 1 }
        var saver = RelationSaver<Self>(context: context, row: row)
        try entity.saveRelations(with: &saver)
        try entity.didSave(to: &context)
    }

    /// What will be stored: the entity merged with the stored one. Indexes follow this, never the value passed in.
    func merged(_ options: MergeStrategy<Self>, _ session: Session) throws -> Self {
        guard !options.replaces, let old = try session.entity(id, Self.self) else { return self }
        let merged = options.merge(old, new: self)
        guard merged.id == id else {
            throw HornbeamError(.invalid, "a merge strategy of \(Self.entityName) changed the id \(id) to \(merged.id)")
        }
        return merged
    }

    /// Throws if this entity, nested in one that is about to be saved, or one nested in it would break a unique index
    /// that refuses. Nothing is changed.
    fileprivate func refuseCollisions(in context: Context, options: MergeStrategy<Self>) throws {
        let session = context.session
        // Looked up once here and below: a generic entity makes its shape anew at every mention.
        let shape = Self.entityShape
        if shape.hasResolvers, shape.resolvers.contains(where: { $0.resolver.refuses }) {
            let stored = try merged(options, session)
            try stored.refuse(try session.collisions(of: stored))
        }
        var check = RelationSaver<Self>(checking: context)
        try saveRelations(with: &check)
    }
}

// MARK: - Collisions

extension CollisionResolver {
    fileprivate var refuses: Bool {
        if case .throw = rule { return true }
        return false
    }
}

extension EntityModelProtocol {
    /// Hooks and resolvers may save and delete in turn; beyond this many rounds they are going in circles.
    private static var collisionRounds: Int { 64 }

    /// Frees the unique keys of this entity by the rules of its indexes. Those that refuse come first, before any other
    /// has changed anything.
    fileprivate func resolveCollisions(in context: inout Context) throws {
        let shape = Self.entityShape
        guard shape.hasResolvers else { return }
        var collisions = try context.session.collisions(of: self)
        try refuse(collisions)
        for (index, resolver) in shape.resolvers {
            guard case .custom(let handler) = resolver.rule else { continue }
            if try resolve(index, handler, in: &context) { collisions = try context.session.collisions(of: self) }
        }
        for _ in 0..<Self.collisionRounds {
            guard let first = collisions.first else { return }
            try refuse(collisions)
            try Self.delete(id: first.id, from: &context)
            collisions = try context.session.collisions(of: self)
        }
        throw HornbeamError(
            .uniqueViolation, "\(Self.entityName) \(id) can't be saved: entities with its unique keys keep coming back")
    }

    /// Throws for the first collision in an index that refuses.
    fileprivate func refuse(_ collisions: [(index: IndexDescription, id: ID)]) throws(HornbeamError) {
        guard !collisions.isEmpty else { return }
        let shape = Self.entityShape
        for (index, existing) in collisions {
            let rule = shape.resolvers.first { $0.index.name == index.name }
            guard rule?.resolver.refuses ?? true else { continue }
            let columns = index.components.map(\.column).joined(separator: ", ")
            throw HornbeamError(
                .uniqueViolation,
                "\(Self.entityName) \(id) can't be saved: \(Self.entityName) \(existing) has the same \(columns) "
                    + "(unique index “\(index.name)”)")
        }
    }

    /// Calls a resolver for each entity with the same key; whether there was any. One that it leaves as it is may keep
    /// the key.
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

/// Saves what an entity says about its relations. Made for `saveRelations`, which the macro writes.
public struct RelationSaver<Entity: EntityModelProtocol> {
    private var context: Context
    /// Nil when nothing is to be saved yet, only checked.
    private let row: RowID?

    init(context: Context, row: RowID) {
        self.context = context
        self.row = row
    }

    init(checking context: Context) {
        self.context = context
        row = nil
    }

    /// Saves relation number `number`: first the entities in it, then the links.
    public mutating func save<Target, D, C, K>(_ relation: Relation<Target, D, C, K>, relation number: Int) throws {
        if case .none = relation.content { return }
        let options = relation.isFragment ? Target.fragmentMergeStrategy : Target.defaultMergeStrategy
        guard let row else {
            if let print = context.session.print { return try print.add(relation, number: number) }
            for entity in relation.entities ?? [] {
                try entity.refuseCollisions(in: context, options: options)
            }
            return
        }
        for entity in relation.entities ?? [] { try entity.save(to: &context, options: options) }
        let declared = Entity.entityShape.relations[number]
        try context.session.run { session in
            let targets = try session.rowsToLink(relation.linkedIds ?? [], Target.self)
            if relation.isSlice {
                try session.appendLinks(targets, of: row, declared)
            } else {
                try session.setLinks(targets, of: row, declared)
            }
        }
    }
}
