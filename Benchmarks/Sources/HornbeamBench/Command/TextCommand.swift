// SPDX-License-Identifier: Apache-2.0
// `text`: full text by every engine, on real texts. Queries and right answers are made once for each corpus, from the
// corpus itself. Then each engine builds, searches, changes and is judged, each in a process of its own.

import BenchHarness
import Foundation

struct TextCommand {
    /// A corpus whose name has this ending is used only for judging relevance.
    private static let judgedAlone = "-long"
    private static let engines: [String] = {
        var engines = ["hornbeam"]
        #if PEER_SQLITE
            engines.append("sqlite")
        #endif
        #if PEER_XAPIAN
            engines.append("xapian")
        #endif
        return engines
    }()

    /// The engines that have fields with weights.
    private static let fieldEngines: Set<String> = ["hornbeam", "sqlite"]

    private let arguments: Arguments
    private let corpora: [String]
    private let engines: [String]
    /// The requested workloads.
    private let workloads: [String]
    private let count: Int
    private let seed: UInt64
    private let rounds: Int
    private let parent: String

    init(_ words: [String]) throws {
        arguments = try Arguments(
            words,
            options: [
                "data", "corpus", "engine", "workload", "python", "n", "seed", "runs", "json", "markdown", "folder",
            ],
            flags: ["smoke", "instructions"])
        let isSmoke = arguments.has("smoke")
        let texts = arguments.list("corpus")
        corpora = isSmoke ? ["sample"] : texts.isEmpty ? ["debian", "debian-long", "rfc-page"] : texts
        guard isSmoke || arguments.has("data") else {
            throw BenchError("text needs --data FOLDER, which Scripts/make-text-data.py makes")
        }
        let known = Self.engines + (arguments.has("python") ? ["tantivy"] : [])
        let wanted = arguments.list("engine")
        for name in wanted where !known.contains(name) {
            throw BenchError("there is no full text of \(name) in this build: \(known)")
        }
        engines = known.filter { wanted.isEmpty || wanted.contains($0) }
        let rows = TextTable.rows.map(\.workload)
        let named = arguments.list("workload")
        for name in named where !rows.contains(name) { throw BenchError("full text has no row \(name): \(rows)") }
        workloads = rows.filter { named.isEmpty || named.contains($0) }
        count = try arguments.number("n", isSmoke ? 400 : Int(Int32.max), least: 100)
        seed = UInt64(try arguments.number("seed", 1))
        rounds = try arguments.number("runs", isSmoke ? 1 : 3, least: 1)
        parent = (arguments.text("folder") ?? FileManager.default.currentDirectoryPath) + "/bench-\(getpid())"
    }

    private func command(rounds: Int) -> String {
        let told = ["corpus", "engine", "workload", "n"].compactMap { name in
            arguments.text(name).map { " --\(name) \($0)" }
        }
        return "hornbeam-bench text --data FOLDER --runs \(rounds) --seed \(seed)" + told.joined()
    }

    func run() throws {
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        var report = Report(count: 0, seed: seed, rounds: 0, version: HornbeamEngine.version)
        var progress = Progress(steps: corpora.count + rounds * corpora.count * engines.count)
        for corpus in corpora {
            progress.show("questions for \(corpus)")
            try prepare(corpus)
            progress.step()
        }
        if arguments.has("instructions") {
            progress.end()
            return try countInstructions()
        }
        for round in 0..<rounds {
            for corpus in corpora {
                for engine in engines {
                    progress.show("\(corpus), \(engine), round \(round + 1) of \(rounds)")
                    report.figures += try figures(corpus, engine, round)
                    progress.step()
                }
            }
            report.rounds = round + 1
            report.command = command(rounds: round + 1)
            report.date = String(ISO8601DateFormatter().string(from: Date()).prefix(10))
            if let json = arguments.text("json") { try writeJSON(report, to: json) }
        }
        progress.end()
        try ReportCommand.show(report, arguments)
    }

    private func path(_ corpus: String, _ kind: String) -> String {
        (arguments.text("data") ?? parent) + "/\(corpus).\(kind)"
    }

