// SPDX-License-Identifier: Apache-2.0
// The thread that checkpoints beside readers and the writer: when the journal is nearly full, when many pages are
// dirty, or when there was no commit for a while. In a store without a thread, because none may be free
// (`StoreThreads`), the commits themselves checkpoint. The thread also makes room for pages in memory, and gives space
// back after a checkpoint. After a moment without a commit it writes for other processes what they couldn't read yet,
// and sooner if one of them waits.

import Synchronization

/// Keeps its store alive while it runs. `PageStore.close` ends its work. Code that releases a store without closing it
/// must end the work by `PageStore.endThread`.
final class CheckpointWorker: StoreWork, @unchecked Sendable {
    // Sendable: everything variable but the atomic is guarded by `monitor`.
    private let monitor = Monitor()
    /// Its store; nil while it neither runs nor waits for a thread. A strong reference, so that the thread is never the
    /// last user of the store.
    private var store: PageStore?
    /// Number of threads in `serve`: a thread that has released the store may still be there when the next one comes.
    private var serving = 0
    /// The time when it began to wait for a thread, and the newest transaction at that time.
    private var waiting: (since: ContinuousClock.Instant, newest: UInt64)?
    private var isWanted = false
    private var wantsRoom = false
    private let busy = Atomic<Bool>(false)
    /// Whether the first commit begins the thread: a program that only reads needs none.
    private var isAllowed = false
    /// True while there is nothing to do until a commit comes.
    private let isResting = Atomic<Bool>(true)
    /// True if, in addition, there is something to do after a while, unless a commit comes that leaves something to
    /// tell.
    private let isIdling = Atomic<Bool>(false)

    /// Lets the next commit begin the thread.
    func allow() { monitor.locked { isAllowed = true } }

    /// The time when the system refused a thread. It isn't asked again for a while.
    private var refusedAt: ContinuousClock.Instant?
    private static let patience = Duration.seconds(1)

    /// Asks for a thread. Returns false if the system gives none: then commits checkpoint, and one of them asks again
    /// later.
    private func start(for store: PageStore) -> Bool {
        if let refusedAt, refusedAt.duration(to: .now) < Self.patience { return false }
        self.store = store
        isAllowed = false
        waiting = (.now, store.pipeline.newestNumber)
        switch StoreThreads.shared.take(self) {
        case .begun: running.store(true, ordering: .relaxed)
        case .waits: break
        case .noThread:
            self.store = nil
            isAllowed = true
            refusedAt = .now
            return false
        }
        return true
    }

    /// Runs in a thread, which belongs to this store for now.
    func serve() {
        let waited = monitor.locked { () -> (newest: UInt64, isLong: Bool)? in
            // It may have been stopped while it waited.
            guard let store, let waiting else { return nil }
            self.waiting = nil
            serving += 1
            running.store(true, ordering: .relaxed)
            let idle = store.options.idleMilliseconds
            return (waiting.newest, idle > 0 && waiting.since.duration(to: .now) >= .milliseconds(idle))
        }
        guard let waited else { return }
        work(since: waited.newest, hasRested: waited.isLong)
        monitor.locked {
            serving -= 1
            monitor.broadcast()
        }
    }

    /// Read without a lock, like `isReady`: the caller may have the pipeline's lock, which the thread takes inside its
    /// own.
    var isRunning: Bool { running.load(ordering: .relaxed) }
    /// Whether a commit's pending announcement will be made soon, at the end of a checkpoint at the latest. It won't
    /// while the thread waits for the writer's turn.
    var isReady: Bool { isRunning && !isWaiting.load(ordering: .sequentiallyConsistent) }
    private let running = Atomic<Bool>(false)
    let isWaiting = Atomic(false)

    /// Ends the thread's work and waits for its end. Announces the states that the thread would have announced, because
    /// the store may go on without it.
    func stop() {
        let store = monitor.locked { () -> PageStore? in
            defer { self.store = nil }
            running.store(false, ordering: .relaxed)
            isAllowed = false
            monitor.broadcast()
            return self.store
        }
        StoreThreads.shared.remove(self)
        monitor.locked { while serving > 0 { monitor.wait() } }
        store?.catchUp()
    }

    /// Wakes the thread because a checkpoint is due.
    func wake() {
        monitor.locked {
            isWanted = true
            monitor.broadcast()
        }
    }

    /// Wakes the thread because memory for pages that are not written yet is getting scarce.
    func wakeForRoom() {
        monitor.locked {
            guard !wantsRoom, !busy.load(ordering: .relaxed) else { return }
            wantsRoom = true
            monitor.broadcast()
        }
    }

    /// Notes that the thread begins a checkpoint.
    func beginWork() { monitor.locked { busy.store(true, ordering: .sequentiallyConsistent) } }
    func endWork() { busy.store(false, ordering: .sequentiallyConsistent) }

    /// Whether a checkpoint is wanted, for the thread's work after one. Clears the wish.
    func takeWish() -> Bool {
        monitor.locked {
            defer { isWanted = false }
            return isWanted
        }
    }

