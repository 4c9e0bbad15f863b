// SPDX-License-Identifier: Apache-2.0
// Whose turn it is to write. A mutex can't serve: a transaction may end on another thread than it began on.

import Glibc

/// One holder at a time; the others wait without spinning. Must be given back by whoever took it, exactly once.
final class WriterTurn: @unchecked Sendable {
    // Sendable: `holder` is only touched with `mutex` locked.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let freed: UnsafeMutablePointer<pthread_cond_t>
    /// The thread that took the turn, nil if nobody has it. It may have handed its transaction on since.
    private var holder: pthread_t?

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

    /// Whether this very thread took the turn and it was not given back: then `take` would wait for itself. The answer
    /// stays right until this thread takes the turn; others can't take it in this one's name.
    var isMine: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard let holder else { return false }
        return pthread_equal(holder, pthread_self()) != 0
    }

    func take() {
        pthread_mutex_lock(mutex)
        while holder != nil { pthread_cond_wait(freed, mutex) }
        holder = pthread_self()
        pthread_mutex_unlock(mutex)
    }

    func tryTake() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if holder != nil { return false }
        holder = pthread_self()
        return true
    }

    func give() {
        pthread_mutex_lock(mutex)
        holder = nil
        pthread_cond_signal(freed)
        pthread_mutex_unlock(mutex)
    }
}
