// SPDX-License-Identifier: Apache-2.0
// The right to write, which one thread has at a time. A mutex doesn't do, because a transaction may end on another
// thread than it began on.

import Glibc

/// The way in which a caller waits for the turn.
package enum TurnWait: Sendable {
    /// Doesn't wait: throws if another thread has the turn.
    case no
    case inOrder
    /// Waits until all threads that are waiting now have had the turn. Right for one of many short transactions.
    case behindOthers
    /// Waits as the store's own thread, which gets no turn once it is to end.
    case inThread
}

/// One thread has the turn; the others wait without spinning. It must be given back exactly once, by any thread.
final class WriterTurn: @unchecked Sendable {
    // Sendable: everything variable is only touched with `monitor` locked.
    private let monitor = Monitor()
    /// The thread that took the turn; nil if it is free. It may have passed its transaction on since.
    private var holder: pthread_t?
    /// Threads that work for the holder, which waits for them.
    private var helpers: [pthread_t] = []
    /// Whether the holder is not a transaction, but short work of the store's own.
    private var isBrief = false
    /// The numbers of the callers that wait in `take`, in order of arrival.
    private var waiting: [UInt64] = []
    private var lastNumber: UInt64 = 0
    /// The number of threads that wait in `takeBehindOthers` and `takeInThread`.
    private var yielding = 0
    /// Whether the store's thread is to end. If so, it gets no turn any more.
    private var isThreadEnding = false

    /// Whether this thread took the turn, or works for the thread that did, and it was not given back. If so, `take`
    /// would wait for itself. The answer stays right until this thread takes the turn; other threads can't take it for
    /// this one.
    var isMine: Bool { monitor.locked { isHeldHere } }

    private var isHeldHere: Bool {
        guard let holder else { return false }
        let thread = pthread_self()
        return pthread_equal(holder, thread) != 0 || helpers.contains { pthread_equal($0, thread) != 0 }
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

    /// Waits for the turn and takes it. Returns false if it is this thread's already.
    func take(briefly: Bool = false) -> Bool {
        monitor.locked {
            if holder != nil {
                if isHeldHere { return false }
                lastNumber &+= 1
                let number = lastNumber
                waiting.append(number)
                while holder != nil { monitor.wait() }
                waiting.removeAll { $0 == number }
            }
            holder = pthread_self()
            isBrief = briefly
            return true
        }
    }

    /// Number of threads that wait in `take`, and (below) of those that wait behind them.
    var waitingCount: Int { monitor.locked { waiting.count } }
    var yieldingCount: Int { monitor.locked { yielding } }

    /// As `take`, for a thread that takes the turn again and again: all threads that wait in `take` now get it first.
    func takeBehindOthers() -> Bool {
        monitor.locked {
            if isHeldHere { return false }
            _ = waitBehindOthers(until: nil) { false }
            holder = pthread_self()
            isBrief = false
            return true
        }
    }

    /// Waits until all threads that are waiting now have had the turn and it is free, or until waiting is given up.
    /// Returns false if the deadline passes before.
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

    /// Takes the turn briefly, for the store's own thread, after all threads that are waiting now. Returns false once
    /// that thread is to end, because the thread that ends it may have the turn and wait for it. Returns nil if the
    /// turn isn't free after this many milliseconds.
    func takeInThread(waiting milliseconds: Int? = nil) -> Bool? {
        monitor.locked {
            let deadline = milliseconds.map { ContinuousClock.now + .milliseconds($0) }
            let hasComeUp = waitBehindOthers(until: deadline) { isThreadEnding }
            if isThreadEnding {
                // This thread may have been woken for the turn, so another must be woken instead.
                monitor.broadcast()
                return false
            }
            guard hasComeUp else { return nil }
            holder = pthread_self()
            isBrief = true
            return true
        }
    }

    /// Lets the store's thread take the turn no more.
    func endThread() {
        monitor.locked {
            isThreadEnding = true
            monitor.broadcast()
        }
    }

    /// Takes the turn. Returns false if a transaction has it. Waits for short work of the store's own.
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
            // The woken thread may be one that lets another go first.
            if yielding > 0 { monitor.broadcast() } else { monitor.signal() }
        }
    }
}
