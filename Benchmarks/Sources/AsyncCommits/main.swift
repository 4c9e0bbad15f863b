// SPDX-License-Identifier: Apache-2.0
// How many durable commits a second tasks make that each write one small entity at a time, by how many of them there
// are. The file goes to the current folder, so that the disk is the one that is meant.
//
//     async-commits [SECONDS]

import Foundation
import Hornbeam

@EntityModel
struct Reading {
    let id: Int
    var value: Double
}

/// Commits a second of `tasks` tasks together.
func measure(tasks: Int, seconds: Double) async throws -> Double {
    let path = FileManager.default.currentDirectoryPath + "/async-\(getpid()).hornbeam"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let database = try Database(at: path, models: Reading.self)
    let start = ContinuousClock.now
    let end = start + .seconds(seconds)
    let commits = try await withThrowingTaskGroup(of: Int.self) { group in
        for task in 0..<tasks {
            group.addTask {
                var count = 0
                while ContinuousClock.now < end {
                    let id = task * 10_000_000 + count
                    try await database.write { context in try Reading(id: id, value: 1).save(to: &context) }
                    count += 1
                }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
    let time = ContinuousClock.now - start
    try database.close()
    return Double(commits) / (Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18)
}

let seconds = CommandLine.arguments.count > 1 ? Double(CommandLine.arguments[1]) ?? 3 : 3
for tasks in [1, 8, 64] {
    let rate = try await measure(tasks: tasks, seconds: seconds)
    print("\(tasks) tasks: \(Int(rate)) commits a second")
}
