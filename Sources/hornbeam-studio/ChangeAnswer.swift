// SPDX-License-Identifier: Apache-2.0
// Changes one entity by a statement. The answer has the statement, and Swift code for the same change.

import Hornbeam
import HornbeamCommand
import HornbeamTree

struct ChangeAnswer {
    private let reads: StoreReads
    private let change: EntityChange

    init(_ reads: StoreReads, _ body: [UInt8]) throws {
        self.reads = reads
        change = try body.withUnsafeBytes { try EntityChange(json: $0) }
    }

    func node() throws -> JSONNode {
        let start = ContinuousClock.now
        let ((made, row), version) = try reads.write { core in
            let store = try core.store(change.type)
            let id = try change.row.map { try Self.id(RowID(rawValue: $0), store) }
            let made = try ChangeStatement(change, of: store.type.description, id: id) {
                core.schema.types[$0]?.description.columns.first?.type
            } remaining: { relation, target in
                try change.row.flatMap { try Self.remaining(relation, target, RowID(rawValue: $0), store, core) }
            }
            do {
                let result = try Statement(made.text)
                    .execute(in: core, StatementParameters(positions: made.parameters))
                guard result.count == 1 else {
                    throw HornbeamError(.invalid, "\(change.type) has \(result.count) entities of this id")
                }
                return (made, try change.row ?? Self.row(result, store))
            } catch {
                throw made.failure(error)
            }
        }
        return .object([
            ("transaction", .count(version)), ("statement", .string(made.text)),
            ("parameters", .array(made.parameters.map { CellNode.node($0) })), ("swift", .string(made.swift)),
            ("row", row.map { .string("\($0)") } ?? .null), ("milliseconds", .milliseconds(since: start)),
        ])
    }

    private static func id(_ rowID: RowID, _ store: EntityStore) throws -> Value {
        guard try store.isSaved(rowID), let id = try store.id(of: rowID) else {
            throw EntityAnswer.missing(store.type.name, rowID)
        }
        return id
    }

    /// Returns the ids to which a relation leads besides `target`. Returns nil if `target` is stored.
    private static func remaining(
        _ relation: String, _ target: Value, _ row: RowID, _ store: EntityStore, _ core: StoreTransaction
    ) throws -> [Value]? {
        let side = try store.type.relation(relation)
        let targets = try core.store(side.target)
        let removed = try targets.rowID(ofAny: target)
        if let removed, try targets.isSaved(removed) { return nil }
        return try core.edges.targets(side, of: row).filter { $0 != removed }.compactMap { try targets.id(of: $0) }
    }

    /// Returns the row of the entity that a statement has inserted.
    private static func row(_ result: StatementResult, _ store: EntityStore) throws -> UInt64? {
        guard let id = result.rows.first?[0], let type = store.type.description.columns.first?.type else { return nil }
        return try store.rowID(ofAny: id.converted(to: type) ?? id)?.rawValue
    }
}

/// The values of an entity as texts to edit.
struct FieldsAnswer {
    private let reads: StoreReads
    private let entity: EntityRow
    /// Maximum size of a text that a field of the page can edit, in bytes. Longer values can only be replaced.
    private static let limit = 1 << 20

    init(_ reads: StoreReads, _ request: Request) throws {
        self.reads = reads
        entity = try request.entity()
    }

    func node() throws -> JSONNode {
        try reads.read { core in
            let store = try core.store(entity.type)
            guard let row = try store.row(entity.rowID) else { throw EntityAnswer.missing(entity.type, entity.rowID) }
            let description = store.type.description
            let fields = try description.shownColumns.map { number -> JSONNode in
                let value = try row.value(number)
                let text = CellNode.plain(value)
                let isLong = text.utf8.count > Self.limit
                return .object([
                    ("name", .string(description.columns[number].name)), ("isNull", .bool(value == .null)),
                    ("text", isLong ? .null : .string(value == .null ? "" : text)), ("size", .count(text.utf8.count)),
                ])
            }
            return .object([
                ("transaction", .count(core.transaction.version)),
                ("label", .string(try EntityAnswer.label(entity.rowID, store))), ("fields", .array(fields)),
            ])
        }
    }
}

/// Counts, by type, the entities that delete rules would delete together with this one.
struct DeletionAnswer {
    private let reads: StoreReads
    private let entity: EntityRow

    init(_ reads: StoreReads, _ request: Request) throws {
        guard reads.options.isWritable else { throw StoreReads.noWrites }
        self.reads = reads
        entity = try request.entity()
    }

    func node() throws -> JSONNode {
        try reads.read { core in
            let store = try core.store(entity.type)
            guard try store.isSaved(entity.rowID) else { throw EntityAnswer.missing(entity.type, entity.rowID) }
            var deletion = DeletionDenials(core)
            try deletion.take(entity)
            try deletion.takeOrphans()
            try deletion.refuse()
            var counts: [String: Int] = [:]
            for row in deletion.taken.dropFirst() { counts[row.type, default: 0] += 1 }
            let others = counts.sorted { $0.key < $1.key }.map { type, count in
                JSONNode.object([("type", .string(type)), ("count", .count(count))])
            }
            return .object([
                ("transaction", .count(core.transaction.version)),
                ("label", .string(try EntityAnswer.label(entity.rowID, store))), ("others", .array(others)),
            ])
        }
    }
}
