// SPDX-License-Identifier: Apache-2.0
// Who observes a database, and what was committed meanwhile. Writers only leave word here; all else happens on a queue
// of the hub's own, one observer after the other.
//
// Why no commit is missed: an observer counts before it reads for the first time, and a writer looks at that count
// after its commit is visible. So either the read sees the commit, or the writer sees the observer. Whether the
// commit's changes were gathered is another matter: if not, the way between two states has a gap, and the query is
// asked anew.

import Dispatch
import HornbeamPages
import HornbeamTree
import Synchronization

/// One observer as the hub knows it.
protocol LiveObserver: AnyObject, Sendable {
    /// On the hub's queue: gives the consumer, if it waits, what has become of its query.
    func look()
    /// The state that it has taken account of; nil before the first. On the hub's queue.
    var seen: UInt64? { get }
    /// Ends the sequence. From any thread.
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

    /// Whether there is anybody to gather changes for.
    var isWatched: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    /// To be called in the writer's turn, before the commit can be visible.
    func enter(_ changes: CommitChanges) { state.withLock { $0.log.append(changes) } }

    /// To be called once a commit is visible, and so as durable as was asked.
    func noteCommit() {
        guard isWatched, !isDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async { self.pass() }
    }

    /// Tells all observers that wait what has been committed. On the queue.
    func pass() {
        // Before looking at anything: a commit from here on makes another pass due.
        isDue.store(false, ordering: .sequentiallyConsistent)
        let observers = state.withLock { Array($0.observers.values) }
        for observer in observers { observer.look() }
        // All have taken account of these. One that has not begun yet will begin with a newer state.
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

    /// The commits between two states; nil if they are not all known.
    func commits(after seen: UInt64, to number: UInt64) -> [CommitChanges]? {
        state.withLock { $0.log.commits(after: seen, to: number) }
    }

    var observerCount: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Commits that are kept for observers.
    var logCount: Int { state.withLock { $0.log.count } }
}

/// What observing has cost so far. Tests hold it to account.
package final class LiveFigures: Sendable {
    struct Counts: Sendable, Equatable {
        /// Times that an observer looked into the store.
        var looks = 0
        /// Times that a whole query was asked, the first time included.
        var queries = 0
        /// Changed rows that were looked at.
        var rows = 0
        /// Elements handed to consumers.
        var elements = 0
    }

    private let mutex = Mutex(Counts())

    var counts: Counts { mutex.withLock { $0 } }

    func noteLook() { mutex.withLock { $0.looks += 1 } }
    package func noteQuery() { mutex.withLock { $0.queries += 1 } }
    func noteRow() { mutex.withLock { $0.rows += 1 } }
    func noteElement() { mutex.withLock { $0.elements += 1 } }
}
