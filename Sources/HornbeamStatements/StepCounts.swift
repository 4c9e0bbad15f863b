// SPDX-License-Identifier: Apache-2.0
// The counts of the steps of an analysed statement. They are taken where a step begins or ends, so that a run without
// them pays nothing for each of its rows.

import HornbeamEngine

/// Counts of the steps of one SELECT. A class, because the parts of a run count together.
final class SelectCounts {
    /// A source behind the first one.
    struct Joined {
        /// Number of runs: one for each row of the sources before it.
        var runs = 0
        /// The counts of the query that finds its rows, if it has one.
        let query = PlanTally()
        /// Rows, linked entities or elements that were read.
        var read = 0
        /// Rows that were joined; of an outer join also those without a match.
        var rows = 0

        /// Notes one run, when it has ended.
        mutating func note(read: Int, rows: Int) {
            runs += 1
            self.read += read
            self.rows += rows
        }
    }

    /// The counts of the query of the first source.
    let query = PlanTally()
    /// Number of rows of the first source, within limit and offset of the query.
    var first = 0
    /// The counts of the sources, by their numbers. Those of the first one are used only if it is a subquery.
    var joined: [Joined]
    /// Number of rows for which all conditions are true.
    var taken = 0
    var groups = 0
    /// Number of groups for which HAVING is true.
    var having = 0
    /// Number of rows after a sort or DISTINCT. A sort keeps only the rows that OFFSET and LIMIT need.
    var kept = 0
    var results = 0

    init(_ plan: SelectPlan) { joined = plan.sources.map { _ in Joined() } }

    /// Number of rows that came to the conditions on a source.
    func reached(_ number: Int) -> Int { number == 0 ? first + joined[0].rows : joined[number].rows }

    /// `taken`; nil if an index gave the result without these rows.
    var takenRows: Int? { taken == 0 ? nil : taken }

    /// Number of rows that passed the conditions on a source.
    func passed(_ number: Int) -> Int { number + 1 < joined.count ? joined[number + 1].runs : taken }
}

/// Counts of the steps of a whole query.
final class QueryCounts {
    /// The counts of each SELECT.
    let parts: [SelectCounts]
    /// Number of rows that the sort of a UNION has left.
    var sorted = 0
    var results = 0

    init(_ parts: [SelectPlan]) { self.parts = parts.map { SelectCounts($0) } }
}

/// How a statement was answered: the result of `explain(.analyze, in:)`.
public struct StatementAnalysis: Sendable, Hashable {
    /// The steps of the plan with their counts. Subqueries, each of which is run once before the statement, come last.
    public var steps: [PlanStep] = []
    /// Number of rows of the result.
    public var results = 0
    /// Number of different pages of the file that were read, also to plan and for subqueries.
    public var pagesRead = 0
    /// The time for binding names, running subqueries and planning.
    public var planning = Duration.zero
    /// The time for the rows of the result.
    public var duration = Duration.zero
}

extension StatementAnalysis: CustomStringConvertible {
    /// The steps, each on a line with its counts, then the number of results. Pages and times are left out: they depend
    /// on more than the statement and its results.
    public var description: String {
        (steps.lines + ["  \(Spelling.counted(results, "result"))"]).joined(separator: "\n")
    }

    /// The number of results and of pages.
    package var summary: String {
        "\(Spelling.counted(results, "result")), \(Spelling.counted(pagesRead, "page")) read"
    }
}
