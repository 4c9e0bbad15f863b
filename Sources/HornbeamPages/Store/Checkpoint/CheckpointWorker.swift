// SPDX-License-Identifier: Apache-2.0
// The thread that checkpoints beside readers and the writer: when the journal is half full, when many pages were made
// or put aside, or when nothing has been committed for a while. A store without it checkpoints in the commits
// themselves. It makes room for pages in memory, and gives space back after a checkpoint.
// Once commits rest it also writes for other processes what they couldn't read yet, and before if one of them waits.

import CHornbeamShims
import Glibc
import Synchronization

/// Keeps its store alive while it runs: `PageStore.close` ends the thread, and so does whoever lets go of a store that
/// is not closed, by `PageStore.endThread`.
final class CheckpointWorker: @unchecked Sendable {
    // Sendable: everything variable but the atomic is guarded by `monitor`.
    private let monitor = Monitor()
    /// Nil when it doesn't run. Strong, so that the thread is never the last to use the store.
    private var store: PageStore?
    private var thread: pthread_t?
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

    /// A system that gives no thread leaves checkpoints to the commits.
    private func start(for store: PageStore) {
        self.store = store
        isAllowed = false
        var thread = pthread_t()
        let worker = Unmanaged.passRetained(self)
        let code = Self.withoutSignals {
            pthread_create(&thread, nil, { Unmanaged<CheckpointWorker>.run($0) }, worker.toOpaque())
        }
        if code == 0 {
            self.thread = thread
            running.store(true, ordering: .relaxed)
        } else {
            self.store = nil
            worker.release()
        }
    }

    /// A thread that is begun in `body` is not chosen for signals that are sent to the process: a program that waits
    /// for them, or handles them in a thread of its own, must not find ours among its threads. Those that come of a
    /// fault stay.
    private static func withoutSignals(_ body: () -> Int32) -> Int32 {
        var blocked = sigset_t()
        var former = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        return body()
    }

    /// Shown by the system's tools, such as `top`; at most 15 bytes.
    static var threadName: String { "hornbeam" }

    /// Without a lock, as `isReady`: whoever asks may have the pipeline's, which the thread takes with its own.
    var isRunning: Bool { running.load(ordering: .relaxed) }
    /// Whether what a commit leaves to be told will be told soon, at a checkpoint's end at the latest: not while the
    /// thread waits for the writer's turn.
    var isReady: Bool { isRunning && !isWaiting.load(ordering: .sequentiallyConsistent) }
    private let running = Atomic<Bool>(false)
    let isWaiting = Atomic(false)

    /// Ends the thread and waits for it. What it would have told is told: the store may live on without it.
    func stop() {
        let (thread, store) = monitor.locked { () -> (pthread_t?, PageStore?) in
            defer { (self.thread, self.store) = (nil, nil) }
            running.store(false, ordering: .relaxed)
            isAllowed = false
            monitor.broadcast()
            return (self.thread, self.store)
        }
        if let thread { pthread_join(thread, nil) }
        monitor.locked { while leaving > 0 { monitor.wait() } }
        store?.catchUp()
    }

    /// A checkpoint is due.
    func wake() {
        monitor.locked {
            isWanted = true
            monitor.broadcast()
        }
    }

    /// Memory for pages that are not written yet is getting scarce.
    func wakeForRoom() {
        monitor.locked {
            guard !wantsRoom, !busy.load(ordering: .relaxed) else { return }
            wantsRoom = true
            monitor.broadcast()
        }
    }

    /// The thread is at a checkpoint.
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

    /// A checkpoint seems to be due, but the one that is under way may be the one.
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
            if isAllowed { start(for: store) }
            isResting.store(false, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    /// Returns whether it ends for want of work.
    fileprivate func work() -> Bool {
        var seen: UInt64 = 0
        var rested = Rest.woken
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
            if rested == .ended { return true }
        }
        return false
    }

    private enum Rest {
        /// For so long that the thread ends. The next commit begins another one.
        case ended
        /// By a commit or another occasion.
        case woken
        /// After which it is looked whether somebody waits for what others can't read yet.
        case moment
        /// The time without a commit after which a checkpoint is due.
        case idleTime
    }

    private static let momentMilliseconds = 10
    /// After so many without a commit what others can't read yet is written though nobody waits. More than one: a sync
    /// may take longer than that, and a program that commits again and again shall not pay for it.
    private static let momentsOfRest = 10
    /// Until what could not be written is tried again.
    private static let failureMilliseconds = 1000

    /// Without anything to do for so long the thread ends: a process may have thousands of stores.
    var uselessMilliseconds = 10_000

    /// In the thread, which nobody joins from here on.
    private func letGo() {
        running.store(false, ordering: .relaxed)
        if let thread { pthread_detach(thread) }
        (thread, store) = (nil, nil)
        isAllowed = true
        leaving += 1
    }

    /// Threads that have let go, but may still have the store.
    private var leaving = 0

    fileprivate func noteGone() {
        monitor.locked {
            leaving -= 1
            monitor.broadcast()
        }
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
            // What a store that has failed can't tell it never will.
            if store.isInArrears, !store.pipeline.hasFailed {
                isResting.store(false, ordering: .relaxed)
                let time = afterFailure ? Self.failureMilliseconds : Self.momentMilliseconds
                return monitor.wait(milliseconds: time) ? .moment : .woken
            }
            if isDueSoon { return monitor.wait(milliseconds: idle) ? .idleTime : .woken }
            // A commit that came between the looks may be the first to make a checkpoint necessary.
            guard monitor.wait(milliseconds: uselessMilliseconds), self.store != nil, !isWanted, !wantsRoom,
                isResting.load(ordering: .relaxed)
            else { return .woken }
            hasEnded = true
            letGo()
            return .ended
        }
    }
}

extension Unmanaged<CheckpointWorker> {
    /// The thread's body.
    fileprivate static func run(_ worker: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        hbs_name_thread(CheckpointWorker.threadName)
        if let worker = worker.map({ Unmanaged.fromOpaque($0).takeRetainedValue() }), worker.work() {
            worker.noteGone()
        }
        return nil
    }
}
