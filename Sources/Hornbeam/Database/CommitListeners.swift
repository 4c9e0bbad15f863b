// SPDX-License-Identifier: Apache-2.0
// Closures that are called after each commit. They don't get its changes, which listeners read from the log.

import Synchronization

/// Any thread may use it.
final class CommitListeners: Sendable {
    private struct State {
        var bodies: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    func add(_ body: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.bodies[state.next] = body
            count.store(state.bodies.count, ordering: .sequentiallyConsistent)
            return state.next
        }
    }

    func remove(_ listener: Int) {
        state.withLock { state in
            state.bodies[listener] = nil
            count.store(state.bodies.count, ordering: .sequentiallyConsistent)
        }
    }

    /// Calls the closures. A caller of `add` must read the store after adding its closure, so that it misses no commit.
    func tell() {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
        for body in state.withLock({ Array($0.bodies.values) }) { body() }
    }
}
