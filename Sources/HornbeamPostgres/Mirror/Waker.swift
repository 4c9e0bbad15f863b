// SPDX-License-Identifier: Apache-2.0
// How the mirror hears of commits: writers leave a note, and wake the thread that waits for one.

import Dispatch
import HornbeamTree
import Synchronization

/// Any thread may use it; one waits.
final class Waker: Sendable {
    /// When the first note was left since the last look.
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

    /// Takes the note away. Returns when it was left, nil if there was none.
    func take() -> ContinuousClock.Instant? {
        heard.withLock { heard in
            defer { heard = nil }
            return heard
        }
    }

    private var hasHeard: Bool { heard.withLock { $0 != nil } }

    /// Waits for a note, which it leaves there, as long as `isAlive`: that is asked twice a second.
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
