// SPDX-License-Identifier: Apache-2.0
// Positions by row ids, compared with a dictionary.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Numbers by row ids")
struct PositionTableTests {
    /// The order of row ids.
    enum Order: CaseIterable {
        case ascending, descending, withGaps, scattered, fromTheMiddle
    }

    private func rows(_ order: Order, _ count: Int, _ random: inout SeededGenerator) -> [UInt64] {
        switch order {
        case .ascending: (0..<count).map { 1 << 40 + UInt64($0) }
        case .descending: (0..<count).map { UInt64(count - $0) }
        case .withGaps:
            (0..<count).reduce(into: []) { rows, _ in
                rows.append((rows.last ?? 0) + UInt64.random(in: 1...6, using: &random))
            }
        case .scattered: (0..<count).map { _ in UInt64.random(in: 0...(1 << 41), using: &random) }
        case .fromTheMiddle:
            (0..<count).map { UInt64(count) &+ ($0 % 2 == 0 ? UInt64($0) : UInt64(bitPattern: -Int64($0))) }
        }
    }

    @Test("Each row has the number that was set last, in any order of rows", arguments: Order.allCases)
    func model(_ order: Order) {
        var random = SeededGenerator()
        let table = PositionTable()
        for round in 0..<2 {
            var model: [UInt64: UInt64] = [:]
            for row in rows(order, 3_000, &random) {
                let number = UInt64.random(in: 0...(1 << 40), using: &random)
                table.set(RowID(rawValue: row), number)
                model[row] = number
                // One of the earlier rows again.
                if let former = model.keys.first, Bool.random(using: &random) {
                    table.set(RowID(rawValue: former), number + 1)
                    model[former] = number + 1
                }
            }
            for (row, number) in model {
                #expect(table[RowID(rawValue: row)] == number, "row \(row) in round \(round)")
                let next = row &+ 1
                #expect(table[RowID(rawValue: next)] == model[next], "row \(next) in round \(round)")
            }
            #expect(table.count >= model.count && table.count <= 2 * model.count)
            table.removeAll()
            #expect(table.count == 0 && table[RowID(rawValue: model.keys.first ?? 0)] == nil)
        }
    }
}
