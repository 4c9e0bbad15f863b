// SPDX-License-Identifier: Apache-2.0
// `list`: engines and workloads, with what they do.

enum ListCommand {
    /// The same for a document, without those that only `scaling` runs.
    static var markdown: String {
        let rows = allScenarios.flatMap { scenario in
            scenario.workloads.map { ["`\($0.name)`", scenario.name, $0.summary] }
        }
        return
            (["| workload | scenario | what it does |", "|---|---|---|"]
            + rows.map { "| " + $0.joined(separator: " | ") + " |" }).joined(separator: "\n")
    }

    static func run() {
        print("engines in this build: \(allEngines.map { $0.name }.joined(separator: ", "))\n")
        for scenario in allScenarios + [scaling] {
            print(scenario.name)
            print(
                aligned(scenario.workloads.map { ["  " + $0.name] }).split(separator: "\n").enumerated().map {
                    index, name in
                    "\(name)  \(scenario.workloads[index].summary)"
                }.joined(separator: "\n"))
        }
    }
}
