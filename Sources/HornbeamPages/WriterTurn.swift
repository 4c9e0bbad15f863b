// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to write. A mutex can't serve: a transaction may end on another thread than it began on.

import Glibc

/// One holder at a time; the others wait without spinning. Must be given back exactly once, by whichever thread.
final class WriterTurn: @unchecked Sendable {
    // Sendable: `holder` is only touched with `monitor` locked.
    private let monitor = Monitor()
    /// The thread that took the turn, nil if nobody has it. It may have handed its transaction on since.
    private var holder: pthread_t?

    /// Whether this very thread took the turn and it was not given back: then `take` would wait for itself. The answer
    /// stays right until this thread takes the turn; others can't take it in this one's name.
    var isMine: Bool {
        monitor.locked {
            guard let holder else { return false }
            return pthread_equal(holder, pthread_self()) != 0
        }
    }

    func take() {
        monitor.locked {
            while holder != nil { monitor.wait() }
            holder = pthread_self()
        }
    }

    func tryTake() -> Bool {
        monitor.locked {
            if holder != nil { return false }
            holder = pthread_self()
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
