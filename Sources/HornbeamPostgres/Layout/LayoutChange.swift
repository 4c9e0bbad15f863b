// SPDX-License-Identifier: Apache-2.0
// The change from one layout to another: the statements that the mirror needs after a migration of the store, or for
// another choice of types. Tables and columns that keep their identity are renamed, so that views of others on them
// stay.

import Hornbeam

/// The statements, and the types whose tables must be filled or compared with the store after them.
struct LayoutChange {
    private(set) var statements: [String] = []
    /// Types whose tables are new and empty.
    private(set) var made: Set<String> = []
    /// Types whose tables exist, and may differ from the store.
    private(set) var changed: Set<String> = []

    private let schema: String
    /// The tables that get another name.
    private var renamed: [(old: String, new: String)] = []

    /// - Parameter schema: the mirror's schema, quoted for statements.
    init(from old: MirrorLayout?, to new: MirrorLayout, in schema: String) {
        self.schema = schema
        let former = Dictionary((old?.types ?? []).map { ($0.number, $0) }) { first, _ in first }
        let kept = Set(new.types.map(\.number))
        for type in old?.types ?? [] where !kept.contains(type.number) { drop(type) }
        for type in new.types {
            if let old = former[type.number], old.columns.first?.type == type.columns.first?.type {
                change(old, to: type)
            } else {
                if let old = former[type.number] { drop(old) }
                made.insert(type.name)
            }
        }
        rename(renamed) { "ALTER TABLE \(schema).\(quoted($0)) RENAME TO \(quoted($1))" }
        // After the renamings, which may free their names.
        for type in new.types where made.contains(type.name) { statements += creations(type) }
        for type in new.types { statements += additions(type, to: former[type.number]) }
    }

    private func table(_ name: String) -> String { "\(schema).\(quoted(name))" }

    private mutating func drop(_ type: TypeLayout) {
        for relation in type.toMany { statements.append("DROP TABLE \(table(relation.place))") }
        statements.append("DROP TABLE \(table(type.table))")
    }

    private func creations(_ type: TypeLayout) -> [String] {
        let key = type.columns.first.map { quoted($0.column) } ?? ""
        let columns = (type.columnDeclarations + ["PRIMARY KEY (\(key))"]).joined(separator: ", ")
        return ["CREATE TABLE \(table(type.table)) (\(columns))"] + type.toMany.map { creation(of: $0, type) }
    }

    private func creation(of relation: TypeLayout.Relation, _ type: TypeLayout) -> String {
        let source = type.columns.first.map { type.form($0) } ?? ColumnForm(.string)
        let columns = relation.columnDeclarations(source: source).joined(separator: ", ")
        let key = "\(quoted(TypeLayout.Relation.source)), \(quoted(TypeLayout.Relation.position))"
        return "CREATE TABLE \(table(relation.place)) (\(columns), PRIMARY KEY (\(key)))"
    }

    // MARK: Types that stay

    /// Renames through names that are in no use, because two names may be swapped.
    private mutating func rename(
        _ names: [(old: String, new: String)], _ statement: (_ old: String, _ new: String) -> String
    ) {
        let moving = names.filter { $0.old != $0.new }
        for (number, name) in moving.enumerated() { statements.append(statement(name.old, "_renamed_\(number)")) }
        for (number, name) in moving.enumerated() { statements.append(statement("_renamed_\(number)", name.new)) }
    }

    private mutating func change(_ old: TypeLayout, to new: TypeLayout) {
        let table = table(old.table)
        if old.tree != new.tree { changed.insert(new.name) }
        var columns = [(old: old.exact, new: new.exact)]
        for column in old.columns {
            if let successor = new.successor(of: column, in: old) {
                columns.append((column.column, successor.column))
                // Exact values are stored under the property's name. A name with another number may be another
                // property's.
                if successor.property != column.property || successor.number != column.number {
                    changed.insert(new.name)
                }
            } else {
                statements.append("ALTER TABLE \(table) DROP COLUMN \(quoted(column.column))")
                changed.insert(new.name)
            }
        }
        for relation in old.relations {
            let successor = new.relations.first { $0.isSuccessor(of: relation) }
            switch (relation.isToMany, successor) {
            case (true, let successor?): renamed.append((relation.place, successor.place))
            case (false, let successor?): columns.append((relation.place, successor.place))
            case (true, nil): statements.append("DROP TABLE \(self.table(relation.place))")
            case (false, nil): statements.append("ALTER TABLE \(table) DROP COLUMN \(quoted(relation.place))")
            }
        }
        rename(columns) { "ALTER TABLE \(table) RENAME COLUMN \(quoted($0)) TO \(quoted($1))" }
        renamed.append((old.table, new.table))
    }

    private mutating func additions(_ type: TypeLayout, to old: TypeLayout?) -> [String] {
        guard !made.contains(type.name), let old else { return [] }
        var added: [String] = []
        for column in type.columns where !old.columns.contains(where: { type.successor(of: $0, in: old) == column }) {
            added.append(
                "ALTER TABLE \(table(type.table)) ADD COLUMN \(quoted(column.column)) \(type.form(column).sql)")
        }
        for relation in type.relations where !old.relations.contains(where: { relation.isSuccessor(of: $0) }) {
            added.append(
                relation.isToMany
                    ? creation(of: relation, type)
                    : "ALTER TABLE \(table(type.table)) ADD COLUMN \(quoted(relation.place)) \(relation.form.sql)")
        }
        if !added.isEmpty { changed.insert(type.name) }
        return added
    }
}

extension TypeLayout {
    /// Returns the column that has taken the place of a former one: the one with its name, or else with its number, if
    /// it has its type. A renamed property keeps its number.
    fileprivate func successor(of column: Column, in old: TypeLayout) -> Column? {
        let named = columns.first { $0.property == column.property }
        let found =
            named
            ?? columns.first { here in
                here.number == column.number && !old.columns.contains { $0.property == here.property }
            }
        guard let found, found.type.unwrapped == column.type.unwrapped else { return nil }
        return found
    }
}

extension TypeLayout.Relation {
    fileprivate func isSuccessor(of other: Self) -> Bool {
        number == other.number && isToMany == other.isToMany && idType == other.idType
    }
}
