// SPDX-License-Identifier: Apache-2.0
// The public interface of the mirror. Its functions are asynchronous. The work blocks, so it is done by threads of its
// own.

import Glibc
public import Hornbeam
import HornbeamTree
import Synchronization

/// A live copy of a database's entities in PostgreSQL, for others to query, join, replicate and restore from.
///
/// The store remains the only writer. The mirror writes the changes of the store's log to ordinary tables: one for each
/// type, with a column for each property and each to-one relation, and one for each to-many relation. Each transaction
/// in the server brings the tables to one later state of the store, exactly once, however often the program or the
/// server is killed. The store keeps a note of the batch on its way, and the server a record of the last one; together
/// they show which changes have arrived.
///
/// ```swift
/// let mirror = try PostgresMirror(
///     of: database, named: "reporting", to: "postgresql://writer@db1,db2/news?target_session_attrs=read-write",
///     schema: "news")
/// try await mirror.run()  // until the task is cancelled
/// ```
///
/// `Docs/mirror.md` describes the tables, lag, failover and restoring.
public final class PostgresMirror: Sendable {
    /// The types that are mirrored.
    public struct Types: Sendable {
        let names: [String]?

        /// All types of the store, also those that it gets later, and the deleted entities that it keeps.
        public static let all = Types(names: nil)

        /// The types of these models.
        public static func only(_ models: any EntityModelProtocol.Type...) -> Types {
            Types(names: models.map { $0.entityName })
        }

        /// The types with these names, for programs without models.
        public static func named(_ names: [String]) -> Types { Types(names: names) }
    }

    public struct Options: Sendable {
        /// Indexes that the mirror's tables get when they are filled.
        public struct Indexes: OptionSet, Sendable {
            public let rawValue: Int
            public init(rawValue: Int) { self.rawValue = rawValue }

            /// Plain indexes for the declared value, unique and hash indexes, and one for each relation.
            public static let declared = Indexes(rawValue: 1)
            /// GIN indexes over `to_tsvector('simple', …)` for the full-text indexes.
            public static let fullText = Indexes(rawValue: 2)
        }

        public var indexes: Indexes = []
        /// Maximum time that the server may take for a part of a batch. Then the mirror gives up, releases the store's
        /// state and tries again.
        public var timeout: Duration = .seconds(30)
        /// Maximum time that a statement of a first copy, `verify` or `reconcile` may take.
        public var copyTimeout: Duration = .seconds(3600)
        /// Maximum number of changes that the store keeps for a server that is away. Nil means no bound. If there are
        /// more, the mirror misses some, and compares all entities of their types.
        public var retention: Int? = 1_000_000

        public init() {}
    }

    /// The progress of a copy, in entities.
    public struct Progress: Sendable, Equatable {
        public internal(set) var done: Int
        public internal(set) var total: Int
    }

    /// The lag of the mirror behind the store.
    public struct Lag: Sendable, Equatable {
        /// The state of the store that the mirror shows: `Database.version` of that moment.
        public let version: UInt64
        /// Number of changes of the last batch.
        public let changes: Int
        /// The time from the moment when the mirror learned of the batch's first commit to the moment when the server
        /// had the batch.
        public let time: Duration
    }

    public enum State: Sendable {
        /// A first copy, or a comparison of whole types.
        case copying(Progress)
        case following(Lag)
        /// The server is away, silent or full. The mirror tries again by itself.
        case waiting(HornbeamError)
        /// Store and mirror have diverged. Nothing is written until `reconcile`.
        case diverged(HornbeamError)
    }

    private let settings: MirrorSettings
    /// Whether a session is at work with store and server. There is one at a time, because there is one note.
    private let isAtWork = Mutex(false)
    private let shared = Mutex(Shared())
    private let waker = Waker()

    private struct Shared {
        var isRunning = false
        /// The error with which the last run ended.
        var failure: (any Error)?
        var reached: UInt64 = 0
        var waiting: [(id: UInt64, version: UInt64, resume: (Result<Void, any Error>) -> Void)] = []
        var nextID: UInt64 = 0
        var listeners: [UInt64: AsyncStream<State>.Continuation] = [:]
        var last: State?
    }

