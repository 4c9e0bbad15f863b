// SPDX-License-Identifier: Apache-2.0
// `scaling`: the cost of an operation in stores of different sizes. In a tree the cost grows with the logarithm of
// the size. Faster growth is due to memory: the processor's caches hold a smaller part of a larger store. The count
// of instructions shows the tree alone.

import BenchHarness
import Foundation

struct ScalingCommand {
    /// The cost of one operation in a store of `count` entries.
    struct Cost: Codable {
        var count: Int
        var nanoseconds: [String: Double]
        var instructions: [String: Double]?
    }

    private let arguments: Arguments
    private let sizes: [Int]
    private let rounds: Int
    private let seed: UInt64

    init(_ words: [String]) throws {
        arguments = try Arguments(
            words, options: ["max", "runs", "seed", "json", "markdown"], flags: ["instructions"])
        let most = try arguments.number("max", 10_000_000, least: 10_000)
        sizes = Array(sequence(first: 10_000) { $0 * 10 }.prefix { $0 <= most })
        rounds = try arguments.number("runs", 3, least: 1)
        seed = UInt64(try arguments.number("seed", 1))
    }

    func run() throws {
        var costs: [Cost] = []
        try inFolder { folder in
            var progress = Progress(steps: sizes.count)
            for size in sizes {
                progress.show("\(size) entries")
                costs.append(try cost(size, folder))
                progress.step()
            }
            progress.end()
        }
        if let json = arguments.text("json") { try writeJSON(costs, to: json) }
        let table = Self.table(costs)
        print("nanoseconds\(arguments.has("instructions") ? " and instructions" : "") an operation\n\(table.text)")
        guard let markdown = arguments.text("markdown") else { return }
        let date = ISO8601DateFormatter().string(from: Date()).prefix(10)
        let flag = arguments.has("instructions") ? " --instructions" : ""
        let head =
            "Taken on \(date) by `hornbeam-bench scaling --max \(sizes.last ?? 0) --runs \(rounds)\(flag)`: "
            + "nanoseconds\(flag.isEmpty ? "" : " (and instructions)") an operation, medians."
        try replacePart("scaling", of: markdown, with: head + "\n\n" + table.markdown)
    }

    private func cost(_ size: Int, _ folder: String) throws -> Cost {
        var times: [String: [Double]] = [:]
        for round in 0..<rounds {
            let figures = try Child.run(
                scaling, scaling.workloads, HornbeamEngine.self, folder: folder + "/store", count: size, seed: seed,
                round: round)
            for figure in figures { times[figure.workload, default: []].append(1e9 / figure.perSecond) }
        }
        var instructions: [String: Double]?
        if arguments.has("instructions") {
            instructions = try Callgrind.counts(
                scaling, scaling.workloads, HornbeamEngine.self, folder: folder, count: size, seed: seed
            ).mapValues(\.instructions)
        }
        return Cost(
            count: size, nanoseconds: times.mapValues { $0.sorted()[$0.count / 2] }, instructions: instructions)
    }

    private static func table(_ costs: [Cost]) -> Table {
        var rows = [["entries"] + scaling.workloads.map(\.name)]
        for cost in costs {
            rows.append(
                ["\(cost.count)"]
                    + scaling.workloads.map { workload in
                        guard let time = cost.nanoseconds[workload.name] else { return "–" }
                        let text = String(format: time < 100 ? "%.1f" : "%.0f", time)
                        guard let instructions = cost.instructions?[workload.name] else { return text }
                        return text + String(format: " (%.0f)", instructions)
                    })
        }
        return Table(rows: rows)
    }
}
