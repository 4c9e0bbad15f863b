// SPDX-License-Identifier: Apache-2.0
// The threads that maintain the stores of this process: a few for all of them, as long as there is work.

import CHornbeamShims
import Glibc
import Synchronization

/// The work that a thread does for one store.
protocol StoreWork: AnyObject, Sendable {
    /// Does the work. Returns when there is nothing to do for a while.
    func serve()
}

/// Threads that serve stores, at most `most` at a time. If all are busy, work waits until one has ended another store's
/// work.
final class StoreThreads: @unchecked Sendable {
    // Sendable: variable state is guarded by `monitor`, or atomic; the rest is constant.
    private let monitor = Monitor()
    private let most: Int
    private var count = 0
    private var waiting: [any StoreWork] = []
    private let waitingCount = Atomic<Int>(0)
    private let generation = hbs_fork_generation()

    init(most: Int) { self.most = most }

    enum Answer { case begun, waits, noThread }

    /// Lets a thread serve the work, now or later.
    func take(_ work: any StoreWork) -> Answer {
        let isFree = monitor.locked { () -> Bool in
            guard count == most else {
                count += 1
                return true
            }
            waiting.append(work)
            waitingCount.store(waiting.count, ordering: .relaxed)
            return false
        }
        guard isFree else { return .waits }
        if begin(work) { return .begun }
        monitor.locked { count -= 1 }
        return .noThread
    }

    /// Removes work from the waiting ones.
    func remove(_ work: any StoreWork) {
        guard isAnyWaiting else { return }
        monitor.locked {
            waiting.removeAll { $0 === work }
            waitingCount.store(waiting.count, ordering: .relaxed)
        }
    }

    /// Whether a thread that has nothing to do should end its work. Any thread.
    var isAnyWaiting: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    private func begin(_ work: any StoreWork) -> Bool {
        let start = Unmanaged.passRetained(Start(threads: self, work: work))
        var thread = pthread_t()
        let code = Self.withoutSignals { pthread_create(&thread, nil, { Start.run($0) }, start.toOpaque()) }
        guard code == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private final class Start {
        let threads: StoreThreads
        let work: any StoreWork

        init(threads: StoreThreads, work: any StoreWork) {
            self.threads = threads
            self.work = work
        }

        static func run(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            hbs_name_thread(StoreThreads.name)
            guard let start = start.map({ Unmanaged<Start>.fromOpaque($0).takeRetainedValue() }) else { return nil }
            var work: (any StoreWork)? = start.work
            while let next = work {
                next.serve()
                work = start.threads.next()
            }
            return nil
        }
    }

    /// Returns the work that has waited longest; nil ends the thread.
    private func next() -> (any StoreWork)? {
        monitor.locked {
            guard !waiting.isEmpty else {
                count -= 1
                return nil
            }
            defer { waitingCount.store(waiting.count, ordering: .relaxed) }
            return waiting.removeFirst()
        }
    }

    /// Shown by the system's tools, such as `top`; at most 15 bytes.
    static var name: String { "hornbeam" }

    /// Runs `body` with signals blocked, so that a thread that it starts gets none of the signals sent to the process:
    /// a program that waits for them, or handles them in a thread of its own, must not find ours among its threads.
    /// Signals caused by a fault are still delivered.
    private static func withoutSignals(_ body: () -> Int32) -> Int32 {
        var blocked = sigset_t()
        var former = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        return body()
    }

    // MARK: The process's threads

    private static let address = Atomic<UInt>(0)

    /// The threads of this process. A forked child has none of its parent's threads, and may inherit a lock that one of
    /// them held, so it begins with its own.
    static var shared: StoreThreads {
        while true {
            let known = address.load(ordering: .acquiring)
            if let known = UnsafeRawPointer(bitPattern: known) {
                let threads = Unmanaged<StoreThreads>.fromOpaque(known).takeUnretainedValue()
                if threads.generation == hbs_fork_generation() { return threads }
            }
            let own = Unmanaged.passRetained(StoreThreads(most: 32))
            let result = address.compareExchange(
                expected: known, desired: UInt(bitPattern: own.toOpaque()), ordering: .acquiringAndReleasing)
            if result.exchanged { return own.takeUnretainedValue() }
            own.release()
        }
    }
}