    /// Makes a mirror, which begins its work with `run`. Doesn't connect to the server yet. Throws `.invalid` for a
    /// schema or times that aren't allowed, and `.readOnly` for a database that is open read-only.
    /// - Parameters:
    ///   - database: the store to mirror, open for writing.
    ///   - name: the name of its consumer in the store, 1 to 200 bytes. It identifies the mirror's position in the log:
    ///     a mirror in another schema needs another name.
    ///   - address: the server's address in libpq's form: `postgresql://user@host/database`, several hosts, a service.
    ///   - schema: the schema in the server, for this mirror alone. It is made if it doesn't exist.
    ///   - types: the entity types to mirror; all if omitted.
    ///   - options: timeouts, indexes of the mirror's tables, and the number of changes that the store keeps.
    public init(
        of database: Database, named name: String, to address: String, schema: String = "hornbeam", types: Types = .all,
        options: Options = Options()
    ) throws {
        _ = try mirrorSchema(schema)
        guard options.timeout >= .seconds(1), options.copyTimeout >= options.timeout,
            options.copyTimeout <= .seconds(1_000_000)
        else {
            throw HornbeamError(
                .invalid, "Options.timeout must be 1 s or more, Options.copyTimeout no shorter and 1,000,000 s at most")
        }
        guard !database.isReadOnly else {
            throw HornbeamError(.readOnly, "the mirror writes its position to the store: open the store for writing")
        }
        settings = MirrorSettings(
            database: database, name: name, address: address, schemaName: schema, types: types, options: options)
    }

    // MARK: Following

    /// Runs the mirror until the task is cancelled: sends everything that the mirror lacks, then each change as it is
    /// committed. Waits by itself for a server that is away. Throws errors that waiting doesn't cure: a user without
    /// access, a schema that belongs to somebody else, `.diverged`. Throws `.busy` if the mirror is already running.
    public func run() async throws {
        try shared.withLock { (shared) throws(HornbeamError) in
            guard !shared.isRunning else { throw HornbeamError(.busy, "the mirror “\(settings.name)” runs already") }
            shared.isRunning = true
            shared.failure = nil
        }
        defer { shared.withLock { $0.isRunning = false } }
        let listening = settings.database.onCommit { [waker] in waker.wake() }
        defer { settings.database.forget(listening) }
        do {
            try await blocking { try self.follow($0) }
        } catch let error as HornbeamError where error.code == .cancelled {
            return
        } catch {
            fail(with: error)
            throw error
        }
    }

    private func follow(_ interruption: Interruption) throws {
        var pause = Duration.milliseconds(100)
        while !interruption.isSet {
            do {
                try follow(interruption) { pause = .milliseconds(100) }
            } catch let error as HornbeamError where error.passes {
                tell(.waiting(error))
                waker.sleep(pause, unless: interruption)
                // Random, so that not all mirrors of a server try again at once when it comes back.
                pause = min(.seconds(30), pause * 2) * Double.random(in: 0.8...1)
            } catch let error as HornbeamError where error.code == .diverged {
                shared.withLock { $0.reached = 0 }
                tell(.diverged(error))
                throw error
            }
        }
    }

    /// Follows over one connection.
    private func follow(_ interruption: Interruption, settled: () -> Void) throws {
        let session = try session(interruption)
        while !interruption.isSet {
            let heard = waker.take()
            let outcome = try inTurn(interruption) { try session.run(.follow) }
            settled()
            reach(outcome.version)
            let time = outcome.changes > 0 ? heard.map { ContinuousClock.now - $0 } ?? .zero : .zero
            // The acknowledgement of a batch is a commit, too, after which there is nothing to send.
            if outcome.changes > 0 || !isFollowing {
                tell(.following(Lag(version: outcome.version, changes: outcome.changes, time: time)))
            }
            waker.wait(interruption) { session.isAlive }
            guard session.isAlive else {
                throw HornbeamError(.unreachable, "the server has closed the connection")
            }
        }
    }

    private var isFollowing: Bool {
        shared.withLock { shared in
            if case .following? = shared.last { true } else { false }
        }
    }

    /// Runs `body` when no other session is at work.
    private func inTurn<Result>(_ interruption: Interruption, _ body: () throws -> Result) throws -> Result {
        while !isAtWork.withLock({ isAtWork in
            defer { isAtWork = true }
            return !isAtWork
        }) {
            if interruption.isSet { throw HornbeamError(.cancelled, "the work with the mirror was cancelled") }
            usleep(2000)
        }
        defer { isAtWork.withLock { $0 = false } }
        return try body()
    }

