// SPDX-License-Identifier: Apache-2.0
// Sales as entities, with a map/reduce index that sums them.

import BenchHarness
import Foundation
import HornbeamMapReduce

@EntityModel
private struct Sale {
    let id: Int
    var year: Int
    var month: Int
    var day: Int
    var cents: Int

    init(_ sample: SaleSample) {
        id = sample.id
        year = sample.year
        month = sample.month
        day = sample.day
        cents = sample.cents
    }
}

private typealias DayIndex = MapIndex<Sale, Int, IntegerSumReducer<Int>>

private func byDay(_ name: String) -> DayIndex {
    MapIndex(name, version: "1", collation: .binary, reducer: .sum()) { (sale: Sale, emit: inout MapEmitter<Int>) in
        emit(key: [.int(sale.year), .int(sale.month), .int(sale.day)], value: sale.cents)
    }
}

final class HornbeamSales: SalesBesideBuilding {
    private let database: Database
    private let index = byDay("byDay")

    init(path: String) throws { database = try Database(at: path, models: Sale.self) }

    func save(_ sales: ArraySlice<SaleSample>) throws {
        try database.write { context in for sale in sales { try Sale(sale).save(to: &context) } }
    }

    func buildIndex() throws { try database.register(index) }

    func total(_ months: Range<Int>) throws -> Int {
        func key(_ months: Int) -> MapKey { [.int(months / 12), .int(months % 12 + 1)] }
        let query = index.query().range(from: key(months.lowerBound), below: key(months.upperBound))
        return try database.read { context in try query.reduced().resolve(in: context) }
    }

    func totalsOfMonths() throws -> [Int] {
        try database.read { context in try index.query().grouped(level: 2).resolve(in: context).map(\.value) }
    }

    func buildBeside(_ sales: [SaleSample], _ latencies: inout Latencies) throws -> Double {
        let start = nanoseconds()
        let build = try database.register(inBackground: byDay("again"))
        var place = 0
        while case .building = build.state {
            let sale = sales[place % sales.count]
            place += 7
            try latencies.time { try database.write { context in try Sale(sale).save(to: &context) } }
        }
        try build.wait()
        let seconds = Double(nanoseconds() - start) * 1e-9
        try database.unregister("again")
        return seconds
    }

    func saveOneByOne(_ sales: ArraySlice<SaleSample>, _ latencies: inout Latencies) throws {
        for sale in sales {
            try latencies.time { try database.write { context in try Sale(sale).save(to: &context) } }
        }
    }

    func close() throws { try database.close() }
}
