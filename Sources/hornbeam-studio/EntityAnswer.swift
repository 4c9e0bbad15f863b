// SPDX-License-Identifier: Apache-2.0
// One entity: its values, and its related entities in both directions.

import Hornbeam
import HornbeamTree

struct EntityAnswer {
    private let reads: StoreReads
    private let typeName: String
    private let rowID: RowID

    /// Maximum number of related entities that one answer lists for a relation, and of Unicode scalars in each part of
    /// a label.
    private static let page = 50
    private static let labelLimit = 80
    /// Maximum number of incoming links before a window. They are skipped one by one, because no counted tree has them.
    private static let incomingLimit = 10_000

    /// Answers for the entity that `type` and `row` of the request's query name.
    init(_ reads: StoreReads, _ request: Request) throws {
        self.reads = reads
        let entity = try request.entity()
        (typeName, rowID) = (entity.type, entity.rowID)
    }

    func node() throws -> JSONNode {
        try reads.read { core in
            let store = try core.store(typeName)
            let description = store.type.description
            let row = try store.row(rowID)
            guard try row != nil || store.isKnown(rowID) else { throw missing() }
            let values = try row.map { row in
                try description.columns.enumerated().map { try Self.property($1, $0, row) }
            }
            let relations = try store.type.relations.map { side in
                try relation(side.name, of: side.target, isIncoming: false, side, 0, core)
            }
            let incoming = try core.incoming(typeName).map { type, side in
                try relation(side.name, of: type, isIncoming: true, side, 0, core)
            }
            return .object([
                ("transaction", .count(core.transaction.version)), ("isStored", .bool(row != nil)),
                ("label", .string(try Self.label(rowID, store))), ("values", .array(values ?? [])),
                ("relations", .array(relations + incoming)),
            ])
        }
    }

    private static func property(_ column: ColumnDescription, _ number: Int, _ row: RowReader) throws -> JSONNode {
        .object([
            ("name", .string(column.label)), ("type", .string("\(column.type)")), ("isHidden", .bool(column.isHidden)),
            ("column", .count(number)), ("value", CellNode.node(try row.value(number), limit: CellNode.valueLimit)),
        ])
    }

    /// Returns a later window of a relation's entities.
    func related(_ request: Request) throws -> JSONNode {
        let name = try request.required("relation")
        let from = try request.number("from", 0...Int.max, or: 0)
        let source = request.argument("of")
        return try reads.read { core in
            guard let source else {
                let side = try core.store(typeName).type.relation(name)
                return try relation(name, of: side.target, isIncoming: false, side, from, core)
            }
            let side = try core.store(source).type.relation(name)
            guard side.target == typeName else { throw missing() }
            return try relation(name, of: source, isIncoming: true, side, from, core)
        }
    }

    /// Returns a whole value, as a file.
    func value(_ request: Request) throws -> Reply {
        let column = try request.number("column", 0...Int(UInt16.max))
        return try reads.read { core in
            let store = try core.store(typeName)
            guard let row = try store.row(rowID), column < store.type.description.columns.count else {
                throw missing()
            }
            var reply: Reply
            if case .data(let data) = try row.value(column) {
                reply = Reply(type: "application/octet-stream", body: .bytes(Array(data)))
            } else {
                let text = CellNode.plain(try row.value(column))
                reply = Reply(type: "text/plain; charset=utf-8", body: .bytes(Array(text.utf8)))
            }
            reply.more = [("Content-Disposition", "attachment; filename=\"value\"")]
            return reply
        }
    }

    private func missing() -> HornbeamError { Self.missing(typeName, rowID) }

    static func missing(_ type: String, _ rowID: RowID) -> HornbeamError {
        HornbeamError(.notStored, "\(type) has no entity in row \(rowID.rawValue): it was deleted, perhaps")
    }

    /// - Parameter type: the type of the entities at the other end.
    private func relation(
        _ name: String, of type: String, isIncoming: Bool, _ side: EdgeSide, _ from: Int, _ core: StoreTransaction
    ) throws -> JSONNode {
        let others = try core.store(type)
        var rows: [RowID] = []
        if isIncoming {
            guard from <= Self.incomingLimit else {
                throw HornbeamError(
                    .invalid, "at most \(Self.incomingLimit) entities that refer to one are listed: ask by a statement")
            }
            var skipped = 0
            try core.edges.forEachSource(side, of: rowID) { source in
                if skipped < from { skipped += 1 } else { rows.append(source) }
                return rows.count < Self.page
            }
        } else {
            rows = try core.edges.targets(side, of: rowID, offset: from, limit: Self.page)
        }
        let count = try isIncoming ? core.edges.sourceCount(side, of: rowID) : core.edges.count(side, of: rowID)
        return .object([
            ("name", .string(name)), ("type", .string(type)), ("isIncoming", .bool(isIncoming)),
            ("toMany", .bool(isIncoming || side.isToMany)), ("count", .count(count)), ("from", .count(from)),
            (
                "entities",
                .array(
                    try rows.map { row in
                        .object([
                            ("row", .string("\(row.rawValue)")),
                            ("id", .string(CellNode.plain(try others.id(of: row) ?? .null))),
                            ("label", .string(try Self.label(row, others))),
                            ("isStored", .bool(try others.isSaved(row))),
                        ])
                    })
            ),
        ])
    }

    /// Returns the entity's id, and the first string among its other properties.
    static func label(_ rowID: RowID, _ store: EntityStore) throws -> String {
        guard let row = try store.row(rowID) else { return CellNode.plain(try store.id(of: rowID) ?? .null) }
        let id = CellNode.plain(try row.value(0))
        let texts = store.type.description.shownColumns.dropFirst().filter {
            store.type.description.columns[$0].type.unwrapped == .string
        }
        guard let column = texts.first, case .string(let text) = try row.value(column) else { return cut(id) }
        return cut(id) + " · " + cut(text)
    }

    private static func cut(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(labelLimit + 1)
        return scalars.count > labelLimit ? String(String.UnicodeScalarView(scalars.dropLast())) + "…" : text
    }
}

extension StoreTransaction {
    /// Returns the relations that lead to a type and have no inverse relation in it.
    func incoming(_ type: String) -> [(type: String, side: EdgeSide)] {
        schema.typeNames.flatMap { name in
            (schema.types[name]?.relations ?? []).filter { $0.target == type && $0.description.inverse == nil }
                .map { (name, $0) }
        }
    }
}
