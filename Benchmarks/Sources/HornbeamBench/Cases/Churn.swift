// SPDX-License-Identifier: Apache-2.0
// The sizes of the engines' files, compared with their content, under ordinary changes and afterwards.
//
//     hornbeam-bench churn [--n NUMBER] [--rounds NUMBER] [--engine A,B]

import BenchHarness
import Foundation

/// One store of each engine: loaded in random order, changed in rounds, left alone, closed. Batches of 1,000, each
/// durable.
struct Churn {
    private let entries: Entries
    private let rounds: Int
    private let engines: [any Engine.Type]
    private let seed: UInt64

    init(_ arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: ["n", "rounds", "engine", "seed"])
        seed = UInt64(try arguments.number("seed", 1))
        rounds = try arguments.number("rounds", 5, least: 1)
        entries = Entries(
            count: try arguments.number("n", 500_000, least: 1_000), keys: .random, valueSize: 100, seed: seed)
        let wanted = arguments.list("engine")
        engines = allEngines.filter { wanted.isEmpty ? $0.isDefault : wanted.contains($0.name) }
    }

    func run(in folder: String) throws {
        print("\(entries.count) entries, \(entries.bytes >> 20) MiB of keys and values; MiB of files after")
        let names = ["load"] + (1...rounds).map { "update \($0)" } + ["delete and put back", "2 s", "close"]
        print("engine    " + names.map { "  " + $0 }.joined() + "  largest")
        for engine in engines {
            let own = folder + "/" + engine.name
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            let sizes = try sizes(of: engine, in: own).map { $0 >> 20 }
            let cells = zip(names + ["largest"], sizes).map { name, size in
                "  " + String(repeating: " ", count: max(0, name.count - "\(size)".count)) + "\(size)"
            }
            print(engine.name.padding(toLength: 10, withPad: " ", startingAt: 0) + cells.joined())
            try FileManager.default.removeItem(atPath: own)
        }
    }

    /// Returns the sizes after each step, and the largest of them.
    private func sizes(of engine: any Engine.Type, in folder: String) throws -> [Int] {
        var random = SplitMix(state: seed &+ 1)
        var sizes: [Int] = []
        var largest = 0
        let store = try engine.init(path: folder + "/store", settings: StoreSettings())
        func look() -> Int {
            let size = Machine.size(of: folder)
            largest = max(largest, size)
            return size
        }
        try withSession(of: store) { session in
            func batches(_ order: [Int], _ body: (ArraySlice<Int>) throws -> Void) throws {
                for first in stride(from: 0, to: order.count, by: 1_000) {
                    try body(order[first..<min(first + 1_000, order.count)])
                    _ = look()
                }
            }
            try batches(Array(0..<entries.count)) { try session.put(entries, $0) }
            sizes.append(look())
            for round in 1...rounds {
                let order = (0..<entries.count * 2 / 5).map { _ in Int.random(in: 0..<entries.count, using: &random) }
                let changed = entries.edition(round)
                try batches(order) { try session.put(changed, $0) }
                sizes.append(look())
            }
            let half = Array(0..<entries.count / 2)
            try batches(half) { try session.delete(entries, $0) }
            try batches(half) { try session.put(entries, $0) }
            sizes.append(look())
        }
        Thread.sleep(forTimeInterval: 2)
        sizes.append(look())
        try store.close()
        sizes.append(look())
        return sizes + [largest]
    }
}
