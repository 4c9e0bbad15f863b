// SPDX-License-Identifier: Apache-2.0
// The way back: a store made of a mirror's tables. The file gets its name only when it is whole.

import FoundationEssentials
public import Hornbeam
import HornbeamPages
import HornbeamTree

/// The content of a restored store.
public struct RestoredStore: Sendable, Equatable {
    /// Number of entities of each type.
    public internal(set) var entities: [String: Int] = [:]
    /// Number of links. Each is counted at each to-many side, and at a to-one side.
    public internal(set) var links = 0
    /// The state of the former store that was restored: `Database.version` there.
    public internal(set) var version: UInt64 = 0
}

extension Database {
    /// Makes a store at `path` from a mirror's tables, with the types, indexes, entities and links of the mirrored
    /// store, and opens it. Map/reduce indexes, views and other registered indexes are built when they are registered.
    /// Consumers of the change log and the program's own migration steps aren't restored.
    ///
    /// The file appears when it is whole. Throws `.invalid` if the file exists already, or if the schema has no mirror.
    /// Takes as long as importing all entities. A mirror of the restored store counts as another one: it must
    /// `reconcile()` to take the tables over. With `options.encryption` the new file is encrypted.
    public static func restore(
        to path: String, from address: String, schema: String = "hornbeam", models: any EntityModelProtocol.Type...,
        options: Options = Options()
    ) async throws -> Database {
        _ = try await restore(to: path, from: address, schema: schema, encryption: options.encryption)
        return try Database(at: path, models: models, options: options)
    }

    /// Makes a store at `path` from a mirror's tables, for programs without models.
    /// - Parameters:
    ///   - path: the path of the new file. Throws `.invalid` if the file exists already.
    ///   - address: the server's address in libpq's form: `postgresql://user@host/database`, several hosts, a service.
    ///   - schema: the mirror's schema.
    ///   - encryption: the key of the new file, which is then encrypted.
    ///   - progress: called now and then with the number of entities so far and of all entities.
    public static func restore(
        to path: String, from address: String, schema: String = "hornbeam", encryption: Encryption? = nil,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> RestoredStore {
        try await runBlocking { interruption in
            do {
                var restore = try Restore(
                    path, address, try mirrorSchema(schema), encryption?.engine, interruption, progress)
                return try restore.run()
            } catch {
                throw HornbeamError.typed(error)
            }
        }
    }
}

/// One restore.
private struct Restore {
    private let file: LinuxFile
    private let connection: PostgresConnection
    private let schema: String
    private let encryption: (any StoreEncryption)?
    private let progress: (Int, Int) -> Void
    private var restored = RestoredStore()
    private var done = 0
    private var total = 0

    /// Maximum time for which the server may be silent, also before its first row.
    private static let timeout = Duration.seconds(300)

    init(
        _ path: String, _ address: String, _ schema: String, _ encryption: (any StoreEncryption)?,
        _ interruption: Interruption, _ progress: @escaping (Int, Int) -> Void
    ) throws {
        self.schema = schema
        self.encryption = encryption
        self.progress = progress
        file = try LinuxFile.createNew(path: path)
        file.isNameless = true
        connection = try PostgresConnection(address, timeout: Self.timeout, interruption: interruption)
    }

    mutating func run() throws -> RestoredStore {
        guard try MirrorRecord.isThere(connection, in: schema) else { throw noMirror }
        try MirrorRecord.beginReading(connection, in: schema)
        guard let record = try MirrorRecord.read(connection, in: schema) else { throw noMirror }
        restored.version = record.version
        try fill(record)
        return restored
    }

    private var noMirror: HornbeamError {
        HornbeamError(.invalid, "schema \(schema) has no mirror to restore from: name the mirror's schema")
    }

