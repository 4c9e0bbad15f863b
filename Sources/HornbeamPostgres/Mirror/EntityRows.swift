// SPDX-License-Identifier: Apache-2.0
// Entities of one type as rows of their tables, in the state that a transaction reads.

import FoundationEssentials
import Hornbeam
import HornbeamTree

/// Writes the rows of one type. Use while the transaction is open.
struct EntityRows {
    let layout: TypeLayout
    let store: EntityStore
    private let core: StoreTransaction
    private let forms: [ColumnForm]

    init(_ layout: TypeLayout, _ core: StoreTransaction) throws {
        self.layout = layout
        self.core = core
        store = try core.store(layout.name)
        forms = layout.columns.map { layout.form($0) }
    }

    /// Number of rows that are read at once.
    static let chunk = 1024

    /// Calls `body` with the row ids of all entities, some at a time.
    func forEachChunk(_ body: ([RowID]) throws -> Void) throws {
        var rows: [RowID] = []
        try store.forEachRow { rowID, _ in
            rows.append(rowID)
            if rows.count == Self.chunk {
                try body(rows)
                rows.removeAll(keepingCapacity: true)
            }
            return true
        }
        if !rows.isEmpty { try body(rows) }
    }

    // MARK: The type's own table

    /// Writes the rows of stored entities.
    func write(_ rows: [RowID], to copy: inout CopyRows) throws {
        var targets: [[[UInt8]?]] = []
        for relation in layout.toOne { targets.append(try firstTargets(relation, of: rows)) }
        var text: [UInt8] = []
        try store.forEach(rows) { place, row in
            guard let row else { return }
            var exact: [(name: String, value: JSONNode)] = []
            for (column, form) in zip(layout.columns, forms) {
                let value = try row.value(column.number)
                if value == .null {
                    copy.null()
                    continue
                }
                text.removeAll(keepingCapacity: true)
                if !form.append(value, to: &text) { exact.append((column.property, ExactValues.node(value))) }
                if column.number == 0 { try checkID(value, of: layout.name) }
                copy.field(text)
            }
            for ids in targets {
                if let id = ids[place] { copy.field(id) } else { copy.null() }
            }
            if exact.isEmpty { copy.null() } else { copy.field(JSONNode.object(exact).text.utf8) }
            try copy.endRow()
        }
    }

    /// Throws `.invalid` for an id that the server can't hold.
    private func checkID(_ id: Value, of type: String) throws(HornbeamError) {
        guard id.hasZero else { return }
        throw HornbeamError(
            .invalid,
            "\(type) has an id with the character U+0000, which PostgreSQL's texts can't hold: \(id.text.shown(60)); "
                + "give the entity another id, or leave the type out of the mirror")
    }

    private func firstTargets(_ relation: TypeLayout.Relation, of rows: [RowID]) throws -> [[UInt8]?] {
        let links = try core.edges.links(try side(relation), ofEach: rows)
        let target = try core.store(relation.target)
        return try rows.indices.map { place in
            try links.list(place).first.flatMap { try id(of: $0, in: target, relation.form) }
        }
    }

    private func side(_ relation: TypeLayout.Relation) throws -> EdgeSide { try store.type.relation(relation.relation) }

    private func id(of row: RowID, in store: EntityStore, _ form: ColumnForm) throws -> [UInt8]? {
        guard let id = try store.id(of: row), id != .null else { return nil }
        try checkID(id, of: store.type.name)
        var text: [UInt8] = []
        _ = form.append(id, to: &text)
        return text
    }

    // MARK: Tables of relations

    /// A stored entity and its targets by a to-many relation, as texts of ids for the server.
    typealias LinkList = (source: [UInt8], targets: [[UInt8]])

    /// Returns the lists of stored entities, without empty ones.
    func lists(_ relation: TypeLayout.Relation, of rows: [RowID]) throws -> [LinkList] {
        let links = try core.edges.links(try side(relation), ofEach: rows)
        let target = try core.store(relation.target)
        var lists: [LinkList] = []
        for (place, row) in rows.enumerated() where !links.list(place).isEmpty {
            guard let source = try id(of: row, in: store, forms[0]) else { continue }
            let targets = try links.list(place).compactMap { try id(of: $0, in: target, relation.form) }
            lists.append((source, targets))
        }
        return lists
    }

    /// Writes the links of a list from a position on.
    func write(_ list: LinkList, from start: Int = 0, to copy: inout CopyRows) throws {
        for position in start..<max(start, list.targets.count) {
            copy.field(list.source)
            copy.field(String(position).utf8)
            copy.field(list.targets[position])
            try copy.endRow()
        }
    }
}

extension Value {
    /// Whether it is a text with U+0000.
    var hasZero: Bool {
        guard case .string(let text) = self else { return false }
        return text.utf8.contains(0)
    }
}
