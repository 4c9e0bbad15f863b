// SPDX-License-Identifier: Apache-2.0
// An open database: a file (or memory), the entity types that it was opened with, and its transactions. Reads see a
// frozen state and never wait. Writes run one after the other, and a write that throws changes nothing.

import Dispatch
import HornbeamPages
package import HornbeamTree
import Synchronization

/// A database of entities. Any thread may use it.
public final class Database: Sendable {
    package let store: TreeStore
    package let models: ModelSet
    package let schema: Schema
    private let requiresRelations: Bool
    private let deletedRetention: DeletedRetention
    /// The automatic purge of deleted entities, or nil if there is none.
    private let deletedPurge: DeletedPurge?
    /// The schema's version if another process may change it, otherwise nil.
    private let followedVersion: UInt64?
    /// The registered indexes. Changed by the holder of the write transaction, which keeps the lock until its commit
    /// has succeeded or failed. If the file is open read-only, any thread may change them.
    let registry: Mutex<RegisteredIndexes>
    var registered: RegisteredIndexes { registry.withLock { $0 } }
    /// The registered indexes that queries use.
    let planned = PlannedIndexes()
    /// The indexes that are built in the background.
    let builds = IndexBuilds()
    /// Whether the file is open read-only.
    package var isReadOnly: Bool { followedVersion != nil }
    /// The watch over transactions and queries, or nil if the options have neither a log nor spans.
    let watch: OperationWatch?
    /// Transactions of reads that have ended, kept for later reads.
    private let idle = IdleReads<TypedTransaction>()
    // Asynchronous transactions run on these queues, so that a waiting writer never blocks a thread of the cooperative
    // pool.
    private let readers = DispatchQueue(label: "hornbeam.readers", attributes: .concurrent)
    private let writer = DispatchQueue(label: "hornbeam.writer")
    // Commits wait for the medium on this queue, in their order, while `writer` runs the next closures. All commits
    // that are made during one wait share the next write to the medium.
    private let commits = DispatchQueue(label: "hornbeam.commits")
    /// The observers of the database.
    let live = LiveHub()
    /// Closures that are called after each commit.
    private let listeners = CommitListeners()
    /// The reads that hold a state of the database.
    let longReads = LongLivedReads()
    /// Whether the log may have consumers. Each write then looks in the file. Only one write runs at a time, so a write
    /// that finds no consumers clears this for the next ones.
    let mayLog = Atomic<Bool>(true)
    /// The middleware that runs before each commit.
    let middleware = CommitMiddlewareList()

    /// Opens the database in the file at `path`, and creates the file if there is none.
    ///
    /// The declared types are compared with the stored ones, and the file is adapted to them in one transaction. New
    /// types, properties and indexes are added, stored entities get the defaults of new properties, and `migrations`
    /// describe the changes that can't be derived from the models. Throws `.schemaMismatch` for a change that needs a
    /// migration. If anything fails, including a closure of yours, the file stays as it was. The time depends on the
    /// number of entities whose rows or index entries have to be made.
    ///
    /// - Parameters:
    ///   - path: the path of the database file.
    ///   - models: the entity types that the program uses. Types that they have relations to are added automatically.
    ///   - options: durability, page size, whether the file is opened read-only, and more.
    ///   - migrations: the migrations in the order in which they were added to the program. Those that don't apply cost
    ///     nothing.
    ///   - indexes: the indexes to register, each in a transaction of its own, once the file fits the models. If one
    ///     fails, the file keeps the models' schema and the indexes before it.
    ///   - progress: called from time to time while rows are migrated and indexes built. It may throw to cancel.
    public convenience init(
        at path: String, models: any EntityModelProtocol.Type..., options: Options = Options(),
        migrations: [Migration] = [], indexes: [any RegisteredIndex] = [], progress: MigrationProgress.Handler? = nil
    ) throws {
        try self.init(
            at: path, models: models, options: options, migrations: migrations, indexes: indexes, progress: progress)
    }

