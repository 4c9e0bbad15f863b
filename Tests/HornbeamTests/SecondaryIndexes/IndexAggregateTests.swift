// SPDX-License-Identifier: Apache-2.0
// Sums and means of columns agree with those of properties and of statements: exact, and rounded once.

import HornbeamSecondaryIndexes
import Testing

@EntityModel
private struct Meter {
    let id: Int
    var reading: Int
    var ratio: Double
}

@Suite("Aggregates of columns")
struct IndexAggregateTests {
    @Test("the mean of integers beyond a double's is rounded once, as by a query and by a statement")
    func mean() throws {
        let reading = IndexColumn<Int>("reading")
        let index = SecondaryIndex("meters", version: "1", columns: [reading]) {
            (meter: Meter, row: inout IndexRowWriter) in row[reading] = meter.reading
        }
        let database = try Database.inMemory(models: Meter.self, indexes: [index])
        // The sum is 9,007,199,254,740,993, which is no double; a third of it is one.
        try database.write { (context) throws in
            for (id, number) in [9_007_199_254_740_991, 1, 1].enumerated() {
                try Meter(id: id, reading: number, ratio: 0).save(to: &context)
            }
        }
        try database.read { (context) throws in
            let expected = 3_002_399_751_580_331.0
            #expect(try index.query().average(reading, in: context) == expected)
            #expect(try index.query().sum(reading, in: context) == 9_007_199_254_740_993)
            let mean: Double? = try Meter.filter(\.id >= 0).average(\.reading, in: context)
            #expect(mean == expected)
            let rows = try Statement("SELECT AVG(reading) AS mean FROM Meter").resolve(in: context)
            #expect(rows.map { $0["mean"] } == [.double(expected)])
        }
    }

    @Test("a sum of doubles is rounded once, in any order; without values it is 0 of the column's type")
    func doubles() throws {
        let ratio = IndexColumn<Double>("ratio")
        let index = SecondaryIndex("ratios", version: "1", columns: [ratio]) {
            (meter: Meter, row: inout IndexRowWriter) in row[ratio] = meter.ratio
        }
        let database = try Database.inMemory(models: Meter.self, indexes: [index])
        try database.write { (context) throws in
            for (id, number) in [1e16, 1, -1e16].enumerated() {
                try Meter(id: id, reading: 0, ratio: number).save(to: &context)
            }
        }
        try database.read { (context) throws in
            #expect(try index.query().sum(ratio, in: context) == 1)
            #expect(try index.query(ratio > 1e17).sum(ratio, in: context) == 0)
            #expect(try index.query(ratio > 1e17).average(ratio, in: context) == nil)
        }
    }
}
