// SPDX-License-Identifier: Apache-2.0
// The schema in the store, in the tree `schema`:
//
//     format               →  the version of this format
//     version              →  the number of changes of the schema
//     type:Name            →  the description, as JSON with sorted keys
//     next:Name            →  the next row id to hand out
//     last:Name            →  the last id that was handed out
//     gaps:Name            →  nothing, if rows of the type may lack columns (see RowGaps.swift)
//     relation:Type:name   →  the number of the relation
//     ran:name             →  nothing, for a program's own step that has run
//     index:Name           →  a registered index (see RegisteredCatalogue.swift)
//
// Opening compares the declared models with it. SchemaUpdate then makes the needed changes in one write transaction, or
// opening throws an error that names a property which can't be brought up to date.

import FoundationEssentials
import HornbeamPages
import HornbeamText
package import HornbeamTree

/// Combines the types in the store with the types that a database declares.
package enum SchemaCatalogue {
    static let treeName = SchemaTree.name
    /// Version of the format of this module's data in the trees.
    static let formatVersion = "2"

    /// The schema in the store; empty if there is none.
    package static func load(_ transaction: Transaction) throws -> Schema {
        let stored = try read(transaction)
        return try resolve(stored.map(Merged.init(unchanged:)), transaction)
    }

    /// The schema for these models. If the store must be changed first, a read transaction returns nil, and a write
    /// transaction changes it. Throws `.schemaMismatch` if that isn't possible: then the transaction must be aborted,
    /// and the file stays unchanged.
    /// - Parameters:
    ///   - allowsUnknownTargets: whether relations may lead to types that are neither declared nor stored.
    ///   - migrations: the changes that the models don't show. The caller runs the program's own steps.
    ///   - progress: receives reports; an error that it throws ends the work.
    ///   - rewrite: gives the value of a property for rows that are older than the property; without it they keep null.
    ///   - mayChange: whether this opening is for writing. A read-only opening leaves indexes with another version of a
    ///     collation unchanged, and no query uses them. It also ignores the additions of a later version of the
    ///     program.
    ///   - lacking: is called in a read transaction with the changes that are needed.
    package static func open(
        _ declared: [EntityDescription], in transaction: Transaction, allowsUnknownTargets: Bool = false,
        migrations: [MigrationStep] = [], progress: MigrationProgress.Handler? = nil,
        rewrite: RowCompletion.Rewrite? = nil, mayChange: Bool = true, lacking: (_ what: [String]) -> Void = { _ in }
    ) throws -> Schema? {
        let stored = try read(transaction)
        var declared = mayChange ? declared : declared.map { SchemaComparison.unrenewed($0, as: stored) }
        let plan = try MigrationPlan(
            migrations, stored: stored, declared: declared,
            isEmpty: { type in
                try ["e:", "n:"].allSatisfy { kind in
                    try transaction.tree(kind + type).map { try transaction.count($0) == 0 } ?? true
                }
            },
            hasUnreadable: { try RowMigration.hasUnreadable($0, $1, $2, deleted: $3, in: transaction) })
        declared = declared.map { SchemaComparison.keepingWords($0, as: plan.types[$0.name]) }
        var merged: [Merged] = []
        var work: [SchemaChange] = []
        for description in declared {
            let (one, change) = try SchemaComparison.merge(
                description, with: plan.types[description.name],
                outdated: outdatedTexts(description, plan, transaction))
            merged.append(one)
            if let change { work.append(change) }
        }
        let names = Set(declared.map(\.name))
        for description in plan.types.values.sorted(by: { $0.name < $1.name }) where !names.contains(description.name) {
            // The file has the components of such an index.
            let change = mayChange ? SchemaComparison.renewal(of: description) : nil
            merged.append(Merged(unchanged: change?.stored ?? description))
            if let change { work.append(change) }
        }
        SchemaComparison.keepOtherSides(&merged, &work, declared: declared, stored: plan.types)
        // Entries that are no longer declared do no harm to a reader.
        if !mayChange { work.removeAll { $0.onlyDrops(from: plan.types[$0.stored.name]) } }
        try SchemaComparison.validate(
            merged.map(\.description), declared: mayChange ? names : [], allowsUnknownTargets: allowsUnknownTargets)
        let links = RelationChange.find(plan, merged.map(\.description))
        let gaps = try RowGaps(
            merged, declared: names, stored: plan.types, canSave: mayChange, canComplete: rewrite != nil,
            in: transaction)
        if work.isEmpty, plan.isIdle, links.isEmpty, gaps.isSettled { return try resolve(merged, transaction) }
        let update = SchemaUpdate(
            plan: plan, work: work, merged: merged, links: links, gaps: gaps, transaction: transaction,
            progress: progress, rewrite: rewrite)
        guard transaction.isWritable else {
            lacking(update.lacks)
            return nil
        }
        return try update.run()
    }

    // MARK: Steps of the program's own

    private static func mark(_ name: String) -> [UInt8] { Array("ran:\(name)".utf8) }

    /// Whether the step of this name has run in this store.
    package static func hasRun(_ name: String, in transaction: Transaction) throws -> Bool {
        guard let tree = try transaction.tree(treeName) else { return false }
        return try transaction.get(tree, mark(name)) != nil
    }

    package static func setRun(_ name: String, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(treeName, create: true) else { return }
        try transaction.put(tree, mark(name), [])
    }

    // MARK: Rows of programs that don't know all columns

    static func mayHaveGaps(_ type: String, in transaction: Transaction) throws -> Bool {
        guard let tree = try transaction.tree(treeName) else { return false }
        return try transaction.get(tree, Array("gaps:\(type)".utf8)) != nil
    }

    static func setGaps(_ type: String, _ mayHave: Bool, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(treeName, create: true) else { return }
        let key = Array("gaps:\(type)".utf8)
        if mayHave { try transaction.put(tree, key, []) } else { _ = try transaction.delete(tree, key) }
    }

    // MARK: Versions

    /// Number of changes of the schema; 0 in stores without one. A reader compares it to find out whether another
    /// process has changed the schema: otherwise it would read rows by the wrong columns.
    package static func version(in transaction: Transaction) throws -> UInt64 {
        guard let tree = try transaction.tree(treeName), let stored = try transaction.get(tree, Array("version".utf8))
        else { return 0 }
        return RowID(stored: stored)?.rawValue ?? 0
    }

    private static func raiseVersion(_ tree: TreeID, in transaction: Transaction) throws {
        let version = try version(in: transaction)
        try transaction.put(tree, Array("version".utf8), RowID(rawValue: version &+ 1).stored)
    }

    // MARK: Writing

    /// Begins a change of the schema.
    static func beginChange(_ transaction: Transaction) throws {
        guard let tree = try transaction.tree(treeName, create: true) else {
            throw StorageError.invalid("the tree of the schema could not be created")
        }
        try transaction.put(tree, Array("format".utf8), Array(formatVersion.utf8))
        try raiseVersion(tree, in: transaction)
    }

    /// Stores a description, and makes the trees that it needs.
    /// - Parameter nextNumber: see `create`.
    static func store(
        _ type: EntityDescription, nextNumber: inout UInt64?, in transaction: Transaction
    ) throws {
        guard let tree = try transaction.tree(treeName) else { return }
        try create(type, nextNumber: &nextNumber, transaction)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try transaction.put(tree, Array("type:\(type.name)".utf8), Array(try encoder.encode(type)))
    }

    /// Removes a type, or gives it another name. The caller moves or drops its trees.
    static func rename(_ type: String, to new: String?, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(treeName) else { return }
        for kind in ["type:", "next:", "last:", "gaps:"] {
            let old = Array((kind + type).utf8)
            let value = try transaction.get(tree, old).map { Array($0) }
            _ = try transaction.delete(tree, old)
            if let new, let value { try transaction.put(tree, Array((kind + new).utf8), value) }
        }
        try RegisteredCatalogue.rename(type, to: new, in: transaction)
        try ChangeLog.rename(type, to: new, in: transaction)
    }

    // MARK: Trees

    static func treeName(of index: IndexDescription, _ type: String) -> String {
        (index.kind == .unique ? "u:" : "x:") + type + ":" + index.name
    }

    static func textIndex(_ index: IndexDescription, _ type: String) -> TextIndex {
        TextIndex(
            prefix: "t:\(type):\(index.name):",
            analyzer: index.knownAnalyzer ?? Analyzer(.unknown(index.analyzer ?? "")),
            storesPositions: index.positions)
    }

    /// The names of the declared full-text indexes whose words come from another version of their analyzer.
    private static func outdatedTexts(
        _ type: EntityDescription, _ plan: MigrationPlan, _ transaction: Transaction
    ) throws -> Set<String> {
        let stored = plan.nameInFile(of: type.name)
        var names: Set<String> = []
        for index in type.indexes where index.kind == .text {
            if try textIndex(index, stored).isOutdated(in: transaction) { names.insert(index.name) }
        }
        return names
    }

    package static func drop(_ index: IndexDescription, _ type: String, _ transaction: Transaction) throws {
        if index.kind == .text {
            try textIndex(index, type).drop(in: transaction)
        } else {
            _ = try transaction.dropTree(treeName(of: index, type))
        }
    }

    /// Makes the trees that a type needs, and gives its relations numbers.
    /// - Parameter nextNumber: greater than the numbers of all relations; nil if it isn't known yet. It is kept from
    ///   type to type, so that all numbers are read once.
    static func create(
        _ type: EntityDescription, nextNumber: inout UInt64?, _ transaction: Transaction
    ) throws {
        var names = ["e:", "i:", "n:", "l:"].map { $0 + type.name }
        names += type.indexes.filter { $0.kind != .text }.map { treeName(of: $0, type.name) }
        for name in names { _ = try transaction.tree(name, create: true) }
        guard let tree = try transaction.tree(treeName, create: true) else { return }
        for relation in type.relations {
            let key = numberKey(type.name, relation.name)
            if try transaction.get(tree, key) != nil { continue }
            let next = try nextNumber ?? unusedNumber(tree, transaction)
            guard next < LinkList.mostRelations else {
                throw HornbeamError(.invalid, "a store can have at most \(LinkList.mostRelations) relations")
            }
            try transaction.put(tree, key, RowID(rawValue: next).stored)
            nextNumber = next + 1
        }
    }

    // MARK: Numbers of relations

    private static func numberKey(_ type: String, _ relation: String) -> [UInt8] {
        Array("relation:\(type):\(relation)".utf8)
    }

    /// The first number that is greater than those of all relations.
    private static func unusedNumber(_ tree: TreeID, _ transaction: Transaction) throws -> UInt64 {
        var next: UInt64 = 0
        try forEachNumber(tree, transaction) { _, number in next = max(next, number + 1) }
        return next
    }

    private static func forEachNumber(
        _ tree: TreeID, _ transaction: Transaction, _ body: (_ key: [UInt8], _ number: UInt64) throws -> Void
    ) throws {
        let prefix = Array("relation:".utf8)
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(prefix)
        while isValid, cursor.key.starts(with: prefix) {
            guard let number = RowID(stored: cursor.value), number.rawValue < LinkList.mostRelations else {
                throw StorageError.corrupt(Corruption(tree: treeName, reason: "a relation has no number"))
            }
            try body(Array(cursor.key), number.rawValue)
            isValid = try cursor.next()
        }
    }

    /// Removes all numbers. No link may use one.
    static func forgetNumbers(_ transaction: Transaction) throws {
        guard let tree = try transaction.tree(treeName) else { return }
        var keys: [[UInt8]] = []
        try forEachNumber(tree, transaction) { key, _ in keys.append(key) }
        for key in keys { _ = try transaction.delete(tree, key) }
    }

    /// Moves a relation's number after the relation or its type was renamed.
    static func renameRelation(
        _ old: String, of type: String, to new: String, of newType: String, in transaction: Transaction
    ) throws {
        guard let tree = try transaction.tree(treeName) else { return }
        guard let number = try transaction.get(tree, numberKey(type, old)).map({ Array($0) }) else { return }
        _ = try transaction.delete(tree, numberKey(type, old))
        try transaction.put(tree, numberKey(newType, new), number)
    }

    private static func number(_ type: String, _ relation: String, _ transaction: Transaction) throws -> UInt16 {
        guard let tree = try transaction.tree(treeName),
            let stored = try transaction.get(tree, numberKey(type, relation)).flatMap({ RowID(stored: $0) }),
            stored.rawValue < LinkList.mostRelations
        else {
            throw StorageError.corrupt(
                Corruption(tree: treeName, reason: "the relation “\(type).\(relation)” has no number"))
        }
        return UInt16(stored.rawValue)
    }

    // MARK: Reading and resolving

    private static func read(_ transaction: Transaction) throws -> [EntityDescription] {
        guard let tree = try transaction.tree(treeName) else { return [] }
        if let format = try transaction.get(tree, Array("format".utf8)),
            String(decoding: format, as: UTF8.self) != formatVersion
        {
            let stored = String(decoding: format, as: UTF8.self)
            let isOlder = Int(stored).map { (1..<(Int(formatVersion) ?? 1)).contains($0) } ?? false
            throw HornbeamError(
                .notAStore,
                "the entities in this store have format \(stored), this library knows format \(formatVersion): "
                    + (isOlder
                        ? "export them with the Hornbeam that made it, and import them into a new file"
                        : "use a newer Hornbeam"))
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

    static func resolve(_ merged: [Merged], _ transaction: Transaction) throws -> Schema {
        let descriptions = merged.map(\.description)
        let all = Dictionary(descriptions.map { ($0.name, $0) }) { _, last in last }
        return Schema(
            types: try merged.map { try resolve($0, all, transaction) },
            registered: try RegisteredCatalogue.read(transaction))
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
                let condition = try IndexCondition.declared(index, description)
                textIndexes.append(
                    EntityTextIndex(
                        description: index, index: textIndex(index, name), columns: columns, place: textIndexes.count,
                        condition: condition))
            } else {
                indexes.append(
                    EntityIndex(
                        index, columns, of: description, tree: try tree(treeName(of: index, name), transaction)))
            }
        }
        let relations = try description.relations.map { try side($0, of: description, all, transaction) }
        let counterpart = EntityDescription.counterpartName(of: name)
        return EntityType(
            description: description, declared: merged.declared,
            layout: RowLayout(columns: description.columns, stored: merged.positions, type: name),
            rows: try tree("e:\(name)", transaction), ids: try tree("i:\(name)", transaction),
            unsaved: try tree("n:\(name)", transaction), links: try tree("l:\(name)", transaction), indexes: indexes,
            textIndexes: textIndexes, relations: relations,
            counterpart: all[counterpart] == nil ? nil : try tree("e:\(counterpart)", transaction))
    }

    private static func side(
        _ relation: RelationDescription, of type: EntityDescription, _ all: [String: EntityDescription],
        _ transaction: Transaction
    ) throws -> EdgeSide {
        let number = try number(type.name, relation.name, transaction)
        let links = try tree("l:\(type.name)", transaction)
        let inverse = SchemaComparison.inverse(of: relation, in: type, all)
        var other: EdgeSide.Other?
        var pairs: LinkList?
        if let target = all[relation.target] {
            let targets = try tree("l:\(target.name)", transaction)
            if inverse == nil {
                other = EdgeSide.Other(
                    list: LinkList(targets, number, .reverse), form: .reverse, isRequired: false)
            } else if let description = target.relations.first(where: { $0.name == inverse }) {
                let otherNumber = try self.number(target.name, description.name, transaction)
                other = EdgeSide.Other(
                    list: LinkList(targets, otherNumber, .links), form: description.toMany ? .many : .one,
                    isRequired: description.required, linkedID: linkedID(of: description, in: target),
                    isUniqueByID: target.isUniqueByID(of: description))
                if relation.toMany, description.toMany {
                    // Ordered by numbers, because these don't change when a type or a relation is renamed.
                    let isFirst = number <= otherNumber
                    pairs = LinkList(isFirst ? links : targets, isFirst ? number : otherNumber, .pairs)
                }
            }
        }
        return EdgeSide(
            type: type.name, description: relation, inverse: inverse, list: LinkList(links, number, .links),
            other: other, pairs: pairs, linkedID: linkedID(of: relation, in: type))
    }

    private static func linkedID(of relation: RelationDescription, in type: EntityDescription) -> Int? {
        relation.toMany ? nil : type.column(ColumnDescription.linkedIDName(of: relation.name))
    }
}
