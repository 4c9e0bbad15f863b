// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to write. A mutex can't serve: a transaction may end on another thread than it began on.

import Glibc

/// One holder at a time; the others wait without spinning. Must be given back exactly once, by whichever thread.
final class WriterTurn: @unchecked Sendable {
    // Sendable: everything variable is only touched with `monitor` locked.
    private let monitor = Monitor()
    /// The thread that took the turn, nil if nobody has it. It may have handed its transaction on since.
    private var holder: pthread_t?
    /// Whether the holder is no transaction, but gives the turn back after a short work of the store's own.
    private var isBrief = false
    /// Whether the store's thread is to end: it gets no turn any more.
    private var isThreadEnding = false

    /// Whether this very thread took the turn and it was not given back: then `take` would wait for itself. The answer
    /// stays right until this thread takes the turn; others can't take it in this one's name.
    var isMine: Bool {
        monitor.locked {
            guard let holder else { return false }
            return pthread_equal(holder, pthread_self()) != 0
        }
    }

    func take(briefly: Bool = false) {
        monitor.locked {
            while holder != nil { monitor.wait() }
            holder = pthread_self()
            isBrief = briefly
        }
    }

    /// Briefly, for the store's own thread. False once that is to end: who ends it may hold the turn, and waits for it.
    func takeInThread() -> Bool {
        monitor.locked {
            while holder != nil, !isThreadEnding { monitor.wait() }
            if isThreadEnding {
                // If it was this thread that was woken for the turn, it is the next one's.
                monitor.signal()
                return false
            }
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
            monitor.signal()
        }
    }
}
