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

    package init(
        plan: Plan, parts: [Part] = [], rowsRead: Int = 0, rowsPassed: Int = 0, results: Int = 0,
        duration: Duration = .zero
    ) {
        self.plan = plan
        self.parts = parts
        self.rowsRead = rowsRead
        self.rowsPassed = rowsPassed
        self.results = results
        self.duration = duration
    }
}

extension PlanRun: CustomStringConvertible {
    /// The lines of the plan and of the run. Pages and the duration are left out, because they depend on more than the
    /// query and its results.
    public var description: String {
        var lines = ["\(plan)"]
        lines += Self.lines(parts, read: rowsRead, passed: rowsPassed)
        lines.append("\(results) results")
        return lines.joined(separator: "\n  ")
    }

    fileprivate static func lines(_ parts: [Part], read: Int, passed: Int) -> [String] {
        parts.map { "gathered \($0.found) rows by \($0.access)" } + ["read \(read) rows, \(passed) passed"]
    }
}

/// Counts the work of a running plan.
package final class PlanTally {
    package var rows = 0
    package var passed = 0
    package private(set) var parts: [PlanRun.Part] = []

    package init() {}

    /// The counts as lines of text. Empty if the plan knew its result without looking at rows.
    package var lines: [String] {
        parts.isEmpty && rows == 0 ? [] : PlanRun.lines(parts, read: rows, passed: passed)
    }

    func note(_ access: Plan.Access, _ found: Int) { parts.append(PlanRun.Part(access: access, found: found)) }
}

extension StoreTransaction {
    /// Runs a query to count the work of its plan.
    package func analysis(_ query: EntityQuery) throws -> PlanRun {
        let store = try store(query.type)
        let tally = PlanTally()
        var run = PlanRun(plan: try Planner(query, store).explanation())
        run.pagesRead = try transaction.countingPages {
            try Executor(try Planner(query, store), store, tally: tally).run(needsRows: true) { _, _, _ in
                run.results += 1
                return true
            }
        }
        run.parts = tally.parts
        run.rowsRead = tally.rows
        run.rowsPassed = tally.passed
        return run
    }
}
