// SPDX-License-Identifier: Apache-2.0
// The results of a run, as JSON keeps them.

/// The result of one engine in one workload, in one round. Sizes are in bytes.
package struct Figure: Codable, Sendable {
    package var workload: String
    package var engine: String
    /// The name of the texts, for full text.
    package var corpus: String?
    package var round: Int
    package var operations: Int
    package var seconds: Double
    /// The time on all processors, including background threads; nil if it wasn't requested.
    package var processorSeconds: Double?
    /// The size that an operation encodes or decodes, for workloads about that.
    package var encodedBytes: Int?
    /// The measured value, for workloads that don't measure time.
    package var value: Double?
    /// The values whose mean is `value`, for comparing them one by one with another engine's.
    package var values: [Double]?
    package var latency: LatencySummary?
    /// Bytes given to calls that write, and the number of these calls.
    package var writtenBytes: Int
    package var writeCalls: Int
    /// Bytes that the files take on the disk afterwards.
    package var diskBytes: Int
    /// Resident memory afterwards: not backed by files, and backed by files.
    package var anonymousBytes: Int
    package var mappedBytes: Int
    /// Allocations of the measuring thread.
    package var allocations: Int

    /// The engine's name in measurements of the machine itself.
    package static let machine = "machine"

    package var perSecond: Double { Double(operations) / seconds }
}

/// All results of a run, and its conditions.
package struct Report: Codable {
    package var count: Int
    package var seed: UInt64
    package var rounds: Int
    package var version: String
    /// When the run ended, and its command.
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

    /// The workloads, in the order in which they were first measured.
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

    /// Returns the median of the rounds' medians, in nanoseconds.
    package func latency(_ workload: String, _ engine: String) -> UInt64? {
        median(workload, engine) { $0.latency.map { Double($0.p50) } }.map { UInt64($0) }
    }

    /// Returns the median of a value over the rounds that have it.
    package func median(_ workload: String, _ engine: String, _ value: (Figure) -> Double?) -> Double? {
        let values = figures(workload, engine).compactMap(value).sorted()
        return values.isEmpty ? nil : (values[values.count / 2] + values[(values.count - 1) / 2]) / 2
    }

    /// Returns the median of the rounds, and their spread as a share of it.
    package func speed(_ workload: String, _ engine: String) -> (median: Double, spread: Double)? {
        let speeds = figures(workload, engine).map(\.perSecond).sorted()
        guard let least = speeds.first, let most = speeds.last else { return nil }
        let median = (speeds[speeds.count / 2] + speeds[(speeds.count - 1) / 2]) / 2
        return (median, (most - least) / median)
    }
}
