// SPDX-License-Identifier: Apache-2.0
// `run`: every scenario by every engine, in child processes, the engines one after the other in each round, so that
// whatever else the machine does meets all of them alike.

import Foundation

struct RunCommand {
    private let selection: Selection
    private let json: String?
    private let chart: String?
    private let parent: String

    init(_ arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: Selection.options.union(["json", "chart", "folder"]))
        selection = try Selection(arguments)
        json = arguments.text("json")
        chart = arguments.text("chart")
        let folder = arguments.text("folder") ?? FileManager.default.currentDirectoryPath
        parent = folder + "/bench-\(getpid())"
    }

    func run() throws {
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        var report = Report(
            count: selection.count, seed: selection.seed, rounds: selection.rounds, version: HornbeamEngine.version,
            figures: [])
        let steps = selection.rounds * selection.scenarios.count * selection.engines.count
        var progress = Progress(steps: steps)
        for round in 0..<selection.rounds {
            for (scenario, workloads) in selection.scenarios {
                for engine in selection.engines {
                    progress.show("\(scenario.name), \(engine.name), round \(round + 1) of \(selection.rounds)")
                    report.figures += try Child.run(
                        scenario, workloads, engine, folder: parent + "/store", selection: selection, round: round)
                    progress.step()
                }
            }
        }
        progress.end()
        print(report.table)
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(report).write(to: URL(fileURLWithPath: json))
        }
        if let chart { try Data(Chart(report).svg.utf8).write(to: URL(fileURLWithPath: chart)) }
    }
}
