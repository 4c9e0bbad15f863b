// SPDX-License-Identifier: Apache-2.0
// The bytes by which rows of statements are sorted have the order of the values themselves.

import Foundation
import HornbeamKeys
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamStatements

@Suite("Keys of items")
struct StatementValueKeysTests {
    private static func item(_ random: inout SeededGenerator, _ levels: Int = 2) -> StatementValue {
        switch random.below(levels > 0 ? 13 : 11) {
        case 0: return .missing
        case 1: return .null
        case 2: return .bool(random.oneIn(2))
        case 3: return .value(.int(Int64(random.below(9)) - 4))
        case 4: return .value(.int(random.oneIn(2) ? .max - Int64(random.below(3)) : .min + Int64(random.below(3))))
        case 5: return .value(.uint(.max - UInt64(random.below(3))))
        case 6:
            let numbers: [Double] = [
                -0.0, 0, 0.1, 1.5, -1.5, .nan, .infinity, -.infinity, 9_007_199_254_740_994, 1e300, 4,
                .leastNonzeroMagnitude,
            ]
            return .value(.double(numbers[random.below(numbers.count)]))
        case 7: return .value(.decimal(Decimal(random.below(40)) / 10))
        case 8: return .value(.date(Double(random.below(3))))
        case 9:
            let texts = ["", "a", "ab", "a\u{0}", "é", "e\u{301}", "\u{10FFFF}", "z"]
            return .string(texts[random.below(texts.count)])
        case 10: return .value(.data(Data(random.bytes(random.below(3)))))
        case 11: return .array((0..<random.below(3)).map { _ in item(&random, levels - 1) })
        default:
            return .object(
                (0..<random.below(3)).map { StatementField(name: "f\($0)", item: item(&random, levels - 1)) })
        }
    }

    @Test("sort as the items do, and are equal if the items are", .seeded)
    func order() {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let (left, right) = (Self.item(&random), Self.item(&random))
            let order = left.orderedKey.withUnsafeBytes { left in right.orderedKey.withUnsafeBytes { left.order($0) } }
            #expect(order.signum() == left.order(right).signum(), "\(left) and \(right)")
        }
    }
}
