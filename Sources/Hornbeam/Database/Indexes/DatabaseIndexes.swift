// SPDX-License-Identifier: Apache-2.0
// Registered indexes of a database: registering, dropping and listing. Registering is one write transaction, beside any
// number of readers.

package import HornbeamPages
package import HornbeamTree
import Synchronization

extension Database {
    /// Registers an index with the database. From now on it is updated in each transaction that changes its entities.
    ///
    /// If the file has it with an equal version and settings, only entities that were changed while it wasn't
    /// registered are read. Otherwise it is built from all entities in one transaction, O(n log n); readers don't wait
    /// for it, but writers do. A crash leaves it absent, or as it was. Throws `.indexMismatch` if an index of another
    /// kind, or over another entity type, has the name.
    ///
    /// Several threads call the index's function at the same time. A write that the function begins throws `.invalid`.
    /// The function must not wait for a write of another thread, because that write waits for this transaction.
    ///
    /// - Parameters:
    ///   - index: the index to register.
    ///   - progress: called from time to time while entities are read. It may throw to cancel.
    public func register(_ index: some RegisteredIndex, progress: MigrationProgress.Handler? = nil) throws {
        try register(index.registration, progress: progress)
    }

    /// - Parameter isRebuilt: whether it is always built anew.
    func register(
        _ registration: IndexRegistration, onDrift: DriftPolicy = .ignore, isRebuilt: Bool = false,
        progress: MigrationProgress.Handler?
    ) throws {
        try indexing {
            try admit(registration)
            if isReadOnly { return try registerReadOnly(registration, onDrift: onDrift) }
            let transaction = try store.beginWrite()
            let began = ContinuousClock.now
            do {
                let work = IndexRegistering(
                    registration: registration, transaction: transaction, schema: schema, progress: progress)
                let needed = try work.work()
                var kind = isRebuilt ? .building : needed
                if kind == .building { watch?.noteBuild(of: registration) }
                var (stored, maintained) = try work.run(kind)
                if onDrift != .ignore, kind != .building, let drift = try work.drift(of: maintained) {
                    guard onDrift == .rebuild else { throw drift }
                    kind = .building
                    watch?.noteBuild(of: registration)
                    (stored, maintained) = try work.run(kind)
                }
                if kind == .none { transaction.durability = .none }
                // Building anew has dropped the index's background build.
                let hasBuild = try RegisteredCatalogue.readBuild(of: stored.name, in: transaction) != nil
                try commit(transaction) { registered in
                    (hasBuild ? registered : registered.removing(buildOf: stored.name)).adding(stored, maintained)
                }
                if kind == .building { watch?.noteBuild(of: registration, after: began.duration(to: .now)) }
            } catch {
                transaction.abort()
                throw error
            }
        }
    }

    /// Registers an index without blocking the caller's thread.
    public func register(
        _ index: some RegisteredIndex, progress: (@Sendable (MigrationProgress) throws -> Void)? = nil
    ) async throws {
        try await inWriterQueue { try $0.register(index, progress: progress) }
    }

    /// Throws unless the database can have the index.
    func admit(_ registration: IndexRegistration) throws {
        guard let model = registration.model, models.contains(model) else {
            throw HornbeamError(
                .unregisteredEntity,
                "index “\(registration.name)” is over \(registration.entity), which the database was opened without")
        }
        try registration.check()
        if let reduction = registration.reduction { try store.register(reduction) }
    }

