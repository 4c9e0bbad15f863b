// SPDX-License-Identifier: Apache-2.0
// Migrates deleted entities together with their type. They are stored as JSON by names (see Deleted.swift), so even a
// renaming, which changes no other rows, changes them. Forgotten properties are removed from them, too.

import HornbeamPages
import HornbeamTree

/// The migration of the deleted entities of one type.
struct TombstoneMigration {
    /// A relation and its new name, which is nil if the relation is removed.
    struct LinkStep {
        let name: String
        let new: String?
    }

    /// The columns of the entities' type in the JSON of the file.
    let stored: [ColumnDescription]
    /// The columns of that type after the migration.
    let columns: [ColumnDescription]
    /// The steps from one to the other; nil if only names change.
    let rows: RowMigration?
    let links: [LinkStep]
    /// The columns of the rows that hold the JSON, after any steps on them.
    private let outer: [ColumnDescription]
    private let entityColumn: Int
    private let linksColumn: Int

    /// Prepares the migration. Returns nil if there is nothing to do, or if the tombstones have no JSON columns for
    /// entities and links.
    /// - Parameters:
    ///   - tombstone: the type of the deleted entities.
    ///   - old: the entities' type in the file.
    ///   - new: the entities' type after the migration.
    init?(
        _ tombstone: EntityDescription, from old: EntityDescription, to new: EntityDescription, _ rows: RowMigration?,
        _ links: [LinkStep]
    ) {
        guard rows != nil || !links.isEmpty || old.columns.map(\.name) != new.columns.map(\.name) else { return nil }
        guard let entity = tombstone.column("entity"), let linked = tombstone.column("links"),
            tombstone.columns[entity].type == .json, tombstone.columns[linked].type == .json
        else { return nil }
        (stored, columns, self.rows, self.links) = (old.columns, new.columns, rows, links)
        outer = tombstone.columns
        (entityColumn, linksColumn) = (entity, linked)
    }

    /// Rewrites the rows of `type`, the type of the deleted entities.
    func run(_ type: String, in transaction: Transaction, _ progress: MigrationProgress.Handler?) throws {
        let name = "e:\(type)"
        let total = try transaction.tree(name).map { Int(clamping: try transaction.count($0)) } ?? 0
        guard total > 0 else { return }
        let layout = RowLayout(columns: outer)
        var reports = StepProgress(.migratingRows, type, total: total, progress)
        try transaction.rewriteTree(name) { key, value, append in
            let row = try RowReader(value, layout: layout)
            var new = MigratingRow(row, outer)
            new.cells[entityColumn] = .value(.json(try entity(row)))
            new.cells[linksColumn] = .value(.json(try linked(row)))
            try append(Array(key), try new.write(layout))
            try reports.advance()
        }
        try reports.finish()
    }

    /// The entity's JSON after the migration. Unreadable parts are left out, because they can't be restored.
    private func entity(_ row: RowReader) throws -> String {
        let members = try Self.members(row, entityColumn)
        let values = stored.map { column in
            members.first { $0.name == column.name }.flatMap { JSONRows.value($0.value, as: column.type) } ?? .null
        }
        var entity = MigratingRow(row, stored, values: values)
        try rows?.apply(toDeleted: &entity)
        var made: [(name: String, value: JSONNode)] = []
        for (place, column) in columns.enumerated() where place < entity.cells.count {
            let value = try entity.value(place)
            if value != .null { made.append((column.name, JSONRows.node(value))) }
        }
        return JSONNode.object(made).text
    }

    private func linked(_ row: RowReader) throws -> String {
        var members = try Self.members(row, linksColumn)
        for step in links {
            guard let place = members.firstIndex(where: { $0.name == step.name }) else { continue }
            if let new = step.new { members[place].name = new } else { members.remove(at: place) }
        }
        return JSONNode.object(members).text
    }

    static func members(_ row: RowReader, _ column: Int) throws -> [(name: String, value: JSONNode)] {
        guard let text = try row.stringBytes(column), case .object(let members)? = try? JSONParser.parse(text) else {
            return []
        }
        return members
    }
}