    private mutating func fill(_ record: MirrorRecord) throws {
        var options = StoreOptions()
        // The checkpoint at the end makes all of it durable.
        options.durability = .none
        options.encryption = encryption
        let store = try TreeStore.open(file: file, options: options)
        do {
            let schema = try makeTypes(record.description, in: store)
            for type in record.layout.types {
                let count = try connection.execute("SELECT count(*) FROM \(table(type.table))")
                total += count.text(0, 0).flatMap { Int($0) } ?? 0
            }
            for type in record.layout.types { try copyEntities(type, schema, into: store) }
            for type in record.layout.types {
                for relation in type.toMany { try copyLinks(relation, type, schema, into: store) }
            }
            try store.checkpoint()
            file.isNameless = false
            try file.giveName()
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
    }

    private func table(_ name: String) -> String { "\(schema).\(quoted(name))" }

    private func makeTypes(_ types: [EntityDescription], in store: TreeStore) throws -> Schema {
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        guard let schema = try SchemaCatalogue.open(types, in: transaction, allowsUnknownTargets: true) else {
            throw HornbeamError(.schemaMismatch, "the types of the mirror can't be created")
        }
        try transaction.commit()
        return schema
    }

    private func damaged(_ place: String) -> HornbeamError {
        HornbeamError(
            .undecodable, "\(place) has a value that no mirror writes: call reconcile() in the mirror's program")
    }

    // MARK: Entities

    private mutating func copyEntities(_ type: TypeLayout, _ schema: Schema, into store: TreeStore) throws {
        let description = try schema.type(type.name).description
        let columns = type.columnNames.map(quoted).joined(separator: ", ")
        var writer = BatchWriter(store, schema, type.name)
        defer { writer.abort() }
        let relations = try type.toOne.map { ($0, try schema.type(type.name).relation($0.relation)) }
        let forms = type.columns.map { type.form($0) }
        try connection.copy(from: "COPY (SELECT \(columns) FROM \(table(type.table))) TO STDOUT") { row in
            let values = try self.values(of: row, type, forms, relations.count, count: description.columns.count)
            var links: [(side: EdgeSide, ids: [Value])] = []
            for (place, (relation, side)) in relations.enumerated() {
                let id = try row.field(type.columns.count + place) { text in
                    try text.map { text in
                        guard let id = relation.form.value(text) else { throw damaged(type.table) }
                        return id
                    }
                }
                if let id { links.append((side, [id])) }
            }
            try writer.write { try $0.save(values, links) }
            restored.links += links.count
            restored.entities[type.name, default: 0] += 1
            done += 1
            if done % 1000 == 0 { progress(done, total) }
        }
        try writer.finish()
    }

    /// - Parameter relations: the number of relations' columns, which come before the column of exact values.
    private func values(
        of row: borrowing CopiedRow, _ type: TypeLayout, _ forms: [ColumnForm], _ relations: Int, count: Int
    ) throws -> [Value] {
        var values = [Value](repeating: .null, count: count)
        for (place, column) in type.columns.enumerated() where column.number < count {
            try row.field(place) { text in
                guard let text else { return }
                guard let value = forms[place].value(text) else {
                    throw damaged("\(type.table).\(column.column)")
                }
                values[column.number] = value
            }
        }
        try row.field(forms.count + relations) { text in
            guard let text else { return }
            guard let exact = ExactValues.read(text) else { throw damaged("\(type.table).\(type.exact)") }
            for column in type.columns {
                guard column.number < count, let node = exact[column.property] else { continue }
                guard let value = ExactValues.value(node, as: column.type) else {
                    throw damaged("\(type.table).\(type.exact)")
                }
                values[column.number] = value
            }
        }
        return values
    }

    // MARK: Links

    private mutating func copyLinks(
        _ relation: TypeLayout.Relation, _ type: TypeLayout, _ schema: Schema, into store: TreeStore
    ) throws {
        let side = try schema.type(type.name).relation(relation.relation)
        let form = type.form(type.columns[0])
        let names = [TypeLayout.Relation.source, TypeLayout.Relation.target].map(quoted)
        let order = [TypeLayout.Relation.source, TypeLayout.Relation.position].map(quoted)
        var writer = BatchWriter(store, schema, type.name)
        defer { writer.abort() }
        var source: Value?
        var targets: [Value] = []
        func finishList() throws {
            if let source { try writer.write { try $0.link(side, of: source, to: targets) } }
            targets.removeAll(keepingCapacity: true)
        }
        try connection.copy(
            from: "COPY (SELECT \(names.joined(separator: ", ")) FROM \(table(relation.place)) "
                + "ORDER BY \(order.joined(separator: ", "))) TO STDOUT"
        ) { row in
            let ids = try (0..<2).map { place in
                try row.field(place) { text in
                    guard let text, let id = (place == 0 ? form : relation.form).value(text) else {
                        throw damaged(relation.place)
                    }
                    return id
                }
            }
            if source != ids[0] {
                try finishList()
                source = ids[0]
            }
            targets.append(ids[1])
            restored.links += 1
        }
        try finishList()
        try writer.finish()
    }
}

/// Writes entities of one type, many in a transaction.
private struct BatchWriter {
    private let store: TreeStore
    private let schema: Schema
    private let type: String
    private var open: (core: StoreTransaction, rows: JSONRows)?
    private var count = 0

    init(_ store: TreeStore, _ schema: Schema, _ type: String) {
        self.store = store
        self.schema = schema
        self.type = type
    }

    /// Maximum number of entities, or of lists of links, in a transaction.
    private static let batch = 10_000

    mutating func write(_ body: (JSONRows) throws -> Void) throws {
        let rows = try open?.rows ?? begin()
        try body(rows)
        count += 1
        if count == Self.batch { try finish() }
    }

    private mutating func begin() throws -> JSONRows {
        let core = try StoreTransaction(writing: try store.beginWrite(), schema: schema)
        do {
            let rows = try JSONRows(type, core: core)
            open = (core, rows)
            return rows
        } catch {
            core.transaction.abort()
            throw error
        }
    }

    mutating func finish() throws {
        guard let core = open?.core else { return }
        open = nil
        count = 0
        try core.commit()
    }

    /// Discards everything that isn't committed. Without effect if everything is.
    func abort() { open?.core.transaction.abort() }
}
