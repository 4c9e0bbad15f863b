// SPDX-License-Identifier: Apache-2.0
// A mutex with a condition, for threads that wait for each other. The standard library's `Mutex` has no condition.

import Glibc

/// Locks and waits without spinning. A thread that changes state for which others wait must call `broadcast` before it
/// unlocks.
final class Monitor: @unchecked Sendable {
    // Sendable: both pointers are constant; their targets are made for any thread.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    init() {
        mutex = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }

    /// Waits, unlocked, for a change. May return without one, so the caller must look again.
    func wait() { pthread_cond_wait(changed, mutex) }

    /// Waits, unlocked, for a change, but no longer than `milliseconds`. Returns whether the time is up.
    func wait(milliseconds: Int) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + milliseconds % 1000 * 1_000_000
        deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        return pthread_cond_timedwait(changed, mutex, &deadline) == ETIMEDOUT
    }

    /// Waits, unlocked, for a change, but no longer than until `deadline`. Returns false, without waiting, if the
    /// deadline has passed.
    func wait(until deadline: ContinuousClock.Instant) -> Bool {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return false }
        _ = wait(milliseconds: Int(left / .milliseconds(1)) + 1)
        return true
    }

    func broadcast() { pthread_cond_broadcast(changed) }
    /// Wakes one of the waiting threads.
    func signal() { pthread_cond_signal(changed) }

    func locked<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
