// SPDX-License-Identifier: Apache-2.0
// What a writer sees of a checkpoint: the time of durable commits of one key while checkpoints of many dirty pages run,
// beside that of the same commits without one.
//
//     hornbeam-bench reliability pause [--runs NUMBER] [--n NUMBER] [--dirty MEBIBYTES]

import CHornbeam
import Foundation
import Synchronization

struct Pause {
    let rounds: Int
    let count: Int
    let dirtyBytes: UInt64

    func run(at path: String) throws {
        let store = try BenchStore(path: path)
        for first in stride(from: 0, to: count, by: 10_000) {
            try store.put(first..<min(first + 10_000, count), durability: HB_DURABLE_NONE)
        }
        var random = SplitMix(state: 1)
        var quiet: [Duration] = []
        var beside: [Duration] = []
        var checkpoints: [Duration] = []
        for round in 0...rounds {
            try BenchStore.check(hb_checkpoint(store.store))
            var calm: [Duration] = []
            for _ in 0..<1000 { calm.append(try commit(to: store, &random)) }
            while try store.figures.dirty_bytes < dirtyBytes {
                let numbers = (0..<500).map { _ in Int.random(in: 0..<count, using: &random) }
                try store.put(numbers, durability: HB_DURABLE_NONE)
            }
            let (times, whole) = try besideCheckpoint(of: store, &random)
            // The first round is the journal's: it grows to its size.
            if round == 0 { continue }
            quiet += calm
            beside += times
            checkpoints.append(whole)
        }
        try store.close()
        print("\(count) entries, \(rounds) checkpoints of \(dirtyBytes >> 20) MiB of dirty pages and more")
        print("one-key durable commits, no checkpoint: \(Self.summary(quiet))")
        print("one-key durable commits, beside checkpoints: \(Self.summary(beside))")
        print("checkpoints: \(Self.summary(checkpoints))")
    }

    private func commit(to store: BenchStore, _ random: inout SplitMix) throws -> Duration {
        let number = Int.random(in: 0..<count, using: &random)
        let start = ContinuousClock.now
        try store.put(CollectionOfOne(number))
        return ContinuousClock.now - start
    }

    /// Commits until the checkpoint has ended; their times, and its.
    private func besideCheckpoint(
        of store: BenchStore, _ random: inout SplitMix
    ) throws -> (commits: [Duration], checkpoint: Duration) {
        let checkpoint = BackgroundCheckpoint(store.store)
        var times: [Duration] = []
        while !checkpoint.hasEnded { times.append(try commit(to: store, &random)) }
        return (times, try checkpoint.time())
    }

    private static func summary(_ times: [Duration]) -> String {
        let sorted = times.sorted()
        guard let last = sorted.last else { return "none" }
        let places = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)].map { name, share in
            "\(name) \(milliseconds(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]))"
        }
        return "\(sorted.count), \(places.joined(separator: ", ")), longest \(milliseconds(last))"
    }

    private static func milliseconds(_ time: Duration) -> String {
        String(format: "%.2f ms", Double(time.components.attoseconds) / 1e15 + Double(time.components.seconds) * 1e3)
    }
}

/// A checkpoint in a thread of its own.
private final class BackgroundCheckpoint: @unchecked Sendable {
    // Sendable: the store may be used from any thread, and `result` is guarded.
    private let store: OpaquePointer?
    private let result = Mutex<(code: Int32, time: Duration)?>(nil)

    init(_ store: OpaquePointer?) {
        self.store = store
        Thread.detachNewThread { self.run() }
    }

    private func run() {
        let start = ContinuousClock.now
        let code = hb_checkpoint(store)
        result.withLock { $0 = (code, ContinuousClock.now - start) }
    }

    var hasEnded: Bool { result.withLock { $0 != nil } }

    /// How long it took, once it has ended.
    func time() throws -> Duration {
        let result = result.withLock { $0 }
        try BenchStore.check(result?.code ?? Int32(HB_OK))
        return result?.time ?? .zero
    }
}
