// SPDX-License-Identifier: Apache-2.0
// Converts links when a relation changes: from to-one to to-many or back, or when it gains or loses its inverse. Data
// is lost only if a migration permits it. An ambiguous change is refused.

import HornbeamPages
import HornbeamTree

/// A relation whose links must change their form.
struct RelationChange {
    /// One side of the relation, in its old or new form.
    struct Form {
        var description: RelationDescription
        /// The name of the other side, declared on either side.
        var inverse: String?
    }

    var type: String
    var before: Form
    var after: Form
    /// Whether every entity keeps only its first link.
    var isTrimmed: Bool
    /// Whether the other side was removed, with its trees.
    var isWidowed: Bool

    var name: String { after.description.name }

    /// The changes from the stored types to the declared ones.
    static func find(_ plan: MigrationPlan, _ merged: [EntityDescription]) -> [RelationChange] {
        let after = Dictionary(merged.map { ($0.name, $0) }) { _, last in last }
        var changes: [RelationChange] = []
        for type in plan.types.values.sorted(by: { $0.name < $1.name }) {
            guard let now = after[type.name] else { continue }
            for old in type.relations {
                guard let new = now.relations.first(where: { $0.name == old.name }) else { continue }
                let side = MigrationPlan.Side(type: type.name, relation: old.name)
                let change = RelationChange(
                    type: type.name,
                    before: Form(
                        description: old, inverse: SchemaComparison.inverse(of: old, in: type, plan.types)),
                    after: Form(description: new, inverse: SchemaComparison.inverse(of: new, in: now, after)),
                    isTrimmed: plan.trimmed.contains(side), isWidowed: plan.widowed.contains(side))
                if change.isNeeded { changes.append(change) }
            }
        }
        return changes
    }

    private var isNeeded: Bool {
        before.inverse != after.inverse || before.description.toMany != after.description.toMany || isWidowed
            || before.description.target != after.description.target
    }

}

/// Makes the changes, in a transaction that has the trees of all types.
struct RelationMigration {
    let changes: [RelationChange]
    let transaction: Transaction
    let schema: Schema
    let progress: MigrationProgress.Handler?

    func run() throws {
        // The numbers of links are read first, because making one side's links makes those of the other side.
        var linked: [String: UInt64] = [:]
        for change in changes { linked[tree("f", change)] = try count(tree("f", change)) }
        for change in changes where linked[tree("f", change)] ?? 0 > 0 {
            try refuseOtherTarget(change)
            if change.before.description.toMany != change.after.description.toMany { try changeCardinality(change) }
        }
        for change in changes where change.before.inverse != change.after.inverse || change.isWidowed {
            if linked[tree("f", change)] ?? 0 > 0 {
                try makeOtherSide(change, linked)
            } else {
                try empty(tree("b", change))
            }
        }
    }

    private func tree(_ kind: String, _ change: RelationChange) -> String { "\(kind):\(change.type):\(change.name)" }

    private func count(_ name: String) throws -> UInt64 {
        try transaction.tree(name).map { try transaction.count($0) } ?? 0
    }

    private func opened(_ name: String) throws -> TreeID {
        guard let tree = try transaction.tree(name, create: true) else {
            throw StorageError.invalid("the tree “\(name)” could not be created")
        }
        return tree
    }

    @discardableResult
    private func empty(_ name: String) throws -> TreeID {
        _ = try transaction.dropTree(name)
        return try opened(name)
    }

    private func mismatch(_ change: RelationChange, _ what: String) -> HornbeamError {
        HornbeamError(.schemaMismatch, "relation \(change.type).\(change.name) \(what)")
    }

    /// The text of an entity's id, for messages.
    private func id(_ type: String, _ rowID: RowID) -> String {
        let core = StoreTransaction(transaction, schema: schema)
        let id = try? core.store(type).id(of: rowID)
        return "\(type) " + (id?.text ?? "\(rowID)")
    }

    private func refuseOtherTarget(_ change: RelationChange) throws {
        let (old, new) = (change.before.description.target, change.after.description.target)
        guard old != new else { return }
        throw mismatch(
            change,
            "has links and leads to \(new) instead of \(old): give it another name, or drop its links by "
                + ".forget(\(change.type).self, \"\(change.name)\")")
    }

    // MARK: One or many

