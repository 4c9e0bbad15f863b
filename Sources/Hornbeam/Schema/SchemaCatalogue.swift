// SPDX-License-Identifier: Apache-2.0
// The schema as the store keeps it: tree `schema`, `format` → its version, `type:Name` → the description as JSON with
// sorted keys, `next:Name` → the next row id to hand out. Opening compares the declared models with it and brings the
// store up to date in one write transaction, or says which property can't be.

import FoundationEssentials
import HornbeamPages
import HornbeamText
package import HornbeamTree

/// What stands in the store and what a database declares, brought together.
package enum SchemaCatalogue {
    static let treeName = "schema"
    /// Version of everything that this module lays on the trees.
    static let formatVersion = "1"

    /// The schema as it is stored; empty if nothing ever was.
    package static func load(_ transaction: Transaction) throws -> Schema {
        let stored = try read(transaction)
        return try resolve(stored.map(Merged.init(unchanged:)), transaction)
    }

    /// The schema for these models. In a read transaction nil if the store has to be changed first; in a write
    /// transaction the store is changed. `.schemaMismatch` if it can't be: then the transaction must be aborted, and
    /// the file stays as it is.
    /// - Parameters:
    ///   - allowsUnknownTargets: whether relations may lead to types that are neither declared nor stored.
    ///   - progress: called now and then while indexes are built: index name, rows done, rows in all.
    ///   - rewrite: gives rows that are older than a property its value; without it they keep null there.
    package static func open(
        _ declared: [EntityDescription], in transaction: Transaction, allowsUnknownTargets: Bool = false,
        progress: ((String, Int, Int) -> Void)? = nil, rewrite: RowCompletion.Rewrite? = nil
    ) throws -> Schema? {
        let stored = try read(transaction)
        let storedByName = Dictionary(stored.map { ($0.name, $0) }) { _, last in last }
        var merged: [Merged] = []
        var work: [SchemaChange] = []
        for description in declared {
            let (one, change) = try SchemaComparison.merge(description, with: storedByName[description.name])
            merged.append(one)
            if let change { work.append(change) }
        }
        let names = Set(declared.map(\.name))
        for description in stored where !names.contains(description.name) {
            merged.append(Merged(unchanged: description))
        }
        try SchemaComparison.validate(merged.map(\.description), allowsUnknownTargets: allowsUnknownTargets)
        if work.isEmpty { return try resolve(merged, transaction) }
        try refuseNewInverses(stored, merged.map(\.description), transaction)
        guard transaction.isWritable else { return nil }
        return try apply(work, merged, transaction, progress, rewrite)
    }

    /// A relation that has links can't gain or lose its other side: the links of a mutual relation lie in the trees of
    /// both sides, those of a one-way relation do not.
    private static func refuseNewInverses(
        _ stored: [EntityDescription], _ merged: [EntityDescription], _ transaction: Transaction
    ) throws {
        let before = Dictionary(stored.map { ($0.name, $0) }) { _, last in last }
        let after = Dictionary(merged.map { ($0.name, $0) }) { _, last in last }
        for type in stored {
            guard let now = after[type.name] else { continue }
            for relation in type.relations {
                guard let kept = now.relations.first(where: { $0.name == relation.name }) else { continue }
                let old = SchemaComparison.inverse(of: relation, in: type, before)
                let new = SchemaComparison.inverse(of: kept, in: now, after)
                guard old != new, let links = try transaction.tree("f:\(type.name):\(relation.name)"),
                    try transaction.count(links) > 0
                else { continue }
                let other = old.map { "inverse “\($0)”" } ?? "no inverse"
                throw HornbeamError(
                    .schemaMismatch,
                    "relation \(type.name).\(relation.name) has links and was stored with \(other): "
                        + "declare it as it was, or remove its links first")
            }
        }
    }

    private static func apply(
        _ work: [SchemaChange], _ merged: [Merged], _ transaction: Transaction,
        _ progress: ((String, Int, Int) -> Void)?, _ rewrite: RowCompletion.Rewrite?
    ) throws -> Schema {
        guard let tree = try transaction.tree(treeName, create: true) else {
            throw StorageError.invalid("the tree of the schema could not be created")
        }
        try transaction.put(tree, Array("format".utf8), Array(formatVersion.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for change in work {
            for index in change.dropped { try drop(index, change.stored.name, transaction) }
            try create(change.stored, transaction)
            let json = try encoder.encode(change.stored)
            try transaction.put(tree, Array("type:\(change.stored.name)".utf8), Array(json))
        }
        let schema = try resolve(merged, transaction)
        for change in work {
            let type = try schema.type(change.stored.name)
            if let rewrite {
                try RowCompletion(type: type, transaction: transaction, rewrite: rewrite).run(added: change.added)
            }
            // After the rows: new indexes may be over new properties.
            try IndexBuilder(type: type, transaction: transaction, progress: progress).build(change.built)
        }
        return schema
    }

    // MARK: Trees

    static func treeName(of index: IndexDescription, _ type: String) -> String {
        (index.kind == .unique ? "u:" : "x:") + type + ":" + index.name
    }

    static func textIndex(_ index: IndexDescription, _ type: String) -> TextIndex {
        TextIndex(prefix: "t:\(type):\(index.name):")
    }

    private static func drop(_ index: IndexDescription, _ type: String, _ transaction: Transaction) throws {
        if index.kind == .text {
            try textIndex(index, type).drop(in: transaction)
        } else {
            _ = try transaction.dropTree(treeName(of: index, type))
        }
    }

    private static func create(_ type: EntityDescription, _ transaction: Transaction) throws {
        var names = ["e:", "i:", "n:"].map { $0 + type.name }
        names += type.indexes.filter { $0.kind != .text }.map { treeName(of: $0, type.name) }
        // Which of a relation's trees are used, the other side decides, and it may be declared later.
        for relation in type.relations { names += ["f:", "l:", "b:"].map { "\($0)\(type.name):\(relation.name)" } }
        for name in names { _ = try transaction.tree(name, create: true) }
    }

    // MARK: Reading and resolving

    private static func read(_ transaction: Transaction) throws -> [EntityDescription] {
        guard let tree = try transaction.tree(treeName) else { return [] }
        if let format = try transaction.get(tree, Array("format".utf8)),
            String(decoding: format, as: UTF8.self) != formatVersion
        {
            throw HornbeamError(
                .notAStore,
                "the entities in this store have format \(String(decoding: format, as: UTF8.self)), this library knows "
                    + "format \(formatVersion): use a newer Hornbeam")
        }
        var types: [EntityDescription] = []
        let prefix = Array("type:".utf8)
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(prefix)
        while isValid, cursor.key.starts(with: prefix) {
            let name = String(decoding: cursor.key.dropFirst(prefix.count), as: UTF8.self)
            guard let type = try? JSONDecoder().decode(EntityDescription.self, from: Data(cursor.value)),
                type.name == name, !type.columns.isEmpty, type.columns.count <= RowLayout.maximumColumns
            else {
                throw StorageError.corrupt(Corruption(tree: treeName, reason: "the type “\(name)” is not readable"))
            }
            types.append(type)
            isValid = try cursor.next()
        }
        return types
    }

    private static func resolve(_ merged: [Merged], _ transaction: Transaction) throws -> Schema {
        let descriptions = merged.map(\.description)
        let all = Dictionary(descriptions.map { ($0.name, $0) }) { _, last in last }
        return Schema(types: try merged.map { try resolve($0, all, transaction) })
    }

    private static func tree(_ name: String, _ transaction: Transaction) throws -> TreeID {
        guard let tree = try transaction.tree(name) else {
            throw StorageError.corrupt(Corruption(tree: name, reason: "the schema names this tree, the store lacks it"))
        }
        return tree
    }

    private static func resolve(
        _ merged: Merged, _ all: [String: EntityDescription], _ transaction: Transaction
    ) throws -> EntityType {
        let description = merged.description
        let name = description.name
        var indexes: [EntityIndex] = []
        var textIndexes: [EntityTextIndex] = []
        for index in description.indexes {
            let columns = try index.components.map { component in
                guard let column = description.column(component.column) else {
                    throw HornbeamError(
                        .schemaMismatch,
                        "index “\(index.name)” of \(name) is over “\(component.column)”, which is no property: it has "
                            + description.columns.map(\.name).joined(separator: ", "))
                }
                return column
            }
            if index.kind == .text {
                textIndexes.append(
                    EntityTextIndex(description: index, index: textIndex(index, name), columns: columns))
            } else {
                let components = zip(columns, index.components).map { column, component in
                    EntityIndex.Component(
                        column: column, type: description.columns[column].type.unwrapped,
                        descending: component.descending)
                }
                indexes.append(
                    EntityIndex(
                        description: index, tree: try tree(treeName(of: index, name), transaction),
                        components: components))
            }
        }
        let relations = try description.relations.map { relation in
            let inverse = SchemaComparison.inverse(of: relation, in: description, all)
            return EdgeSide(
                type: name, description: relation, inverse: inverse,
                forward: try tree("f:\(name):\(relation.name)", transaction),
                lookup: relation.toMany ? try tree("l:\(name):\(relation.name)", transaction) : nil,
                reverse: inverse == nil ? try tree("b:\(name):\(relation.name)", transaction) : nil)
        }
        let counterpart = EntityType.counterpartName(of: name)
        return EntityType(
            description: description, declared: merged.declared,
            layout: RowLayout(columns: description.columns, stored: merged.positions, type: name),
            rows: try tree("e:\(name)", transaction), ids: try tree("i:\(name)", transaction),
            unsaved: try tree("n:\(name)", transaction), indexes: indexes, textIndexes: textIndexes,
            relations: relations,
            counterpart: all[counterpart] == nil ? nil : try tree("e:\(counterpart)", transaction))
    }

    // MARK: Row ids

    static func nextRowID(_ type: String, in transaction: Transaction) throws -> UInt64 {
        guard let tree = try transaction.tree(treeName),
            let stored = try transaction.get(tree, Array("next:\(type)".utf8))
        else { return RowID.firstAssigned.rawValue }
        // Far from the end of the numbers, so that counting on can't overflow.
        guard let next = RowID(stored: stored), next >= RowID.firstAssigned, next.rawValue < 1 << 63 else {
            throw StorageError.corrupt(
                Corruption(tree: treeName, reason: "the row id counter of “\(type)” is not readable"))
        }
        return next.rawValue
    }

    static func setNextRowID(_ next: UInt64, _ type: String, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(treeName, create: true) else { return }
        try transaction.put(tree, Array("next:\(type)".utf8), RowID(rawValue: next).stored)
    }
}
