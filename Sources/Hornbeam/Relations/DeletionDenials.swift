// SPDX-License-Identifier: Apache-2.0
// The delete rule `deny`. A deletion is looked through with all that cascades from it before anything of it happens, so
// that a refused one changes nothing. Links to what the same deletion takes deny nothing.

/// A row of any type.
struct EntityRow: Hashable {
    let type: String
    let rowID: RowID
}

/// What one deletion takes, and whether it may.
struct DeletionDenials {
    private let session: EntitySession
    /// All that goes, in the order in which it was found.
    private(set) var taken: [EntityRow] = []
    private var known: Set<EntityRow>
    /// What goes too if nothing else leads to it by these relations.
    private var orphans: [(row: EntityRow, side: EdgeSide)] = []

    /// - Parameter taken: what a deletion that is under way takes already.
    init(_ session: EntitySession, taken: Set<EntityRow>) {
        self.session = session
        known = taken
    }

    /// Adds a row with all that is deleted with it.
    mutating func take(_ row: EntityRow) throws {
        var waiting = [row]
        while let next = waiting.popLast() {
            guard known.insert(next).inserted else { continue }
            let store = try session.store(next.type)
            guard try store.isSaved(next.rowID) else { continue }
            taken.append(next)
            for side in store.type.relations where side.description.deleteRule.reaches {
                if side.description.deleteRule == .notify { continue }
                for target in try session.edges.targets(side, of: next.rowID) {
                    let row = EntityRow(type: side.target, rowID: target)
                    if side.description.deleteRule == .cascade {
                        waiting.append(row)
                    } else {
                        orphans.append((row, side))
                    }
                }
            }
        }
    }

    /// Adds what nothing leads to any more once all of that is gone. To be called when all else is added.
    mutating func takeOrphans() throws {
        var count = -1
        while count != taken.count {
            count = taken.count
            let candidates = orphans
            orphans = []
            for (row, side) in candidates where !known.contains(row) {
                var stays = false
                try session.edges.forEachSource(side, of: row.rowID) { source in
                    stays = stays || !known.contains(EntityRow(type: side.type, rowID: source))
                }
                if stays { orphans.append((row, side)) } else { try take(row) }
            }
        }
    }

    /// `.deleteDenied` if a link leads from what goes to what stays, and its relation denies that.
    func refuse() throws {
        for row in taken where session.schema.denying.contains(row.type) {
            let store = try session.store(row.type)
            for side in store.type.relations where side.description.deleteRule == .deny {
                let targets = try session.store(side.target)
                var (count, example): (Int, RowID?) = (0, nil)
                try session.edges.forEachTarget(side, of: row.rowID) { target in
                    if try known.contains(EntityRow(type: side.target, rowID: target)) || !targets.isSaved(target) {
                        return true
                    }
                    example = example ?? target
                    count += 1
                    return count < Self.counted
                }
                if let example { throw try denial(store, row.rowID, side, count, targets, example) }
            }
        }
    }

    /// No more than so many are counted for the message.
    private static var counted: Int { 1_000 }

    private func denial(
        _ store: EntityStore, _ rowID: RowID, _ side: EdgeSide, _ count: Int, _ targets: EntityStore, _ example: RowID
    ) throws -> HornbeamError {
        let id = try store.id(of: rowID)?.text ?? "?"
        let linked = "\(side.target) \(try targets.id(of: example)?.text ?? "?")"
        let number = (count < Self.counted ? "" : "at least ") + "\(count)"
        return HornbeamError(
            .deleteDenied,
            "\(store.type.name) \(id) can't be deleted: its relation “\(side.name)” denies it while it leads to stored "
                + "entities, which are \(number) (\(linked) is one): delete or detach them first")
    }
}

extension Session {
    /// Throws if deleting these entities, with all that cascades from them, is denied. Otherwise they are in
    /// `deleting`, until the caller sets it back: deletions within the deletion needn't ask again.
    func refuseDenied<Entity: EntityModelProtocol>(_ ids: [Value], _: Entity.Type) throws {
        let store = try store(Entity.self)
        if store.session.schema.denying.isEmpty { return }
        try refuseDenied(try ids.compactMap { try store.rowID(of: $0) }, Entity.self)
    }

    /// The same of rows.
    func refuseDenied<Entity: EntityModelProtocol>(_ rows: [RowID], _: Entity.Type) throws {
        let store = try store(Entity.self)
        let core = store.session
        if core.schema.denying.isEmpty { return }
        var denials = DeletionDenials(core, taken: deleting)
        for rowID in rows { try denials.take(EntityRow(type: store.type.name, rowID: rowID)) }
        try denials.takeOrphans()
        try denials.refuse()
        deleting.formUnion(denials.taken)
    }
}
