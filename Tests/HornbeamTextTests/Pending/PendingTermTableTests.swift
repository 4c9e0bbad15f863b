// SPDX-License-Identifier: Apache-2.0
// The terms of one text: numbered as they come, found again, and in the order of their bytes, however many there are.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Terms of pending records")
struct PendingTermTableTests {
    @Test(
        "Terms keep their numbers and are sorted by their bytes",
        arguments: [0, 1, 2, 7, 8, 9, 16, 17, 100, 129, 3000], SeededGenerator.seeds(1))
    func order(count: Int, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ UInt64(count))
        var table = PendingTermTable()
        for _ in 0..<2 {
            table.removeAll()
            var terms: [[UInt8]] = []
            var numbers: [[UInt8]: UInt32] = [:]
            while terms.count < count {
                // Many begin with the same eight bytes, and some are the beginning of others.
                let start = ["", "a", "sameword", "samewords"][random.below(4)]
                let term = Array(start.utf8) + (0..<random.below(6)).map { _ in UInt8(97 + random.below(3)) }
                let isNew = !term.isEmpty && numbers[term] == nil
                let added = isNew ? term : Array("w\(terms.count)".utf8)
                numbers[added] = UInt32(terms.count)
                terms.append(added)
                let number = withBytes(added) { table.number(of: $0) }
                #expect(number == numbers[added])
            }
            for (term, number) in numbers {
                let found = withBytes(term) { table.number(of: $0) }
                #expect(found == number)
            }
            let expected = terms.indices.sorted { terms[$0].lexicographicallyPrecedes(terms[$1]) }
            let sorted = table.sorted()
            #expect(sorted == expected, "\(count), HORNBEAM_SEED=\(seed)")
        }
    }
}
