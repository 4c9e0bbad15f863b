// SPDX-License-Identifier: Apache-2.0
// Runs the scenario of entities for hornbeam-bench, as its child: Hornbeam's Swift library beside SQLite as one writes
// it by hand. It is a program of its own because hornbeam-bench has Hornbeam's C library, and with it the engine,
// already.

import BenchHarness
import Foundation

do {
    var words = Array(CommandLine.arguments.dropFirst())
    guard words.count > 1, words[0] == "child", words[1] == "typed" else {
        throw BenchError("this is a part of hornbeam-bench: hornbeam-bench run --workload typed")
    }
    words.removeFirst(2)
    try typedScenario(Run(Arguments(words, options: Run.options)))
} catch {
    FileHandle.standardError.write(Data("hornbeam-bench-typed: \(error)\n".utf8))
    exit(1)
}