    /// Registers an index in a file that is open read-only. It must have the index already. Throws `.readOnly`
    /// otherwise.
    func registerReadOnly(_ registration: IndexRegistration, onDrift: DriftPolicy = .ignore) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        let work = IndexRegistering(registration: registration, transaction: read, schema: schema)
        switch try work.work() {
        case .none, .completion:
            let (stored, maintained) = try work.run(.none)
            if onDrift != .ignore, let drift = try work.drift(of: maintained) { throw drift }
            registry.withLock { registered in
                registered = registered.adding(stored, maintained)
                // Published within the lock, so that no newer change of another thread is undone.
                planned.publish(registered)
            }
        case .missedRows, .building:
            throw HornbeamError(
                .readOnly,
                "the file is open read-only, and its index “\(registration.name)” is missing, of another version or "
                    + "out of date: register it once with the file open for writing")
        }
    }

    /// Drops a registered index, even if this program hasn't registered it, with its background build and any remains
    /// of its trees in a damaged file. Returns whether there was anything to drop.
    @discardableResult
    public func unregister(_ name: String) throws -> Bool {
        try indexing {
            let transaction = try store.beginWrite()
            do {
                let isLost = try RegisteredCatalogue.dropLost(name, in: transaction)
                let stored = try RegisteredCatalogue.read(name, in: transaction)
                if let stored { try RegisteredCatalogue.drop(stored, in: transaction) }
                let hasBuild = try RegisteredCatalogue.dropBuild(of: name, in: transaction)
                guard stored != nil || hasBuild || isLost else {
                    transaction.abort()
                    return false
                }
                try commit(transaction) { $0.removing(name).removing(buildOf: name) }
                return true
            } catch {
                transaction.abort()
                throw error
            }
        }
    }

    /// Commits a transaction that changes the registered indexes.
    ///
    /// The next write may begin before this commit has succeeded or failed. It reads the registered indexes when its
    /// turn comes, and the lock makes it wait until they match the file. So if this commit fails, no change by another
    /// transaction is undone with it. A transaction without changes commits too: it fails if the commit before it
    /// fails.
    package func commit(
        _ transaction: Transaction, _ change: (RegisteredIndexes) -> RegisteredIndexes
    ) throws(StorageError) {
        try registry.withLock { (registered) throws(StorageError) in
            let former = registered
            registered = change(former)
            do throws(StorageError) {
                try transaction.commit()
            } catch {
                registered = former
                throw error
            }
            planned.publish(registered)
        }
    }

    /// Returns the registered indexes of the file: first those that can't be read, then the others by name.
    public func registeredIndexes() throws -> [RegisteredIndexDescription] {
        try indexing {
            let maintained = registered.maintained
            let read = try store.beginRead()
            defer { read.abort() }
            let unreadable = try RegisteredCatalogue.unreadable(read).map { name in
                RegisteredIndexDescription(
                    name: name, entity: "", kind: "", version: "", settings: [:], state: .unreadable, entries: 0,
                    bytes: 0)
            }
            return try unreadable
                + RegisteredCatalogue.read(read).map { index in
                    let trees = try IndexTrees(of: index, in: read)?.all ?? []
                    let missed = try read.tree(index.missedName).map { Int(clamping: try read.count($0)) } ?? 0
                    let state: RegisteredIndexDescription.State
                    if let build = index.record.build {
                        state = try progress(of: build, index.record.entity, read)
                    } else {
                        let isMaintained = maintained[index.name]?.registration.identity == index.identity
                        let isCurrent = index.handKept != nil || (isMaintained && missed == 0)
                        state = isCurrent ? .current : .unregistered(missed: missed)
                    }
                    return RegisteredIndexDescription(
                        name: index.publicName, entity: index.record.entity, kind: index.record.kind,
                        version: index.record.version, settings: index.record.settings,
                        state: state,
                        entries: try trees.first.map { Int(clamping: try read.count($0)) } ?? 0,
                        bytes: try trees.reduce(0) { $0 + Int(clamping: try read.nodeBytes($1)) })
                }
        }
    }

    private func progress(
        of build: StoredIndex.Build, _ entity: String, _ read: Transaction
    ) throws -> RegisteredIndexDescription.State {
        guard let rows = try read.tree("e:\(entity)") else { return .building(done: 0, total: 0) }
        let total = Int(clamping: try read.count(rows))
        guard !build.isLoaded, let position = build.position else {
            return .building(done: build.isLoaded ? total : 0, total: total)
        }
        guard let next = RowID(rawValue: position).next else { return .building(done: total, total: total) }
        return .building(done: Int(clamping: try read.count(rows, from: [], to: next.key)), total: total)
    }

    /// Runs `body` and converts the engine's errors to those of the typed API. Other errors are passed on.
    /// - Parameter operation: the calling function, for the log.
    package func indexing<Result>(
        _ operation: StaticString = #function, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch {
            watch?.note(error, during: "\(operation)")
            throw HornbeamError.typed(error)
        }
    }
}

extension Database {
    /// Registers an index, and checks a sample of its rows if it was built before: at most 32 entities and 32 rows,
    /// spread over all. Only `check` compares all of them.
    /// - Parameters:
    ///   - index: the index to register.
    ///   - onDrift: the reaction if the code makes other rows than the stored ones.
    ///   - progress: called from time to time while entities are read. It may throw to cancel.
    public func register(
        _ index: some RegisteredIndex, onDrift: DriftPolicy, progress: MigrationProgress.Handler? = nil
    ) throws {
        try register(index.registration, onDrift: onDrift, progress: progress)
    }

    /// Builds a registered index anew from all entities by its present code. Throws `.indexNotReady` if this program
    /// hasn't registered it.
    public func repair(index name: String, progress: MigrationProgress.Handler? = nil) throws {
        guard let maintained = registered.maintained[name] else {
            throw HornbeamError(
                .indexNotReady, "index “\(name)” can't be repaired: register it in this program first")
        }
        try register(maintained.registration, isRebuilt: true, progress: progress)
    }
}