    private func session(_ interruption: Interruption) throws -> MirrorSession {
        try MirrorSession(settings, interruption: interruption) { [self] in tell(.copying($0)) }
    }

    // MARK: Comparing

    /// Brings the mirror up to the store's state, then compares all rows. Throws `.diverged`, with the first rows that
    /// differ, if somebody has changed the tables. Reads all entities, and sends them to the server.
    public func verify() async throws {
        let found = try await differences(limit: 1000)
        if found.isEmpty { return }
        let shown = found.prefix(5).map(\.description).joined(separator: ", ") + (found.count > 5 ? ", …" : "")
        let count = found.count < 1000 ? Spelling.counted(found.count, "difference") : "1000 differences or more"
        throw HornbeamError(
            .diverged, "\(count) between mirror and store: \(shown); reconcile() makes the tables those of the store")
    }

    /// Returns the rows in which mirror and store differ, at most `limit` of each table. See `verify`.
    public func differences(limit: Int = 1000) async throws -> [MirrorDifference] {
        try await once(.compare(limit: max(1, limit))).differences
    }

    /// Makes the tables equal to the store, whatever they are now: compares everything, and writes the rows that
    /// differ. Use it for a mirror that has diverged, and after changes by hand. Another store that mirrors into the
    /// same schema can't write to it afterwards.
    /// - Returns: the number of the store's state that the mirror shows then.
    @discardableResult
    public func reconcile() async throws -> UInt64 { try await once(.reconcile).version }

    /// Brings the mirror up to the store's newest state once.
    /// - Returns: the state's number.
    @discardableResult
    public func update() async throws -> UInt64 { try await once(.follow).version }

    private func once(_ work: MirrorSession.Work) async throws -> MirrorSession.Outcome {
        try await blocking { interruption in
            let outcome = try self.inTurn(interruption) { try self.session(interruption).run(work) }
            self.shared.withLock { $0.failure = nil }
            self.reach(outcome.version)
            return outcome
        }
    }

    private func blocking<Result: Sendable>(
        _ body: @escaping @Sendable (Interruption) throws -> Result
    ) async throws -> Result {
        let waker = waker
        return try await runBlocking(body) { waker.wake() }
    }

    // MARK: Waiting

    /// Waits until the server has committed the store's state of this number, so that it survives the loss of this
    /// machine: after a write, call `reach(database.version)`. Waits as long as the mirror does. Throws the error with
    /// which `run` ends or has ended, and a `CancellationError` if the task is cancelled.
    public func reach(_ version: UInt64) async throws {
        let id = shared.withLock { shared in
            shared.nextID += 1
            return shared.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let known: Result<Void, any Error>? = shared.withLock { shared in
                    if let failure = shared.failure { return .failure(failure) }
                    if shared.reached >= version { return .success(()) }
                    shared.waiting.append((id, version, { continuation.resume(with: $0) }))
                    return nil
                }
                if let known { continuation.resume(with: known) }
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    private func leave(_ id: UInt64) {
        let left = shared.withLock { shared in
            shared.waiting.firstIndex { $0.id == id }.map { shared.waiting.remove(at: $0) }
        }
        left?.resume(.failure(CancellationError()))
    }

    private func reach(_ version: UInt64) {
        let reached = shared.withLock { shared in
            shared.reached = max(shared.reached, version)
            let reached = shared.waiting.filter { $0.version <= version }
            shared.waiting.removeAll { $0.version <= version }
            return reached
        }
        for one in reached { one.resume(.success(())) }
    }

    private func fail(with error: any Error) {
        let waiting = shared.withLock { shared in
            defer { shared.waiting = [] }
            shared.failure = error
            return shared.waiting
        }
        for one in waiting { one.resume(.failure(error)) }
    }

    /// The mirror's states, from the present one on. A slow reader gets only the newest ones.
    public var states: AsyncStream<State> {
        AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
            let id = shared.withLock { shared in
                shared.nextID += 1
                shared.listeners[shared.nextID] = continuation
                if let last = shared.last { continuation.yield(last) }
                return shared.nextID
            }
            continuation.onTermination = { [weak self] _ in
                self?.shared.withLock { $0.listeners[id] = nil }
            }
        }
    }

    private func tell(_ state: State) {
        let listeners = shared.withLock { shared in
            shared.last = state
            return Array(shared.listeners.values)
        }
        for listener in listeners { listener.yield(state) }
    }

    deinit {
        for listener in shared.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }
}
