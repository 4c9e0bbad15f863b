// SPDX-License-Identifier: Apache-2.0
// `prices`: measures the planner's prices (Sources/HornbeamEngine/Planner/Price.swift), each as the difference of two
// queries that differ in one step.

import BenchHarness
import Foundation
import Hornbeam

struct PricesCommand {
    private let count: Int
    private let stores: MeasuredStores

    init(_ arguments: Arguments) throws {
        count = try arguments.number("n", 300_000, least: 10_000)
        stores = try MeasuredStores(count, seed: UInt64(try arguments.number("seed", 1)))
    }

    func run() throws {
        try stores.unindexed.read { (context) throws in
            try stores.byMany.read { (indexed) throws in try run(in: context, indexed) }
        }
    }

    /// - Parameter indexed: the store with an index over `many`.
    private func run(in context: Context, _ indexed: Context) throws {
        let rows = Double(count)
        let none = \Measured.many < 0
        let comparison = try MeasuredStores.time { _ = try Measured.filter(none).count(in: context) } / rows
        let second =
            try MeasuredStores.time {
                _ = try Measured.filter(\.many >= 0 && \.few < 0).count(in: context)
            } / rows
        let third =
            try MeasuredStores.time {
                _ = try Measured.filter(\.many >= 0 && \.few >= 0 && \.few < 0).count(in: context)
            } / rows
        // The cost of a third condition: a single condition is tested without a loop over a list.
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
        let text = try MeasuredStores.time {
            _ = try Measured.filter(.string(\.text, contains: "none")).count(in: context)
        }
        tell("text", text / rows - unit)
        let closure = try MeasuredStores.time { _ = try Measured.filter(\.negative > 0).count(in: context) }
        tell("closure", closure / rows - unit)
        try tellIndexes(in: context, indexed, scanned: unit, compared: compared, tell)
        try tellSorts(in: context, indexed, tell)
    }

    private func tellIndexes(
        in context: Context, _ indexed: Context, scanned: Double, compared: Double, _ tell: (String, Double) -> Void
    ) throws {
        // The time of returning an id, which is subtracted because no plan has a price for it.
        let ids = try MeasuredStores.time { _ = try Measured.query().ids(in: context) } / Double(count) - scanned
        let entries =
            try MeasuredStores.time {
                _ = try Measured.query().sorted(by: \.many).requiringIndex().ids(in: indexed)
            } / Double(count)
        tell("entry", entries - ids)
        tell(
            "coveredRow",
            try MeasuredStores.time { _ = try Measured.filter(\.many >= 0).sum(\.many, in: indexed) } / Double(count))
        for share in [4, 16, 64] {
            let wanted = Double(count / share)
            let range = \Measured.many < count / share
            let gathered = try MeasuredStores.time {
                _ = try Measured.filter(range).requiringIndex().ids(in: indexed)
            }
            tell("gathered 1/\(share)", gathered / wanted - ids)
            let looked = try MeasuredStores.time {
                _ = try Measured.filter(range && \.few >= 0).requiringIndex().ids(in: indexed)
            }
            tell("row 1/\(share)", (looked - gathered) / wanted - compared)
            let ordered = try MeasuredStores.time {
                _ = try Measured.filter(range && \.few >= 0).sorted(by: \.many).requiringIndex().ids(in: indexed)
            }
            tell("row in order 1/\(share)", ordered / wanted - compared - ids)
            let list = Array(stride(from: 0, to: count, by: share))
            let points = try MeasuredStores.time {
                _ = try Measured.filter(.value(\.many, in: list)).requiringIndex().ids(in: indexed)
            }
            tell("seek 1/\(share)", points / wanted - ids)
        }
    }

    private func tellSorts(in context: Context, _ indexed: Context, _ tell: (String, Double) -> Void) throws {
        let rows = Double(count)
        let ids = try MeasuredStores.time { _ = try Measured.query().ids(in: context) } / rows
        let first = try MeasuredStores.time { _ = try Measured.query().sorted(by: \.many).limit(20).ids(in: context) }
        let scan = try MeasuredStores.time { _ = try Measured.filter(\.many < 0).count(in: context) }
        tell("sortKey", (first - scan) / rows)
        let sorted = try MeasuredStores.time { _ = try Measured.query().sorted(by: \.many).ids(in: context) }
        tell("sortedRow (ids)", (sorted - first) / rows - ids)
        let texts = try MeasuredStores.time { _ = try Measured.query().sorted(by: \.text).ids(in: context) }
        tell("sortedRow (texts)", (texts - first) / rows - ids)
        let whole = try MeasuredStores.time { _ = try Measured.query().resolve(in: context) }
        let wholeSorted = try MeasuredStores.time { _ = try Measured.query().sorted(by: \.many).resolve(in: context) }
        tell("sorted entities", (wholeSorted - whole) / rows)
        let placed = try MeasuredStores.time {
            _ = try Measured.query().sorted(by: \.many).requiringIndex().resolve(in: indexed)
        }
        tell("placed entities", (placed - whole) / rows)
    }
}
