// SPDX-License-Identifier: Apache-2.0
// A scenario in a process of its own, so that no engine is affected by another's memory. The child reports each
// result as a line of JSON on its standard output.

import BenchHarness
import Foundation

enum Child {
    static let program: String = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""

    /// Runs a scenario, in the parent. `program` is a copy of this program that the child runs, `under` a program
    /// with arguments that runs the child, such as a profiler; `environment` is added to the environment.
    static func run(
        _ scenario: Scenario, _ workloads: [Workload], _ engine: any Engine.Type, folder: String, count: Int,
        seed: UInt64, round: Int = 0, program: String = program, under: [String] = [],
        environment: [String: String] = [:]
    ) throws -> [Figure] {
        let wanted = workloads.filter { $0.needs.map { engine.features.contains($0) } ?? true }
        guard !wanted.isEmpty else { return [] }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let words =
            under + [
                scenario.isTyped ? program + "-typed" : program, "child", scenario.name, "--engine", engine.name,
                "--workload", wanted.map(\.name).joined(separator: ","), "--n", "\(count)", "--seed", "\(seed)",
                "--round", "\(round)", "--folder", folder,
            ]
        return try figures(of: words, "\(engine.name) in \(scenario.name)", environment: environment)
    }

    /// Runs a program with arguments, and returns the results it reports. `what` names it in the error if it fails.
    static func figures(of words: [String], _ what: String, environment: [String: String] = [:]) throws -> [Figure] {
        try output(of: words, what, environment: environment).split(separator: UInt8(ascii: "\n"))
            .map { try JSONDecoder().decode(Figure.self, from: $0) }
    }

    /// Runs a program and returns its standard output.
    static func output(of words: [String], _ what: String, environment: [String: String] = [:]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw BenchError("failed: \(what)")
        }
        return output
    }

    /// Runs a command of `hornbeam-bench-typed`, which writes to the standard output itself.
    static func runTyped(_ words: [String]) throws {
        let process = try Process.run(URL(fileURLWithPath: program + "-typed"), arguments: words)
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw BenchError("failed: \(words[0])")
        }
    }

    /// Runs the scenario, in the child.
    static func main(_ arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: Run.options)
        guard let run = (allScenarios + [scaling]).first(where: { $0.name == arguments.words.first })?.run else {
            throw BenchError("child is for hornbeam-bench itself: see run")
        }
        try run(Run(arguments))
    }
}
