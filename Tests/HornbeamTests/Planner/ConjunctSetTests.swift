// SPDX-License-Identifier: Apache-2.0
// Sets of conjuncts compared with sets of integers, for filters of any size.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Sets of conjuncts")
struct ConjunctSetTests {
    @Test("behave like sets, also beyond the 64 that take no memory", .seeded)
    func model() {
        var random = SeededGenerator()
        for _ in 0..<500 {
            let count = Int.random(in: 0...6, using: &random)
            let left = Set((0..<count).map { _ in Int.random(in: 0..<130, using: &random) })
            let right = Bool.random(using: &random) ? left.union([3, 64]) : Set(left.prefix(2)).union([90])
            let (first, second) = (set(left), set(right))
            #expect(first.count == left.count)
            #expect(first.isEmpty == left.isEmpty)
            #expect((0..<130).filter { first.contains($0) } == left.sorted())
            #expect(first.isSubset(of: second) == left.isSubset(of: right))
            #expect(second.isSubset(of: first) == right.isSubset(of: left))
            #expect(first.union(second) == set(left.union(right)))
            #expect(first.inserting(100) == set(left.union([100])))
        }
        #expect(ConjunctSet(below: 70) == set(Set(0..<70)))
        #expect(ConjunctSet(63) == set([63]) && ConjunctSet(64) == set([64]))
    }

    private func set(_ positions: Set<Int>) -> ConjunctSet {
        var set = ConjunctSet()
        for position in positions { set.insert(position) }
        return set
    }
}
