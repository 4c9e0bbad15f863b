// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to write. A mutex can't serve: a transaction may end on another thread than it began on.

import Glibc

/// The way in which a caller waits for the turn.
package enum TurnWait: Sendable {
    /// Not at all: throws if another thread has it.
    case no
    case inOrder
    /// After all threads that are waiting now; right for one of many short transactions.
    case behindOthers
    /// As the store's own thread, which gets no turn once it is to end.
    case inThread
}

/// One holder at a time; the others wait without spinning. Must be given back exactly once, by any thread.
final class WriterTurn: @unchecked Sendable {
    // Sendable: everything variable is only touched with `monitor` locked.
    private let monitor = Monitor()
    /// The thread that took the turn, nil if it is free. It may have handed its transaction on since.
    private var holder: pthread_t?
    /// Threads that work for the holder, which waits for them.
    private var helpers: [pthread_t] = []
    /// Whether the holder is no transaction, but gives the turn back after a short work of the store's own.
    private var isBrief = false
    /// The numbers of the callers that wait in `take`, in the order in which they came.
    private var waiting: [UInt64] = []
    private var lastNumber: UInt64 = 0
    /// The number of threads that wait in `takeBehindOthers` and `takeInThread`.
    private var yielding = 0
    /// Whether the store's thread is to end: it gets no turn any more.
    private var isThreadEnding = false

    /// Whether this very thread took the turn, or works for the one that did, and it was not given back: then `take`
    /// would wait for itself. The answer stays right until this thread takes the turn; other threads can't take it for
    /// this one.
    var isMine: Bool {
        monitor.locked {
            guard let holder else { return false }
            let thread = pthread_self()
            return pthread_equal(holder, thread) != 0 || helpers.contains { pthread_equal($0, thread) != 0 }
        }
    }

    /// Runs `body` for the holder, which waits for its end.
    func helping<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let thread = pthread_self()
        monitor.locked { helpers.append(thread) }
        defer {
            monitor.locked {
                let place = helpers.firstIndex { pthread_equal($0, thread) != 0 }
                if let place { helpers.remove(at: place) }
            }
        }
        return try body()
    }

    func take(briefly: Bool = false) {
        monitor.locked {
            if holder != nil {
                lastNumber &+= 1
                let number = lastNumber
                waiting.append(number)
                while holder != nil { monitor.wait() }
                waiting.removeAll { $0 == number }
            }
            holder = pthread_self()
            isBrief = briefly
        }
    }

    /// Threads that wait in `take`, and behind them.
    var waitingCount: Int { monitor.locked { waiting.count } }
    var yieldingCount: Int { monitor.locked { yielding } }

    /// For a thread that takes the turn again and again: all threads that wait in `take` now get theirs first.
    func takeBehindOthers() {
        monitor.locked {
            _ = waitBehindOthers(until: nil) { false }
            holder = pthread_self()
            isBrief = false
        }
    }

    /// Waits until all threads that are waiting now have had the turn and it is free, or there is no more need. Returns
    /// false if the deadline passes before.
    private func waitBehindOthers(until deadline: ContinuousClock.Instant?, _ isGivenUp: () -> Bool) -> Bool {
        let last = lastNumber
        yielding += 1
        defer { yielding -= 1 }
        while holder != nil || waiting.first.map({ $0 <= last }) == true, !isGivenUp() {
            guard let deadline else {
                monitor.wait()
                continue
            }
            guard monitor.wait(until: deadline) else { return false }
        }
        return true
    }

    /// Briefly, for the store's own thread, after all threads that are waiting now. Returns false once that thread is
    /// to end: the thread that ends it may hold the turn, and waits for it. Returns nil if it isn't free after this
    /// many milliseconds.
    func takeInThread(waiting milliseconds: Int? = nil) -> Bool? {
        monitor.locked {
            let deadline = milliseconds.map { ContinuousClock.now + .milliseconds($0) }
            let hasComeUp = waitBehindOthers(until: deadline) { isThreadEnding }
            if isThreadEnding {
                // If it was this thread that was woken for the turn, it is the next one's.
                monitor.broadcast()
                return false
            }
            guard hasComeUp else { return nil }
            holder = pthread_self()
            isBrief = true
            return true
        }
    }

    /// The store's thread takes the turn no more.
    func endThread() {
        monitor.locked {
            isThreadEnding = true
            monitor.broadcast()
        }
    }

    /// False if a transaction has the turn. Waits for the store's own short works.
    func tryTake(briefly: Bool = false) -> Bool {
        monitor.locked {
            while holder != nil {
                guard isBrief else { return false }
                monitor.wait()
            }
            holder = pthread_self()
            isBrief = briefly
            return true
        }
    }

    func give() {
        monitor.locked {
            holder = nil
            // The thread that is woken may be one that lets another go first.
            if yielding > 0 { monitor.broadcast() } else { monitor.signal() }
        }
    }
}
