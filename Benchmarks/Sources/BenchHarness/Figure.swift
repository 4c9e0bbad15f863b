// SPDX-License-Identifier: Apache-2.0
// What a run measures, as it is kept in JSON.

/// What one engine did in one workload, in one round. Sizes in bytes.
package struct Figure: Codable, Sendable {
    package var workload: String
    package var engine: String
    /// The texts that full text was measured with.
    package var corpus: String?
    package var round: Int
    package var operations: Int
    package var seconds: Double
    /// Of all processors, background threads included; nil where it was not asked for.
    package var processorSeconds: Double?
    /// What an operation makes or reads, where that is the question.
    package var encodedBytes: Int?
    /// What was measured, where that is no time.
    package var value: Double?
    /// What `value` is the mean of, where another engine's are compared with it one by one.
    package var values: [Double]?
    package var latency: LatencySummary?
    /// Handed to calls that write meanwhile, and the number of these calls.
    package var writtenBytes: Int
    package var writeCalls: Int
    /// What the files take on the disk afterwards.
    package var diskBytes: Int
    /// Resident afterwards: memory that no file backs, and memory that files back.
    package var anonymousBytes: Int
    package var mappedBytes: Int
    /// Of the measuring thread.
    package var allocations: Int

    /// What stands for an engine where the machine itself was measured.
    package static let machine = "machine"

    package var perSecond: Double { Double(operations) / seconds }
}

/// All figures of a run, and what they were taken with.
package struct Report: Codable {
    package var count: Int
    package var seed: UInt64
    package var rounds: Int
    package var version: String
    /// When it ended, and the words that asked for it.
    package var date = ""
    package var command = ""
    package var figures: [Figure]

    package init(count: Int, seed: UInt64, rounds: Int, version: String) {
        self.count = count
        self.seed = seed
        self.rounds = rounds
        self.version = version
        figures = []
    }

    /// In the order in which they were measured first.
    package var workloads: [String] {
        var names: [String] = []
        for figure in figures where !names.contains(figure.workload) { names.append(figure.workload) }
        return names
    }

    package var engines: [String] {
        var names: [String] = []
        for figure in figures where !names.contains(figure.engine) { names.append(figure.engine) }
        return names
    }

    package func figures(_ workload: String, _ engine: String) -> [Figure] {
        figures.filter { $0.workload == workload && $0.engine == engine }
    }

    /// Median of the rounds' medians in nanoseconds.
    package func latency(_ workload: String, _ engine: String) -> UInt64? {
        median(workload, engine) { $0.latency.map { Double($0.p50) } }.map { UInt64($0) }
    }

    /// Median of what the rounds say, of those that say something.
    package func median(_ workload: String, _ engine: String, _ value: (Figure) -> Double?) -> Double? {
        let values = figures(workload, engine).compactMap(value).sorted()
        return values.isEmpty ? nil : (values[values.count / 2] + values[(values.count - 1) / 2]) / 2
    }

    /// Median of the rounds, and how far the rounds lie apart as a share of it.
    package func speed(_ workload: String, _ engine: String) -> (median: Double, spread: Double)? {
        let speeds = figures(workload, engine).map(\.perSecond).sorted()
        guard let least = speeds.first, let most = speeds.last else { return nil }
        let median = (speeds[speeds.count / 2] + speeds[(speeds.count - 1) / 2]) / 2
        return (median, (most - least) / median)
    }
}
