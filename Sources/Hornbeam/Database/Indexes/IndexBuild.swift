// SPDX-License-Identifier: Apache-2.0
// The background build of a registered index, for its caller: its progress, its end, and cancellation.

import Dispatch
import HornbeamPages
import Synchronization

/// A background build of a registered index: see `Database.register(inBackground:)`. The build continues even without
/// references to this object.
public final class IndexBuild: Sendable {
    /// The progress of a build.
    public struct Progress: Sendable, Equatable {
        /// The steps of a build, in their order.
        public enum Phase: String, Sendable {
            /// Entities are read. `done` and `total` count entities.
            case reading
            /// The sorted rows of the index are stored. `done` and `total` count these rows.
            case loading
            /// Changes since the beginning of the build are applied. `done` and `total` count entities. The total may
            /// grow.
            case catchingUp
        }

        public var phase: Phase
        /// Number of entities or rows done in this step.
        public var done: Int
        /// Number of entities or rows of this step.
        public var total: Int
    }

    public enum State: Sendable {
        case building(Progress)
        /// Queries can use the index.
        case finished
        /// The build was cancelled, by `cancel` or by the waiting task. Nothing of it is left.
        case cancelled
        /// The database was closed. Building the index again continues this build.
        case stopped
        /// The build failed. Nothing of it is left, unless the file can't be written any more.
        case failed(any Error)

        /// The reason why the build ended early, or nil if it is finished or running.
        fileprivate var obstacle: String? {
            switch self {
            case .building, .finished: nil
            case .cancelled: "it was cancelled"
            case .stopped: "the database was closed"
            case .failed(let error): "\(error)"
            }
        }
    }

    /// The requests to end a build.
    enum End: Error { case cancel, stop }

    private struct Inner: Sendable {
        var state = State.building(Progress(phase: .reading, done: 0, total: 0))
        var end: End?
        var listeners: [Int: AsyncStream<Progress>.Continuation] = [:]
        var nextListener = 0
    }

    /// The name of the index.
    public let name: String
    /// The identity of the index with its version, as the file stores it.
    let identity: [UInt8]
    private let inner = Mutex(Inner())
    private let running = DispatchGroup()

    init(_ registration: IndexRegistration) {
        name = registration.name
        identity = registration.identity
        running.enter()
    }

    /// The present state of the build.
    public var state: State { inner.withLock { $0.state } }

    /// The present progress of the build and each later one. The stream ends with the build. A slow reader gets only
    /// the newest element.
    public var progress: AsyncStream<Progress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = inner.withLock { inner -> Int? in
                guard case .building(let progress) = inner.state else { return nil }
                inner.nextListener += 1
                inner.listeners[inner.nextListener] = continuation
                continuation.yield(progress)
                return inner.nextListener
            }
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.inner.withLock { $0.listeners.removeValue(forKey: number) }
            }
        }
    }

    /// Cancels the build, which then leaves nothing behind: `value` throws `CancellationError`. Has no effect if the
    /// build has ended.
    public func cancel() { inner.withLock { $0.end = .cancel } }

    /// Waits for the build's end. Throws the error that ended it, `CancellationError` if it was cancelled, and
    /// `.indexNotReady` if the database was closed.
    public var value: Void {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                running.notify(queue: .global()) { continuation.resume(with: Result { try self.outcome() }) }
            }
        }
    }

    /// Waits for the build's end and blocks the caller's thread. Throws like `value`. Don't call it inside a write: the
    /// build waits for that write.
    public func wait() throws {
        running.wait()
        try outcome()
    }

    private func outcome() throws {
        switch state {
        case .building, .finished: break
        case .cancelled: throw CancellationError()
        case .failed(let error): throw error
        case .stopped:
            throw HornbeamError(
                .indexNotReady,
                "the database was closed while index “\(name)” was being built: it goes on when it is built again")
        }
    }

    // MARK: The builder's side

    /// Requests the build to end where it is.
    func stop() { inner.withLock { if $0.end == nil { $0.end = .stop } } }

    /// Waits until no part of it is running.
    func waitForEnd() { running.wait() }

    /// Notes the progress. Throws the requested end, if there is one.
    /// - Parameter total: the new total, or nil to keep the former one.
    func note(_ phase: Progress.Phase, adding done: Int, of total: Int?) throws(End) {
        try inner.withLock { (inner) throws(End) in
            if let end = inner.end { throw end }
            guard case .building(var progress) = inner.state else { return }
            if progress.phase != phase { progress = Progress(phase: phase, done: 0, total: progress.total) }
            progress.done += done
            // Rows that were added since are read too.
            progress.total = max(total ?? progress.total, progress.done)
            inner.state = .building(progress)
            for listener in inner.listeners.values { listener.yield(progress) }
        }
    }

    func end(_ state: State) {
        let listeners = inner.withLock { inner in
            inner.state = state
            defer { inner.listeners = [:] }
            return inner.listeners
        }
        for listener in listeners.values { listener.finish() }
        running.leave()
    }
}

/// The running builds of a database, by the names of their indexes.
final class IndexBuilds: Sendable {
    private let running = Mutex<[String: IndexBuild]>([:])
    /// Marks the queues that run builds.
    private static let mark = DispatchSpecificKey<Bool>()