    private func takeRoomWish() -> Bool {
        monitor.locked {
            defer { wantsRoom = false }
            return wantsRoom
        }
    }

    /// Asks for a checkpoint that seems to be due, unless one is running, which may cover it.
    func wakeUnlessBusy() {
        monitor.locked {
            guard !busy.load(ordering: .relaxed) else { return }
            isWanted = true
            monitor.broadcast()
        }
    }

    /// Notes a commit, which will be checkpointed after a while without another.
    func noteCommit(in store: PageStore) {
        guard isResting.load(ordering: .sequentiallyConsistent) else { return }
        if isIdling.load(ordering: .sequentiallyConsistent), !store.isInArrears { return }
        monitor.locked {
            if isAllowed, !start(for: store) { return }
            isResting.store(false, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    /// `newest`: the newest transaction when it began to wait for a thread. `hasRested`: whether that is a while ago.
    private func work(since newest: UInt64, hasRested: Bool) {
        var seen = newest
        var rested = hasRested ? Rest.idleTime : .woken
        var failures = 0
        var stillMoments = 0
        while let store = monitor.locked({ self.store }) {
            let idle = store.options.idleMilliseconds
            let newest = store.pipeline.newestNumber
            let isStill = newest == seen
            seen = newest
            stillMoments = isStill && rested == .moment ? stillMoments + 1 : 0
            if rested == .moment,
                stillMoments >= Self.momentsOfRest || isStill && failures > 0 || store.isAwaited
            {
                failures = store.catchUp() ? 0 : failures + 1
            }
            if !isStill { failures = 0 }
            // Failed attempts count as time without a commit.
            let isIdle = rested == .idleTime || failures > 0 && failures * Self.failureMilliseconds >= idle
            if takeRoomWish() { store.makeRoom() }
            let isQuiet = isIdle && isStill && idle > 0
            if begin(isIdle: isQuiet) {
                store.checkpointInBackground(isIdle: isQuiet)
                store.maintenance.withLock { $0 }?(store, isQuiet)
            }
            rested = rest(until: store, afterFailure: failures > 0)
            if rested == .ended { return }
        }
    }

    private enum Rest {
        /// So long without work that the thread goes to another store. The next commit asks for one again.
        case ended
        /// Woken by a commit or another occasion.
        case woken
        /// A moment, after which the thread checks whether a process waits for a state that others can't read yet.
        case moment
        /// The time without a commit after which a checkpoint is due.
        case idleTime
    }

    private static let momentMilliseconds = 10
    /// Number of moments without a commit after which commits that others can't read yet are written although no
    /// process waits. More than one, because a sync may take longer than one, and a program that commits again and
    /// again must not pay for it.
    private static let momentsOfRest = 10
    /// Milliseconds until a failed write is tried again.
    private static let failureMilliseconds = 1000

    /// Milliseconds without work after which the thread is released, because a process may have thousands of stores. If
    /// other stores wait for a thread, it is released at the end of the current slice of that time. It checks for them
    /// itself instead of being told, because it waits on its own store's monitor.
    var uselessMilliseconds = 10_000
    private static let sliceMilliseconds = 500

    private func letGo() {
        running.store(false, ordering: .relaxed)
        store = nil
        isAllowed = true
    }

    private func begin(isIdle: Bool) -> Bool {
        monitor.locked {
            guard isWanted || isIdle else { return false }
            isWanted = false
            return true
        }
    }

    /// Waits for the next occasion.
    private func rest(until store: PageStore, afterFailure: Bool) -> Rest {
        monitor.locked {
            guard self.store != nil, !isWanted, !wantsRoom else { return .woken }
            let idle = store.options.idleMilliseconds
            // Set before the checks, so that a commit after them sees it.
            isResting.store(true, ordering: .sequentiallyConsistent)
            let isDueSoon = idle > 0 && store.needsCheckpoint
            isIdling.store(isDueSoon, ordering: .sequentiallyConsistent)
            var hasEnded = false
            defer {
                if !hasEnded { isResting.store(false, ordering: .relaxed) }
                isIdling.store(false, ordering: .relaxed)
            }
            // A store that has failed will never tell a state that it can't tell now.
            if store.isInArrears, !store.pipeline.hasFailed {
                isResting.store(false, ordering: .relaxed)
                let time = afterFailure ? Self.failureMilliseconds : Self.momentMilliseconds
                return monitor.wait(milliseconds: time) ? .moment : .woken
            }
            if isDueSoon { return monitor.wait(milliseconds: idle) ? .idleTime : .woken }
            // A commit between the checks may be the first that needs a checkpoint.
            guard isResting.load(ordering: .relaxed) else { return .woken }
            var left = uselessMilliseconds
            while left > 0, !StoreThreads.shared.isAnyWaiting {
                guard monitor.wait(milliseconds: min(left, Self.sliceMilliseconds)), self.store != nil, !isWanted,
                    !wantsRoom, isResting.load(ordering: .relaxed)
                else { return .woken }
                left -= Self.sliceMilliseconds
            }
            hasEnded = true
            letGo()
            return .ended
        }
    }
}
