// SPDX-License-Identifier: Apache-2.0
// The delete rule `deny`. Before a deletion changes anything, it is examined with everything that cascades from it, so
// that a refused one changes nothing. Links to entities of the same deletion deny nothing.

/// A row of any type.
struct EntityRow: Hashable {
    let type: String
    let rowID: RowID
}

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
            // In a loop: if a deletion fails, all parts are released, and releasing them recursively takes stack for
            // each.
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

/// The entities that one deletion takes, and whether the deletion is allowed.
struct DeletionDenials {
    private let core: StoreTransaction
    /// All rows to delete, in the order in which they were found.
    private(set) var taken: [EntityRow] = []
    private var known: Set<EntityRow> = []
    /// The rows that a running deletion already takes.
    private let before: EntityRows
    /// Rows that are deleted too if nothing else leads to them by these relations.
    private var orphans: [Candidate: Holders] = [:]
    /// The candidates still to be tested, in the order in which they were found.
    private var waiting: [Candidate] = []

    private struct Candidate: Hashable {
        let row: EntityRow
        /// The relation that leads to it.
        let type: String
        let relation: String
    }

    /// The links to a candidate from rows that stay, as far as they are known. One is enough. Only if that row is
    /// deleted too, all are counted, once.
    private enum Holders {
        case unknown
        case one(RowID)
        case count(Int)
    }

    /// - Parameter before: the rows that a running deletion already takes.
    init(_ core: StoreTransaction, before: EntityRows) {
        self.core = core
        self.before = before
    }

    private func isKnown(_ row: EntityRow) -> Bool { known.contains(row) || before.contains(row) }

    /// Adds a row with all that is deleted with it.
    mutating func take(_ row: EntityRow) throws {
        var waiting = [row]
        while let next = waiting.popLast() {
            guard !before.contains(next), known.insert(next).inserted else { continue }
            let store = try core.store(next.type)
            guard try store.isSaved(next.rowID) else { continue }
            taken.append(next)
            for side in store.type.relations where side.description.deleteRule.reaches {
                if side.description.deleteRule == .notify { continue }
                for target in try core.edges.targets(side, of: next.rowID) {
                    let row = EntityRow(type: side.target, rowID: target)
                    if side.description.deleteRule == .cascade {
                        waiting.append(row)
                    } else {
                        release(Candidate(row: row, type: side.type, relation: side.name), from: next)
                    }
                }
            }
        }
    }

    /// Takes note of a link to a candidate whose source goes.
    private mutating func release(_ candidate: Candidate, from source: EntityRow) {
        guard let holders = orphans[candidate] else {
            orphans[candidate] = .unknown
            waiting.append(candidate)
            return
        }
        switch holders {
        case .one(let holder): if holder == source.rowID { waiting.append(candidate) }
        case .count(let count) where source != candidate.row:
            orphans[candidate] = .count(count - 1)
            if count == 1 { waiting.append(candidate) }
        case .unknown, .count: break
        }
    }

    /// Adds the rows that nothing leads to any more once all of that is gone. Call it when everything else is added.
    mutating func takeOrphans() throws {
        var place = 0
        while place < waiting.count {
            let candidate = waiting[place]
            place += 1
            if try !isKnown(candidate.row) && !isHeld(candidate) { try take(candidate.row) }
        }
        waiting = []
    }

    /// Whether a row that stays leads to it, other than itself.
    private mutating func isHeld(_ candidate: Candidate) throws -> Bool {
        let side = try core.schema.type(candidate.type).relation(candidate.relation)
        let isFirst: Bool
        switch orphans[candidate] ?? .unknown {
        case .count(let count): return count > 0
        case .one: isFirst = false
        case .unknown: isFirst = true
        }
        var count = 0
        try core.edges.forEachSource(side, of: candidate.row.rowID) { source in
            let row = EntityRow(type: side.type, rowID: source)
            if isKnown(row) || row == candidate.row { return true }
            count += 1
            if isFirst { orphans[candidate] = .one(source) }
            return !isFirst
        }
        if !isFirst { orphans[candidate] = .count(count) }
        return count > 0
    }

    /// Throws `.deleteDenied` if a relation with the rule `deny` leads from a deleted row to a stored one that stays.
    func refuse() throws {
        for row in taken where core.schema.denying.contains(row.type) {
            let store = try core.store(row.type)
            for side in store.type.relations where side.description.deleteRule == .deny {
                let targets = try core.store(side.target)
                var (count, example): (Int, RowID?) = (0, nil)
                try core.edges.forEachTarget(side, of: row.rowID) { target in
                    if try isKnown(EntityRow(type: side.target, rowID: target)) || !targets.isSaved(target) {
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

    /// Maximum number of rows that are counted for the message.
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

extension TypedTransaction {
    /// Throws if deleting these entities, with all that cascades from them, is denied. Otherwise they are in
    /// `running.deleting`, until the caller sets it back: deletions within the deletion needn't ask again.
    func refuseDenied<Entity: EntityModelProtocol>(_ ids: [Value], _: Entity.Type) throws {
        let store = try store(Entity.self)
        if store.core.schema.denying.isEmpty { return }
        try refuseDenied(try ids.compactMap { try store.rowID(ofAny: $0) }, Entity.self)
    }

    /// Refuses the deletion of rows, as of ids.
    func refuseDenied<Entity: EntityModelProtocol>(_ rows: [RowID], _: Entity.Type) throws {
        let store = try store(Entity.self)
        let core = store.core
        if core.schema.denying.isEmpty { return }
        var denials = DeletionDenials(core, before: running.deleting)
        for rowID in rows { try denials.take(EntityRow(type: store.type.name, rowID: rowID)) }
        try denials.takeOrphans()
        try denials.refuse()
        running.deleting.add(denials.taken)
    }
}
