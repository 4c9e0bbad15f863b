// SPDX-License-Identifier: Apache-2.0
// The effect of a checkpoint on a writer: the times of durable commits of one key while checkpoints of many dirty
// pages run, and the times of such commits without a checkpoint.
//
//     hornbeam-bench reliability pause [--runs NUMBER] [--n NUMBER] [--dirty MEBIBYTES]

import BenchHarness
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
        var quiet = Latencies()
        var beside = Latencies()
        var checkpoints = Latencies()
        for round in 0...rounds {
            try HornbeamEngine.check(hb_checkpoint(store.store))
            // The first round isn't measured: in it the journal grows to its size.
            if round == 1 { (quiet, beside, checkpoints) = (Latencies(), Latencies(), Latencies()) }
            for _ in 0..<1000 { try commit(to: store, &random, &quiet) }
            while try store.figures.dirty_bytes < min(dirtyBytes, try store.figures.used_bytes / 2) {
                let numbers = (0..<500).map { _ in Int.random(in: 0..<count, using: &random) }
                try store.put(numbers, durability: HB_DURABLE_NONE)
            }
            let checkpoint = BackgroundCheckpoint(store.store)
            while !checkpoint.hasEnded { try commit(to: store, &random, &beside) }
            checkpoints.add(try checkpoint.latencies())
        }
        try store.close()
        print("\(count) entries, \(rounds) checkpoints of \(dirtyBytes >> 20) MiB of dirty pages and more")
        print("one-key durable commits, no checkpoint: \(quiet.words)")
        print("one-key durable commits, beside checkpoints: \(beside.words)")
        print("checkpoints: \(checkpoints.words)")
    }

    private func commit(to store: BenchStore, _ random: inout SplitMix, _ latencies: inout Latencies) throws {
        let number = Int.random(in: 0..<count, using: &random)
        try latencies.time { try store.put(CollectionOfOne(number)) }
    }
}

/// A checkpoint in a thread of its own.
private final class BackgroundCheckpoint: @unchecked Sendable {
    // Sendable: the store may be used from any thread, and `result` is guarded.
    private let store: OpaquePointer?
    private let result = Mutex<(code: Int32, latencies: Latencies)?>(nil)

    init(_ store: OpaquePointer?) {
        self.store = store
        Thread.detachNewThread { self.run() }
    }

    private func run() {
        var latencies = Latencies()
        var code = Int32(HB_OK)
        latencies.time { code = hb_checkpoint(store) }
        result.withLock { $0 = (code, latencies) }
    }

    var hasEnded: Bool { result.withLock { $0 != nil } }

    /// Waits for the checkpoint's end, and returns its time.
    func latencies() throws -> Latencies {
        let result = result.withLock { $0 }
        try HornbeamEngine.check(result?.code ?? Int32(HB_OK))
        return result?.latencies ?? Latencies()
    }
}