    /// Returns the running build of an index, or nil if there is none. Throws `.busy` if it is a build of another
    /// version.
    private func join(_ registration: IndexRegistration, _ builds: [String: IndexBuild]) throws -> IndexBuild? {
        guard let build = builds[registration.name] else { return nil }
        guard build.identity == registration.identity else {
            throw HornbeamError(
                .busy,
                "index “\(registration.name)” is being built with another version or other settings: cancel that, or "
                    + "wait for its end")
        }
        return build
    }

    /// Returns the running build of an index, or begins one.
    /// - Parameter run: runs the build to its end, in a thread of its own.
    func begin(
        _ registration: IndexRegistration, _ run: @escaping @Sendable (IndexBuild) -> IndexBuild.State
    ) throws -> IndexBuild {
        let (build, isNew) = try running.withLock { builds in
            if let build = try join(registration, builds) { return (build, false) }
            let build = IndexBuild(registration)
            builds[registration.name] = build
            return (build, true)
        }
        guard isNew else { return build }
        let queue = DispatchQueue(label: "hornbeam.build", qos: .utility)
        queue.setSpecific(key: Self.mark, value: true)
        queue.async {
            let state = run(build)
            self.running.withLock { if $0[build.name] === build { $0[build.name] = nil } }
            build.end(state)
        }
        return build
    }

    /// Stops all builds where they are, and waits until they have ended, unless it is called by a build's own code.
    func stopAll(waiting: Bool) {
        let builds = running.withLock { Array($0.values) }
        for build in builds { build.stop() }
        if !waiting || DispatchQueue.getSpecific(key: Self.mark) == true { return }
        for build in builds { build.waitForEnd() }
    }
}

extension Database {
    /// Registers an index and builds it in the background, if it isn't built yet. Readers and writers continue. Queries
    /// of the index throw `.indexNotReady` until it is complete. A former index of this name can be used by its code
    /// until then.
    ///
    /// Several threads read entities and call the index's function at the same time. Writes wait for at most one slice
    /// of the work, 256 KiB of entries. Each entity that they change meanwhile is noted with its former content, and
    /// read again. The file needs space for the rows twice.
    ///
    /// The progress of the build is stored. After a crash, or when the database is closed, it is unfinished, and
    /// `registeredIndexes()` shows it. Call this function again to continue it. `register` and `unregister` drop it.
    ///
    /// A call while the index is being built returns the running build, or throws `.busy` if its version or settings
    /// differ. The build's `value` throws `.indexMismatch`, and any error that the index's function throws.
    @discardableResult
    public func register(inBackground index: some RegisteredIndex) throws -> IndexBuild {
        try register(inBackground: index.registration, BackgroundBuilder.Limits())
    }

    func register(
        inBackground registration: IndexRegistration, _ limits: BackgroundBuilder.Limits
    ) throws -> IndexBuild {
        try indexing {
            try admit(registration)
            if isReadOnly {
                try registerReadOnly(registration)
                let build = IndexBuild(registration)
                build.end(.finished)
                return build
            }
            return try builds.begin(registration) { build in
                self.watch?.noteBuild(of: registration)
                let began = ContinuousClock.now
                let state = self.run(build, registration, limits)
                self.watch?.noteBuild(of: registration, after: began.duration(to: .now), endedBy: state.obstacle)
                return state
            }
        }
    }

    /// Builds an index like `register(inBackground:)`, and waits for its end. Cancelling the task cancels the build.
    /// - Parameters:
    ///   - index: the index to register and build.
    ///   - progress: called in the caller's task during the build. It may throw to cancel the build.
    public func buildIndex(
        _ index: some RegisteredIndex, progress: (@Sendable (IndexBuild.Progress) throws -> Void)? = nil
    ) async throws {
        let build = try register(inBackground: index)
        try await withTaskCancellationHandler {
            if let progress {
                do {
                    for await step in build.progress { try progress(step) }
                } catch {
                    build.cancel()
                    try? await build.value
                    throw error
                }
            }
            try await build.value
        } onCancel: {
            build.cancel()
        }
    }

    /// Runs a build to its end.
    func run(
        _ build: IndexBuild, _ registration: IndexRegistration, _ limits: BackgroundBuilder.Limits
    ) -> IndexBuild.State {
        let builder = BackgroundBuilder(database: self, registration: registration, build: build, limits: limits)
        do {
            try builder.run()
            return .finished
        } catch IndexBuild.End.stop {
            return .stopped
        } catch IndexBuild.End.cancel {
            do {
                try builder.drop()
                return .cancelled
            } catch {
                return .failed((error as? StorageError).map { HornbeamError($0) } ?? error)
            }
        } catch is BackgroundBuilder.Superseded {
            // Another call may have registered this index meanwhile.
            if registered.maintained[build.name]?.registration.identity == build.identity { return .finished }
            return .failed(
                HornbeamError(
                    .indexNotReady,
                    "index “\(build.name)” was dropped, or registered with other settings, while it was being built"))
        } catch {
            // The error that ended the build is reported. If dropping the build fails too, it stays in the file as
            // after a crash.
            try? builder.drop()
            return .failed((error as? StorageError).map { HornbeamError($0) } ?? error)
        }
    }
}
