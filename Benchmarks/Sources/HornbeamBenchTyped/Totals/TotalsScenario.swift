// SPDX-License-Identifier: Apache-2.0
// Sales, an index that sums them by day, and totals from it; and the effect of building such an index on a writer.

import BenchHarness

/// A sale as both engines store it.
struct SaleSample {
    let id: Int
    let year: Int
    let month: Int
    let day: Int
    let cents: Int

    static let years = 2016..<2026

    /// The number of the month, counted from year 0.
    var months: Int { year * 12 + month - 1 }

    static func some(_ count: Int, seed: UInt64) -> [SaleSample] {
        var random = SplitMix(state: seed)
        return (0..<count).map { id in
            SaleSample(
                id: id, year: .random(in: years, using: &random), month: .random(in: 1...12, using: &random),
                day: .random(in: 1...28, using: &random), cents: .random(in: 1...100_000, using: &random))
        }
    }
}

protocol SalesStore: AnyObject {
    /// Saves sales in one transaction.
    func save(_ sales: ArraySlice<SaleSample>) throws
    /// Builds the index for the totals.
    func buildIndex() throws
    /// Returns the total from one month up to another, without the latter, by `SaleSample.months`.
    func total(_ months: Range<Int>) throws -> Int
    /// Returns the totals of all months with sales, in order.
    func totalsOfMonths() throws -> [Int]
    func close() throws
}

/// A store that builds indexes beside writers.
protocol SalesBesideBuilding: SalesStore {
    /// Builds another index in the background, and saves sales one by one until it is complete. Returns the time of
    /// the build.
    func buildBeside(_ sales: [SaleSample], _ latencies: inout Latencies) throws -> Double
    /// Saves sales one by one without a build.
    func saveOneByOne(_ sales: ArraySlice<SaleSample>, _ latencies: inout Latencies) throws
}

func totalsScenario(_ run: Run) throws {
    let sales = SaleSample.some(max(1_000, run.count), seed: run.seed)
    let store: any SalesStore
    switch run.engine {
    case "hornbeam": store = try HornbeamSales(path: run.storePath)
    #if PEER_SQLITE
        case "sqlite": store = try SQLiteSales(path: run.storePath)
    #endif
    default: throw BenchError("\(run.engine) has no entities")
    }
    func parts(of size: Int, _ sales: ArraySlice<SaleSample>) -> [ArraySlice<SaleSample>] {
        stride(from: sales.startIndex, to: sales.endIndex, by: size).map {
            sales[$0..<min($0 + size, sales.endIndex)]
        }
    }
    // The last tenth is saved once the index exists.
    let later = sales.count / 10
    let first = sales.dropLast(later)
    try run.change("totals-save", first.count) { _ in for part in parts(of: 10_000, first) { try store.save(part) } }
    try run.change("totals-build", first.count) { _ in try store.buildIndex() }
    try run.change("totals-save-indexed", later) { _ in
        for part in parts(of: 10_000, sales.suffix(later)) { try store.save(part) }
    }
    try totals(run, sales, store)
    if let store = store as? any SalesBesideBuilding {
        try run.look("totals-alone", min(2_000, sales.count)) { try store.saveOneByOne(sales.prefix(2_000), &$0) }
        var seconds = 0.0
        try run.look("totals-beside", 1) { seconds = try store.buildBeside(sales, &$0) }
        try run.tell("totals-background", operations: sales.count, seconds: seconds)
    }
    try store.close()
}

private func totals(_ run: Run, _ sales: [SaleSample], _ store: any SalesStore) throws {
    let months = Dictionary(grouping: sales, by: \.months).mapValues { $0.reduce(0) { $0 + $1.cents } }
    let all = SaleSample.years.lowerBound * 12..<SaleSample.years.upperBound * 12
    var random = SplitMix(state: run.seed &+ 1)
    let ranges = (0..<2_000).map { _ in
        let from = Int.random(in: all, using: &random)
        return from..<Int.random(in: from + 1...all.upperBound, using: &random)
    }
    try run.look("totals-range", ranges.count) { latencies in
        for range in ranges {
            let found = try latencies.timed { try store.total(range) }
            guard found == range.reduce(0, { $0 + (months[$1] ?? 0) }) else { throw BenchError("a wrong total") }
        }
    }
    let expected = all.compactMap { months[$0] }
    try run.look("totals-months", 50) { latencies in
        for _ in 0..<50 {
            guard try latencies.timed({ try store.totalsOfMonths() }) == expected else {
                throw BenchError("wrong totals of months")
            }
        }
    }
}
