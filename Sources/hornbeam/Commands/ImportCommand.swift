// SPDX-License-Identifier: Apache-2.0
// `hornbeam import`: entities from JSON lines or CSV. Each batch is one transaction: batches that were reported as
// committed are durable, and a bad line or an interruption never leaves half a batch behind.

import Hornbeam
import HornbeamTree

enum ImportCommand {
    static let declaration = CommandDeclaration(
        path: ["import"],
        summary: "save entities from JSON lines or CSV",
        discussion: "One JSON object a line, its keys the names of columns and relations; relations are ids. Of CSV "
            + "the first line has these names; an empty field is nil, arrays and JSON are JSON. An entity whose id is "
            + "there already is replaced. Each batch is one transaction: after an error or Ctrl-C the batches before "
            + "it are committed, and the same import can be run again. Ctrl-C commits what was read.",
        operands: [.store, .type, .data],
        options: [
            .value("batch", "b", "COUNT", "entities in a transaction (5000)"),
            .flag("csv", nil, "DATA is CSV, also if its name doesn't end with .csv"),
            .value("schema", "s", "SCHEMA", "make the store or its types first, as 'hornbeam schema apply'"),
        ],
        examples: [
            "hornbeam import packages.hornbeam Package packages.jsonl --schema schema.json",
            "zcat packages.jsonl.gz | hornbeam import packages.hornbeam Package -",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let batchSize = try arguments.number("batch", 1...Int.max) ?? 5_000
        let schemaPath = arguments.value("schema")
        let entities = try schemaPath.map { ($0, try SchemaFile.read($0)) }
        let start = ContinuousClock.now
        Interruption.watch()
        let committed = try OpenStore.writing(arguments.file, create: entities != nil) { store in
            let schema = try prepare(store, entities, console)
            let type = try Selection.type(arguments.type, in: schema.descriptions)
            let source = try source(arguments, type, in: schema.descriptions)
            var work = Import(
                store: store, schema: schema, type: type, batchSize: batchSize, source: source, console: console)
            try work.run()
            return work.committed
        }
        let elapsed = start.duration(to: .now)
        let saved = Spelling.counted(committed, "\(arguments.type) entity", "\(arguments.type) entities")
        if Interruption.isRequested {
            console.remark("interrupted: \(saved) committed; run the same import again to finish it")
            return .interrupted
        }
        try console.print("imported \(saved) in \(Spelling.time(elapsed))")
        return .ok
    }

    private static func source(
        _ arguments: Arguments, _ type: EntityDescription, in schema: [EntityDescription]
    ) throws -> any ImportSource {
        let path = arguments.operand("DATA") ?? ""
        let isCSV = arguments.has("csv") || path.lowercased().hasSuffix(".csv")
        return isCSV ? try CSVSource(path, type, in: schema) : try JSONSource(path)
    }

    /// Applies the types of `--schema` and returns the store's schema, whose indexes the import maintains.
    private static func prepare(
        _ store: TreeStore, _ entities: (path: String, types: [EntityDescription])?, _ console: Console
    ) throws -> Schema {
        if entities == nil, let schema = try store.reading({ try SchemaCatalogue.open([], in: $0) }) { return schema }
        return try store.writing { transaction in
            let schema = try SchemaApplyCommand.apply(
                entities?.types ?? [], from: entities?.path ?? "the store", transaction, console)
            try transaction.commit()
            return schema
        }
    }
}

/// One run over the lines.
private struct Import: ~Copyable {
    let store: TreeStore
    let schema: Schema
    let type: EntityDescription
    let batchSize: Int
    let source: any ImportSource
    let progress: Progress
    /// Entities in committed batches.
    private(set) var committed: UInt64 = 0

    init(
        store: TreeStore, schema: Schema, type: EntityDescription, batchSize: Int, source: any ImportSource,
        console: Console
    ) {
        self.store = store
        self.schema = schema
        self.type = type
        self.batchSize = batchSize
        self.source = source
        progress = Progress("importing \(type.name)", unit: "entities", console: console)
    }

    mutating func run() throws {
        defer { progress.clear() }
        var line = try next()
        while line != nil, !Interruption.isRequested {
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            line = try batch(StoreTransaction(writing: transaction, schema: schema), from: line)
        }
    }

    /// Saves and commits a batch that begins with `line`; returns the first line after it.
    private mutating func batch(
        _ core: StoreTransaction, from line: ArraySlice<UInt8>?
    ) throws -> ArraySlice<UInt8>? {
        let rows = try JSONRows(type.name, core: core)
        var line = line
        var saved = 0
        while let bytes = line, saved < batchSize, !Interruption.isRequested {
            try save(bytes, rows)
            saved += 1
            showProgress(committed + UInt64(saved))
            line = try next()
        }
        try core.commit()
        committed += UInt64(saved)
        return line
    }

    private func next() throws -> ArraySlice<UInt8>? {
        do {
            return try source.next()
        } catch let error as CommandError {
            throw CommandError("\(error); \(kept)")
        }
    }

    /// A sentence about the committed batches, for the error of a later one.
    private var kept: String {
        "\(Spelling.counted(committed, "entity is", "entities are")) committed, this batch is not"
    }

    private func save(_ line: ArraySlice<UInt8>, _ rows: JSONRows) throws {
        do {
            try line.withUnsafeBytes { _ = try rows.save(line: $0) }
        } catch {
            let message = source.isJSON ? "\(error)" : "\(error)".replacing(/, at character \d+$/, with: "")
            throw CommandError("\(source.path), line \(source.lineNumber): \(message); \(kept)")
        }
    }

    private func showProgress(_ count: UInt64) {
        progress.update(
            count: count, fraction: source.fileSize.map { min(1, Double(source.bytesRead) / Double(max(1, $0))) })
    }
}
