// SPDX-License-Identifier: Apache-2.0
// What a run measures, as it is kept in JSON.

/// What one engine did in one workload, in one round. Sizes in bytes.
struct Figure: Codable, Sendable {
    var workload: String
    var engine: String
    var round: Int
    var operations: Int
    var seconds: Double
    var latency: LatencySummary?
    /// Handed to calls that write meanwhile, and the number of these calls.
    var writtenBytes: Int
    var writeCalls: Int
    /// What the files take on the disk afterwards.
    var diskBytes: Int
    /// Resident afterwards: memory that no file backs, and memory that files back.
    var anonymousBytes: Int
    var mappedBytes: Int
    /// Of the measuring thread.
    var allocations: Int

    var perSecond: Double { Double(operations) / seconds }
}

/// All figures of a run, and what they were taken with.
struct Report: Codable {
    var count: Int
    var seed: UInt64
    var rounds: Int
    var version: String
    var figures: [Figure]

    /// In the order in which they were measured first.
    var workloads: [String] {
        var names: [String] = []
        for figure in figures where !names.contains(figure.workload) { names.append(figure.workload) }
        return names
    }

    var engines: [String] {
        var names: [String] = []
        for figure in figures where !names.contains(figure.engine) { names.append(figure.engine) }
        return names
    }

    func figures(_ workload: String, _ engine: String) -> [Figure] {
        figures.filter { $0.workload == workload && $0.engine == engine }
    }

    /// Median of the rounds, and how far the rounds lie apart as a share of it.
    func speed(_ workload: String, _ engine: String) -> (median: Double, spread: Double)? {
        let speeds = figures(workload, engine).map(\.perSecond).sorted()
        guard let least = speeds.first, let most = speeds.last else { return nil }
        let median = speeds[speeds.count / 2]
        return (median, (most - least) / median)
    }
}
