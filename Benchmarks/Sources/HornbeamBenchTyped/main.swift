// SPDX-License-Identifier: Apache-2.0
// Runs the scenarios of entities as a child of hornbeam-bench: Hornbeam's Swift library beside SQLite used directly.
// It is a separate program because hornbeam-bench already has Hornbeam's C library, and with it the engine.

import BenchHarness
import Foundation

func perform(_ scenario: String, _ run: Run) throws {
    switch scenario {
    case "typed": try typedScenario(run)
    case "documents": try documentScenario(run, isInMemory: false)
    case "documents-memory": try documentScenario(run, isInMemory: true)
    case "chats": try chatScenario(run, isInMemory: false)
    case "chats-memory": try chatScenario(run, isInMemory: true)
    case "totals": try totalsScenario(run)
    case "changes": try changesScenario(run)
    case "mirror": try mirrorScenario(run)
    case "coding": try codingScenario(run)
    default: throw BenchError("there is no scenario \(scenario) of entities")
    }
}

/// Runs a command that is no scenario. Returns false for other arguments.
func runCommand(_ words: [String]) throws -> Bool {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "prices": try PricesCommand(Arguments(rest, options: ["n", "seed"])).run()
    case "plans": try PlansCommand(Arguments(rest, options: ["n", "seed", "cases"])).run()
    default: return false
    }
    return true
}

do {
    let words = Array(CommandLine.arguments.dropFirst())
    if try runCommand(words) { exit(0) }
    guard words.count > 1, words[0] == "child" else {
        throw BenchError("this is a part of hornbeam-bench: hornbeam-bench run --workload typed")
    }
    let arguments = try Arguments(Array(words.dropFirst(2)), options: Run.options.union(TextScenario.options))
    if words[1].hasPrefix("text-") {
        try TextScenario.perform(words[1], arguments)
    } else {
        try perform(words[1], Run(arguments))
    }
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench-typed: \(error)\n".utf8))
    exit(1)
}