    /// Opens the database in the file at `path`, with a list of models.
    public convenience init(
        at path: String, models: [any EntityModelProtocol.Type], options: Options = Options(),
        migrations: [Migration] = [], indexes: [any RegisteredIndex] = [], progress: MigrationProgress.Handler? = nil
    ) throws {
        let opening = SchemaOpening(
            models: try ModelSet(models), migrations: migrations, isReadOnly: options.isReadOnly,
            keepsDeleted: options.keepsDeleted, progress: progress)
        for index in indexes { try index.registration.check() }
        // Recovery computes the reduced values in branches with them.
        let reductions = indexes.compactMap(\.registration.reduction)
        let (watch, began) = (OperationWatch(options, path), ContinuousClock.now)
        do {
            try self.init(opening, requiresRelations: options.requiresRelations, watch: watch) {
                () throws(StorageError) in
                var engine = try options.engine
                engine.events = watch?.events
                return try TreeStore.open(at: path, options: engine, reductions: reductions)
            }
            try register(indexes, progress)
        } catch {
            watch?.note(error, during: "opening \(path)")
            throw error
        }
        watch?.noteOpening(statistics, began.duration(to: .now))
    }

    /// Registers the indexes that the database is opened with. Closes the database if one of them can't be registered.
    private func register(_ indexes: [any RegisteredIndex], _ progress: MigrationProgress.Handler?) throws {
        do {
            for index in indexes { try register(index, progress: progress) }
            try registerStored(progress)
        } catch {
            try? close()
            throw error
        }
    }

    /// Makes a database in memory, without a file.
    /// - Parameters:
    ///   - models: the entity types that the program uses. Types that they have relations to are added automatically.
    ///   - requiresRelations: see `Options.requiresRelations`.
    ///   - keepsDeleted: see `Options.keepsDeleted`.
    ///   - migrations: only those made by `Migration.run` have an effect, because the database is new.
    ///   - indexes: the indexes to register before the database is returned.
    public static func inMemory(
        models: any EntityModelProtocol.Type..., requiresRelations: Bool = false,
        keepsDeleted: DeletedRetention = .never, migrations: [Migration] = [], indexes: [any RegisteredIndex] = []
    ) throws -> Database {
        try inMemory(
            models: models, requiresRelations: requiresRelations, keepsDeleted: keepsDeleted, migrations: migrations,
            indexes: indexes)
    }

    package static func inMemory(
        models: [any EntityModelProtocol.Type], requiresRelations: Bool = false,
        keepsDeleted: DeletedRetention = .never, migrations: [Migration] = [], indexes: [any RegisteredIndex] = []
    ) throws -> Database {
        let opening = SchemaOpening(
            models: try ModelSet(models), migrations: migrations, keepsDeleted: keepsDeleted)
        let database = try Database(opening, requiresRelations: requiresRelations) { () throws(StorageError) in
            try TreeStore.inMemory()
        }
        try database.register(indexes, nil)
        return database
    }

