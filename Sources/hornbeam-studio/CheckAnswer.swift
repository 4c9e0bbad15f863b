// SPDX-License-Identifier: Apache-2.0
// Runs the check of `hornbeam check` for the page, and sends its steps, and problems as they are found.

import Foundation
import Hornbeam
import HornbeamTree

struct CheckAnswer {
    private let reads: StoreReads
    /// Maximum number of problems that are sent. A damaged file may have millions.
    private static let limit = 1_000

    init(_ reads: StoreReads) { self.reads = reads }

    func stream() -> EventStream {
        let stream = EventStream()
        Thread.detachNewThread { [reads] in
            defer { stream.end() }
            do {
                try Self.run(reads, stream)
            } catch {
                stream.send("failure", .object([("error", .string("\(error)"))]))
            }
        }
        return stream
    }

    private static func run(_ reads: StoreReads, _ stream: EventStream) throws {
        let start = ContinuousClock.now
        var found = 0
        func report(_ problem: String) {
            found += 1
            if found <= limit { stream.send("problem", .string(problem)) }
        }
        func step(_ step: String) { stream.send("step", .string(step)) }
        var (unverified, otherwise): ([String], [String]) = ([], [])
        let isSound = try reads.check(stream.interruption) {
            step("pages and trees")
            guard try reads.store.check(report: report, progress: { _ in !stream.interruption.isSet }) else {
                return false
            }
            step("rows, ids, indexes, links and full text")
            let transaction = try reads.store.beginRead()
            defer { transaction.abort() }
            transaction.interruption = stream.interruption
            let core = try StoreTransaction(reading: transaction)
            _ = try EntityCheck(core).run(report: report)
            unverified = core.indexesOfCode
            otherwise = core.indexesOfOtherOrders
            return true
        }
        stream.send(
            "done",
            .object([
                ("problems", .count(found)), ("isWhole", .bool(isSound)), ("milliseconds", .milliseconds(since: start)),
                ("indexesOfCode", .array(unverified.map { .string($0) })),
                ("indexesOfOtherOrders", .array(otherwise.map { .string($0) })),
            ]))
    }
}
