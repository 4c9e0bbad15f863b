// SPDX-License-Identifier: Apache-2.0
// The clock, and the times of single operations.

import Foundation

/// Returns the nanoseconds of a clock that neither jumps nor stops.
package func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Returns the nanoseconds that the threads of this process have run on a processor.
package func processorNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Times of single operations.
package struct Latencies {
    package private(set) var all: [UInt64] = []

    package init() {}

    package mutating func time(_ body: () throws -> Void) rethrows {
        let start = nanoseconds()
        try body()
        all.append(nanoseconds() - start)
    }

    /// Times an operation with a result.
    package mutating func timed<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = nanoseconds()
        let result = try body()
        all.append(nanoseconds() - start)
        return result
    }

    /// Times one piece of asynchronous work.
    package mutating func timed<Result: Sendable>(_ body: () async throws -> Result) async rethrows -> Result {
        let start = nanoseconds()
        let result = try await body()
        all.append(nanoseconds() - start)
        return result
    }

    package mutating func add(_ others: Latencies) { all += others.all }

    /// Number, percentiles and maximum, as text.
    package var words: String {
        guard let summary else { return "none" }
        let parts = [summary.p50, summary.p99, summary.p999, summary.most].map {
            String(format: "%.2f", Double($0) * 1e-6)
        }
        return "\(all.count), p50 \(parts[0]), p99 \(parts[1]), p99.9 \(parts[2]), at most \(parts[3]) ms"
    }

    /// Median, 99 % and 99.9 %; nil if nothing was timed.
    package var summary: LatencySummary? {
        guard !all.isEmpty else { return nil }
        let sorted = all.sorted()
        func part(_ share: Double) -> UInt64 { sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] }
        return LatencySummary(p50: part(0.5), p99: part(0.99), p999: part(0.999), most: part(1))
    }
}

/// Percentiles in nanoseconds.
package struct LatencySummary: Codable, Sendable {
    package var p50: UInt64
    package var p99: UInt64
    package var p999: UInt64
    package var most: UInt64
}
