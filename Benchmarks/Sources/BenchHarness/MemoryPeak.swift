// SPDX-License-Identifier: Apache-2.0
// The peak of a part's anonymous memory, for which the system has no counter.

import Foundation

/// Samples memory every few milliseconds, on a thread of its own.
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

    /// Takes a sample. Returns false once the measurement has ended.
    private func look() -> Bool {
        let now = Machine.resident.anonymous
        return lock.withLock {
            most = max(most, now)
            return !isEnded
        }
    }

    /// Ends the measurement. Returns the peak in bytes since its beginning.
    package func end() -> Int {
        let wasEnded = lock.withLock { () -> Bool in
            defer { isEnded = true }
            return isEnded
        }
        if !wasEnded { ended.wait() }
        return lock.withLock { most }
    }
}
