// SPDX-License-Identifier: Apache-2.0
// Opening a database with its schema. A read checks whether the store fits the models. If it doesn't, one write
// transaction adapts it and runs the program's own steps.

import HornbeamPages
import HornbeamTree

/// The parts of opening a database that concern its schema.
package struct SchemaOpening {
    package let models: ModelSet
    var migrations: [Migration] = []
    var isReadOnly = false
    let keepsDeleted: Database.DeletedRetention
    var progress: MigrationProgress.Handler?

    package init(
        models: ModelSet, migrations: [Migration] = [], isReadOnly: Bool = false,
        keepsDeleted: Database.DeletedRetention = .never, progress: MigrationProgress.Handler? = nil
    ) {
        self.models = models
        self.migrations = migrations
        self.isReadOnly = isReadOnly
        self.keepsDeleted = keepsDeleted
        self.progress = progress
    }

    /// - Returns: the schema, and its version if another process may change it while this one has it open.
    func run(in store: TreeStore, _ watch: OperationWatch? = nil) throws -> (Schema, UInt64?) {
        try checkNames()
        let read = try store.beginRead()
        let fitting: Schema?
        let version: UInt64
        var lacks: [String] = []
        do {
            defer { read.abort() }
            version = try SchemaCatalogue.version(in: read)
            fitting = try SchemaCatalogue.open(
                models.descriptions, in: read, migrations: migrations.map(\.step), mayChange: !isReadOnly,
                lacking: { lacks = $0 })
            let steps = try pending(in: read)
            if let fitting, steps.isEmpty { return (fitting, isReadOnly ? version : nil) }
            lacks += steps.map { "the migration step “\($0.name)”" }
        }
        guard !isReadOnly else {
            throw HornbeamError(
                .schemaMismatch,
                "the file is open read-only and doesn't fit the models, it lacks \(Self.first(lacks)): open it once "
                    + "for writing")
        }
        let began = ContinuousClock.now
        watch?.note(
            .info, .migrationBegan,
            "the file is changed to fit the models"
                + (lacks.isEmpty ? "" : ", it lacks \(Self.first(lacks))"))
        let write = try store.beginWrite()
        do {
            let schema = try update(in: write)
            try write.commit()
            watch?.noteMigration(began.duration(to: .now))
            return (schema, nil)
        } catch {
            write.abort()
            throw error
        }
    }

    /// Returns the first five of a list as text.
    private static func first(_ lacks: [String]) -> String {
        let shown = lacks.prefix(5).joined(separator: ", ")
        return lacks.count > 5 ? "\(shown) and \(lacks.count - 5) more" : shown
    }

    private func update(in write: Transaction) throws -> Schema {
        let schema = try SchemaCatalogue.open(
            models.descriptions, in: write, migrations: migrations.map(\.step), progress: progress,
            rewrite: models.rewritten)
        guard let schema else {
            throw HornbeamError(
                .schemaMismatch, "the file changed while its schema was compared with the models: open it again")
        }
        let steps = try pending(in: write)
        for (name, body) in steps {
            var reports = StepProgress(.running, "", name, total: 1, progress)
            let core = try StoreTransaction(writing: write, schema: schema)
            let session = TypedTransaction(core, models: models, keepsDeleted: keepsDeleted != .never)
            defer { session.end() }
            var context = Context(session)
            do {
                try body(&context)
            } catch {
                throw HornbeamError.ofMigration("step “\(name)”", error)
            }
            try core.flush()
            try core.logChanges()
            try SchemaCatalogue.setRun(name, in: write)
            try reports.finish()
        }
        return schema
    }

    /// Returns the program's own steps that have not run in this store.
    private func pending(
        in transaction: Transaction
    ) throws -> [(name: String, body: Migration.Body)] {
        var steps: [(name: String, body: Migration.Body)] = []
        for migration in migrations {
            guard case .run(let name) = migration.step, let body = migration.body else { continue }
            if try !SchemaCatalogue.hasRun(name, in: transaction) { steps.append((name, body)) }
        }
        return steps
    }

    private func checkNames() throws(HornbeamError) {
        var names: Set<String> = []
        for migration in migrations {
            guard case .run(let name) = migration.step else { continue }
            guard !name.isEmpty, name.utf8.count <= 200, names.insert(name).inserted else {
                throw HornbeamError(
                    .invalid,
                    "a migration step can't be called “\(name)”: each needs a name of its own, of 1 to 200 bytes")
            }
        }
    }
}