    private func changeCardinality(_ change: RelationChange) throws {
        var reports = StepProgress(
            .migratingLinks, change.type, change.name, total: Int(clamping: try count(tree("f", change))), progress)
        let lookup = try empty(tree("l", change))
        var last: RowID?
        try transaction.rewriteTree(tree("f", change)) { key, value, append in
            guard let source = RowID(key: key), let target = RowID(stored: value) else {
                throw StorageError.corrupt(Corruption(tree: tree("f", change), reason: "a link is not readable"))
            }
            if change.after.description.toMany {
                try append(source.key + RowID(rawValue: 0).key, target.stored)
                try transaction.append(lookup, source.key + target.key, RowID(rawValue: 0).stored)
            } else if source != last {
                try append(source.key, target.stored)
            } else if change.isTrimmed {
                try removeOtherHalf(change, source, target)
            } else {
                throw mismatch(
                    change,
                    "leads to one entity now, and \(id(change.type, source)) has several: remove them, or keep the "
                        + "first by .toOne(\(change.type).self, \\.$\(change.name))")
            }
            last = source
            try reports.advance()
        }
        try reports.finish()
    }

    /// Removes a link from the other side, or from the reverse look-up.
    private func removeOtherHalf(_ change: RelationChange, _ source: RowID, _ target: RowID) throws {
        // The other side's list will be made from this side's links, so there is nothing to remove.
        if change.isWidowed { return }
        let isOwnInverse =
            change.before.inverse == change.before.description.name && change.before.description.target == change.type
        // The other half is in the tree that is being rewritten. If the halves disagree, `LooseLinks.pack` decides.
        if isOwnInverse { return }
        guard let inverse = change.before.inverse else {
            _ = try transaction.delete(opened(tree("b", change)), target.key + source.key)
            return
        }
        let other = "\(change.before.description.target):\(inverse)"
        let forward = try opened("f:\(other)")
        // Both forms are tried, because the form of the other side may have changed already.
        if let held = try transaction.get(forward, target.key), RowID(stored: held) == source {
            _ = try transaction.delete(forward, target.key)
            return
        }
        let lookup = try opened("l:\(other)")
        let key = target.key + source.key
        guard let position = try transaction.get(lookup, key).flatMap({ RowID(stored: $0) }) else { return }
        _ = try transaction.delete(forward, target.key + position.key)
        _ = try transaction.delete(lookup, key)
    }

    // MARK: The other side

    /// Makes the entries of the targets from this side's links: the reverse look-up, or the other side's links in the
    /// order of the sources' row ids.
    private func makeOtherSide(_ change: RelationChange, _ linked: [String: UInt64]) throws {
        let reverse = try empty(tree("b", change))
        guard let inverse = change.after.inverse else {
            try forEachReversed(change) { target, source in
                try transaction.append(reverse, target.key + source.key, [])
            }
            return
        }
        let other = "\(change.after.description.target):\(inverse)"
        let title = "\(change.after.description.target).\(inverse)"
        let links = try linked["f:\(other)"] ?? count("f:\(other)")
        guard other != "\(change.type):\(change.name)", links == 0 else {
            throw mismatch(
                change,
                "has links, and so has \(title), which is now declared as its other side: declare both as "
                    + "before, or drop the links of one by .forget")
        }
        let isToMany = try schema.type(change.after.description.target).relation(inverse).isToMany
        let (forward, lookup) = (try empty("f:\(other)"), try empty("l:\(other)"))
        var last: (target: RowID, source: RowID)?
        var position: UInt64 = 0
        try forEachReversed(change) { target, source in
            if let last, last.target == target {
                position += 1
                guard isToMany else {
                    throw mismatch(
                        change,
                        "can't get the other side \(title), which leads to one: \(id(change.type, last.source)) and "
                            + "\(id(change.type, source)) both lead to "
                            + id(change.after.description.target, target))
                }
            } else {
                position = 0
            }
            last = (target, source)
            guard isToMany else { return try transaction.append(forward, target.key, source.stored) }
            let place = RowID(rawValue: position)
            try transaction.append(forward, target.key + place.key, source.stored)
            try transaction.append(lookup, target.key + source.key, place.stored)
        }
    }

    /// Calls `body` with this side's links, in the order of targets, then of sources.
    private func forEachReversed(_ change: RelationChange, _ body: (_ target: RowID, _ source: RowID) throws -> Void)
        throws
    {
        let name = tree("f", change)
        var reports = StepProgress(
            .migratingLinks, change.type, change.name, total: Int(clamping: try count(name)), progress)
        var sorter = EntrySorter(transaction)
        var cursor = try transaction.cursor(opened(name))
        while try cursor.next() {
            guard let source = RowID(key: cursor.key), let target = RowID(stored: cursor.value) else {
                throw StorageError.corrupt(Corruption(tree: name, reason: "a link is not readable"))
            }
            try sorter.add(target.key + source.key, flag: 0)
            try reports.advance()
        }
        try sorter.finish { key, _, _ in
            let pair = key.withUnsafeBytes { (RowID(key: $0), RowID(key: $0, at: 8)) }
            guard let target = pair.0, let source = pair.1 else { return }
            try body(target, source)
        }
        try reports.finish()
    }
}
