// SPDX-License-Identifier: Apache-2.0
// The most memory that a part takes: the system keeps no such number of what no file backs.

import Foundation

/// Looks every few milliseconds, on a thread of its own.
package final class MemoryPeak: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = NSLock()
    private var most = Machine.resident.anonymous
    private var isEnded = false
    private let ended = DispatchSemaphore(value: 0)

    package init() {
        Thread.detachNewThread { [self] in
            while look() { usleep(5_000) }
            ended.signal()
        }
    }

    /// False when nobody asks any more.
    private func look() -> Bool {
        let now = Machine.resident.anonymous
        return lock.withLock {
            most = max(most, now)
            return !isEnded
        }
    }

    /// The most bytes since it was made. It looks no more.
    package func end() -> Int {
        let wasEnded = lock.withLock { () -> Bool in
            defer { isEnded = true }
            return isEnded
        }
        if !wasEnded { ended.wait() }
        return lock.withLock { most }
    }
}
