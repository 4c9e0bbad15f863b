// SPDX-License-Identifier: Apache-2.0
// Counts instructions with valgrind. It runs a program on a simulated processor, so the counts depend neither on the
// load of the machine nor on the machine, with one exception: on a processor without AVX2 the simulated one has none
// either, and libraries that choose their code by that take other instructions.

import BenchHarness
import Foundation

/// The counts of one workload, for one operation.
struct Count: Codable {
    var instructions: Double
    var allocations: Double
}

enum Callgrind {
    static let program = "/usr/bin/valgrind"

    /// Counts the thread that runs the workloads: the work of background threads depends on when they run.
    static func counts(
        _ scenario: Scenario, _ workloads: [Workload], _ engine: any Engine.Type, folder: String, count: Int,
        seed: UInt64
    ) throws -> [String: Count] {
        try counts(in: folder) { program, under, environment in
            try Child.run(
                scenario, workloads, engine, folder: folder + "/store", count: count, seed: seed, program: program,
                under: under, environment: environment)
        }
    }

    /// Counts a child that `run` starts. `run` gets the copy of hornbeam-bench to run, the command that runs it, and
    /// the environment it needs.
    static func counts(
        in folder: String,
        _ run: (_ program: String, _ under: [String], _ environment: [String: String]) throws -> [Figure]
    ) throws -> [String: Count] {
        guard access(program, X_OK) == 0 else { throw BenchError("counting needs valgrind: apt install valgrind") }
        let told = folder + "/callgrind"
        try? FileManager.default.removeItem(atPath: told)
        try FileManager.default.createDirectory(atPath: told, withIntermediateDirectories: true)
        let programs = try withoutDebugInformation(in: folder)
        let figures = try run(
            programs,
            [
                program, "--quiet", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
                "--callgrind-out-file=\(told)/out",
            ], ["SWIFT_DETERMINISTIC_HASHING": "1"])
        let totals = try totals(in: told)
        var counts: [String: Count] = [:]
        for figure in figures {
            guard let total = totals[figure.workload] else {
                throw BenchError("no instructions of \(figure.workload): was this built with valgrind installed?")
            }
            let operations = Double(figure.operations)
            counts[figure.workload] = Count(
                instructions: total / operations, allocations: Double(figure.allocations) / operations)
        }
        return counts
    }

    /// Makes copies of this build's programs and library without debug information, on which valgrind fails. The
    /// names of functions stay. Copies once to a folder; returns the path of hornbeam-bench there.
    static func withoutDebugInformation(in folder: String) throws -> String {
        let target = folder + "/programs"
        let name = (Child.program as NSString).lastPathComponent
        guard !FileManager.default.fileExists(atPath: target) else { return target + "/" + name }
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        let source = (Child.program as NSString).deletingLastPathComponent
        for file in [name, name + "-typed", SharedLines.program, "libHornbeamC.so"] {
            let strip = Process()
            strip.executableURL = URL(fileURLWithPath: "/usr/bin/strip")
            strip.arguments = ["--strip-debug", "-o", target + "/" + file, source + "/" + file]
            try strip.run()
            strip.waitUntilExit()
            guard strip.terminationStatus == 0 else { throw BenchError("strip failed on \(file)") }
        }
        return target + "/" + name
    }

    /// Returns the instructions of the first thread, by the names given to `instructions_end`.
    private static func totals(in folder: String) throws -> [String: Double] {
        var totals: [String: Double] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix("-01") {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            let lines = text.split(separator: "\n")
            guard let trigger = value("desc: Trigger: Client Request: ", in: lines),
                let total = (value("totals: ", in: lines) ?? value("summary: ", in: lines)).flatMap({ Double($0) })
            else { continue }
            totals[trigger] = total
        }
        return totals
    }

    private static func value(_ prefix: String, in lines: [Substring]) -> String? {
        lines.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}