    init(
        _ opening: SchemaOpening, requiresRelations: Bool = false, watch: OperationWatch? = nil,
        open: () throws(StorageError) -> TreeStore
    ) throws {
        do {
            try opening.keepsDeleted.check()
            let store = try open()
            do {
                (schema, followedVersion) = try opening.run(in: store, watch)
            } catch {
                // The error of the schema is reported, not one of closing.
                try? store.close()
                throw error
            }
            self.store = store
            self.watch = watch
            models = opening.models
            self.requiresRelations = requiresRelations
            deletedRetention = opening.keepsDeleted
            deletedPurge = opening.keepsDeleted.duration.map { DeletedPurge(after: $0, models: opening.models) }
            registry = Mutex(schema.registered ?? RegisteredIndexes(stored: []))
            watch?.attach(store, longReads)
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    /// All entity types in the file, in the order of their names, with columns, indexes and relations as they are
    /// stored. Types and parts that models no longer declare are listed too.
    public var schemaDescription: [EntityDescription] { schema.typeNames.compactMap { schema.types[$0]?.description } }

    // MARK: - Transactions

    /// Runs `body` in a read of the newest committed state, which doesn't change while it runs. Never waits for a
    /// write.
    public func read<Result>(_ body: (Context) throws -> Result) throws -> Result {
        if let watch { return try read(watchedBy: watch, body) }
        return try read(endingBy: nil, watched: nil, body)
    }

    @inline(never)
    private func read<Result>(watchedBy watch: OperationWatch, _ body: (Context) throws -> Result) throws -> Result {
        try watch.transaction(.read) { try read(endingBy: nil, watched: $0, body) }
    }

    /// - Parameters:
    ///   - interruption: if it is set, the read throws as soon as it continues.
    ///   - watched: gets the read's queries.
    @inline(__always)
    private func read<Result>(
        endingBy interruption: Interruption?, watched: WatchedTransaction?, _ body: (Context) throws -> Result
    ) throws -> Result {
        do {
            var session = try beginRead()
            defer { end(&session) }
            session.owner = ThreadNumber.current
            if let interruption { try session.core.transaction.interruption = interruption }
            defer { if interruption != nil { session.forgetInterruption() } }
            if let watched {
                watched.noteOpening()
                try session.core.queryWatch?.tell(watched.beginQuery)
            }
            try checkVersion(session)
            let result = try body(Context(session))
            try session.checkIsWhole()
            return result
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    private func beginRead() throws(StorageError) -> TypedTransaction {
        guard let session = idle.take() else {
            return TypedTransaction(try beginWatchedRead(), models: models)
        }
        try session.resume()
        return session
    }

    /// Begins a read. If the options have a log or spans, its queries are watched, as queries without a transaction.
    private func beginWatchedRead() throws(StorageError) -> StoreTransaction {
        let core = StoreTransaction(try store.beginRead(), schema: schema, planned: planned)
        if let watch { core.watchQueries(by: QueryWatch(watch.beginQuery)) }
        return core
    }

    /// Throws if another process has changed the schema since: rows would be read by wrong columns.
    private func checkVersion(_ session: TypedTransaction) throws {
        guard let followedVersion else { return }
        try session.checkSchemaVersion(followedVersion)
    }

    /// Keeps the read's objects for the next read, which saves a quarter of the instructions of reading one entity. If
    /// a part of them is still referenced, the read is ended for good, because a context that a program has kept must
    /// find its transaction ended.
    private func end(_ session: inout TypedTransaction) {
        if isKnownUniquelyReferenced(&session), session.suspend() { idle.give(session) } else { session.end() }
    }

    /// Runs `body` in the write transaction, of which there is one at a time. When this returns, the changes are
    /// durable as the database's options say. If it throws, no change remains. Throws `.invalid` inside another write:
    /// pass the context on instead.
    @discardableResult
    public func write<Result>(_ body: (inout Context) throws -> Result) throws -> Result {
        try run(nil, body)
    }

    /// Runs `body` in a write transaction with a durability of its own.
    @discardableResult
    public func write<Result>(
        durability: Durability, _ body: (inout Context) throws -> Result
    ) throws -> Result {
        try run(durability, body)
    }

    /// Runs a write. The public functions take no optional durability, because its `.none` would hide
    /// `Durability.none`.
    /// - Parameter tell: gets the changes, before the commit.
    func run<Result>(
        _ durability: Durability?, telling tell: ((StoreChanges) -> Void)? = nil,
        _ body: (inout Context) throws -> Result
    ) throws -> Result {
        guard let watch else {
            let (result, commit) = try begin(durability, telling: tell, body)
            try finish(commit)
            return result
        }
        return try watch.transaction(.write) { watched in
            let (result, commit) = try begin(durability, watched: watched, telling: tell, body)
            try finish(commit)
            return result
        }
    }

    /// Waits until the commit is durable and visible, and notifies the observers.
    private func finish(_ commit: CommitInFlight) throws {
        try engine { () throws(StorageError) in try commit.wait() }
        live.noteCommit()
        listeners.tell()
    }

    /// Adds a closure that is called after each commit of this process, once the commit is visible and as durable as
    /// requested. The writer's thread calls it, so it must be fast.
    /// - Returns: the argument for `forget`, which removes the closure.
    package func onCommit(_ body: @escaping @Sendable () -> Void) -> Int { listeners.add(body) }

    package func forget(_ listener: Int) { listeners.remove(listener) }

    /// Returns the trees whose changes the log's consumers want, or nil if there are no consumers.
    private func loggedTrees(_ transaction: Transaction) throws(StorageError) -> LoggedTrees? {
        guard mayLog.load(ordering: .acquiring) else { return nil }
        do throws(StorageError) {
            if let log = try ChangeLog(in: transaction) { return try log.trees(schema) }
            mayLog.store(false, ordering: .releasing)
            return nil
        } catch {
            transaction.abort()
            throw error
        }
    }

    /// Runs `body` and commits. Doesn't wait until the commit is durable.
    private func begin<Result>(
        _ durability: Durability?, watched: WatchedTransaction? = nil, telling tell: ((StoreChanges) -> Void)? = nil,
        _ body: (inout Context) throws -> Result
    ) throws -> (Result, CommitInFlight) {
        do {
            let transaction = try store.beginWrite()
            watched?.noteTurn()
            if let durability { transaction.durability = durability.engine }
            let isWatched = live.isWatched
            let hooks = middleware.all
            let logged = try loggedTrees(transaction)
            let keepsAll = tell != nil || !hooks.isEmpty
            let capture =
                isWatched || keepsAll || logged != nil
                ? RowCapture(isObserved: isWatched, keepsAll: keepsAll, logging: logged) : nil
            let core = StoreTransaction(transaction, schema: schema, capture: capture, registered: registered)
            if let watched { core.watchQueries(by: QueryWatch(watched.beginQuery)) }
            if requiresRelations { core.requireRelations() }
            let session = TypedTransaction(
                core, models: models, keepsDeleted: deletedRetention != .never)
            session.owner = ThreadNumber.current
            defer { session.end() }
            do {
                var context = Context(session)
                let result = try body(&context)
                let purged = try deletedPurge?.run(in: core)
                if let capture, keepsAll {
                    for hook in hooks where try core.hasChanged() {
                        try hook.body(&context, try StoreChanges(capture, in: core))
                    }
                    tell?(try StoreChanges(capture, in: core))
                }
                watched?.noteCommit()
                let commit = try core.beginCommit { if isWatched { live.enter($0) } }
                if let purged { deletedPurge?.proceed(to: purged) }
                return (result, commit)
            } catch {
                // Has no effect if the commit itself failed, because the transaction has ended then.
                transaction.abort()
                throw error
            }
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    /// Runs `body` in a read without blocking the caller's thread. Throws a `CancellationError` if the task is
    /// cancelled before the closure has begun. If it is cancelled later, the running query, statement or search, or the
    /// next one, throws `.cancelled` in the closure, and the call throws a `CancellationError`. If the closure catches
    /// `.cancelled`, the call returns the closure's result.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Result
    ) async throws -> Result {
        try await inTurn(of: readers, .read) { continuation, interruption, watched in
            continuation.resume(
                with: Swift.Result {
                    do {
                        return try self.read(endingBy: interruption, watched: watched, body)
                    } catch let error as HornbeamError where error.code == .cancelled {
                        throw CancellationError()
                    }
                })
        }
    }

    /// Runs `body` in the write transaction without blocking the caller's thread. Closures of concurrent calls run one
    /// after the other; commits that wait at the same time share one write to the medium. Throws a `CancellationError`,
    /// with nothing changed, if the task is cancelled before the closure has begun. A closure that has begun runs to
    /// its end and is committed.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (inout Context) throws -> Result
    ) async throws -> Result {
        try await enqueue(nil, body)
    }

    /// Runs `body` in the write transaction with a durability of its own, without blocking the caller's thread.
    @discardableResult
    public func write<Result: Sendable>(
        durability: Durability, _ body: @escaping @Sendable (inout Context) throws -> Result
    ) async throws -> Result {
        try await enqueue(durability, body)
    }

    /// Runs long work beside reads and writes. The second argument of `body` returns whether the task was cancelled.
    func inBackground<Result: Sendable>(
        _ body: @escaping @Sendable (Database, _ isCancelled: @escaping () -> Bool) throws -> Result
    ) async throws -> Result {
        let isCancelled = Atomic(false)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                readers.async {
                    continuation.resume(
                        with: Swift.Result { try body(self) { isCancelled.load(ordering: .relaxed) } })
                }
            }
        } onCancel: {
            isCancelled.store(true, ordering: .relaxed)
        }
    }

    /// Runs work that begins write transactions of its own, in the order of asynchronous writes.
    func inWriterQueue(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        try await inTurn(of: writer, nil) { continuation, _, _ in
            continuation.resume(with: Swift.Result { try body(self) })
        }
    }

    private func enqueue<Result: Sendable>(
        _ durability: Durability?, _ body: @escaping @Sendable (inout Context) throws -> Result
    ) async throws -> Result {
        try await inTurn(of: writer, .write) { continuation, _, watched in
            self.commit(continuation) { try self.begin(durability, watched: watched, body) }
        }
    }

    /// Like `run` with `tell`, without blocking the caller's thread.
    func enqueueTelling<Result: Sendable>(
        _ body: @escaping @Sendable (inout Context) throws -> Result
    ) async throws -> (Result, StoreChanges?) {
        try await inTurn(of: writer, .write) { continuation, _, watched in
            self.commit(continuation) {
                var changes: StoreChanges?
                let (result, commit) = try self.begin(nil, watched: watched, telling: { changes = $0 }, body)
                return ((result, changes), commit)
            }
        }
    }

    /// Resumes with the result of `begin`, once its commit is durable.
    private func commit<Result: Sendable>(
        _ continuation: CheckedContinuation<Result, any Error>, _ begin: () throws -> (Result, CommitInFlight)
    ) {
        do {
            let (result, commit) = try begin()
            commits.async {
                continuation.resume(
                    with: Swift.Result {
                        try self.finish(commit)
                        return result
                    })
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }

    /// Runs `body` when its turn on the queue comes, unless the task has been cancelled by then. `body` resumes the
    /// continuation. Its second argument is set if the task is cancelled later.
    private func inTurn<Result: Sendable>(
        of queue: DispatchQueue, _ kind: Span.Kind?,
        _ body: @escaping @Sendable (CheckedContinuation<Result, any Error>, Interruption, WatchedTransaction?) -> Void
    ) async throws -> Result {
        let interruption = Interruption()
        let watched = kind.flatMap { watch?.begin($0) }
        do {
            let result: Result = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    queue.async {
                        guard !interruption.isSet else { return continuation.resume(throwing: CancellationError()) }
                        body(continuation, interruption, watched)
                    }
                }
            } onCancel: {
                interruption.set()
            }
            watched?.end(nil)
            return result
        } catch {
            watched?.end(error)
            throw error
        }
    }

    // MARK: - Observers' reads

    /// Runs `body` in a read of its own that records the trees it reads.
    func look<Result>(_ body: (LiveView) throws -> Result) throws -> Result {
        do {
            let core = try beginWatchedRead()
            let session = TypedTransaction(core, models: models)
            defer { session.end() }
            live.figures.noteLook()
            let result = try body(LiveView(session: session, core: core, figures: live.figures))
            try session.checkIsWhole()
            return result
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    /// Begins a read of the newest state. The caller must end it.
    func beginLongRead() throws -> TypedTransaction {
        do {
            let core = try beginWatchedRead()
            let session = TypedTransaction(core, models: models)
            do {
                try checkVersion(session)
            } catch {
                session.end()
                throw error
            }
            return session
        } catch let error as StorageError {
            throw HornbeamError(error)
        }
    }

    /// The number of the newest state.
    func newestState() throws -> UInt64 {
        try engine { () throws(StorageError) in
            let read = try store.beginRead()
            defer { read.abort() }
            return read.version
        }
    }

    // MARK: - Upkeep

    /// Makes a checkpoint, closes the file, and ends all live queries and index builds. It first moves the last pages
    /// of the file, at most 64 MiB, if that may shorten the file by twice as much, as after a large load. Throws
    /// `.busy` while transactions or long-lived reads are open. Index builds stay ended even then: register an index
    /// again to continue building it. Throws `.failed` if an earlier write has failed, perhaps in the background:
    /// changes that were not durable may be lost. After any error but `.busy` the file is closed.
    public func close() throws {
        // Inside a write no build can end, and closing will throw.
        builds.stopAll(waiting: !store.isWriting)
        // A read by the log's handler would keep the store open.
        drainLog()
        defer { drainLog() }
        // On the queue of the observers, so that none of them reads: such a read is a transaction that isn't listed.
        try live.queue.sync {
            for read in longReads.all where read.isObservers { read.expire() }
            do { try engine { () throws(StorageError) in try store.close() } } catch let error as HornbeamError {
                // After any other error the file is closed too, except in a forked child.
                if error.code != .busy { live.finishAll() }
                throw error
            }
            live.finishAll()
            watch?.noteClosing()
        }
    }

    /// Waits until the log's handler has got all entries. Doesn't wait inside a write of this thread, for which the
    /// handler may wait, nor in a forked child, which has no thread for the handler.
    private func drainLog() {
        guard let watch, !store.isWriting, (try? store.checkProcess()) != nil else { return }
        watch.drain()
    }

    /// Checks the whole database, from pages up to relations and indexes. Calls `report` for each problem. Returns true
    /// if there are none. Reads the whole file.
    @discardableResult
    public func check(report: (String) -> Void = { _ in }) throws -> Bool {
        func tell(_ problem: String) { report(problem.shownAsMessage()) }
        let isEngineWhole = try engine { () throws(StorageError) in try store.check(report: tell) }
        // The layers above read through the pages, so they would only report the same damage again.
        guard isEngineWhole else { return false }
        return try read { context in
            try EntityCheck(try context.session.core, registered: registered).run(report: tell)
        }
    }

    /// Sizes and counts of the file, the journal and the cache.
    public var statistics: Statistics { Statistics(store.statistics) }

    private func engine<Result>(_ body: () throws(StorageError) -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw HornbeamError(error)
        }
    }
}
