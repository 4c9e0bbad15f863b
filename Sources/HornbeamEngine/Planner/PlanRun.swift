// SPDX-License-Identifier: Apache-2.0
// The outcome of a plan: counts of the work of each step, besides the plan's estimates. A run that isn't analyzed
// counts nothing.

import HornbeamTree

/// A plan that was run, with counts of the work of its steps: the result of `explain(.analyze, in:)`. If many rows are
/// read for few results, an index, or another component in an index, may help.
public struct PlanRun: Sendable, Hashable {
    /// The way in which `explain(_:in:)` explains a query.
    public enum Kind: Sendable {
        /// Runs the query and counts the work of its steps.
        case analyze
    }

    /// A part of the access path whose rows were gathered before a row was read.
    public struct Part: Sendable, Hashable {
        /// The path of the part.
        public var access: Plan.Access
        /// Number of rows found.
        public var found: Int
    }

    /// The plan that was run.
    public var plan: Plan
    /// The parts in the order of execution, each before the union or intersection that it belongs to. Empty if the
    /// access path gives one candidate after the other.
    public var parts: [Part] = []
    /// Number of rows, index entries or ids that the access path went through. More than `rowsRead` if entries were
    /// read ahead, or ids have no entity.
    public var entriesRead = 0
    /// Number of candidates whose row, or index entry instead of it, was read to test or return it.
    public var rowsRead = 0
    /// Number of rows that passed the conditions that the access path doesn't answer.
    public var rowsPassed = 0
    /// Number of results, within limit and offset.
    public var results = 0
    /// Number of different pages of the file that were read: nodes of trees, and long values.
    public var pagesRead = 0
    /// The time from planning to the last result.
    public var duration = Duration.zero

    package init(plan: Plan) { self.plan = plan }

    /// Takes the counts of a run.
    package mutating func take(_ tally: PlanTally) {
        (parts, entriesRead, rowsRead, rowsPassed) = (tally.parts, tally.read, tally.rows, tally.passed)
    }

    /// The plan's steps, each with its counts.
    public var steps: [PlanStep] {
        let tally = PlanTally(parts, entries: entriesRead, rows: rowsRead, passed: rowsPassed)
        return plan.steps(tally, results: results)
    }
}

extension PlanRun: CustomStringConvertible {
    /// The steps, each on a line with its counts, then the number of results. Pages and the duration are left out,
    /// because they depend on more than the query and its results.
    public var description: String {
        (steps.lines + ["  \(Spelling.counted(results, "result"))"]).joined(separator: "\n")
    }
}

/// Counts the work of a running plan.
package final class PlanTally {
    /// Number of index entries and ids from which rows were looked up. Paths that read the rows directly have none.
    var entries = 0
    package var rows = 0
    package var passed = 0
    package private(set) var parts: [PlanRun.Part] = []

    /// Whether the plan was run. A known result needs no run.
    var isUsed = false

    package init() {}

    init(_ parts: [PlanRun.Part], entries: Int, rows: Int, passed: Int) {
        (self.parts, self.entries, self.rows, self.passed, isUsed) = (parts, entries, rows, passed, true)
    }

    /// Number of entries, ids or rows that the access path went through.
    package var read: Int { max(entries, rows) }

    func note(_ access: Plan.Access, _ found: Int) { parts.append(PlanRun.Part(access: access, found: found)) }
}

extension StoreTransaction {
    /// Runs a query to count the work of its plan.
    package func analysis(_ query: EntityQuery) throws -> PlanRun {
        let store = try store(query.type)
        let tally = PlanTally()
        var run = PlanRun(plan: try Planner(query, store).explanation())
        run.pagesRead = try transaction.countingPages {
            try forEach(query, counting: tally) { _, _, _ in
                run.results += 1
                return true
            }
        }
        run.take(tally)
        return run
    }
}
