// SPDX-License-Identifier: Apache-2.0
// Writes the tables within the server's transaction: the rows of changed entities, or all rows of a type through a
// staging table, from which only the rows that differ are taken.

import FoundationEssentials
import Hornbeam
import HornbeamTree

/// A row in which mirror and store differ.
public struct MirrorDifference: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: String, Sendable {
        /// The store has it, the mirror doesn't.
        case missing
        /// The mirror has it, the store doesn't.
        case extra
        /// Both have it, with other values.
        case different
    }

    public let kind: Kind
    /// The table in the mirror: of a type, or of a to-many relation.
    public let table: String
    /// The id of the entity, as text. For a relation also the position in its list.
    public let key: String

    public var description: String { "\(table) \(key) is \(kind.rawValue)" }
}

/// One table of a type.
private struct Table {
    let name: String
    let columns: [String]
    let declarations: [String]
    /// The primary key, which comes first among the columns.
    let key: [String]
    /// The relation whose links it has, nil for the type's own table.
    let relation: TypeLayout.Relation?

    init(of type: TypeLayout) {
        name = type.table
        columns = type.columnNames
        declarations = type.columnDeclarations
        key = Array(columns.prefix(1))
        relation = nil
    }

    init(_ relation: TypeLayout.Relation, of type: TypeLayout) {
        name = relation.place
        columns = [TypeLayout.Relation.source, TypeLayout.Relation.position, TypeLayout.Relation.target]
        declarations = relation.columnDeclarations(source: type.form(type.columns[0]))
        key = Array(columns.prefix(2))
        self.relation = relation
    }

    var columnList: String { columns.map(quoted).joined(separator: ", ") }

    /// A condition that holds if two rows have the same key.
    func sameKey(_ left: String, _ right: String) -> String {
        key.map { "\(left).\(quoted($0)) = \(right).\(quoted($0))" }.joined(separator: " AND ")
    }

    /// A condition that holds if two rows have the same values. They are compared as texts, because JSON has no
    /// equality, and the two zeros of floating point are equal otherwise.
    func sameValues(_ left: String, _ right: String) -> String {
        func row(_ name: String) -> String {
            "ROW(" + columns.map { "\(name).\(quoted($0))" }.joined(separator: ", ") + ")::text"
        }
        return "\(row(left)) = \(row(right))"
    }

    func keyText(_ name: String) -> String {
        key.map { "\(name).\(quoted($0))::text" }.joined(separator: " || ' ' || ")
    }
}

/// Writes one type's tables.
struct TableWriting {
    private let connection: PostgresConnection
    private let schema: String
    private let rows: EntityRows
    /// The type's own table, then those of its relations.
    private let tables: [Table]
    private let idForm: ColumnForm

    /// - Parameter schema: the mirror's schema, quoted for statements.
    init(_ type: TypeLayout, _ core: StoreTransaction, to connection: PostgresConnection, in schema: String) throws {
        self.connection = connection
        self.schema = schema
        rows = try EntityRows(type, core)
        tables = [Table(of: type)] + type.toMany.map { Table($0, of: type) }
        idForm = type.form(type.columns[0])
    }

    private static let staging = quoted("_staging")

    private func place(_ table: Table) -> String { "\(schema).\(quoted(table.name))" }

    private func copyStatement(_ table: Table, into place: String) -> String {
        "COPY \(place) (\(table.columnList)) FROM STDIN"
    }

    // MARK: All of a type

    /// Copies all entities into tables that are empty.
    func fill(_ progress: (Int) throws -> Void) throws {
        for table in tables { try copyAll(table, into: place(table), progress) }
    }

    private func copyAll(_ table: Table, into place: String, _ progress: (Int) throws -> Void) throws {
        try connection.copy(into: copyStatement(table, into: place)) { copy in
            try rows.forEachChunk { chunk in
                if let relation = table.relation {
                    for list in try rows.lists(relation, of: chunk) { try rows.write(list, to: &copy) }
                } else {
                    try rows.write(chunk, to: &copy)
                    try progress(chunk.count)
                }
            }
        }
    }

    /// Makes the tables equal to the store, by writing only the rows that differ.
    func mend(_ progress: (Int) throws -> Void) throws {
        for table in tables {
            try stage(table, progress)
            let place = place(table)
            try connection.execute(
                "DELETE FROM \(place) AS t WHERE NOT EXISTS (SELECT 1 FROM \(Self.staging) AS s "
                    + "WHERE \(table.sameKey("s", "t")) AND \(table.sameValues("s", "t")))")
            try connection.execute(
                "INSERT INTO \(place) (\(table.columnList)) SELECT \(table.columnList) FROM \(Self.staging) AS s "
                    + "WHERE NOT EXISTS (SELECT 1 FROM \(place) AS t WHERE \(table.sameKey("s", "t")))")
            try connection.execute("DROP TABLE \(Self.staging)")
        }
    }

