// SPDX-License-Identifier: Apache-2.0
// `list`: engines and workloads, with descriptions.

enum ListCommand {
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
