// SPDX-License-Identifier: Apache-2.0
// Runs the scenarios of entities for hornbeam-bench, as its child: Hornbeam's Swift library beside SQLite as one writes
// it by hand. It is a program of its own because hornbeam-bench has Hornbeam's C library, and with it the engine,
// already.

import BenchHarness
import Foundation

do {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count > 1, words[0] == "child" else {
        throw BenchError("this is a part of hornbeam-bench: hornbeam-bench run --workload typed")
    }
    let run = try Run(Arguments(Array(words.dropFirst(2)), options: Run.options))
    switch words[1] {
    case "typed": try typedScenario(run)
    case "documents": try documentScenario(run, isInMemory: false)
    case "documents-memory": try documentScenario(run, isInMemory: true)
    case "chats": try chatScenario(run, isInMemory: false)
    case "chats-memory": try chatScenario(run, isInMemory: true)
    case "coding": try codingScenario(run)
    default: throw BenchError("there is no scenario \(words[1]) of entities")
    }
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench-typed: \(error)\n".utf8))
    exit(1)
}
