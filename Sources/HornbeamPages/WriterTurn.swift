// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to write. A mutex can't serve: a transaction may end on another thread than it began on.

import Glibc

/// One holder at a time; the others wait without spinning. Must be given back by whoever took it, exactly once.
final class WriterTurn: @unchecked Sendable {
    // Sendable: `isTaken` is only touched with `mutex` locked.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let freed: UnsafeMutablePointer<pthread_cond_t>
    private var isTaken = false

    init() {
        mutex = .allocate(capacity: 1)
        freed = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(freed, nil)
    }

    deinit {
        pthread_cond_destroy(freed)
        pthread_mutex_destroy(mutex)
        freed.deallocate()
        mutex.deallocate()
    }

    func take() {
        pthread_mutex_lock(mutex)
        while isTaken { pthread_cond_wait(freed, mutex) }
        isTaken = true
        pthread_mutex_unlock(mutex)
    }

    func tryTake() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if isTaken { return false }
        isTaken = true
        return true
    }

    func give() {
        pthread_mutex_lock(mutex)
        isTaken = false
        pthread_cond_signal(freed)
        pthread_mutex_unlock(mutex)
    }
}
