// SPDX-License-Identifier: Apache-2.0
// The workloads. Each times only what its name says; making keys and picking orders happens before the clock starts.

import Foundation

/// One figure of one engine: operations a second.
struct Figure {
    let workload: String
    let operations: Int
    let seconds: Double

    var perSecond: Double { Double(operations) / seconds }
}

struct Workloads {
    let count: Int
    let seed: UInt64

    /// Runs all workloads on a new store in `folder`.
    func run(_ type: any Engine.Type, folder: String) throws -> [Figure] {
        var figures: [Figure] = []
        let sorted = Entries(count: count, sorted: true, seed: seed)
        let first = try type.init(path: "\(folder)/\(type.name)-sorted")
        figures.append(try time("load-seq", count) { try first.write(sorted, 0..<count) })
        figures.append(try time("scan-full", count) { _ = try first.scan() })
        try first.close()

        let shuffled = Entries(count: count, sorted: false, seed: seed)
        let engine = try type.init(path: "\(folder)/\(type.name)-random")
        figures.append(
            try time("load-rand", count) {
                for start in stride(from: 0, to: count, by: 1_000) {
                    try engine.write(shuffled, start..<min(start + 1_000, count))
                }
            })
        var random = SplitMix(state: seed &+ 1)
        let order = (0..<count).map { _ in Int.random(in: 0..<count, using: &random) }
        _ = try engine.read(shuffled, order)
        figures.append(try time("get-rand", order.count) { _ = try engine.read(shuffled, order) })
        let starts = Array(order.prefix(min(20_000, count)))
        figures.append(
            try time("scan-100", starts.count) { _ = try engine.scan(shuffled, from: starts, length: 100) })
        figures.append(try counting(engine, sorted))
        let commits = min(2_000, count)
        figures.append(
            try time("commit", commits) {
                for index in 0..<commits { try engine.write(shuffled, index..<index + 1) }
            })
        try engine.close()
        return figures
    }

    private func counting(_ engine: any Engine, _ sorted: Entries) throws -> Figure {
        let rounds = 200
        let lower = sorted.key(count / 4)
        let upper = sorted.key(3 * count / 4)
        return try time("count-half", rounds) {
            for _ in 0..<rounds { _ = try engine.count(from: lower, to: upper) }
        }
    }

    private func time(_ workload: String, _ operations: Int, _ body: () throws -> Void) rethrows -> Figure {
        let duration = try ContinuousClock().measure(body)
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
        return Figure(workload: workload, operations: operations, seconds: seconds)
    }
}