    private func questions(_ corpus: String) -> String { parent + "/\(corpus).questions" }

    private func isJudged(_ corpus: String) -> Bool {
        FileManager.default.fileExists(atPath: path(corpus, "judged"))
    }

    private func prepare(_ corpus: String) throws {
        let common = ["--corpus", path(corpus, "docs"), "--seed", "\(seed)"]
        if arguments.has("smoke") {
            // 40 more documents, which are inserted later.
            _ = try child("text-sample", common + ["--n", "\(count + 40)"])
            try Data("wörtchen für alle\t0,1,2\nEin alle\t3\n".utf8)
                .write(to: URL(fileURLWithPath: path(corpus, "judged")))
        }
        _ = try child("text-prepare", common + ["--n", "\(count)", "--questions", questions(corpus)])
    }

    private func child(
        _ scenario: String, _ words: [String], engine: String = HornbeamEngine.name, program: String = Child.program,
        under: [String] = [], environment: [String: String] = [:]
    ) throws -> [Figure] {
        // Beside this program's sources.
        let script = [arguments.text("python") ?? "", Self.script]
        return try Child.figures(
            of: under + (engine == "tantivy" ? script : [program + "-typed"]) + ["child", scenario] + words,
            "\(engine) in \(scenario)", environment: environment)
    }

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../../Scripts/bench-tantivy.py").standardized.path

    /// Returns the arguments common to all children.
    private func words(_ corpus: String, _ engine: String, folder: String, workloads: [String]) -> [String] {
        [
            "--engine", engine, "--corpus", path(corpus, "docs"), "--questions", questions(corpus), "--seed", "\(seed)",
            "--folder", folder, "--workload", workloads.joined(separator: ","),
        ]
    }

    private func figures(_ corpus: String, _ engine: String, _ round: Int) throws -> [Figure] {
        let folder = parent + "/store"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var words = words(corpus, engine, folder: folder, workloads: workloads) + ["--round", "\(round)"]
        let isAlone = corpus.hasSuffix(Self.judgedAlone)
        let wanted = Set(workloads.map(TextTable.scenario))
        var scenarios = ["text-build"] + (isAlone ? [] : ["text-search"])
        // Results don't change between rounds.
        if isJudged(corpus), round == 0 {
            scenarios.append("text-judge")
            words += ["--judged", path(corpus, "judged")]
        }
        if !isAlone { scenarios.append("text-change") }
        var found = try scenarios.filter { $0 == "text-build" || wanted.contains($0) }
            .flatMap { try child($0, words, engine: engine) }
        if !isAlone, Self.fieldEngines.contains(engine), wanted.contains("text-fields") {
            // It uses a store of its own.
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            found += try child("text-fields", words, engine: engine)
        }
        return found.map { figure in
            var figure = figure
            figure.corpus = corpus
            return figure
        }
    }

    /// Counts the instructions of Hornbeam's searches and changes by a single thread, which don't depend on the
    /// machine's load.
    private func countInstructions() throws {
        for corpus in corpora {
            let folder = parent + "/store"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let workloads = workloads.filter { !$0.hasPrefix("beside-") && $0 != "insert-bare" }
            let words = words(corpus, HornbeamEngine.name, folder: folder, workloads: workloads)
            _ = try child("text-build", words)
            var counts: [String: Count] = [:]
            for scenario in ["text-search", "text-change", "text-fields"] {
                // Its store has another type.
                if scenario == "text-fields" {
                    try FileManager.default.removeItem(atPath: folder)
                    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                }
                counts.merge(
                    try Callgrind.counts(in: parent) { program, under, environment in
                        try child(scenario, words, program: program, under: under, environment: environment)
                    }
                ) { $1 }
            }
            let rows = workloads.compactMap { name in
                counts[name].map { [name, "\(Int($0.instructions))", String(format: "%.3f", $0.allocations)] }
            }
            print("\n\(corpus)\n\n" + aligned([["row", "instructions/op", "allocations/op"]] + rows))
        }
    }
}
