// SPDX-License-Identifier: Apache-2.0
// Runs every workload for Hornbeam and for the peers that are installed, interleaved over several rounds, and prints
// medians and ratios. Ratios count: absolute figures on a shared machine mean little.
//
//     hornbeam-bench [--n ENTRIES] [--runs ROUNDS] [--seed SEED] [--folder FOLDER]
//     hornbeam-bench --load MEBIBYTES [--cache MEBIBYTES] [--order sorted|random] [--seed SEED]
//     hornbeam-bench --growth ENTRIES [--batch ENTRIES]
//     hornbeam-bench --pause ROUNDS [--n ENTRIES] [--dirty MEBIBYTES]

import Foundation

func argument(_ name: String, _ standard: Int) -> Int {
    let words = CommandLine.arguments
    guard let index = words.firstIndex(of: name), index + 1 < words.count else { return standard }
    return Int(words[index + 1]) ?? standard
}

/// Every engine that this build knows.
let engines: [any Engine.Type] = {
    var engines: [any Engine.Type] = [HornbeamEngine.self]
    #if PEER_LMDB
        engines.append(LMDBEngine.self)
    #endif
    #if PEER_SQLITE
        engines.append(SQLiteEngine.self)
    #endif
    return engines
}()

/// Runs all rounds in a folder of their own beneath the current one, and prints a line for each workload.
func measure(_ workloads: Workloads, rounds: Int, engines: [any Engine.Type]) throws {
    var results: [String: [String: [Double]]] = [:]
    var order: [String] = []
    let parent = FileManager.default.currentDirectoryPath + "/bench-\(getpid())"
    defer { try? FileManager.default.removeItem(atPath: parent) }
    for round in 0..<rounds {
        for engine in engines {
            let folder = "\(parent)/\(round)-\(engine.name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for figure in try workloads.run(engine, folder: folder) {
                if !order.contains(figure.workload) { order.append(figure.workload) }
                results[figure.workload, default: [:]][engine.name, default: []].append(figure.perSecond)
            }
            try FileManager.default.removeItem(atPath: folder)
        }
    }
    print(
        "\(workloads.count) entries of \(Entries.keySize) + \(Entries.valueSize) bytes, operations a second, "
            + "median of \(rounds) rounds; in brackets how many times faster Hornbeam is")
    for workload in order {
        let row = results[workload] ?? [:]
        let ours = median(row[HornbeamEngine.name] ?? [])
        let cells = engines.map { engine -> String in
            let figure = median(row[engine.name] ?? [])
            let ratio = engine.name == HornbeamEngine.name ? "" : String(format: " (%.2f)", ours / figure)
            return "\(engine.name) \(Int(figure))\(ratio)"
        }
        print("\(workload): " + cells.joined(separator: ", "))
    }
}

func median(_ values: [Double]) -> Double {
    values.isEmpty ? .nan : values.sorted()[values.count / 2]
}

/// A case that measures Hornbeam alone, if one is asked for; its file goes away afterwards.
func runAlone() throws -> Bool {
    let path = FileManager.default.currentDirectoryPath + "/bench-\(getpid()).hornbeam"
    defer { try? FileManager.default.removeItem(atPath: path) }
    if argument("--load", 0) > 0 {
        let load = LargeLoad(
            bytes: argument("--load", 0) << 20, cacheBytes: argument("--cache", 64) << 20,
            isSorted: !CommandLine.arguments.contains("random"), seed: UInt64(argument("--seed", 1)))
        try load.run(at: path)
    } else if argument("--growth", 0) > 0 {
        try Growth(count: argument("--growth", 0), batch: max(1, argument("--batch", 1000))).run(at: path)
    } else if argument("--pause", 0) > 0 {
        let pause = Pause(
            rounds: argument("--pause", 0), count: max(1, argument("--n", 1_000_000)),
            dirtyBytes: UInt64(argument("--dirty", 112)) << 20)
        try pause.run(at: path)
    } else {
        return false
    }
    return true
}

do {
    if try runAlone() { exit(0) }
    let workloads = Workloads(count: argument("--n", 1_000_000), seed: UInt64(argument("--seed", 1)))
    try measure(workloads, rounds: argument("--runs", 3), engines: engines)
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench: \(error)\n".utf8))
    exit(1)
}
