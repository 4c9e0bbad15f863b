// SPDX-License-Identifier: Apache-2.0
// Finding keys: every key, and the gaps before and after it, compared with a linear search.

import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Node search")
struct NodeSearchTests {
    /// Returns keys next to a key, including shorter and longer ones.
    private func neighbours(_ key: [UInt8]) -> [[UInt8]] {
        var all = [key, key + [0], key + [255], Array(key.dropLast())]
        for index in key.indices {
            for change in [UInt8(1), 255] {
                var other = key
                other[index] &+= change
                all.append(other)
            }
        }
        return all
    }

    @Test(
        "Every key and its neighbours are found where a linear search finds them", .seeded, arguments: KeyKind.allCases)
    func agreesWithLinearSearch(kind: KeyKind) {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        for size in [1, 2, 3, 5, 17, 40] {
            var model = ModelTree()
            while model.count < size {
                model.put(kind.key(&random, maximum: 60, counter: &counter), [])
            }
            let node = TestNode()
            #expect(node.build(model.keys.map { ($0, []) }))
            for wanted in model.keys.flatMap({ neighbours($0) }) where !wanted.isEmpty {
                let (index, found) = wanted.withUnsafeBytes { node.view.find($0) }
                #expect(index == model.rank(wanted), "\(wanted)")
                #expect(found == (model.index(of: wanted) != nil), "\(wanted)")
            }
        }
    }

    @Test(
        "A branch gives the child with the greatest separator that is not greater", .seeded, arguments: KeyKind.allCases
    )
    func findsChild(kind: KeyKind) {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        for size in [1, 2, 3, 8, 25] {
            var model = ModelTree()
            while model.count < size {
                model.put(kind.key(&random, maximum: 60, counter: &counter), [])
            }
            let node = TestNode(isBranch: true)
            // The first entry's key is dropped: a branch begins at minus infinity.
            let entries = [([1], childRecord(page: 1))] + model.keys.map { ($0, childRecord(page: 9)) }
            #expect(node.build(entries))
            for wanted in model.keys.flatMap({ neighbours($0) }) where !wanted.isEmpty {
                let expected = model.rank(wanted) + (model.index(of: wanted) != nil ? 1 : 0)
                let index = wanted.withUnsafeBytes { node.view.childIndex($0) }
                #expect(index == expected, "\(wanted)")
            }
        }
    }

    /// Numbers at distances of every kind: even ones, with gaps, in clusters, growing ones, with equal key heads.
    enum Spacing: CaseIterable {
        case even, gaps, clusters, growing, beyondHeads

        func numbers(_ count: Int, _ random: inout SeededGenerator) -> [UInt64] {
            var numbers: Set<UInt64> = []
            var last = UInt64.random(in: 0...1 << 30, using: &random)
            while numbers.count < count {
                switch self {
                case .even: last += 1
                case .gaps: last += UInt64.random(in: 1...300, using: &random)
                case .clusters: last += numbers.count % 13 == 0 ? 1 << 33 : 1
                case .growing: last += 1 << min(UInt64(numbers.count), 50)
                case .beyondHeads: last = UInt64.random(in: 0...3, using: &random) << 56 + UInt64(numbers.count % 40)
                }
                numbers.insert(last)
            }
            return numbers.sorted()
        }
    }

    @Test("Numbers are found where their bytes are, in leaves and in branches", .seeded, arguments: Spacing.allCases)
    func findsNumbers(spacing: Spacing) {
        var random = SeededGenerator()
        for size in [1, 2, 8, 9, 10, 11, 40, 80] {
            let numbers = spacing.numbers(size, &random)
            let keys = numbers.map { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
            let leaf = TestNode()
            let branch = TestNode(isBranch: true)
            #expect(leaf.build(keys.map { ($0, []) }))
            #expect(branch.build([([1], childRecord(page: 1))] + keys.map { ($0, childRecord(page: 9)) }))
            for number in numbers.flatMap({ [$0, $0 &- 1, $0 &+ 1, $0 &+ 1 << 32] }) + [0, 1, .max] {
                withUnsafeBytes(of: number.bigEndian) { key in
                    let expected = leaf.view.find(key)
                    #expect(leaf.view.find(number: number) == expected, "\(number)")
                    let place = leaf.view.place(number: number)
                    #expect(leaf.view.find(number: number, from: place) == expected, "\(number)")
                    #expect(branch.view.childIndex(number: number) == branch.view.childIndex(key), "\(number)")
                }
            }
        }
    }
}
