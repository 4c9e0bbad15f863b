// SPDX-License-Identifier: Apache-2.0
// `run`: every scenario with every engine, in child processes. In each round the engines follow one another, so that
// other work on the machine affects all of them alike. `report`: the results of an earlier run.

import BenchHarness
import Foundation

struct RunCommand {
    private let selection: Selection
    private let arguments: Arguments
    private let parent: String

    init(_ words: [String]) throws {
        arguments = try Arguments(
            words, options: Selection.options.union(ReportCommand.options).union(["json", "folder"]),
            flags: Selection.flags)
        selection = try Selection(arguments)
        let folder = arguments.text("folder") ?? FileManager.default.currentDirectoryPath
        parent = folder + "/bench-\(getpid())"
    }

    /// Returns the command that repeats the run, with the number of finished rounds, and without the folder of the
    /// files.
    private func command(rounds: Int) -> String {
        let told = ["engine", "workload"].compactMap { name in arguments.text(name).map { " --\(name) \($0)" } }
        return "hornbeam-bench run --n \(selection.count) --runs \(rounds) --seed \(selection.seed)" + told.joined()
    }

    func run() throws {
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        var report = Report(
            count: selection.count, seed: selection.seed, rounds: 0, version: HornbeamEngine.version)
        let steps = selection.rounds * selection.scenarios.count * selection.engines.count
        var progress = Progress(steps: steps)
        for round in 0..<selection.rounds {
            for (scenario, workloads) in selection.scenarios {
                for engine in selection.engines {
                    progress.show("\(scenario.name), \(engine.name), round \(round + 1) of \(selection.rounds)")
                    report.figures += try Child.run(
                        scenario, workloads, engine, folder: parent + "/store", count: selection.count,
                        seed: selection.seed, round: round)
                    progress.step()
                }
            }
            report.rounds = round + 1
            report.command = command(rounds: round + 1)
            report.date = String(ISO8601DateFormatter().string(from: Date()).prefix(10))
            // Written after each round, so that the run may be ended early.
            if let json = arguments.text("json") { try writeJSON(report, to: json) }
        }
        progress.end()
        try ReportCommand.show(report, arguments)
    }
}

enum ReportCommand {
    static let options: Set<String> = ["markdown", "svg"]

    static func run(_ words: [String]) throws {
        let arguments = try Arguments(words, options: options)
        guard arguments.words.count == 1 else { throw BenchError("report needs a file that run --json has written") }
        try show(readJSON(Report.self, from: arguments.words[0]), arguments)
    }

    static func show(_ report: Report, _ arguments: Arguments) throws {
        if report.hasOrdinary { print(report.text) }
        if report.hasEntities { print(report.entityText) }
        if report.hasFullText { print(report.fullText) }
        if let mirror = report.mirrorText { print(mirror) }
        if let markdown = arguments.text("markdown") {
            if report.hasOrdinary { try replacePart("figures", of: markdown, with: report.markdown) }
            if report.hasEntities { try replacePart("entities", of: markdown, with: report.entityMarkdown) }
            if report.hasFullText { try replacePart("full text", of: markdown, with: report.fullTextMarkdown) }
            if let mirror = report.mirrorMarkdown { try replacePart("mirror", of: markdown, with: mirror) }
        }
        if let svg = arguments.text("svg") { try Data(Chart(report).svg.utf8).write(to: URL(fileURLWithPath: svg)) }
    }
}

func writeJSON(_ value: some Encodable, to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try (encoder.encode(value) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
}

func readJSON<Value: Decodable>(_ type: Value.Type, from path: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: path)))
}

/// Puts generated text into a document, between the lines `<!-- name -->` and `<!-- end of name -->`.
func replacePart(_ name: String, of path: String, with text: String) throws {
    let document = try String(contentsOfFile: path, encoding: .utf8)
    guard let start = document.range(of: "<!-- \(name) -->\n"),
        let end = document.range(of: "<!-- end of \(name) -->", range: start.upperBound..<document.endIndex)
    else { throw BenchError("\(path) has no part between <!-- \(name) --> and <!-- end of \(name) -->") }
    let whole = document[..<start.upperBound] + "\n" + text + "\n\n" + document[end.lowerBound...]
    try String(whole).write(toFile: path, atomically: true, encoding: .utf8)
}
