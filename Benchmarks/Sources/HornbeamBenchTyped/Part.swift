// SPDX-License-Identifier: Apache-2.0
// The parts of a scenario that exist on disk and in memory.

import BenchHarness

struct Part {
    let run: Run
    private let prefix: String

    init(_ run: Run, _ isInMemory: Bool) {
        self.run = run
        prefix = isInMemory ? "memory-" : ""
    }

    /// Returns the workload's name in the catalogue.
    func name(_ name: String) -> String { prefix + name }

    func change(_ name: String, _ operations: Int, _ body: (inout Latencies) throws -> Void) throws {
        try run.change(self.name(name), operations, body)
    }

    func look(_ name: String, _ operations: Int, _ body: (inout Latencies) throws -> Void) throws {
        try run.look(self.name(name), operations, body)
    }

    /// Runs each query once to check the answer, which also warms the store, and then with the clock.
    func measure<Question>(
        _ name: String, _ questions: [(Question, answer: Answer)], _ ask: (Question) throws -> Answer
    ) throws {
        try measure(name, questions, by: \.self, ask)
    }

    /// `by` gives the part of the answer that must be right.
    func measure<Question, Value: Equatable>(
        _ name: String, _ questions: [(Question, answer: Answer)], by part: (Answer) -> Value,
        _ ask: (Question) throws -> Answer
    ) throws {
        guard run.wants(self.name(name)) else { return }
        for (question, answer) in questions {
            let found = try ask(question)
            guard part(found) == part(answer) else {
                throw BenchError("\(self.name(name)): found \(found), expected \(answer)")
            }
        }
        try run.look(self.name(name), questions.count) { latencies in
            for (question, answer) in questions {
                let found = try latencies.timed { try ask(question) }
                guard part(found) == part(answer) else { throw BenchError("\(name): another answer than before") }
            }
        }
    }
}
