// SPDX-License-Identifier: Apache-2.0
// One engine's way through one scenario, in a process of its own.

import CAllocations
import Foundation

/// Runs the parts of a scenario and tells their figures.
final class Run {
    let engine: any Engine.Type
    /// A folder for the store alone.
    let folder: String
    /// Entries that a store of this run has, unless the workload says otherwise.
    let count: Int
    let seed: UInt64
    let round: Int
    /// How often a part that leaves the store as it was is repeated.
    let repeats: Int
    private let wanted: Set<String>
    private let tell: (Figure) throws -> Void

    init(
        engine: any Engine.Type, folder: String, count: Int, seed: UInt64, round: Int, repeats: Int,
        wanted: Set<String>, tell: @escaping (Figure) throws -> Void
    ) {
        self.engine = engine
        self.folder = folder
        self.count = count
        self.seed = seed
        self.round = round
        self.repeats = repeats
        self.wanted = wanted
        self.tell = tell
    }

    var storePath: String { folder + "/store" }

    func wants(_ name: String) -> Bool { wanted.contains(name) }

    func has(_ feature: Feature) -> Bool { engine.features.contains(feature) }

    func open(_ settings: StoreSettings = StoreSettings()) throws -> any Engine {
        try engine.init(path: storePath, settings: settings)
    }

    /// A part that changes the store, so that later ones need it: it is done in any case, and told if it was asked for.
    func change(_ name: String, _ operations: Int, _ body: (inout Latencies) throws -> Void) throws {
        try measure(name, operations, times: 1, body)
    }

    /// A part that leaves the store as it was.
    func look(_ name: String, _ operations: Int, _ body: (inout Latencies) throws -> Void) throws {
        guard wants(name) else { return }
        try measure(name, operations * repeats, times: repeats, body)
    }

    private func measure(
        _ name: String, _ operations: Int, times: Int, _ body: (inout Latencies) throws -> Void
    ) throws {
        var latencies = Latencies()
        let written = Machine.written
        let allocations = allocations_of_thread()
        let start = nanoseconds()
        for _ in 0..<times { try body(&latencies) }
        let time = nanoseconds() - start
        let allocated = allocations_of_thread() - allocations
        guard wants(name) else { return }
        let after = Machine.written
        let resident = Machine.resident
        try tell(
            Figure(
                workload: name, engine: engine.name, round: round, operations: operations,
                seconds: Double(time) * 1e-9, latency: latencies.summary, writtenBytes: after.bytes - written.bytes,
                writeCalls: after.calls - written.calls, diskBytes: Machine.size(of: folder),
                anonymousBytes: resident.anonymous, mappedBytes: resident.mapped, allocations: Int(allocated)))
    }

    /// Tells a figure that was measured otherwise.
    func tell(_ name: String, operations: Int, seconds: Double, latencies: Latencies = Latencies()) throws {
        guard wants(name) else { return }
        let resident = Machine.resident
        try tell(
            Figure(
                workload: name, engine: engine.name, round: round, operations: operations, seconds: seconds,
                latency: latencies.summary, writtenBytes: 0, writeCalls: 0, diskBytes: Machine.size(of: folder),
                anonymousBytes: resident.anonymous, mappedBytes: resident.mapped, allocations: 0))
    }

    /// Tells operations that were timed one by one, with other work between them.
    func tell(_ name: String, _ latencies: Latencies) throws {
        let time = latencies.all.reduce(0, +)
        try tell(name, operations: latencies.all.count, seconds: Double(time) * 1e-9, latencies: latencies)
    }

    /// Runs the body on threads of their own, each with its number, and rethrows the first error.
    func onThreads(_ number: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let outcome = Outcome()
        let threads = (0..<number).map { index in
            let thread = Thread {
                do { try body(index) } catch { outcome.note(error) }
                outcome.end()
            }
            thread.stackSize = 8 << 20
            return thread
        }
        for thread in threads { thread.start() }
        try outcome.wait(for: number)
    }
}

/// What became of some threads.
private final class Outcome: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = NSCondition()
    private var ended = 0
    private var error: (any Error)?

    func note(_ error: any Error) {
        lock.withLock { if self.error == nil { self.error = error } }
    }

    func end() {
        lock.withLock {
            ended += 1
            lock.broadcast()
        }
    }

    func wait(for number: Int) throws {
        try lock.withLock {
            while ended < number { lock.wait() }
            if let error { throw error }
        }
    }
}
