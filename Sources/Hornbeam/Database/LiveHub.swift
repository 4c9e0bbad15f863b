// SPDX-License-Identifier: Apache-2.0
// The observers of a database, and the commits that they haven't processed. Writers only leave a note here. Everything
// else happens on the hub's queue, one observer after the other.
//
// No commit is missed: an observer is counted before its first read, and a writer reads that count after its commit is
// visible. So either the read sees the commit, or the writer sees the observer. If the changes of the commit were not
// captured, the log has a gap between two states, and the query is run again.

import Dispatch
import HornbeamPages
import HornbeamTree
import Synchronization

/// An observer, as the hub knows it.
protocol LiveObserver: AnyObject, Sendable {
    /// Passes the changes of the query to a waiting consumer. Called on the hub's queue.
    func look()
    /// The last state that it has processed, or nil before the first. Called on the hub's queue.
    var seen: UInt64? { get }
    /// Ends the sequence. Any thread may call it.
    func finish()
}

/// Any thread may use it.
final class LiveHub: Sendable {
    private struct State {
        var observers: [ObjectIdentifier: any LiveObserver] = [:]
        var log = CommitLog()
    }

    let queue = DispatchQueue(label: "hornbeam.observers")
    private let state = Mutex(State())
    private let count = Atomic<Int>(0)
    /// Whether a pass over the observers is due already.
    private let isDue = Atomic<Bool>(false)
    let figures = LiveFigures()

    // MARK: Writers

    /// Whether there are observers, for whom changes must be captured.
    var isWatched: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    /// Adds the changes of a commit to the log. Call it in the writer's turn, before the commit can be visible.
    func enter(_ changes: CommitChanges) { state.withLock { $0.log.append(changes) } }

    /// Notes a commit. Call it once the commit is visible, and so as durable as requested.
    func noteCommit() {
        guard isWatched, !isDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async { self.pass() }
    }

    /// Notifies all waiting observers of the commits. Runs on the queue.
    func pass() {
        // Cleared before anything is read: a commit from here on makes another pass due.
        isDue.store(false, ordering: .sequentiallyConsistent)
        let observers = state.withLock { Array($0.observers.values) }
        for observer in observers { observer.look() }
        // Forgets the commits that all observers have processed. An observer that has not begun yet will begin with a
        // newer state.
        if let least = observers.compactMap(\.seen).min() { state.withLock { $0.log.forget(upTo: least) } }
    }

    // MARK: Observers

    func add(_ observer: any LiveObserver) {
        state.withLock { state in
            if state.observers.isEmpty { state.log.forgetAll() }
            state.observers[ObjectIdentifier(observer)] = observer
            count.store(state.observers.count, ordering: .sequentiallyConsistent)
        }
    }

    func remove(_ observer: any LiveObserver) {
        state.withLock { state in
            state.observers[ObjectIdentifier(observer)] = nil
            count.store(state.observers.count, ordering: .sequentiallyConsistent)
            if state.observers.isEmpty { state.log.forgetAll() }
        }
    }

    /// Ends all sequences.
    func finishAll() {
        for observer in state.withLock({ Array($0.observers.values) }) { observer.finish() }
    }

    /// Returns the commits between two states, or nil if one is missing.
    func commits(after seen: UInt64, to number: UInt64) -> [CommitChanges]? {
        state.withLock { $0.log.commits(after: seen, to: number) }
    }

    var observerCount: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Number of commits that are kept for observers.
    var logCount: Int { state.withLock { $0.log.count } }
}

/// Counts of the work of observing so far. Tests check them.
package final class LiveFigures: Sendable {
    struct Counts: Sendable, Equatable {
        /// Number of times that an observer read the store.
        var looks = 0
        /// Number of times that a whole query was run, including the first time.
        var queries = 0
        /// Number of changed rows that were read.
        var rows = 0
        /// Number of elements passed to consumers.
        var elements = 0
    }

    private let mutex = Mutex(Counts())

    var counts: Counts { mutex.withLock { $0 } }

    func noteLook() { mutex.withLock { $0.looks += 1 } }
    package func noteQuery() { mutex.withLock { $0.queries += 1 } }
    func noteRow() { mutex.withLock { $0.rows += 1 } }
    func noteElement() { mutex.withLock { $0.elements += 1 } }
}
