// SPDX-License-Identifier: Apache-2.0
// Index entries whose keys are longer than an index keeps: after the kept part comes a hash, not the next column.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Keys that an index cuts")
struct CutKeysTests {
    private static func models(descending: Bool) -> [EntityDescription] {
        [
            EntityDescription(
                name: "Doc",
                columns: [
                    ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "a", type: .string),
                    ColumnDescription(name: "b", type: .string),
                ],
                indexes: [
                    IndexDescription(
                        name: "byBoth", kind: .value,
                        components: [.init(column: "a"), .init(column: "b", descending: descending)])
                ])
        ]
    }

    /// Short and long tails, enough of them that their hashes lie on both sides of any bound.
    private static let tails: [Value] =
        ["", "a", "lo", "m", "mm", "z"].map { .string($0) }
        + (0..<40).map { .string("\($0 % 2 == 0 ? "b" : "y")\($0)" + String(repeating: "t", count: 30)) } + [.null]

    @Test("give every row of a range, with the cut in any place", arguments: [false, true])
    func ranges(descending: Bool) throws {
        for length in 870...890 {
            let store = try CoreStore(Self.models(descending: descending))
            let first = Value.string(String(repeating: "p", count: length))
            for (number, tail) in Self.tails.enumerated() {
                try store.save("Doc", [.int(Int64(number)), first, tail])
            }
            // More rows, so that the index is the cheaper way.
            for number in 1000..<1400 { try store.save("Doc", [.int(Int64(number)), .string("q\(number)"), .null]) }
            for comparison in [Comparison.less, .lessOrEqual, .greater, .greaterOrEqual, .equal] {
                for bound in ["", "b2", "m", "y5" + String(repeating: "t", count: 30)] {
                    let filter = Filter.and([
                        .compare(column: 1, .equal, first), .compare(column: 2, comparison, .string(bound)),
                    ])
                    let query = EntityQuery(type: "Doc", filter: filter)
                    let wanted = Self.tails.indices.filter { Self.holds(Self.tails[$0], comparison, bound) }
                    let found = try store.ids(query).compactMap { if case .int(let id) = $0 { Int(id) } else { nil } }
                    #expect(found.sorted() == Array(wanted), "\(length) bytes, \(comparison) \(bound)")
                    #expect(try store.core.explain(query).access.description.contains("byBoth"))
                }
            }
        }
    }

    private static func holds(_ value: Value, _ comparison: Comparison, _ bound: String) -> Bool {
        guard case .string(let text) = value else { return false }
        return switch comparison {
        case .less: text < bound
        case .lessOrEqual: text <= bound
        case .greater: text > bound
        case .greaterOrEqual: text >= bound
        case .equal: text == bound
        case .notEqual: text != bound
        }
    }
}
