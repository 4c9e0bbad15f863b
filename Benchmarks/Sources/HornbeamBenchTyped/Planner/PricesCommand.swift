// SPDX-License-Identifier: Apache-2.0
// `prices`: measures the planner's prices (Sources/Hornbeam/Planner/Price.swift), each as the difference of two queries
// that differ in one step.

import BenchHarness
import Foundation
import Hornbeam

struct PricesCommand {
    private let count: Int
    private let database: Database

    init(_ arguments: Arguments) throws {
        count = try arguments.number("n", 300_000, least: 10_000)
        database = try MeasuredStore.filled(count, seed: UInt64(try arguments.number("seed", 1)))
    }

    func run() throws {
        try database.read { (context) throws in try run(in: context) }
    }

    private func run(in context: Context) throws {
        let rows = Double(count)
        let none = \Unindexed.many < 0
        let comparison = try MeasuredStore.time { _ = try Unindexed.filter(none).count(in: context) } / rows
        let second =
            try MeasuredStore.time {
                _ = try Unindexed.filter(\.many >= 0 && \.few < 0).count(in: context)
            } / rows
        let third =
            try MeasuredStore.time {
                _ = try Unindexed.filter(\.many >= 0 && \.few >= 0 && \.few < 0).count(in: context)
            } / rows
        // Of one more where there are several: a condition alone is tested without going through a list.
        let compared = third - second
        let unit = comparison - compared
        func tell(_ name: String, _ nanoseconds: Double) {
            print(
                name.padding(toLength: 20, withPad: " ", startingAt: 0)
                    + String(format: "%8.1f ns %8.2f", nanoseconds, nanoseconds / unit))
        }
        print("a step of a plan         time    price  (\(count) rows)")
        tell("scannedRow", unit)
        tell("comparison", compared)
        let text = try MeasuredStore.time {
            _ = try Unindexed.filter(.string(\.text, contains: "none")).count(in: context)
        }
        tell("text", text / rows - unit)
        let closure = try MeasuredStore.time { _ = try Unindexed.filter(\.negative > 0).count(in: context) }
        tell("closure", closure / rows - unit)
        try tellIndexes(in: context, scanned: unit, compared: compared, tell)
        try tellSorts(in: context, tell)
    }

    private func tellIndexes(
        in context: Context, scanned: Double, compared: Double, _ tell: (String, Double) -> Void
    ) throws {
        // What handing on an id takes is no step of a plan.
        let ids = try MeasuredStore.time { _ = try Unindexed.query().ids(in: context) } / Double(count) - scanned
        let entries =
            try MeasuredStore.time {
                _ = try ByMany.query().sorted(by: \.many).requiringIndex().ids(in: context)
            } / Double(count)
        tell("entry", entries - ids)
        tell(
            "coveredRow",
            try MeasuredStore.time { _ = try ByMany.filter(\.many >= 0).sum(\.many, in: context) } / Double(count))
        for share in [4, 16, 64] {
            let wanted = Double(count / share)
            let range = \ByMany.many < count / share
            let gathered = try MeasuredStore.time {
                _ = try ByMany.filter(range).requiringIndex().ids(in: context)
            }
            tell("gathered 1/\(share)", gathered / wanted - ids)
            let looked = try MeasuredStore.time {
                _ = try ByMany.filter(range && \.few >= 0).requiringIndex().ids(in: context)
            }
            tell("row 1/\(share)", (looked - gathered) / wanted - compared)
            let ordered = try MeasuredStore.time {
                _ = try ByMany.filter(range && \.few >= 0).sorted(by: \.many).requiringIndex().ids(in: context)
            }
            tell("row in order 1/\(share)", ordered / wanted - compared - ids)
            let list = Array(stride(from: 0, to: count, by: share))
            let points = try MeasuredStore.time {
                _ = try ByMany.filter(.value(\.many, in: list)).requiringIndex().ids(in: context)
            }
            tell("seek 1/\(share)", points / wanted - ids)
        }
    }

    private func tellSorts(in context: Context, _ tell: (String, Double) -> Void) throws {
        let rows = Double(count)
        let ids = try MeasuredStore.time { _ = try Unindexed.query().ids(in: context) } / rows
        let first = try MeasuredStore.time { _ = try Unindexed.query().sorted(by: \.many).limit(20).ids(in: context) }
        let scan = try MeasuredStore.time { _ = try Unindexed.filter(\.many < 0).count(in: context) }
        tell("sortKey", (first - scan) / rows)
        let sorted = try MeasuredStore.time { _ = try Unindexed.query().sorted(by: \.many).ids(in: context) }
        tell("sortedRow (ids)", (sorted - first) / rows - ids)
        let texts = try MeasuredStore.time { _ = try Unindexed.query().sorted(by: \.text).ids(in: context) }
        tell("sortedRow (texts)", (texts - first) / rows - ids)
        let whole = try MeasuredStore.time { _ = try Unindexed.query().resolve(in: context) }
        let wholeSorted = try MeasuredStore.time { _ = try Unindexed.query().sorted(by: \.many).resolve(in: context) }
        tell("sorted entities", (wholeSorted - whole) / rows)
        let placed = try MeasuredStore.time {
            _ = try ByMany.query().sorted(by: \.many).requiringIndex().resolve(in: context)
        }
        tell("placed entities", (placed - whole) / rows)
    }
}
