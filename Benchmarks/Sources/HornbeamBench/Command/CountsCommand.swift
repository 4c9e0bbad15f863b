// SPDX-License-Identifier: Apache-2.0
// `counts`: instructions and allocations an operation, which don't depend on what else the machine does. Each scenario
// runs twice, once with its parts repeated; the difference is that of the repeated operations alone.

import Foundation

/// Of one workload of Hornbeam.
struct Count: Codable {
    var instructions: Double
    var allocations: Double
}

struct CountsCommand {
    private static let workloads = [
        "get-rand", "get-txn", "get-many", "scan-full", "scan-100", "commit-process", "ycsb-c",
    ]
    /// Beyond this share more instructions than before, a check fails: compilers and libraries differ a little.
    private static let tolerance = 0.1

    private let check: String?
    private let target: String?
    private let count: Int

    init(_ arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: ["check", "write", "n"])
        check = arguments.text("check")
        target = arguments.text("write")
        count = try arguments.number("n", 20_000, least: 100)
    }

    func run() throws {
        var counts: [String: Count] = [:]
        try inFolder { folder in
            for name in Self.workloads { counts[name] = try measure(name, folder) }
        }
        print(
            aligned(
                [["workload", "instructions/op", "allocations/op"]]
                    + Self.workloads.compactMap { name in
                        counts[name].map { [name, "\(Int($0.instructions))", String(format: "%.3f", $0.allocations)] }
                    }))
        if let target {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(counts).write(to: URL(fileURLWithPath: target))
        }
        if let check { try compare(counts, with: check) }
    }

    private func measure(_ name: String, _ folder: String) throws -> Count {
        let selection = try Selection(
            Arguments(
                ["--engine", HornbeamEngine.name, "--workload", name, "--n", "\(count)"], options: Selection.options))
        guard let (scenario, workloads) = selection.scenarios.first else { throw EngineError("no workload \(name)") }
        var totals: [Double] = []
        var figures: [Figure] = []
        for repeats in [1, 3] {
            let told = folder + "/valgrind-\(repeats)"
            guard FileManager.default.createFile(atPath: told, contents: nil),
                let output = FileHandle(forWritingAtPath: told)
            else { throw EngineError("can't write in \(folder)") }
            figures += try Child.run(
                scenario, workloads, HornbeamEngine.self, folder: folder + "/store", selection: selection, round: 0,
                repeats: repeats, under: ["/usr/bin/valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"],
                standardError: output)
            try output.close()
            let text = try String(contentsOfFile: told, encoding: .utf8)
            guard let line = text.split(separator: "\n").first(where: { $0.contains("Collected : ") }),
                let total = line.split(separator: " ").last.flatMap({ Double($0) })
            else { throw EngineError("valgrind told no total: \(text)") }
            totals.append(total)
        }
        guard figures.count == 2 else { throw EngineError("\(name) told no figures") }
        let operations = Double(figures[1].operations - figures[0].operations)
        return Count(
            instructions: (totals[1] - totals[0]) / operations,
            allocations: Double(figures[1].allocations - figures[0].allocations) / operations)
    }

    private func compare(_ counts: [String: Count], with path: String) throws {
        let former = try JSONDecoder().decode([String: Count].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        var problems: [String] = []
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            guard let before = former[name] else { continue }
            if count.instructions > before.instructions * (1 + Self.tolerance) {
                problems.append("\(name): \(Int(count.instructions)) instructions, before \(Int(before.instructions))")
            }
            if count.allocations > before.allocations + 0.01 {
                problems.append("\(name): \(count.allocations) allocations, before \(before.allocations)")
            }
        }
        guard problems.isEmpty else { throw EngineError("slower than \(path):\n" + problems.joined(separator: "\n")) }
    }
}
