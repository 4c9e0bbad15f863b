// SPDX-License-Identifier: Apache-2.0
// Runs every workload for Hornbeam and for the peers that are installed, interleaved over several rounds, and prints
// medians and ratios. Ratios count: absolute figures on a shared machine mean little.
//
//     hornbeam-bench [--n ENTRIES] [--runs ROUNDS] [--seed SEED] [--folder FOLDER]
//     hornbeam-bench --load MEBIBYTES [--cache MEBIBYTES] [--order sorted|random] [--seed SEED]
//     hornbeam-bench --reliability commits|updates|recovery|open [--n ENTRIES] [--load MEBIBYTES]

import Foundation

func word(after name: String) -> String? {
    let words = CommandLine.arguments
    guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
    return words[index + 1]
}

func argument(_ name: String, _ standard: Int) -> Int { word(after: name).flatMap { Int($0) } ?? standard }

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

/// One large transaction; the file goes away afterwards.
func load(mebibytes: Int) throws {
    let path = FileManager.default.currentDirectoryPath + "/load-\(getpid()).hornbeam"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let load = LargeLoad(
        bytes: mebibytes << 20, cacheBytes: argument("--cache", 64) << 20,
        isSorted: !CommandLine.arguments.contains("random"), seed: UInt64(argument("--seed", 1)))
    try load.run(at: path)
}

/// Runs one measurement in a folder of its own beneath the current one.
func measureReliability(_ name: String) throws {
    let folder = FileManager.default.currentDirectoryPath + "/bench-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    try Reliability(folder: folder, count: argument("--n", 1_000_000), program: program).run(name)
}

do {
    if let path = word(after: "--fill-journal") { try Reliability.fillJournal(path: path) }
    if let name = word(after: "--reliability") {
        try measureReliability(name)
        exit(0)
    }
    let mebibytes = argument("--load", 0)
    if mebibytes > 0 {
        try load(mebibytes: mebibytes)
        exit(0)
    }
    let workloads = Workloads(count: argument("--n", 1_000_000), seed: UInt64(argument("--seed", 1)))
    try measure(workloads, rounds: argument("--runs", 3), engines: engines)
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench: \(error)\n".utf8))
    exit(1)
}
