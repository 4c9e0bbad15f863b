// SPDX-License-Identifier: Apache-2.0
// A scenario in a process of its own, so that no engine meets another's memory. The child tells each figure as a line
// of JSON on its standard output.

import Foundation

enum Child {
    static let program: String = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""

    /// In the parent. `under`: a program and its arguments that runs the child, such as a profiler.
    static func run(
        _ scenario: Scenario, _ workloads: [Workload], _ engine: any Engine.Type, folder: String,
        selection: Selection, round: Int, repeats: Int = 1, under: [String] = [],
        standardError: FileHandle = .standardError
    ) throws -> [Figure] {
        let wanted = workloads.filter { $0.needs.map { engine.features.contains($0) } ?? true }
        guard !wanted.isEmpty else { return [] }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let words =
            under + [
                program, "child", scenario.name, "--engine", engine.name, "--workload",
                wanted.map(\.name).joined(separator: ","), "--n", "\(selection.count)", "--seed", "\(selection.seed)",
                "--round", "\(round)", "--repeats", "\(repeats)", "--folder", folder,
            ]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.standardError = standardError
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw EngineError("\(engine.name) failed in \(scenario.name)")
        }
        return try output.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Figure.self, from: $0) }
    }

    /// In the child.
    static func main(_ arguments: [String]) throws {
        let arguments = try Arguments(
            arguments, options: ["engine", "workload", "n", "seed", "round", "repeats", "folder"])
        guard let scenario = allScenarios.first(where: { $0.name == arguments.words.first }),
            let engine = allEngines.first(where: { $0.name == arguments.text("engine") }),
            let folder = arguments.text("folder")
        else { throw EngineError("child is for hornbeam-bench itself: see run") }
        let run = Run(
            engine: engine, folder: folder, count: try arguments.number("n", 1_000, least: 1),
            seed: UInt64(try arguments.number("seed", 1)), round: try arguments.number("round", 0),
            repeats: try arguments.number("repeats", 1, least: 1), wanted: Set(arguments.list("workload"))
        ) { figure in
            var line = try JSONEncoder().encode(figure)
            line.append(UInt8(ascii: "\n"))
            try FileHandle.standardOutput.write(contentsOf: line)
        }
        try scenario.run(run)
    }
}
