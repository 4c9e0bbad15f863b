// SPDX-License-Identifier: Apache-2.0
// The clock, and what single operations take by it.

import Foundation

/// Nanoseconds of the clock that neither jumps nor stops.
@inline(__always)
func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Times of single operations.
struct Latencies {
    private(set) var all: [UInt64] = []

    @inline(__always)
    mutating func time(_ body: () throws -> Void) rethrows {
        let start = nanoseconds()
        try body()
        all.append(nanoseconds() - start)
    }

    mutating func add(_ others: Latencies) { all += others.all }

    /// Number, percentiles and longest, for people.
    var words: String {
        guard let summary else { return "none" }
        let parts = [summary.p50, summary.p99, summary.p999, summary.most].map {
            String(format: "%.2f", Double($0) * 1e-6)
        }
        return "\(all.count), p50 \(parts[0]), p99 \(parts[1]), p99.9 \(parts[2]), at most \(parts[3]) ms"
    }

    /// Median, 99 % and 99.9 %; nil if nothing was timed.
    var summary: LatencySummary? {
        guard !all.isEmpty else { return nil }
        let sorted = all.sorted()
        func part(_ share: Double) -> UInt64 { sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] }
        return LatencySummary(p50: part(0.5), p99: part(0.99), p999: part(0.999), most: part(1))
    }
}

/// In nanoseconds.
struct LatencySummary: Codable, Sendable {
    var p50: UInt64
    var p99: UInt64
    var p999: UInt64
    var most: UInt64
}
