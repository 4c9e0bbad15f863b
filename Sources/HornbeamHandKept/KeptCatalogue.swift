// SPDX-License-Identifier: Apache-2.0
// Registers hand-kept indexes. They share a catalogue with registered indexes, and so names, listing and dropping.
// Their content can't be rebuilt, so a stored index that doesn't match its declaration is an error.

import HornbeamTree

extension TypedTransaction {
    /// Returns the trees of a hand-kept index. Throws `.indexNotReady` if the state doesn't have it, except in a
    /// context without a database, which makes the trees as it adds entity types. Throws `.indexMismatch` if another
    /// index has its name.
    func keptTrees(_ declaration: HandKeptDeclaration) throws -> KeptTrees {
        let core = try self.core
        for model in declaration.models { _ = try store(model) }
        let transaction = core.transaction
        guard let found = try RegisteredCatalogue.record(of: declaration.stored.name, in: transaction) else {
            if takesAll { return try makeTrees(declaration, core) }
            throw HornbeamError(
                .indexNotReady,
                "this state of the database has no index “\(declaration.stored.name)”: name its declaration when the "
                    + "database is opened (handKept:), or register it, and begin another read")
        }
        guard found.elementsEqual(declaration.record) else {
            let stored = try RegisteredCatalogue.read(declaration.stored.name, in: transaction)
            throw declaration.mismatch(with: stored)
        }
        return try KeptTrees(declaration.stored, in: transaction)
    }

    /// Returns the trees of a hand-kept index that was used. Throws `.indexNotReady` if the state doesn't have it.
    func keptTrees<Entity: EntityModelProtocol>(named name: String, over _: Entity.Type) throws -> KeptTrees {
        let transaction = try core.transaction
        guard let stored = try RegisteredCatalogue.read(name, in: transaction), stored.handKept != nil,
            stored.record.entity == Entity.entityName
        else {
            throw HornbeamError(
                .indexNotReady,
                "this state of the database has no list “\(name)” of \(Entity.entityName): it was dropped, or the read "
                    + "began before it was registered; register its declaration, and begin another read")
        }
        return try KeptTrees(stored, in: transaction)
    }

    private func makeTrees(_ declaration: HandKeptDeclaration, _ core: StoreTransaction) throws -> KeptTrees {
        try declaration.check()
        let trees = try declaration.make(in: core.transaction)
        let registered = try RegisteredCatalogue.read(core.transaction)
        try core.adopt(Schema(types: Array(core.schema.types.values), registered: registered))
        return trees
    }
}

extension HandKeptDeclaration {
    fileprivate func mismatch(with other: StoredIndex?) -> HornbeamError {
        HornbeamError(
            .indexMismatch,
            "index “\(stored.name)” is stored as \(other.map(Self.text) ?? "another"), and declared as "
                + "\(Self.text(stored)): give it another name, or unregister the stored one, which drops its content")
    }

    private static func text(_ index: StoredIndex) -> String {
        let settings = index.record.settings.sorted { $0.key < $1.key }.map { " with \($0.key) \($0.value)" }
        return "\(index.record.kind) over \(index.record.entity)" + settings.joined()
    }

    fileprivate func make(in transaction: Transaction) throws -> KeptTrees {
        try RegisteredCatalogue.store(stored, in: transaction)
        return try KeptTrees(stored, in: transaction, create: true)
    }

    /// Whether the index is stored. Throws `.indexMismatch` if another index has its name.
    fileprivate func isStored(in transaction: Transaction) throws -> Bool {
        guard let other = try RegisteredCatalogue.read(stored.name, in: transaction) else { return false }
        guard other == stored else { throw mismatch(with: other) }
        return true
    }
}

// MARK: - Registering

extension Database {
    /// Opens a database and registers hand-kept indexes. Closes it again if one of them can't be registered.
    public convenience init(
        at path: String, models: any EntityModelProtocol.Type..., options: Options = Options(),
        migrations: [Migration] = [], indexes: [any RegisteredIndex] = [], handKept: some IndexesType,
        progress: MigrationProgress.Handler? = nil
    ) throws {
        try self.init(
            at: path, models: models, options: options, migrations: migrations, indexes: indexes, handKept: handKept,
            progress: progress)
    }

    public convenience init(
        at path: String, models: [any EntityModelProtocol.Type], options: Options = Options(),
        migrations: [Migration] = [], indexes: [any RegisteredIndex] = [], handKept: some IndexesType,
        progress: MigrationProgress.Handler? = nil
    ) throws {
        try self.init(
            at: path, models: models, options: options, migrations: migrations, indexes: indexes, progress: progress)
        try registerOrClose(handKept)
    }

    /// Makes a database without a file, with hand-kept indexes.
    public static func inMemory(
        models: any EntityModelProtocol.Type..., requiresRelations: Bool = false,
        keepsDeleted: DeletedRetention = .never, indexes: [any RegisteredIndex] = [], handKept: some IndexesType
    ) throws -> Database {
        let database = try inMemory(
            models: models, requiresRelations: requiresRelations, keepsDeleted: keepsDeleted, indexes: indexes)
        try database.register(handKept)
        return database
    }

    private func registerOrClose(_ indexes: some IndexesType) throws {
        do {
            try register(indexes)
        } catch {
            // The error to throw is the reason why an index can't be registered.
            try? close()
            throw error
        }
    }

    /// Registers hand-kept indexes with the database: existing ones keep their content, others begin empty. If one
    /// can't be registered, none is. Throws `.indexMismatch` if another kind of index, or an index over another type,
    /// has one of the names.
    public func register(_ indexes: some IndexesType) throws {
        let declarations = indexes.declared.map(\.declaration)
        try check(declarations)
        try indexing {
            if try areStored(declarations) { return }
            guard !isReadOnly else {
                throw HornbeamError(
                    .readOnly,
                    "the file is open read-only, and lacks some of \(names(of: declarations)): open it once for writing"
                )
            }
            let transaction = try store.beginWrite()
            do {
                var made: [StoredIndex] = []
                for declaration in declarations where try !declaration.isStored(in: transaction) {
                    _ = try declaration.make(in: transaction)
                    made.append(declaration.stored)
                }
                try commit(transaction) { registered in made.reduce(registered) { $0.adding($1) } }
            } catch {
                transaction.abort()
                throw error
            }
        }
    }

    private func check(_ declarations: [HandKeptDeclaration]) throws(HornbeamError) {
        var names: Set<String> = []
        for declaration in declarations {
            let name = declaration.stored.name
            try declaration.check()
            guard names.insert(name).inserted else {
                throw HornbeamError(.invalid, "two indexes are called “\(name)”: give each a name of its own")
            }
            for model in declaration.models where !models.contains(model) {
                throw HornbeamError(
                    .unregisteredEntity,
                    "index “\(name)” is over \(model.entityName), which the database was opened without")
            }
        }
    }

    private func areStored(_ declarations: [HandKeptDeclaration]) throws -> Bool {
        let read = try store.beginRead()
        defer { read.abort() }
        var areAll = true
        for declaration in declarations { areAll = try declaration.isStored(in: read) && areAll }
        return areAll
    }

    private func names(of declarations: [HandKeptDeclaration]) -> String {
        declarations.map { "“\($0.stored.name)”" }.joined(separator: ", ")
    }
}
