// SPDX-License-Identifier: Apache-2.0
// Tells the mirror of commits: writers leave a note, and wake the thread that waits for one.
// How the mirror hears of commits: writers leave a note, and wake the thread that waits for one.

import Dispatch
import HornbeamTree
import Synchronization

/// Any thread may leave a note; one thread waits.
final class Waker: Sendable {
    /// The time of the first note since the last `take`. Nil if there is none.
    private let heard = Mutex<ContinuousClock.Instant?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    /// Leaves a note.
    func wake() {
        let isFirst = heard.withLock { heard in
            guard heard == nil else { return false }
            heard = .now
            return true
        }
        if isFirst { semaphore.signal() }
    }

    /// Takes the note away. Returns the time at which it was left, or nil if there was none.
    func take() -> ContinuousClock.Instant? {
        heard.withLock { heard in
            defer { heard = nil }
            return heard
        }
    }

    private var hasHeard: Bool { heard.withLock { $0 != nil } }

    /// Waits for a note, which stays, or until `isAlive` returns false. Calls it twice a second.
    func wait(_ interruption: Interruption, while isAlive: () -> Bool) {
        while !hasHeard, !interruption.isSet, isAlive() { _ = semaphore.wait(timeout: .now() + .milliseconds(500)) }
    }

    /// Waits for a time, or until it is interrupted.
    func sleep(_ time: Duration, unless interruption: Interruption) {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end, !interruption.isSet {
            _ = semaphore.wait(timeout: .now() + .milliseconds(50))
        }
    }
}
