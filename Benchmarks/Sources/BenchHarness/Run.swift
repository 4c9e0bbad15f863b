// SPDX-License-Identifier: Apache-2.0
// One engine in one scenario, in a process of its own.

import CCounts
import Foundation

/// Runs the parts of a scenario and reports their results.
package final class Run {
    /// The engine's name.
    package let engine: String
    /// A folder for only this store.
    package let folder: String
    /// Number of entries in the store, unless the workload says otherwise.
    package let count: Int
    package let seed: UInt64
    private let round: Int
    private let wanted: Set<String>

    /// Creates the run from the parent's arguments.
    package init(_ arguments: Arguments) throws {
        guard let engine = arguments.text("engine"), let folder = arguments.text("folder") else {
            throw BenchError("child is for hornbeam-bench itself: see run")
        }
        self.engine = engine
        self.folder = folder
        count = try arguments.number("n", 1_000, least: 1)
        seed = UInt64(try arguments.number("seed", 1))
        round = try arguments.number("round", 0)
        wanted = Set(arguments.list("workload"))
    }

    /// The options of a child.
    package static let options: Set<String> = ["engine", "workload", "n", "seed", "round", "folder"]

    package var storePath: String { folder + "/store" }

    package func wants(_ name: String) -> Bool { wanted.contains(name) }

    /// Runs a part that changes the store. Later parts need it, so it always runs, and is reported if it was
    /// requested.
    package func change(_ name: String, _ operations: Int, _ body: (inout Latencies) throws -> Void) throws {
        var latencies = Latencies()
        guard wants(name) else { return try body(&latencies) }
        let written = Machine.written
        let allocations = allocations_of_thread()
        instructions_begin()
        let processor = processorNanoseconds()
        let start = nanoseconds()
        try body(&latencies)
        let time = nanoseconds() - start
        let worked = processorNanoseconds() - processor
        instructions_end(name)
        let allocated = allocations_of_thread() - allocations
        let after = Machine.written
        var figure = figure(name, operations: operations, seconds: Double(time) * 1e-9, latencies)
        figure.writtenBytes = after.bytes - written.bytes
        figure.writeCalls = after.calls - written.calls
        figure.allocations = Int(allocated)
        figure.processorSeconds = Double(worked) * 1e-9
        try tell(figure)
    }

    /// Like `change`, with single operations. If `bare` was requested, a durable write of 4 KiB to another file
    /// follows each of them, and the times of these writes are reported under that name: the disk's own time at the
    /// same moments. The part's own figures don't include them.
    package func changeBesideBare(
        _ name: String, _ operations: Int, bare: String, _ body: (Int) throws -> Void
    ) throws {
        guard wants(bare) else {
            return try change(name, operations) { latencies in
                for number in 0..<operations { try latencies.time { try body(number) } }
            }
        }
        let path = folder + "/bare"
        let file = try BareFile(path: path)
        var (ours, alone) = (Latencies(), Latencies())
        let written = Machine.written
        for number in 0..<operations {
            try ours.time { try body(number) }
            try alone.time { try file.writeThrough() }
        }
        let after = Machine.written
        try FileManager.default.removeItem(atPath: path)
        var figure = figure(name, of: ours)
        figure.writtenBytes = after.bytes - written.bytes - operations * BareFile.size
        figure.writeCalls = after.calls - written.calls - operations
        if wants(name) { try tell(figure) }
        try tell(bare, alone)
    }

    /// Runs a part that doesn't change the store.
    package func look(_ name: String, _ operations: Int, _ body: (inout Latencies) throws -> Void) throws {
        if wants(name) { try change(name, operations, body) }
    }

    /// Waits, for a minute at most, until the engine's own threads have done the work that changes left to them.
    /// Otherwise some runs would find pages moved between a first reading, which makes them warm, and the measured
    /// one.
    package func awaitRest() {
        var quiet = 0
        var before = processorNanoseconds()
        for _ in 0..<600 where quiet < 20 {
            usleep(100_000)
            let now = processorNanoseconds()
            quiet = now - before < 1_000_000 ? quiet + 1 : 0
            before = now
        }
    }

    private func figure(_ name: String, operations: Int, seconds: Double, _ latencies: Latencies) -> Figure {
        let resident = Machine.resident
        return Figure(
            workload: name, engine: engine, round: round, operations: operations, seconds: seconds,
            latency: latencies.summary, writtenBytes: 0, writeCalls: 0, diskBytes: Machine.size(of: folder),
            anonymousBytes: resident.anonymous, mappedBytes: resident.mapped, allocations: 0)
    }

    /// Sends a result to the parent, as a line of JSON.
    private func tell(_ figure: Figure) throws {
        var line = try JSONEncoder().encode(figure)
        line.append(UInt8(ascii: "\n"))
        try FileHandle.standardOutput.write(contentsOf: line)
    }

    /// Reports a result that was measured in another way.
    package func tell(_ name: String, operations: Int, seconds: Double) throws {
        if wants(name) { try tell(figure(name, operations: operations, seconds: seconds, Latencies())) }
    }

    /// Reports a value that isn't a time, and the values whose mean it is.
    package func tell(_ name: String, value: Double, of values: [Double]? = nil) throws {
        guard wants(name) else { return }
        var figure = figure(name, operations: 1, seconds: 1, Latencies())
        (figure.value, figure.values) = (value, values)
        try tell(figure)
    }

    /// Reports a result of another engine than the run's, with the bytes of an operation.
    package func tell(_ name: String, engine: String, operations: Int, seconds: Double, bytes: Int) throws {
        guard wants(name) else { return }
        var figure = figure(name, operations: operations, seconds: seconds, Latencies())
        figure.engine = engine
        figure.encodedBytes = bytes
        try tell(figure)
    }

    /// Reports operations that were timed singly, with other work between them.
    /// - Parameter engine: nil for the run's engine.
    package func tell(_ name: String, _ latencies: Latencies, engine: String? = nil) throws {
        guard wants(name) else { return }
        var figure = figure(name, of: latencies)
        figure.engine = engine ?? figure.engine
        try tell(figure)
    }

    private func figure(_ name: String, of latencies: Latencies) -> Figure {
        let time = latencies.all.reduce(0, +)
        return figure(name, operations: latencies.all.count, seconds: Double(time) * 1e-9, latencies)
    }

    /// Runs a part alternately with the least work that the machine itself needs for it, and reports both.
    package func beside(
        _ name: String, rounds: Int, _ part: (Int) throws -> Void, _ machine: (Int) throws -> Void
    ) throws {
        guard wants(name) else { return }
        var ours = Latencies()
        var bare = Latencies()
        for round in 0..<rounds {
            try ours.time { try part(round) }
            try bare.time { try machine(round) }
        }
        try tell(name, ours)
        var figure = figure(name, of: bare)
        figure.engine = Figure.machine
        try tell(figure)
    }

    /// Runs the body on several threads, each with its number, and rethrows the first error.
    package func onThreads(_ number: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
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

/// The results of some threads.
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
