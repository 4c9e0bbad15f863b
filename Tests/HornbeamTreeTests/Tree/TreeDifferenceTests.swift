// SPDX-License-Identifier: Apache-2.0
// The difference of two states of a tree, compared with that of two models: any two states, in either direction. Also
// the pages read for it.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("The difference of two states of a tree")
struct TreeDifferenceTests {
    private struct Entry: Equatable {
        let key: [UInt8]
        let old: [UInt8]?
        let new: [UInt8]?
        let oldIndex: UInt64
        let newIndex: UInt64
    }

    private func differences(
        _ tree: TreeID, _ old: Transaction, _ new: Transaction
    ) throws -> (entries: [Entry], nodesRead: Int) {
        var entries: [Entry] = []
        let nodes = try new.forEachDifference(in: tree, since: old) { difference in
            entries.append(
                Entry(
                    key: Array(difference.key), old: difference.old.map { Array($0) },
                    new: difference.new.map { Array($0) }, oldIndex: difference.oldIndex,
                    newIndex: difference.newIndex))
            return true
        }
        return (entries, nodes)
    }

    private func differences(_ old: ModelTree, _ new: ModelTree) -> [Entry] {
        var entries: [Entry] = []
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            let before = left < old.count ? old.keys[left] : nil
            let after = right < new.count ? new.keys[right] : nil
            func isLess(_ one: [UInt8]?, _ other: [UInt8]?) -> Bool {
                guard let one else { return false }
                return other.map { one.lexicographicallyPrecedes($0) } ?? true
            }
            func add(_ key: [UInt8]?, _ before: [UInt8]?, _ after: [UInt8]?) {
                entries.append(
                    Entry(
                        key: key ?? [], old: before, new: after, oldIndex: UInt64(left), newIndex: UInt64(right)))
            }
            if isLess(before, after) {
                add(before, old.values[left], nil)
                left += 1
            } else if isLess(after, before) {
                add(after, nil, new.values[right])
                right += 1
            } else {
                if old.values[left] != new.values[right] { add(before, old.values[left], new.values[right]) }
                left += 1
                right += 1
            }
        }
        return entries
    }

    /// Random commits of all sizes, with snapshots held among them, each compared with each.
    private func run(_ kind: KeyKind, _ options: StoreOptions, isCompressed: Bool, rounds: Int) throws {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        let store = try TreeStore.open(file: try SimulatedDisk(), options: options)
        let maximum = NodeLayout.maximumKey(pageSize: options.pageSize)
        var model = ModelTree()
        var states: [(read: Transaction, model: ModelTree)] = []
        var id: TreeID?
        for round in 0..<rounds {
            let write = try store.beginWrite()
            let tree = try #require(
                try write.tree("tree", create: true, options: TreeOptions(isCompressed: isCompressed)))
            id = tree
            for _ in 0..<[1, 3, 40, 1500][random.below(4)] {
                let isThere = model.count > 0 && random.oneIn(2)
                let key =
                    isThere
                    ? model.keys[random.below(model.count)] : kind.key(&random, maximum: maximum, counter: &counter)
                switch random.below(round % 6 < 3 ? 14 : 6) {
                case 0, 1, 2:
                    _ = try write.delete(tree, key)
                    _ = model.delete(key)
                case 3 where random.oneIn(20):
                    let other = kind.key(&random, maximum: maximum, counter: &counter)
                    _ = try write.deleteRange(tree, from: key, to: other)
                    _ = model.deleteRange(key, other)
                case 4 where random.oneIn(10):
                    let value = random.bytes(9_000 + random.below(2))
                    try write.put(tree, key, value)
                    model.put(key, value)
                default:
                    // Sometimes the present value again.
                    let value = model.get(key).flatMap { random.oneIn(3) ? $0 : nil } ?? random.bytes(random.below(60))
                    try write.put(tree, key, value)
                    model.put(key, value)
                }
            }
            if random.oneIn(7) {
                write.abort()
                model = states.last?.model ?? ModelTree()
                continue
            }
            try write.commit()
            if random.oneIn(5) { try store.checkpoint() }
            states.append((try store.beginRead(), model))
            if states.count > 5 { states.remove(at: random.below(4)).read.abort() }
            guard let tree = id, let newest = states.last else { continue }
            for state in states {
                #expect(
                    try differences(tree, state.read, newest.read).entries == differences(state.model, newest.model))
                #expect(
                    try differences(tree, newest.read, state.read).entries == differences(newest.model, state.model))
            }
        }
        for state in states { state.read.abort() }
        try store.close()
    }

    @Test("agrees with their contents, with positions", .seeded, arguments: KeyKind.allCases)
    func model(kind: KeyKind) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        try run(kind, options, isCompressed: false, rounds: 20)
    }

    @Test("agrees where pages are compressed, or read by calls", .seeded, arguments: [true, false], [true, false])
    func access(isCompressed: Bool, isMapped: Bool) throws {
        var options = StoreOptions.withLargeRing
        options.access = isMapped ? .mapped : .read
        options.cacheBytes = 1 << 18
        try run(.random, options, isCompressed: isCompressed, rounds: 15)
    }

    @Test("reads only the changed pages and their paths")
    func nodes() throws {
        let store = try TreeStore.inMemory()
        func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } }
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("tree", create: true))
        for number in 0..<100_000 { try write.put(tree, key(number * 2), [1, 2, 3]) }
        try write.commit()
        let old = try store.beginRead()
        #expect(try differences(tree, old, try store.beginRead()).nodesRead == 0)
        func change(_ body: (Transaction) throws -> Void) throws -> Transaction {
            let write = try store.beginWrite()
            try body(write)
            try write.commit()
            return try store.beginRead()
        }
        let height = 3
        let one = try change { try $0.put(tree, key(70_001), []) }
        let first = try differences(tree, old, one)
        #expect(first.entries == [Entry(key: key(70_001), old: nil, new: [], oldIndex: 35_001, newIndex: 35_001)])
        #expect(first.nodesRead <= 2 * height)
        // Two commits count as one; a change undone between them is no difference.
        let two = try change {
            _ = try $0.delete(tree, key(70_001))
            try $0.put(tree, key(199_998), [4])
            _ = try $0.delete(tree, key(0))
        }
        let both = try differences(tree, old, two)
        #expect(both.entries.map(\.key) == [key(0), key(199_998)])
        #expect(both.entries.map(\.newIndex) == [0, 99_998])
        #expect(both.nodesRead <= 2 * 3 * height)
        // If a whole end of the tree is removed, none of its pages is read.
        let cut = try change { _ = try $0.deleteRange(tree, from: key(190_000), to: []) }
        let third = try differences(tree, two, cut)
        #expect(third.entries.count == 5_000)
        #expect(third.nodesRead < 100)
        // The comparison ends on request.
        var seen = 0
        try cut.forEachDifference(in: tree, since: old) { _ in
            seen += 1
            return false
        }
        #expect(seen == 1)
    }

    @Test("needs two reads of the same store")
    func refusals() throws {
        let (store, other) = (try TreeStore.inMemory(), try TreeStore.inMemory())
        for store in [store, other] {
            let write = try store.beginWrite()
            _ = try write.tree("tree", create: true)
            try write.commit()
        }
        let read = try store.beginRead()
        let tree = try #require(try read.tree("tree"))
        let foreign = try other.beginRead()
        #expect(throws: StorageError.self) { try foreign.forEachDifference(in: tree, since: read) { _ in true } }
        let write = try store.beginWrite()
        #expect(throws: StorageError.self) { try write.forEachDifference(in: tree, since: read) { _ in true } }
        write.abort()
    }
}
