// SPDX-License-Identifier: Apache-2.0
// Examines a deletion before it changes anything: finds the entities that it takes by the rules of relations, and
// refuses it if a relation's rule is `deny`. Links to entities of the same deletion deny nothing.

/// A row of any type.
package struct EntityRow: Hashable {
    package let type: String
    package let rowID: RowID

    package init(type: String, rowID: RowID) {
        self.type = type
        self.rowID = rowID
    }
}

/// The entities that one deletion takes, and whether the deletion is allowed.
package struct DeletionDenials {
    private let core: StoreTransaction
    /// All rows to delete, in the order in which they were found.
    package private(set) var taken: [EntityRow] = []
    private var known: Set<EntityRow> = []
    /// Whether a running deletion already takes a row.
    private let before: (EntityRow) -> Bool
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

    /// The known links to a candidate from rows that stay. One is enough. If its row is deleted too, all are counted,
    /// once.
    private enum Holders {
        case unknown
        case one(RowID)
        case count(Int)
    }

    /// - Parameter before: whether a deletion that is running already takes a row.
    package init(_ core: StoreTransaction, before: @escaping (EntityRow) -> Bool = { _ in false }) {
        self.core = core
        self.before = before
    }

    private func isKnown(_ row: EntityRow) -> Bool { known.contains(row) || before(row) }

    /// Adds a row with all that is deleted with it.
    package mutating func take(_ row: EntityRow) throws {
        var waiting = [row]
        while let next = waiting.popLast() {
            guard !before(next), known.insert(next).inserted else { continue }
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

    /// Notes that the source of a link to a candidate is deleted.
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

    /// Adds the candidates that no row leads to after the deletion. Must be called when all other rows are added.
    package mutating func takeOrphans() throws {
        var place = 0
        while place < waiting.count {
            let candidate = waiting[place]
            place += 1
            if try !isKnown(candidate.row) && !isHeld(candidate) { try take(candidate.row) }
        }
        waiting = []
    }

    /// Whether another row leads to the candidate and stays.
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
    package func refuse() throws {
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
            "\(store.type.name) \(id) can't be deleted while its relation “\(side.name)” leads to stored entities: "
                + "there are \(number) (\(linked) is one); delete or detach them first")
    }
}
