// SPDX-License-Identifier: Apache-2.0
// One consumer's observation of one query. Elements are computed only while the consumer waits. So a slow consumer
// never has more than one pending element, and gets all commits since the last one as one change.

import Dispatch
import HornbeamPages
package import HornbeamTree
import Synchronization

/// The state of a query between two elements. A value, so that nothing else can change it.
package protocol LiveResult: Sendable {
    associatedtype Element: Sendable

    /// The trees that the result depends on. Commits that leave them alone can't change it.
    var trees: Set<TreeID> { get }
    /// Returns the first element.
    mutating func begin(_ view: LiveView) throws -> Element
    /// Returns the next element, or nil if nothing has changed.
    /// - Parameter commits: the commits since the last look, or nil if they aren't known any more.
    mutating func advance(_ view: LiveView, _ commits: [CommitChanges]?) throws -> Element?
}

final class Observation<Result: LiveResult>: LiveObserver {
    typealias Element = Result.Element

    private struct Progress: Sendable {
        var result: Result
        var seen: UInt64?
    }

    private struct Consumer: Sendable {
        var waiting: CheckedContinuation<Element?, any Error>?
        var hasFinished = false
    }

    private let database: Database
    /// Locked only on the hub's queue, so no thread ever waits.
    private let progress: Mutex<Progress>
    private let consumer = Mutex(Consumer())

    private var hub: LiveHub { database.live }

    init(_ result: Result, of database: Database) {
        self.database = database
        progress = Mutex(Progress(result: result))
    }

    func start() { hub.add(self) }

    // MARK: The consumer's side

    /// Returns the next element, once there is one, or nil when the observation has ended.
    func next() async throws -> Element? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait($0) }
        } onCancel: {
            finish()
        }
    }

    private func wait(_ continuation: CheckedContinuation<Element?, any Error>) {
        // One task at a time uses an iterator. A second one ends the wait of the first.
        let (former, hasFinished) = consumer.withLock { consumer in
            let former = consumer.waiting
            consumer.waiting = consumer.hasFinished ? nil : continuation
            return (former, consumer.hasFinished)
        }
        former?.resume(returning: nil)
        if hasFinished { continuation.resume(returning: nil) } else { hub.queue.async { self.look() } }
    }

    func finish() {
        let waiting = consumer.withLock { consumer in
            consumer.hasFinished = true
            return consumer.waiting.take()
        }
        hub.remove(self)
        waiting?.resume(returning: nil)
    }

    /// Whether the consumer waits for an element.
    var isWaiting: Bool { consumer.withLock { $0.waiting != nil } }

    /// Returns the next element, or nil if nothing has changed. For tests.
    func poll() throws -> Element? { try hub.queue.sync { try step() } }

    // MARK: The hub's queue

    var seen: UInt64? { progress.withLock { $0.seen } }

    func look() {
        guard isWaiting else { return }
        let outcome: Swift.Result<Element?, any Error>
        do {
            guard let element = try step() else { return }
            hub.figures.noteElement()
            outcome = .success(element)
        } catch {
            outcome = .failure(error)
        }
        let waiting = consumer.withLock { $0.waiting.take() }
        if case .failure = outcome { finish() }
        waiting?.resume(with: outcome)
    }

    private func step() throws -> Element? {
        try progress.withLock { progress in
            guard let seen = progress.seen else {
                return try database.look { view in
                    let element = try progress.result.begin(view)
                    progress.seen = view.version
                    return element
                }
            }
            let newest = try database.newestState()
            guard newest > seen else { return nil }
            if let commits = hub.commits(after: seen, to: newest),
                commits.allSatisfy({ $0.trees.isDisjoint(with: progress.result.trees) })
            {
                progress.seen = newest
                return nil
            }
            return try database.look { view in
                // The commits up to the state that this view reads, which may be newer than `newest`.
                let commits = hub.commits(after: seen, to: view.version)
                let element = try progress.result.advance(view, commits)
                progress.seen = view.version
                return element
            }
        }
    }
}
