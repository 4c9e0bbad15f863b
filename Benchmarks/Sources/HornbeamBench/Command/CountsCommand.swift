// SPDX-License-Identifier: Apache-2.0
// `counts`: instructions and allocations of an operation, which don't depend on the load of the machine.

import BenchHarness
import Foundation

struct CountsCommand {
    /// Workloads of a single thread that don't depend on a clock.
    private static let workloads = [
        "load-seq", "scan-full", "scan-reverse", "count-half", "entry-at", "append", "load-rand", "get-rand",
        "get-txn", "get-many", "scan-100", "update-rand", "delete-rand", "reinsert-rand", "commit", "commit-process",
        "ycsb-a", "ycsb-c", "ycsb-e", "text-load", "text-get", "text-scan", "entity-load", "entity-get", "entity-equal",
        "entity-range", "entity-nested", "entity-update", "entity-save",
    ]
    /// Whether instructions can be compared: the baseline comes from a processor with AVX2, for which libc and the
    /// engine have special code.
    fileprivate static let countsAgree =
        (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.contains(" avx2 ") ?? false
    /// A check fails if instructions have increased by more than this share.
    fileprivate static let tolerance = 0.02
    /// The allowed increase of allocations, as a number and as a share: a sort or a table may sometimes need one
    /// more, depending on addresses.
    fileprivate static let toleratedAllocations = (number: 0.02, share: 0.001)
    /// A workload above its former count is counted again, up to this number of times, and the lowest count is
    /// compared. A writer's copies of pages depend on when the store's own thread ends its checkpoints: `delete-rand`
    /// varies by 8 %.
    private static let turns = 3

    private let check: String?
    private let target: String?
    private let selection: Selection
    /// Whether all workloads are counted.
    private let isWhole: Bool

    init(_ words: [String]) throws {
        let arguments = try Arguments(words, options: ["check", "write", "n", "workload"])
        check = arguments.text("check")
        target = arguments.text("write")
        isWhole = arguments.text("workload") == nil
        let wanted = arguments.text("workload") ?? Self.workloads.joined(separator: ",")
        let count = try arguments.number("n", 20_000, least: 100)
        selection = try Selection(
            Arguments(
                ["--engine", HornbeamEngine.name, "--workload", wanted, "--n", "\(count)"],
                options: Selection.options))
    }

    func run() throws {
        let former = try check.map { try readJSON([String: Count].self, from: $0) } ?? [:]
        var counts: [String: Count] = [:]
        try inFolder { folder in
            var progress = Progress(steps: selection.scenarios.count)
            for (scenario, workloads) in selection.scenarios {
                progress.show(scenario.name)
                var turns = 0
                repeat {
                    let counted = try Callgrind.counts(
                        scenario, workloads, HornbeamEngine.self, folder: folder, count: selection.count,
                        seed: selection.seed)
                    counts.merge(counted) { $0.least($1) }
                    turns += 1
                } while turns < Self.turns
                    && workloads.contains { counts[$0.name]?.exceeds(former[$0.name]) ?? false }
                progress.step()
            }
            progress.end()
        }
        let names = selection.scenarios.flatMap { $0.workloads.map(\.name) }
        print(
            aligned(
                [["workload", "instructions/op", "allocations/op"]]
                    + names.compactMap { name in
                        counts[name].map { [name, "\(Int($0.instructions))", String(format: "%.3f", $0.allocations)] }
                    }))
        if let target { try writeJSON(counts.mapValues(\.rounded), to: target) }
        if let check {
            try compare(counts, with: former, of: check)
            if isWhole { try SharedLines.check() }
        }
    }

    private func compare(_ counts: [String: Count], with former: [String: Count], of path: String) throws {
        var worse: [String] = []
        var better: [String] = []
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            guard let before = former[name] else { throw BenchError("\(path) has no \(name): write it anew") }
            let change = count.instructions / before.instructions - 1
            let told = String(
                format: "  %@: %.0f instructions an operation, before %.0f (%+.1f %%)", name, count.instructions,
                before.instructions, change * 100)
            if count.hasMoreInstructions(than: before) { worse.append(told) }
            if change < -Self.tolerance { better.append(told) }
            if count.hasMoreAllocations(than: before) {
                worse.append(
                    String(
                        format: "  %@: %.3f allocations an operation, before %.3f", name, count.allocations,
                        before.allocations))
            }
        }
        if !better.isEmpty {
            print("fewer than in \(path); 'make counts-baseline' keeps it so:\n" + better.joined(separator: "\n"))
        }
        guard worse.isEmpty else {
            throw BenchError(
                """
                more than in \(path):
                \(worse.joined(separator: "\n"))
                Find out what the operation does more than before ('valgrind --tool=callgrind' names the functions). \
                If it is worth that, write the new counts with 'make counts-baseline' and commit the file together \
                with the change, whose message says what they buy. Counts are of one version of the compiler \
                and of the libraries: after an update of these, write the baseline before anything else.
                """)
        }
        let instructions = Self.countsAgree ? "" : " (allocations alone: without AVX2 other instructions are counted)"
        print("no more than in \(path)" + instructions)
    }
}

extension Count {
    fileprivate func hasMoreInstructions(than before: Count) -> Bool {
        CountsCommand.countsAgree && instructions > before.instructions * (1 + CountsCommand.tolerance)
    }

    fileprivate func hasMoreAllocations(than before: Count) -> Bool {
        let tolerated = CountsCommand.toleratedAllocations
        return allocations > before.allocations * (1 + tolerated.share) + tolerated.number
    }

    /// Returns whether the count exceeds the former one, if there is one.
    fileprivate func exceeds(_ before: Count?) -> Bool {
        guard let before else { return false }
        return hasMoreInstructions(than: before) || hasMoreAllocations(than: before)
    }

    fileprivate func least(_ other: Count) -> Count {
        Count(
            instructions: min(instructions, other.instructions), allocations: min(allocations, other.allocations))
    }

    /// The count with as many digits as are significant.
    fileprivate var rounded: Count {
        Count(instructions: (instructions * 10).rounded() / 10, allocations: (allocations * 1_000).rounded() / 1_000)
    }
}
