// SPDX-License-Identifier: Apache-2.0
// Measures Hornbeam beside the installed peers. Ratios count: absolute figures on a shared machine mean little.

import Foundation

let help = """
    hornbeam-bench: measures Hornbeam beside LMDB, SQLite, RocksDB and Xapian

      run [options]          measure, and print medians and ratios (the default)
        --engine A,B         these engines (default: all of this build)
        --workload A,B       these workloads or scenarios (default: all)
        --n NUMBER           entries (default 1,000,000)
        --runs NUMBER        rounds (default 3)
        --seed NUMBER        of keys, values and orders (default 1)
        --json FILE          write the figures
        --markdown FILE      put them into the document's part <!-- figures -->, those of
                             entities into <!-- entities -->, and those of the mirror into
                             <!-- mirror -->
        --svg FILE           draw the ratios
        --smoke              every workload once with 500 entries: do all of them give right answers?
        --folder FOLDER      where stores lie meanwhile (default: the current one)
      text --data FOLDER     full text on the texts of Scripts/make-text-data.py
        --corpus A,B         these of them (default: debian, debian-long and rfc-page)
        --engine A,B         of hornbeam, sqlite, xapian and tantivy (default: those of this build)
        --workload A,B       these rows alone
        --python FILE        runs Scripts/bench-tantivy.py with a Python that has tantivy
        --n NUMBER           no more documents of each
        --runs, --seed, --json, --markdown (the part <!-- full text -->), --folder
        --instructions       instead: instructions of Hornbeam's searches and changes; needs valgrind
        --smoke              with a small text of its own, once
      report FILE            the figures of a run once more [--markdown FILE] [--svg FILE]
      list                   engines and workloads
      compare FILE FILE      two runs' figures side by side
      scaling [options]      what an operation costs in stores from 10,000 entries on
        --max NUMBER         up to so many entries (default 10,000,000)
        --instructions       count instructions too; needs valgrind
        --runs, --seed, --json, --markdown (the part <!-- scaling -->)
      counts [options]       instructions and allocations an operation; needs valgrind
        --check FILE         fail if they exceed those in the file, or 'shared-lines' fails
        --write FILE         write them
        --workload A,B       of these workloads alone
        --n NUMBER           entries (default 20,000)
      shared-lines           fail if threads that only read write cache lines in common; needs valgrind
      prices                 what the planner reckons with: times of the steps of plans [--n NUMBER] [--seed NUMBER]
      plans                  times of the planner's choices beside those of other plans; fails where one takes more
                             than 1.5 times as long [--cases NUMBER] [--n NUMBER] [--seed NUMBER]
      reliability WHAT       what safety costs: commits, updates, recovery, open, pause or growth [--n NUMBER]
      churn [options]        sizes of the engines' files under ordinary changes
        --n NUMBER           entries (default 500,000)
        --engine, --rounds, --seed
      load MEBIBYTES         one large transaction [--cache MEBIBYTES] [--order sorted|random] [--seed NUMBER]
    """

/// Runs the body with a temporary folder in the current one.
func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.currentDirectoryPath + "/bench-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
}

func perform(_ words: [String]) throws {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "list": ListCommand.run()
    case "text": try TextCommand(rest).run()
    case "compare": try CompareCommand.run(rest)
    case "report": try ReportCommand.run(rest)
    case "scaling": try ScalingCommand(rest).run()
    case "counts": try CountsCommand(rest).run()
    case "shared-lines": try SharedLines.check()
    case "prices", "plans": try Child.runTyped(words)
    case "reliability": try inFolder { try Reliability(folder: $0, rest).run() }
    case "churn": try inFolder { try Churn(rest).run(in: $0) }
    case "load": try inFolder { try LargeLoad(rest).run(at: $0 + "/load") }
    case "child": try Child.main(rest)
    case "fill-journal": try Reliability.fillJournal(path: rest.first ?? "")
    case "help", "--help": print(help)
    case "run": try RunCommand(rest).run()
    default: try RunCommand(words).run()
    }
}

do {
    try perform(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench: \(error)\n".utf8))
    exit(1)
}
