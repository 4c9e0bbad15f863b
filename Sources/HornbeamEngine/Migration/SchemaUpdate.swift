// SPDX-License-Identifier: Apache-2.0
// Brings a store up to date with the models: makes the planned changes to the trees, in one transaction. After any
// failure the transaction must be aborted, and the file stays unchanged.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// The work of one opening. Each step finds the trees as the step before has left them:
///
/// 1. Links are taken apart, if any of them move.
/// 2. Types, relations and indexes are renamed and dropped.
/// 3. Rows are rewritten.
/// 4. Descriptions are stored.
/// 5. Links are changed and put together again.
/// 6. Defaults are written.
/// 7. Indexes are built.
struct SchemaUpdate {
    let plan: MigrationPlan
    let work: [SchemaChange]
    let merged: [Merged]
    let links: [RelationChange]
    let gaps: RowGaps
    let transaction: Transaction
    let progress: MigrationProgress.Handler?
    let rewrite: RowCompletion.Rewrite?

    func run() throws -> Schema {
        try SchemaCatalogue.beginChange(transaction)
        let movesLinks = !links.isEmpty || plan.moves.contains(where: \.dropsLinks)
        if movesLinks { try LooseLinks.unpack(in: transaction, progress) }
        for move in plan.moves { try make(move) }
        for type in changedTypes { try RegisteredCatalogue.outdate(type, in: transaction) }
        for (type, rows) in plan.rows.sorted(by: { $0.key < $1.key }) { try rows.run(type, in: transaction, progress) }
        for (type, deleted) in plan.tombstones.sorted(by: { $0.key < $1.key }) {
            try deleted.run(type, in: transaction, progress)
        }
        try storeDescriptions()
        if movesLinks {
            var nextNumber: UInt64?
            for one in merged { try SchemaCatalogue.create(one.description, nextNumber: &nextNumber, transaction) }
        }
        let schema = try SchemaCatalogue.resolve(merged, transaction)
        if movesLinks {
            try RelationMigration(changes: links, transaction: transaction, schema: schema, progress: progress).run()
            try LooseLinks.pack(schema, in: transaction, progress)
            try LooseLinks.forgetUnlinked(schema, in: transaction)
        }
        var rewritten = Set(plan.rows.keys).union(plan.tombstones.keys.map { EntityDescription.tombstoneName(of: $0) })
        for name in gaps.begun { try SchemaCatalogue.setGaps(name, true, in: transaction) }
        for (name, columns) in gaps.ended {
            let completion = RowCompletion(
                type: try schema.type(name), transaction: transaction, rewrite: rewrite, progress: progress)
            if try completion.run(added: [], narrowed: columns) { rewritten.insert(name) }
        }
        for name in gaps.closed { try SchemaCatalogue.setGaps(name, false, in: transaction) }
        let linked = LinkedIDFill.types(schema, work, plan, movesLinks: movesLinks)
        for change in work {
            let type = try schema.type(change.stored.name)
            let completion = RowCompletion(
                type: type, transaction: transaction, rewrite: rewrite, progress: progress)
            if try completion.run(added: change.added, narrowed: change.narrowed) { rewritten.insert(type.name) }
            // Indexes come after the rows, because new indexes may cover new properties.
            let waiting = linked.first { $0.type === type }?.indexes ?? []
            try IndexBuilder(type: type, transaction: transaction, progress: progress)
                .build(change.built.subtracting(waiting))
        }
        for (type, indexes) in linked {
            try LinkedIDFill(schema: schema, transaction: transaction).run(type, indexes: indexes)
            try IndexBuilder(type: type, transaction: transaction, progress: progress).build(indexes)
        }
        let relinked = plan.typesLosingRelations.union(links.map(\.type))
        try ChangeLog.miss(rewritten, relinked: relinked, in: transaction)
        return schema
    }

    /// Types whose rows are rewritten, or read by other columns.
    private var changedTypes: [String] {
        let completed = work.filter { !$0.added.isEmpty || !$0.narrowed.isEmpty }.map(\.stored.name)
        return plan.changed.union(plan.rows.keys).union(completed).union(gaps.ended.map(\.type)).sorted()
    }

    private func storeDescriptions() throws {
        var stored = Dictionary(work.map { ($0.stored.name, $0.stored) }) { _, last in last }
        for name in plan.changed.union(links.map(\.type)) where stored[name] == nil { stored[name] = plan.types[name] }
        for change in work {
            for index in change.dropped { try SchemaCatalogue.drop(index, change.stored.name, transaction) }
        }
        var nextNumber: UInt64?
        for (_, description) in stored.sorted(by: { $0.key < $1.key }) {
            try SchemaCatalogue.store(description, nextNumber: &nextNumber, in: transaction)
        }
    }

    // MARK: Names

    private func make(_ move: MigrationPlan.Move) throws {
        switch move {
        case .renameType(let type, let new):
            for (old, tree) in zip(try trees(of: type, named: type.name), try trees(of: type, named: new)) {
                _ = try transaction.dropTree(tree)
                _ = try transaction.renameTree(old, to: tree)
            }
            try SchemaCatalogue.rename(type.name, to: new, in: transaction)
            for relation in type.relations {
                try SchemaCatalogue.renameRelation(
                    relation.name, of: type.name, to: relation.name, of: new, in: transaction)
            }
        case .dropType(let type):
            for tree in try trees(of: type, named: type.name) { _ = try transaction.dropTree(tree) }
            try SchemaCatalogue.rename(type.name, to: nil, in: transaction)
        case .renameRelation(let type, let old, let new):
            for (old, new) in zip(LooseLinks.trees(type, old), LooseLinks.trees(type, new)) {
                _ = try transaction.dropTree(new)
                _ = try transaction.renameTree(old, to: new)
            }
            try SchemaCatalogue.renameRelation(old, of: type, to: new, of: type, in: transaction)
        case .dropRelation(let type, let name):
            for tree in LooseLinks.trees(type, name) { _ = try transaction.dropTree(tree) }
        case .dropIndex(let type, let index):
            try SchemaCatalogue.drop(index, type, transaction)
        }
    }

    /// The names of all trees of a type with the name `name`, in an order that doesn't depend on the name.
    private func trees(of type: EntityDescription, named name: String) throws -> [String] {
        var names = ["e:", "i:", "n:", "l:"].map { $0 + name }
        for index in type.indexes {
            if index.kind == .text {
                let text = SchemaCatalogue.textIndex(index, name)
                names += text.treeNames
            } else {
                names.append(SchemaCatalogue.treeName(of: index, name))
            }
        }
        for relation in type.relations { names += LooseLinks.trees(name, relation.name) }
        return names
    }
}
