// SPDX-License-Identifier: Apache-2.0
// The engines and workloads that the options name.

import BenchHarness

/// The selection that a run measures.
struct Selection {
    let engines: [any Engine.Type]
    let scenarios: [(scenario: Scenario, workloads: [Workload])]
    let count: Int
    let seed: UInt64
    let rounds: Int

    static let options: Set<String> = ["engine", "workload", "n", "seed", "runs"]
    /// `smoke`: every workload once, at a size that takes seconds, to check that all of them give right answers.
    static let flags: Set<String> = ["smoke"]

    init(_ arguments: Arguments) throws {
        let names = arguments.list("engine")
        for name in names where !allEngines.contains(where: { $0.name == name }) {
            throw BenchError("there is no engine \(name) in this build: \(allEngines.map { $0.name })")
        }
        engines = allEngines.filter { names.isEmpty ? $0.isDefault : names.contains($0.name) }
        let wanted = arguments.list("workload")
        let known = allScenarios.flatMap { $0.workloads.map(\.name) }
        for name in wanted where !known.contains(name) && !allScenarios.contains(where: { $0.name == name }) {
            throw BenchError("there is no workload \(name): see hornbeam-bench list")
        }
        scenarios = allScenarios.compactMap { scenario in
            let workloads = scenario.workloads.filter {
                wanted.isEmpty || wanted.contains($0.name) || wanted.contains(scenario.name)
            }
            return workloads.isEmpty ? nil : (scenario, workloads)
        }
        count = try arguments.number("n", arguments.has("smoke") ? 500 : 1_000_000, least: 100)
        seed = UInt64(try arguments.number("seed", 1))
        rounds = try arguments.number("runs", arguments.has("smoke") ? 1 : 3, least: 1)
    }
}