    /// Returns the rows in which tables and store differ, at most `limit` of each table.
    func differences(limit: Int, _ progress: (Int) throws -> Void) throws -> [MirrorDifference] {
        var found: [MirrorDifference] = []
        for table in tables {
            try stage(table, progress)
            let place = place(table)
            let missing =
                "SELECT 'missing', \(table.keyText("s")) FROM \(Self.staging) AS s WHERE NOT EXISTS "
                + "(SELECT 1 FROM \(place) AS t WHERE \(table.sameKey("s", "t")))"
            let extra =
                "SELECT 'extra', \(table.keyText("t")) FROM \(place) AS t WHERE NOT EXISTS "
                + "(SELECT 1 FROM \(Self.staging) AS s WHERE \(table.sameKey("s", "t")))"
            let different =
                "SELECT 'different', \(table.keyText("s")) FROM \(Self.staging) AS s JOIN \(place) AS t "
                + "ON \(table.sameKey("s", "t")) WHERE NOT (\(table.sameValues("s", "t")))"
            let result = try connection.execute(
                "(\(missing)) UNION ALL (\(extra)) UNION ALL (\(different)) LIMIT \(limit)")
            for row in 0..<result.count {
                guard let kind = result.text(row, 0).flatMap(MirrorDifference.Kind.init(rawValue:)),
                    let key = result.text(row, 1)
                else { continue }
                found.append(MirrorDifference(kind: kind, table: table.name, key: key))
            }
            try connection.execute("DROP TABLE \(Self.staging)")
        }
        return found
    }

    private func stage(_ table: Table, _ progress: (Int) throws -> Void) throws {
        try connection.execute(
            "CREATE TEMPORARY TABLE \(Self.staging) (\(table.declarations.joined(separator: ", "))) ON COMMIT DROP")
        try copyAll(table, into: Self.staging, progress)
        // The server gathers no statistics of temporary tables by itself, and would plan for an empty one.
        try connection.execute("ANALYZE \(Self.staging)")
    }

    // MARK: Changed entities

    /// Writes the rows and links of the stored ones among these entities, and removes the rows and links of the others.
    func write(_ entities: Set<Value>) throws {
        let ids = Array(entities)
        for start in stride(from: 0, to: ids.count, by: EntityRows.chunk) {
            let part = ids[start..<min(start + EntityRows.chunk, ids.count)]
            let stored = try part.compactMap { try rows.store.rowID(ofAny: $0) }.filter { try rows.store.isSaved($0) }
                .sorted()
            // The server has no ids with U+0000; such an entity is refused, if it is stored.
            let ids = part.filter { !$0.hasZero }
            let keys = (ids.isEmpty ? [.null] : ids).map { idForm.text($0).map(literal) ?? "NULL" }
                .joined(separator: ", ")
            for table in tables {
                if let relation = table.relation {
                    try write(relation, in: table, of: stored, keys)
                } else {
                    try write(stored, keys, in: table)
                }
            }
        }
    }

    private func write(_ stored: [RowID], _ keys: String, in table: Table) throws {
        try connection.execute("DELETE FROM \(place(table)) WHERE \(quoted(table.key[0])) IN (\(keys))")
        if stored.isEmpty { return }
        try connection.copy(into: copyStatement(table, into: place(table))) { try rows.write(stored, to: &$0) }
    }

    /// Writes each list from the first link that differs. Most updated entities still have their former links, and most
    /// new links are at the end.
    private func write(
        _ relation: TypeLayout.Relation, in table: Table, of stored: [RowID], _ keys: String
    ) throws {
        let source = quoted(TypeLayout.Relation.source)
        let position = quoted(TypeLayout.Relation.position)
        var former = try lists(in: table, relation, keys)
        var deletions: [String] = []
        var additions: [(list: EntityRows.LinkList, start: Int)] = []
        for list in try rows.lists(relation, of: stored) {
            guard let id = list.source.withUnsafeBytes({ idForm.value($0) }) else { continue }
            let (old, isWhole) = former.removeValue(forKey: id) ?? ([], true)
            let new = list.targets.map { $0.withUnsafeBytes { relation.form.value($0) } }
            let start = zip(old, new).prefix { $0 == $1 }.count
            if start < old.count || !isWhole, let key = idForm.text(id) {
                deletions.append("\(source) = \(literal(key)) AND \(position) >= \(start)")
            }
            if start < new.count { additions.append((list, start)) }
        }
        let emptied = former.keys.compactMap { idForm.text($0).map(literal) }
        if !emptied.isEmpty { deletions.append("\(source) IN (\(emptied.joined(separator: ", ")))") }
        if !deletions.isEmpty {
            try connection.execute(
                deletions.map { "DELETE FROM \(place(table)) WHERE \($0)" }.joined(separator: "; "))
        }
        if additions.isEmpty { return }
        try connection.copy(into: copyStatement(table, into: place(table))) { copy in
            for (list, start) in additions { try rows.write(list, from: start, to: &copy) }
        }
    }

    /// Returns the server's lists by their sources, and whether they are whole. A list that was changed by hand counts
    /// up to the first position that is missing.
    private func lists(
        in table: Table, _ relation: TypeLayout.Relation, _ keys: String
    ) throws -> [Value: (targets: [Value?], isWhole: Bool)] {
        let names = table.columns.map(quoted)
        let result = try connection.execute(
            "SELECT \(names.joined(separator: ", ")) FROM \(place(table)) WHERE \(names[0]) IN (\(keys)) "
                + "ORDER BY \(names[0]), \(names[1])")
        var lists: [Value: (targets: [Value?], isWhole: Bool)] = [:]
        for row in 0..<result.count {
            guard let source = result.bytes(row, 0).flatMap({ idForm.value($0) }) else { continue }
            var list = lists[source] ?? ([], true)
            lists[source] = nil
            if list.isWhole, result.text(row, 1) == String(list.targets.count) {
                list.targets.append(result.bytes(row, 2).flatMap { relation.form.value($0) })
            } else {
                list.isWhole = false
            }
            lists[source] = list
        }
        return lists
    }
}
