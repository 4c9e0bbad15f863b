// SPDX-License-Identifier: Apache-2.0
// Checks the rule `deny` before a deletion changes anything, so that a refused one changes nothing.

/// The rows of nested deletions. A deletion that a hook makes within another one adds its rows until it is done.
/// Earlier rows are shared, not copied: they may be all rows of a bulk deletion, in which every hook may delete.
struct EntityRows {
    private final class Part {
        let rows: Set<EntityRow>
        private(set) var before: Part?

        init(_ rows: Set<EntityRow>, before: Part?) {
            self.rows = rows
            self.before = before
        }

        deinit {
            // A loop: if a deletion fails, all parts are released, and recursion would use stack for each.
            var part = before
            before = nil
            while part != nil, isKnownUniquelyReferenced(&part) {
                let next = part?.before
                part?.before = nil
                part = next
            }
        }
    }

    /// The part that was added last. There are few: one for each nested deletion that adds rows.
    private var last: Part?

    var isEmpty: Bool { last == nil }

    func contains(_ row: EntityRow) -> Bool {
        var part = last
        while let here = part {
            if here.rows.contains(row) { return true }
            part = here.before
        }
        return false
    }

    mutating func add(_ rows: [EntityRow]) {
        if !rows.isEmpty { last = Part(Set(rows), before: last) }
    }
}

extension TypedTransaction {
    /// Throws if deleting these entities, with all that cascades from them, is denied. Otherwise adds them to
    /// `running.deleting`, which the caller sets back later: deletions within this one needn't check again.
    func refuseDenied<Entity: EntityModelProtocol>(_ ids: [Value], _: Entity.Type) throws {
        let store = try store(Entity.self)
        if store.core.schema.denying.isEmpty { return }
        try refuseDenied(try ids.compactMap { try store.rowID(ofAny: $0) }, Entity.self)
    }

    /// Throws if deleting these rows is denied, like the function that takes ids.
    func refuseDenied<Entity: EntityModelProtocol>(_ rows: [RowID], _: Entity.Type) throws {
        let store = try store(Entity.self)
        let core = store.core
        if core.schema.denying.isEmpty { return }
        let deleting = running.deleting
        var denials = DeletionDenials(core) { deleting.contains($0) }
        for rowID in rows { try denials.take(EntityRow(type: store.type.name, rowID: rowID)) }
        try denials.takeOrphans()
        try denials.refuse()
        running.deleting.add(denials.taken)
    }
}
