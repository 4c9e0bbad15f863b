// SPDX-License-Identifier: Apache-2.0
// Finding keys: every key, and the gaps before and after it, against a linear search.

import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Node search")
struct NodeSearchTests {
    /// Keys next to a key, shorter and longer ones too.
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
            // The first entry's key is dropped: the branch begins at minus infinity.
            let entries = [([1], childRecord(page: 1))] + model.keys.map { ($0, childRecord(page: 9)) }
            #expect(node.build(entries))
            for wanted in model.keys.flatMap({ neighbours($0) }) where !wanted.isEmpty {
                let expected = model.rank(wanted) + (model.index(of: wanted) != nil ? 1 : 0)
                let index = wanted.withUnsafeBytes { node.view.childIndex($0) }
                #expect(index == expected, "\(wanted)")
            }
        }
    }
}
