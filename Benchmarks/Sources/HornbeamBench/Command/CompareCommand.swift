// SPDX-License-Identifier: Apache-2.0
// `compare`: the JSON of two runs side by side. A change smaller than the spread of either run's rounds is noise.

import BenchHarness
import Foundation

enum CompareCommand {
    static func run(_ arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: [])
        guard arguments.words.count == 2 else {
            throw BenchError("compare needs two files that run --json has written")
        }
        let reports = try arguments.words.map { try readJSON(Report.self, from: $0) }
        var rows = [["workload", "engine", "before/s", "after/s", "change", ""]]
        for workload in reports[1].workloads {
            for engine in reports[1].engines {
                guard let before = reports[0].speed(workload, engine), let after = reports[1].speed(workload, engine)
                else { continue }
                let change = after.median / before.median - 1
                let noise = max(before.spread, after.spread)
                rows.append([
                    workload, engine, "\(Int(before.median))", "\(Int(after.median))",
                    String(format: "%+.0f%%", change * 100), abs(change) <= noise ? "noise" : "",
                ])
            }
        }
        print(aligned(rows))
    }
}
