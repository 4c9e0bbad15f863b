// SPDX-License-Identifier: Apache-2.0
// Entities as rows of a table or as JSON lines. In a table a related entity is its id, in JSON it is whole.

import Hornbeam
import HornbeamTree

/// A column before those of an entity: the rank or the score of a search.
struct RecordHead {
    var name: String
    var value: Value
    /// The value in a table.
    var text: String
}

/// Prints the results of one query. Belongs to one transaction.
struct RecordPrinter: ~Copyable {
    private let core: StoreTransaction
    private let type: EntityType
    private let columns: [Int]
    private let relations: RelationTree
    private let console: Console
    /// The table that is printed, nil for JSON lines.
    private var table: Table?

    /// - Parameter heads: titles of the columns before the entity's, all of numbers.
    init(
        _ core: StoreTransaction, _ type: EntityType, columns: [Int], relations: RelationTree, heads: [String] = [],
        asJSON: Bool, console: Console
    ) {
        self.core = core
        self.type = type
        self.columns = columns
        self.relations = relations
        self.console = console
        guard !asJSON else { return }
        var titles = heads.map { TableColumn(title: $0, alignment: .right) }
        for column in columns {
            let description = type.description.columns[column]
            titles.append(TableColumn(title: description.name, alignment: CellText.alignment(description.type)))
        }
        titles += relations.branches.map { TableColumn(title: $0.relation.name) }
        table = console.table(titles)
    }

    /// Prints one entity.
    mutating func add(_ rowID: RowID, _ row: RowReader, heads: [RecordHead] = []) throws {
        if table == nil { return try console.print(console.harmlessJSON(try line(rowID, row, heads))) }
        var cells = heads.map(\.text)
        for column in columns { cells.append(CellText.show(try row.value(column))) }
        for branch in relations.branches {
            let ids = try targets(branch, of: rowID, type).map { CellText.show($0.id) }
            cells.append(ids.joined(separator: ", "))
        }
        try table?.add(cells)
    }

    mutating func finish() throws {
        try table?.finish()
    }

    private func line(_ rowID: RowID, _ row: RowReader, _ heads: [RecordHead]) throws -> String {
        var text = ""
        try appendObject(rowID, row, type, columns, relations, to: &text)
        if heads.isEmpty { return text }
        let fields = heads.map { "\"\($0.name)\":\($0.value.json)" }
        return "{" + fields.joined(separator: ",") + ",\"entity\":\(text)}"
    }

    private func appendObject(
        _ rowID: RowID, _ row: RowReader, _ type: EntityType, _ columns: [Int], _ relations: RelationTree,
        to text: inout String
    ) throws {
        text += "{"
        for (index, column) in columns.enumerated() {
            if index > 0 { text += "," }
            let name = Value.string(type.description.columns[column].name).json
            text += "\(name):\(try row.value(column).json)"
        }
        for (index, branch) in relations.branches.enumerated() {
            if index > 0 || !columns.isEmpty { text += "," }
            text += "\(Value.string(branch.relation.name).json):"
            try appendRelated(try targets(branch, of: rowID, type), branch, to: &text)
        }
        text += "}"
    }

    private func appendRelated(
        _ related: [(rowID: RowID, id: Value)], _ branch: RelationTree.Branch, to text: inout String
    ) throws {
        let store = try core.store(branch.relation.target)
        if !branch.relation.toMany, related.isEmpty {
            text += "null"
            return
        }
        if branch.relation.toMany { text += "[" }
        for (index, target) in related.enumerated() {
            if index > 0 { text += "," }
            if let row = try store.row(target.rowID) {
                let columns = Array(store.type.description.columns.indices)
                try appendObject(target.rowID, row, store.type, columns, branch.below, to: &text)
            } else {
                // The target is linked to, but not saved yet: only its id is known.
                let name = Value.string(store.type.description.columns[0].name).json
                text += "{\(name):\(target.id.json)}"
            }
        }
        if branch.relation.toMany { text += "]" }
    }

    private func targets(
        _ branch: RelationTree.Branch, of rowID: RowID, _ type: EntityType
    ) throws -> [(rowID: RowID, id: Value)] {
        let side = try type.relation(branch.relation.name)
        let store = try core.store(branch.relation.target)
        return try core.edges.targets(side, of: rowID).map { ($0, try store.id(of: $0) ?? .null) }
    }
}
