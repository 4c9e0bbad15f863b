// SPDX-License-Identifier: Apache-2.0
// The steps of a plan, one for each line of its text. A plan that was run has counts in its steps.

/// A step of a plan: a line of `explain`. After `explain(.analyze)` it has counts of its work.
public struct PlanStep: Sendable, Hashable {
    /// The step in words, with the numbers that are known or estimated beforehand.
    public var text: String
    /// The number of steps that this one belongs to: its indentation in the text of the plan.
    public var depth: Int
    /// Number of runs, if another step runs this one for each of its rows; otherwise nil.
    public var runs: Int?
    /// Number of rows, index entries or elements that came into the step, in all its runs. Nil if they weren't counted.
    public var read: Int?
    /// Number of rows that came out of the step, in all its runs. Nil if the plan wasn't run, or needed no rows from
    /// this step.
    public var rows: Int?

    package init(_ text: String, depth: Int = 1, runs: Int? = nil, read: Int? = nil, rows: Int? = nil) {
        self.text = text
        self.depth = depth
        self.runs = runs
        self.read = read
        self.rows = rows
    }

    /// The words for LIMIT and OFFSET.
    package static func cut(_ limit: Int?, _ offset: Int) -> String {
        (limit.map { "limit \($0)" } ?? "no limit") + (offset > 0 ? " from \(offset)" : "")
    }
}

extension PlanStep: CustomStringConvertible {
    /// The words, and after an arrow the counts: `filter rows by size > 7 → 20 rows from 41`.
    public var description: String {
        guard let rows else { return text }
        let source = read.map { $0 == rows ? "" : " from \($0)" } ?? ""
        let repeated = runs.map { " in \($0) \($0 == 1 ? "run" : "runs")" } ?? ""
        // Ungrouped, as the numbers in the words are.
        return "\(text) → \(rows) \(rows == 1 ? "row" : "rows")\(source)\(repeated)"
    }
}

extension [PlanStep] {
    /// Each step on a line of its own, indented by its depth.
    package var lines: [String] { map { String(repeating: "  ", count: $0.depth) + $0.description } }

    /// The steps within another step.
    package func deeper(by depth: Int) -> [PlanStep] {
        map { step in
            var step = step
            step.depth += depth
            return step
        }
    }
}

extension Plan {
    /// The steps of the plan, with the counts of a run.
    /// - Parameter results: number of results of the run, within limit and offset.
    package func steps(_ tally: PlanTally? = nil, results: Int? = nil) -> [PlanStep] {
        let tally = tally.flatMap { $0.isUsed ? $0 : nil }
        var steps = [
            PlanStep(
                "\(entity): \(access)" + (list.map { listed($0) } ?? ""), depth: 0, read: tally?.read,
                rows: tally?.rows)
        ]
        steps += (tally?.parts ?? []).map { PlanStep("gathered by \($0.access)", rows: $0.found) }
        if let filter {
            steps.append(PlanStep("filter rows by \(filter)", read: tally?.rows, rows: tally?.passed))
        }
        if case .inMemory(let terms) = order {
            steps.append(PlanStep("sort by \(terms.joined(separator: ", "))", rows: tally?.passed))
        }
        if limit != nil || offset > 0 {
            let place = order == .byAccess && filter == nil ? " within the access" : ""
            steps.append(
                PlanStep(
                    PlanStep.cut(limit, offset) + place, read: tally?.passed, rows: tally.flatMap { _ in results }))
        }
        if isCovering { steps.append(PlanStep("covering: values are those of the index")) }
        if isByValue { steps.append(PlanStep("by value: equal ones at once, counted by the index")) }
        if isCountKnown { steps.append(PlanStep("count known without reading")) }
        return steps + remarks.map { PlanStep($0) }
    }

    private func listed(_ name: String) -> String {
        switch access {
        case .ids, .nothing: " of list “\(name)”"
        default: ", looked for in list “\(name)”"
        }
    }
}

extension Plan: CustomStringConvertible {
    /// The plan as lines of text, for people.
    public var description: String { steps().lines.joined(separator: "\n") }
}
