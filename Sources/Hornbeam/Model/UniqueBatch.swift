// SPDX-License-Identifier: Apache-2.0
// Checks the unique keys of entities that are saved together: a list, or a value with its nested entities. Their final
// keys count, so two of them may exchange keys. If an entity holds a key that another one gets, and the save gives it
// another key, it releases its key when the other one's turn comes.

import HornbeamPages

/// The entities of one save whose unique keys are checked together.
final class UniqueBatch {
    /// The entities of one type.
    private struct Members {
        /// Names of the indexes that refuse a second entity with the same key.
        let refusing: Set<String>
        /// Ids in the order of the save. If an entity is saved several times, `rows` has its last row.
        var ids: [Value] = []
        var rows: [Value: [UInt8]] = [:]
        /// Entities whose rows are final. Others may be refused only when their turn comes.
        var final: Set<Value> = []
    }

    private struct Key: Hashable {
        let index: String
        let bytes: [UInt8]
    }

    private var members: [String: Members] = [:]
    /// Whether entities whose indexes refuse no save are included. In a list they are, so that none deletes another.
    let isList: Bool

    init(isList: Bool) {
        self.isList = isList
    }

    /// - Parameters:
    ///   - isFinal: whether no hook can change it any more.
    ///   - isFirst: whether it is saved before the entities that have been added.
    func add<Entity: EntityModelProtocol>(
        _ entity: Entity, _ session: TypedTransaction, isFinal: Bool, isFirst: Bool = false
    ) throws {
        let name = Entity.entityName
        let row = try session.encode(entity)
        let id = entity.id.columnValue
        var list =
            members[name]
            ?? Members(refusing: Set(Entity.entityShape.resolvers.filter { $0.resolver.refuses }.map(\.index.name)))
        members[name] = nil
        if list.rows[id] == nil { list.ids.append(id) }
        if list.rows[id] == nil || !isFirst {
            list.rows[id] = row
            if isFinal { list.final.insert(id) } else { list.final.remove(id) }
        }
        members[name] = list
    }

    /// Throws `.uniqueViolation` if two of the members want one key of an index that refuses this, or one wants the key
    /// of an entity that keeps it. Members that a hook may still change are not checked.
    /// - Returns: whether a member wants a key that another one still has.
    func check(_ core: StoreTransaction) throws -> Bool {
        var changesHands = false
        for (name, list) in members.sorted(by: { $0.key < $1.key }) {
            let store = try core.store(name)
            var wanted: [Key: Value] = [:]
            for id in list.ids {
                guard let row = list.rows[id] else { continue }
                let refusing = list.final.contains(id) ? list.refusing : []
                try row.withBytes { bytes in
                    let new = try RowReader(bytes, of: store.type)
                    try want(&wanted, id, new, refusing, store)
                    let rowID = try store.rowID(of: id) ?? .unassigned
                    for (index, other) in try store.uniqueConflicts(row, rowID: rowID) {
                        if try givesUp(index, other, list, store) {
                            changesHands = true
                        } else if refusing.contains(index.name) {
                            throw try index.violation(of: new, store.type, by: try store.id(of: other) ?? .null)
                        }
                    }
                }
            }
        }
        return changesHands
    }

    private func want(
        _ wanted: inout [Key: Value], _ id: Value, _ row: RowReader, _ refusing: Set<String>, _ store: EntityStore
    ) throws {
        for index in store.type.indexes where refusing.contains(index.description.name) {
            let (key, isExempt) = try index.fullKey(of: row)
            if isExempt { continue }
            let known = wanted.updateValue(id, forKey: Key(index: index.description.name, bytes: key))
            if let known, known != id {
                throw try index.description.violation(of: row, store.type, by: known, isBatch: true)
            }
        }
    }

    /// Whether the save gives the row another key than the one it has.
    private func givesUp(
        _ index: IndexDescription, _ rowID: RowID, _ list: Members, _ store: EntityStore
    ) throws -> Bool {
        guard let index = store.type.indexes.first(where: { $0.description.name == index.name }),
            let id = try store.id(of: rowID), let planned = list.rows[id], let old = try store.row(rowID)
        else { return false }
        let held = try index.fullKey(of: old).key
        return try planned.withBytes { try index.fullKey(of: try RowReader($0, of: store.type)).key } != held
    }

    /// Makes a holder release its key, if the save gives it another one.
    func release(_ index: IndexDescription, _ rowID: RowID, _ store: EntityStore) throws {
        guard let list = members[store.type.name], try givesUp(index, rowID, list, store) else { return }
        try store.yield(index, rowID)
    }
}

extension CollisionResolver {
    var refuses: Bool {
        if case .throw = rule { return true }
        return false
    }

    var updates: Bool {
        if case .update = rule { return true }
        return false
    }
}

extension TypedTransaction {
    /// Checks the keys of a batch, then runs `body`, which saves it. If `body` throws, its changes are undone: one of
    /// several entities may be refused only when its turn comes, and if keys change hands, indexes are incomplete in
    /// between.
    /// - Parameter mayChange: whether hooks may change keys of the batch's entities before they are saved.
    func saving(_ batch: UniqueBatch, mayChange: Bool = false, _ body: () throws -> Void) throws {
        let changesHands = try run { try batch.check(try $0.core) } || mayChange
        let former = running.batch
        running.batch = changesHands ? batch : former
        defer { running.batch = former }
        try run { session in
            try session.whole {
                try session.core.deferringKeys(body)
            }
        }
    }

    /// Makes the holders of an entity's unique keys release them if the batch allows it.
    func releaseKeys<Entity: EntityModelProtocol>(of entity: Entity, _ batch: UniqueBatch) throws {
        let store = try store(Entity.self)
        let rowID = try store.rowID(of: entity.id.columnValue) ?? .unassigned
        for (index, other) in try store.uniqueConflicts(try encode(entity), rowID: rowID) {
            try batch.release(index, other, store)
        }
    }
}
