// SPDX-License-Identifier: Apache-2.0
// Indexes of a mirror's tables, for those who query them: the declared ones as plain indexes, because a unique one
// would refuse what the store allows on its way from one state to the next.

import Hornbeam

/// The statements that make the indexes of one type's tables, unless they exist.
struct TableIndexes {
    private(set) var statements: [String] = []
    private let schema: String

    init(
        _ type: TypeLayout, _ description: EntityDescription, _ wanted: PostgresMirror.Options.Indexes,
        in schema: String
    ) {
        self.schema = schema
        if wanted.contains(.declared) {
            for index in description.indexes where index.kind != .text { addDeclared(index, type) }
            for relation in type.relations {
                let column = relation.isToMany ? TypeLayout.Relation.target : relation.place
                add(relation.isToMany ? relation.place : type.table, relation.relation, "(\(quoted(column)))")
            }
        }
        if wanted.contains(.fullText) {
            for index in description.indexes where index.kind == .text { addText(index, type) }
        }
    }

    /// Adds an index. Its name has a character that no name of a type or a property has, so that no two indexes of a
    /// schema get the same name.
    private mutating func add(_ table: String, _ name: String, _ columns: String) {
        var full = "\(table)/\(name)"
        if full.utf8.count > 63 {
            let hash = IndexKeyBytes.hashedText(Array(full.utf8)).prefix(12)
            while full.utf8.count > 50 { full.removeLast() }
            full += "/\(hash)"
        }
        statements.append("CREATE INDEX IF NOT EXISTS \(quoted(full)) ON \(schema).\(quoted(table)) \(columns)")
    }

    /// Adds a declared index, unless the tables lack an ordered column for one of its components.
    private mutating func addDeclared(_ index: IndexDescription, _ type: TypeLayout) {
        var columns: [String] = []
        for component in index.components {
            guard let column = place(component.column, type, \.isOrdered) else { return }
            columns.append(quoted(column) + (component.descending ? " DESC NULLS LAST" : " NULLS FIRST"))
        }
        add(type.table, index.name, "(\(columns.joined(separator: ", ")))")
    }

    /// Returns the column of an index's component, if it is of a wanted kind.
    private func place(_ component: String, _ type: TypeLayout, _ isWanted: (ColumnType) -> Bool) -> String? {
        if let column = type.columns.first(where: { $0.property == component }) {
            return isWanted(column.type.unwrapped) ? column.column : nil
        }
        let linked = ColumnDescription(name: component, type: .json).linkedRelation
        return type.toOne.first { $0.relation == linked }?.place
    }

    private mutating func addText(_ index: IndexDescription, _ type: TypeLayout) {
        // The server can't index a text that it makes of an array or of JSON.
        let columns = index.components.compactMap { component in
            place(component.column, type) { [.string, .url].contains($0) }
        }
        let texts = columns.map { "coalesce(\(quoted($0)), '')" }.joined(separator: " || ' ' || ")
        if !columns.isEmpty { add(type.table, index.name, "USING gin (to_tsvector('simple', \(texts)))") }
    }
}
