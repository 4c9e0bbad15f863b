// SPDX-License-Identifier: Apache-2.0
// Runs every workload for Hornbeam and for the peers that are installed, interleaved over several rounds, and prints
// medians and ratios. Ratios count: absolute figures on a shared machine mean little.
//
//     hornbeam-bench [--n ENTRIES] [--runs ROUNDS] [--seed SEED] [--folder FOLDER]

import Foundation

setvbuf(stdout, nil, _IOLBF, 0)

func argument(_ name: String, _ standard: Int) -> Int {
    let words = CommandLine.arguments
    guard let index = words.firstIndex(of: name), index + 1 < words.count else { return standard }
    return Int(words[index + 1]) ?? standard
}

let count = argument("--n", 1_000_000)
let rounds = argument("--runs", 3)
let workloads = Workloads(count: count, seed: UInt64(argument("--seed", 1)))

var engines: [any Engine.Type] = [HornbeamEngine.self]
#if PEER_LMDB
    engines.append(LMDBEngine.self)
#endif
#if PEER_SQLITE
    engines.append(SQLiteEngine.self)
#endif

func measure() throws {
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
    print("\(count) entries of \(Entries.keySize) + \(Entries.valueSize) bytes, median of \(rounds) rounds, per second")
    for workload in order {
        let row = results[workload] ?? [:]
        let ours = median(row[HornbeamEngine.name] ?? [])
        let cells = engines.map { engine -> String in
            let figure = median(row[engine.name] ?? [])
            let ratio = engine.name == HornbeamEngine.name ? "" : String(format: " (%.2fx)", ours / figure)
            return "\(engine.name) \(Int(figure))\(ratio)"
        }
        print("\(workload): " + cells.joined(separator: ", "))
    }
}

func median(_ values: [Double]) -> Double {
    values.isEmpty ? .nan : values.sorted()[values.count / 2]
}

do {
    try measure()
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench: \(error)\n".utf8))
    exit(1)
}
