// SPDX-License-Identifier: Apache-2.0
// The thread that checkpoints beside readers and the writer: when the journal is half full, when many pages were made
// or put aside, or when nothing has been committed for a while. A store without it, for which there may be none free
// (`StoreThreads`), checkpoints in the commits themselves. It makes room for pages in memory, and gives space back
// after a checkpoint.
// Once commits rest it also writes for other processes what they couldn't read yet, and before if one of them waits.

import Synchronization

/// Keeps its store alive while it runs. `PageStore.close` ends its work. Code that releases a store without closing it
/// must end the work by `PageStore.endThread`.
final class CheckpointWorker: StoreWork, @unchecked Sendable {
    // Sendable: everything variable but the atomic is guarded by `monitor`.
    private let monitor = Monitor()
    /// Its store, nil when it neither runs nor waits for a thread. Strong, so that the thread is never the last to use
    /// the store.
    private var store: PageStore?
    /// Number of threads in `serve`: a thread that has released the store may still be there when the next one comes.
    private var serving = 0
    /// The time at which it began to wait for a thread, and the newest transaction then.
    private var waiting: (since: ContinuousClock.Instant, newest: UInt64)?
    private var isWanted = false
    private var wantsRoom = false
    private let busy = Atomic<Bool>(false)
    /// Whether the first commit begins the thread: a program that only reads needs none.
    private var isAllowed = false
    /// Set while nothing is to be done until a commit comes.
    private let isResting = Atomic<Bool>(true)
    /// Set besides if there is something to be done in a while, unless a commit comes that leaves something to be told.
    private let isIdling = Atomic<Bool>(false)

    /// From here on a commit begins the thread.
    func allow() { monitor.locked { isAllowed = true } }

    /// When the system gave no thread: not to be asked again for a while.
    private var refusedAt: ContinuousClock.Instant?
    private static let patience = Duration.seconds(1)

    /// A system that gives no thread leaves checkpoints to the commits, one of which asks again later. Whether it is to
    /// be had.
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

    /// In a thread, which is this store's for now.
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

    /// Without a lock, like `isReady`: the caller may have the pipeline's lock, which the thread takes inside its own.
    var isRunning: Bool { running.load(ordering: .relaxed) }
    /// Whether a commit's pending announcement will happen soon, at a checkpoint's end at the latest: not while the
    /// thread waits for the writer's turn.
    var isReady: Bool { isRunning && !isWaiting.load(ordering: .sequentiallyConsistent) }
    private let running = Atomic<Bool>(false)
    let isWaiting = Atomic(false)

    /// Ends the thread's work and waits for that. States that it would have announced are announced: the store may live
    /// on without it.
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

    /// Notes that the thread is at a checkpoint.
    func beginWork() { monitor.locked { busy.store(true, ordering: .sequentiallyConsistent) } }
    func endWork() { busy.store(false, ordering: .sequentiallyConsistent) }

    /// For what the thread does after a checkpoint: whether it is wanted for the next one.
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

    /// A checkpoint seems to be due, but the running one may cover it.
    func wakeUnlessBusy() {
        monitor.locked {
            guard !busy.load(ordering: .relaxed) else { return }
            isWanted = true
            monitor.broadcast()
        }
    }

    /// There was a commit: it will be checkpointed once nothing has happened for a while.
    func noteCommit(in store: PageStore) {
        guard isResting.load(ordering: .sequentiallyConsistent) else { return }
        if isIdling.load(ordering: .sequentiallyConsistent), !store.isInArrears { return }
        monitor.locked {
            if isAllowed, !start(for: store) { return }
            isResting.store(false, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    /// `newest`: the newest transaction when it began to wait for a thread; `hasRested`: that was long ago.
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
            // Tries take the place of the time without a commit.
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
        /// For so long that the thread is free for another store. The next commit asks for one again.
        case ended
        /// Woken by a commit or another occasion.
        case woken
        /// After it the thread checks whether a process waits for a state that others can't read yet.
        case moment
        /// The time without a commit after which a checkpoint is due.
        case idleTime
    }

    private static let momentMilliseconds = 10
    /// Number of moments without a commit after which commits that others can't read yet are written although no
    /// process waits. More than one: a sync may take longer than one, and a program that commits again and again must
    /// not pay for it.
    private static let momentsOfRest = 10
    /// Milliseconds until a write that failed is tried again.
    private static let failureMilliseconds = 1000

    /// Milliseconds without work after which the thread is let go, because a process may have thousands of stores. If
    /// other stores wait for a thread, it is let go at the end of the current slice of that time. It looks for them
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
            // Set first: a commit that comes after the looks will see it.
            isResting.store(true, ordering: .sequentiallyConsistent)
            let isDueSoon = idle > 0 && store.needsCheckpoint
            isIdling.store(isDueSoon, ordering: .sequentiallyConsistent)
            var hasEnded = false
            defer {
                if !hasEnded { isResting.store(false, ordering: .relaxed) }
                isIdling.store(false, ordering: .relaxed)
            }
            // A store that has failed will never tell what it can't tell now.
            if store.isInArrears, !store.pipeline.hasFailed {
                isResting.store(false, ordering: .relaxed)
                let time = afterFailure ? Self.failureMilliseconds : Self.momentMilliseconds
                return monitor.wait(milliseconds: time) ? .moment : .woken
            }
            if isDueSoon { return monitor.wait(milliseconds: idle) ? .idleTime : .woken }
            // A commit that came between the looks may be the first to make a checkpoint necessary.
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
