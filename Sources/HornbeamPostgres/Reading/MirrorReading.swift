// SPDX-License-Identifier: Apache-2.0
// Reads of one state of the mirror: a single statement, or several in a transaction.

import Hornbeam
import HornbeamPages
import HornbeamTree

/// A connection with the tables that it reads. Belongs to one thread at a time.
final class ReaderSession {
    let connection: PostgresConnection
    private(set) var tables: ModelTables
    let settings: ReaderSettings
    private var known: Context?

    /// Connects, reads the mirror's layout and compares it with the models.
    init(_ settings: ReaderSettings, _ interruption: Interruption) throws {
        self.settings = settings
        connection = try PostgresConnection(settings.address, timeout: settings.timeout, interruption: interruption)
        try connection.setLimits()
        let layout = try Self.layout(connection, settings)
        tables = ModelTables(layout, settings.models, in: settings.schema)
        for name in settings.names { _ = try tables.table(name) }
    }

    private static func layout(
        _ connection: PostgresConnection, _ settings: ReaderSettings
    ) throws -> MirrorLayout {
        guard let record = try MirrorRecord.read(connection, in: settings.schema) else {
            throw HornbeamError(
                .schemaMismatch, "the schema \(settings.schema) has no mirror: run one that writes into it")
        }
        return record.layout
    }

    /// Returns a store in memory with all models. It is always empty between reads.
    func memory() throws -> Context {
        if let known { return known }
        let context = Context()
        func register<Entity: EntityModelProtocol>(_: Entity.Type) throws {
            _ = try context.session.store(Entity.self)
        }
        try context.session.run { _ in
            for description in settings.models.descriptions {
                if let model = settings.models.model(description.name) { try register(model) }
            }
        }
        known = context
        return context
    }

    /// Reads the layout again. Returns false if it hasn't changed.
    func refresh() throws -> Bool {
        let layout = try Self.layout(connection, settings)
        guard layout != tables.layoutRead else { return false }
        tables = ModelTables(layout, settings.models, in: settings.schema)
        for name in settings.names { _ = try tables.table(name) }
        return true
    }
}

/// The server, the schema and the models of a reader.
struct ReaderSettings: Sendable {
    let address: String
    /// The schema, quoted for statements.
    let schema: String
    let models: ModelSet
    /// The names of the models that the program gave.
    let names: [String]
    let timeout: Duration
}

/// One state of the mirror, for as long as it is read.
final class MirrorReading {
    let session: ReaderSession
    private let hasTransaction: Bool
    private var statements = 0
    /// Parameters of a statement are counted in 16 bits.
    private static let maximumParameters = 65_535

    /// Thrown if one statement isn't enough outside of a transaction. The read begins again in a transaction.
    struct NeedsTransaction: Error {}

    private init(_ session: ReaderSession, hasTransaction: Bool) {
        self.session = session
        self.hasTransaction = hasTransaction
    }

    /// Runs `body`, whose reads all see one state. `body` may run twice.
    /// - Parameter isLong: whether the read is known to need more than one statement.
    static func read<Result>(
        _ session: ReaderSession, isLong: Bool, _ body: (MirrorReading) throws -> Result
    ) throws -> Result {
        if !isLong {
            do { return try body(MirrorReading(session, hasTransaction: false)) } catch is NeedsTransaction {}
        }
        let connection = session.connection
        do {
            try MirrorRecord.beginReading(connection, in: session.settings.schema)
            let result = try body(MirrorReading(session, hasTransaction: true))
            try connection.execute("COMMIT")
            return result
        } catch {
            _ = try? connection.execute("ROLLBACK")
            throw error
        }
    }

    func run(_ sql: SQLText) throws -> PostgresResult {
        guard hasTransaction || statements == 0 else { throw NeedsTransaction() }
        statements += 1
        let (statement, parameters) = sql.statement
        guard parameters.count <= Self.maximumParameters else {
            throw HornbeamError(
                .tooLarge,
                "a query has \(parameters.count) values to compare with, and the server takes "
                    + "\(Self.maximumParameters): use .value(_:in:) for long lists of them")
        }
        return try session.connection.execute(statement, parameters)
    }

    /// Returns for each of some rows whether it passes conditions, which may depend on other entities.
    func test(_ rows: [[UInt8]], of table: ModelTable, by filters: [Filter]) throws -> [Bool] {
        if rows.isEmpty { return [] }
        return try withExcerpt { excerpt in
            let (ids, rowIDs) = try excerpt.add(rows, of: table)
            var links: [LinkDependency] = []
            for filter in filters { filter.addLinks(to: &links) }
            try excerpt.fetch(links, of: ids, table)
            return try excerpt.test(rowIDs, of: table, by: filters)
        }
    }
}
