// SPDX-License-Identifier: Apache-2.0
// The entries of registered indexes whose code takes a decoded entity. The changes of entries are a pure function of
// the old entity and the new one.

package import HornbeamPages
package import HornbeamTree

extension IndexRegistration {
    /// - Parameters:
    ///   - reduction: the size of its reduced values and the function that makes their folder, or nil for none.
    ///   - entries: makes the entries of an entity. Their keys may repeat. The second argument is the entity's id as an
    ///     entry stores it, or nil if the row id is the id.
    ///   - others: number of trees beside the first one. An index with any is a table: it has at most one entry of an
    ///     entity in each of its trees, under a key that ends in the row id alone.
    ///   - flaw: the reason why it can't be registered, or nil if it can.
    package convenience init<Entity: EntityModelProtocol>(
        name: String, version: String, kind: String, settings: [String: String],
        reduction: (size: Int, folder: @Sendable () -> any ReductionFolder)?, others: Int = 0, flaw: String? = nil,
        plannable: Plannable? = nil, rewritten: (@Sendable (Bytes) -> [UInt8]?)? = nil,
        entries: @escaping @Sendable (Entity, _ id: [UInt8]?) throws -> [IndexEntry]
    ) {
        self.init(
            name: name, version: version, kind: kind, settings: settings, entity: Entity.entityName,
            model: ObjectIdentifier(Entity.self), reduction: reduction, others: others, flaw: flaw,
            plannable: plannable,
            rewritten: rewritten, emitter: EntityEmitter(isTable: others > 0, entries: entries))
    }
}

private struct EntityEmitter<Entity: EntityModelProtocol>: IndexEmitter {
    let isTable: Bool
    let entries: @Sendable (Entity, [UInt8]?) throws -> [IndexEntry]

    func follower(of indexes: [MaintainedIndex]) -> any IndexFollower {
        EntityFollower<Entity>(
            indexes: indexes.compactMap { index in
                guard let emitter = index.registration.emitter as? EntityEmitter<Entity> else { return nil }
                return EntityFollower<Entity>.Index(
                    name: index.registration.name, trees: index.trees, isTable: emitter.isTable,
                    entries: emitter.entries)
            })
    }
}

private struct EntityFollower<Entity: EntityModelProtocol>: IndexFollower {
    struct Index: Sendable {
        let name: String
        let trees: IndexTrees
        let isTable: Bool
        let entries: @Sendable (Entity, [UInt8]?) throws -> [IndexEntry]
    }

    let indexes: [Index]

    func changes(_ rowID: RowID, from old: RowReader?, to new: RowReader?) throws -> [RegisteredChange] {
        // Each is decoded once, for all indexes together.
        let after = try new.map { (entity: try Entity(row: $0), id: try id(rowID, $0)) }
        let before = old.flatMap { old in try? (entity: Entity(row: old), id: id(rowID, old)) }
        var changes: [RegisteredChange] = []
        for index in indexes {
            let new = try after.map { try entries(of: $0.entity, $0.id, rowID, index) } ?? []
            var former: [IndexEntry]? = []
            if old != nil { former = try before.flatMap { try formerEntries(of: $0.entity, $0.id, rowID, index) } }
            guard let former else {
                changes.append(RegisteredChange(trees: index.trees, isFormerUnknown: true, put: new))
                continue
            }
            let change = RegisteredChange(index.trees, from: former, to: new)
            if !change.removed.isEmpty || !change.put.isEmpty { changes.append(change) }
        }
        return changes
    }

    /// The entries of an entity's former state. Returns nil if the index can't make them: an entity that can't be read
    /// any more, or is refused now, must not prevent its own replacement.
    private func formerEntries(
        of entity: Entity, _ id: [UInt8]?, _ rowID: RowID, _ index: Index
    ) throws -> [IndexEntry]? {
        do {
            return try entries(of: entity, id, rowID, index)
        } catch let error as HornbeamError where error.code == .impureMap {
            throw error
        } catch {
            return nil
        }
    }

    func entries(_ rowID: RowID, _ row: RowReader, in index: Int) throws -> [IndexEntry] {
        try entries(of: try Entity(row: row), try id(rowID, row), rowID, indexes[index])
    }

    /// Returns the id as entries contain it, or nil if the row id is the id.
    private func id(_ rowID: RowID, _ row: RowReader) throws(HornbeamError) -> [UInt8]? {
        rowID < RowID.firstAssigned ? nil : try row.rawBytes(0).map { Array($0) } ?? []
    }

    private func entries(
        of entity: Entity, _ id: [UInt8]?, _ rowID: RowID, _ index: Index
    ) throws -> [IndexEntry] {
        let emitted = try index.entries(entity, id)
        #if DEBUG
            // A debug build asks twice, to detect rows that depend on a clock or a counter.
            let again = try index.entries(entity, id)
            guard emitted.elementsEqual(again, by: { $0.key == $1.key && $0.value == $1.value }) else {
                throw HornbeamError(
                    .impureMap,
                    "index “\(index.name)” gives other rows for \(Entity.entityName) \("\(entity.id)".shown()) when "
                        + "its code runs again: the rows must depend on the entity alone")
            }
        #endif
        return index.isTable ? emitted.keyed(rowID) : emitted.numbered(rowID)
    }
}

extension Array where Element == IndexEntry {
    /// Completes the keys with the row id, and sorts the entries. No two keys are equal.
    fileprivate func keyed(_ rowID: RowID) -> [IndexEntry] {
        map { IndexEntry(key: $0.key + rowID.key, value: $0.value) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    /// Completes the keys with row id and ordinal, and sorts the entries; equal keys stay in their order.
    fileprivate func numbered(_ rowID: RowID) -> [IndexEntry] {
        if isEmpty { return [] }
        let order = indices.sorted { left, right in
            if self[left].key == self[right].key { return left < right }
            return self[left].key.lexicographicallyPrecedes(self[right].key)
        }
        var numbered: [IndexEntry] = []
        numbered.reserveCapacity(count)
        var ordinal: UInt32 = 0
        for (place, index) in order.enumerated() {
            ordinal = place > 0 && self[order[place - 1]].key == self[index].key ? ordinal + 1 : 0
            var key = self[index].key + rowID.key
            Swift.withUnsafeBytes(of: ordinal.bigEndian) { key.append(contentsOf: $0) }
            numbered.append(IndexEntry(key: key, value: self[index].value))
        }
        return numbered
    }
}
