// SPDX-License-Identifier: Apache-2.0
// Reductions compared with a plain fold after any changes, across commits, aborts and recovery; the number of nodes
// read for a range; and programs that don't know a tree's reduction.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

/// A reduction that depends on order: the first and the last key of a range, and the number of keys.
private let ends = Reduction(
    name: "ends", identity: [UInt8](repeating: 0, count: 24),
    map: { (key, _, target) in
        target.storeBytes(of: 1, as: UInt64.self)
        target.storeBytes(of: digest(key), toByteOffset: 8, as: UInt64.self)
        target.storeBytes(of: digest(key), toByteOffset: 16, as: UInt64.self)
    },
    combine: { (target, next) in
        let count = next.loadUnaligned(as: UInt64.self)
        guard count > 0 else { return }
        let own = target.loadUnaligned(as: UInt64.self)
        target.storeBytes(of: own + count, as: UInt64.self)
        let last = next.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        target.storeBytes(of: last, toByteOffset: 16, as: UInt64.self)
        let first = next.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        if own == 0 { target.storeBytes(of: first, toByteOffset: 8, as: UInt64.self) }
    })

private func digest(_ bytes: Bytes) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}

private func fold(_ reduction: Reduction, _ model: ModelTree, _ range: Range<Int>) -> [UInt8] {
    var result = reduction.identity
    var one = reduction.identity
    for index in range {
        model.keys[index].withUnsafeBytes { key in
            model.values[index].withUnsafeBytes { value in
                one.withUnsafeMutableBytes { if let target = $0.baseAddress { reduction.map(key, value, target) } }
            }
        }
        result.withUnsafeMutableBytes { target in
            one.withUnsafeBytes { next in
                if let target = target.baseAddress, let next = next.baseAddress { reduction.combine(target, next) }
            }
        }
    }
    return result
}

@Suite("Reductions")
struct ReductionTests {
    private func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(value).bigEndian) { Array($0) } }
    private func bytes(_ value: Int64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    private var smallPages: StoreOptions {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        return options
    }

    @Test("Any range gives the fold over its entries, after any changes", .seeded, arguments: KeyKind.allCases)
    func model(kind: KeyKind) throws {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        var disk = try SimulatedDisk()
        var store = try TreeStore.open(file: disk, options: smallPages, reductions: [ends])
        var committed = ModelTree()
        for round in 0..<40 {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree("t", create: true, options: TreeOptions(reduction: ends)))
            var model = committed
            for _ in 0..<random.below(150) {
                try change(transaction, tree, &model, kind, &random, &counter, isGrowing: round % 16 < 10)
                if random.oneIn(40) { try compare(transaction, tree, model, &random) }
            }
            if random.oneIn(5) {
                transaction.abort()
            } else {
                try transaction.commit()
                committed = model
            }
            if random.oneIn(5) {
                // The journal restores everything since the last checkpoint.
                disk = try SimulatedDisk(image: disk.killedImage())
                store = try TreeStore.open(file: disk, reductions: [ends])
            }
            let read = try store.beginRead()
            if let tree = try read.tree("t") { try compare(read, tree, committed, &random) }
            read.abort()
            if round % 8 == 7 { #expect(try store.check { Issue.record("\($0)") }) }
        }
    }

    private func change(
        _ transaction: Transaction, _ tree: TreeID, _ model: inout ModelTree, _ kind: KeyKind,
        _ random: inout SeededGenerator, _ counter: inout UInt64, isGrowing: Bool
    ) throws {
        func anyKey() -> [UInt8] {
            model.count > 0 && random.oneIn(2)
                ? model.keys[random.below(model.count)]
                : kind.key(&random, maximum: transaction.maximumKey, counter: &counter)
        }
        switch random.below(20) {
        case 0:
            let (from, to) = (anyKey(), random.oneIn(4) ? [] : anyKey())
            let isSmall = model.range(from, to).count * (isGrowing ? 20 : 2) < model.count
            if isSmall {
                _ = try transaction.deleteRange(tree, from: from, to: to)
                _ = model.deleteRange(from, to)
            }
        case 1..<(isGrowing ? 4 : 16):
            let key = anyKey()
            #expect(try transaction.delete(tree, key) == model.delete(key))
        default:
            let key = anyKey()
            let value = random.bytes(random.oneIn(30) ? 5000 : random.below(80))
            try transaction.put(tree, key, value)
            model.put(key, value)
        }
    }

    private func compare(
        _ transaction: Transaction, _ tree: TreeID, _ model: ModelTree, _ random: inout SeededGenerator
    ) throws {
        #expect(try transaction.reduce(tree) == fold(ends, model, 0..<model.count))
        guard model.count > 0 else { return }
        for _ in 0..<4 {
            let from = random.oneIn(4) ? [] : model.keys[random.below(model.count)]
            let to = random.oneIn(4) ? random.bytes(3) : model.keys[random.below(model.count)]
            let range = model.range(from, to)
            #expect(try transaction.reduce(tree, from: from, to: to) == fold(ends, model, range))
        }
    }

    @Test("A range is answered from two paths of nodes, however many entries it has")
    func logarithmic() throws {
        let sum = Reduction.sum(of: Int64.self)
        let store = try TreeStore.inMemory(options: smallPages, reductions: [sum])
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true, options: TreeOptions(reduction: sum)))
        for value in 0..<30_000 { try transaction.append(tree, number(value), bytes(Int64(value))) }
        try transaction.commit()
        let read = try store.beginRead()
        let levels = try read.opened(tree).pointee.root.level + 1
        #expect(levels >= 3)
        for (from, to) in [(0, 30_000), (1, 29_999), (12_345, 12_346), (7, 20_000)] {
            let found = try number(from).withUnsafeBytes { (a) in
                try number(to).withUnsafeBytes { (b) in try read.reduceCounting(tree, from: a, to: b) }
            }
            let expected = Int128((from..<to).reduce(0, +))
            #expect(found.value.withUnsafeBytes { $0.loadUnaligned(as: Int128.self) } == expected)
            #expect(found.nodesRead <= 2 * levels)
        }
        let all = try [UInt8]().withUnsafeBytes { try read.reduceCounting(tree, from: $0, to: $0) }
        #expect(all.nodesRead == 1)
    }

    @Test("Sums are exact, extremes and statistics leave out values without a number", .seeded)
    func builtIn() throws {
        var random = SeededGenerator()
        let statistics = Reduction.statistics(of: Double.self, at: 4)
        let minimum = Reduction.minimum(of: Int32.self)
        let maximum = Reduction.maximum(of: UInt64.self)
        let store = try TreeStore.inMemory(reductions: [statistics, minimum, maximum])
        let transaction = try store.beginWrite()
        let trees = try [("s", statistics), ("n", minimum), ("x", maximum)].map {
            try #require(try transaction.tree($0.0, create: true, options: TreeOptions(reduction: $0.1)))
        }
        var doubles: [Double] = []
        var numbers: [Int32] = []
        var large: [UInt64] = []
        for index in 0..<3000 {
            let double = Double(random.below(1000)) / 4
            let isMissing = index % 10 == 0
            doubles += isMissing ? [] : [double]
            numbers += isMissing ? [] : [Int32(truncatingIfNeeded: random.next())]
            large += isMissing ? [] : [random.next()]
            let short: [UInt8] = [1, 2]
            let doubleBytes = [0, 0, 0, 0] + withUnsafeBytes(of: double) { Array($0) }
            let nan = [0, 0, 0, 0] + withUnsafeBytes(of: Double.nan) { Array($0) }
            try transaction.put(trees[0], number(index), isMissing ? (index % 20 == 0 ? nan : short) : doubleBytes)
            try transaction.put(
                trees[1], number(index), isMissing ? [] : withUnsafeBytes(of: numbers[numbers.count - 1]) { Array($0) })
            try transaction.put(
                trees[2], number(index), isMissing ? short : withUnsafeBytes(of: large[large.count - 1]) { Array($0) })
        }
        let found = ReducedStatistics<Double>(try transaction.reduce(trees[0]))
        #expect(found.count == 2700)
        #expect(found.sum == doubles.reduce(0, +))
        #expect(found.minimum == doubles.min() && found.maximum == doubles.max())
        #expect(Reduction.extreme(try transaction.reduce(trees[1]), of: Int32.self) == numbers.min())
        #expect(Reduction.extreme(try transaction.reduce(trees[2]), of: UInt64.self) == large.max())
        #expect(Reduction.extreme(try transaction.reduce(trees[2], to: [0]), of: UInt64.self) == nil)
        #expect(ReducedStatistics<Double>(try transaction.reduce(trees[0], to: [0])) == ReducedStatistics())
    }

    @Test("A program without a tree's reduction reads the tree, and a change throws with the missing one")
    func unknown() throws {
        let sum = Reduction.sum(of: Int64.self)
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: smallPages, reductions: [sum])
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(reduction: sum)))
        try write.put(tree, [1], bytes(5))
        try write.commit()
        // The journal's changes can't be replayed without it, and the file stays as it is.
        let killed = try #require(disk.killedImage())
        #expect(performing: { try TreeStore.open(file: try SimulatedDisk(image: killed)) }, throws: namesTheSum)
        let again = try TreeStore.open(file: try SimulatedDisk(image: killed), reductions: [sum])
        try again.close()

        try store.close()
        let other = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()))
        let transaction = try other.beginWrite()
        let same = try #require(try transaction.tree("t"))
        #expect(try transaction.value(same, [1]) == bytes(5))
        #expect(performing: { try transaction.reduce(same) }, throws: namesTheSum)
        #expect(performing: { try transaction.put(same, [2], []) }, throws: namesTheSum)
        #expect(performing: { try transaction.delete(same, [1]) }, throws: namesTheSum)
        #expect(throws: StorageError.self) {
            try transaction.tree("u", create: true, options: TreeOptions(reduction: sum))
        }
        // Refusals change nothing; dropping needs no reduction.
        #expect(try transaction.dropTree("t"))
        try transaction.commit()
        #expect(try other.check { Issue.record("\($0)") })
    }

    private func namesTheSum(_ error: any Error) -> Bool {
        guard case .unsupported(let text)? = error as? StorageError else { return false }
        return text.contains("“sum.int64@0”")
    }

    @Test("Opening a tree with another reduction than its own is refused by name")
    func otherReduction() throws {
        let sum = Reduction.sum(of: Int64.self)
        let store = try TreeStore.inMemory(reductions: [sum, ends])
        let transaction = try store.beginWrite()
        _ = try transaction.tree("t", create: true, options: TreeOptions(reduction: sum))
        _ = try transaction.tree("plain", create: true)
        #expect(throws: StorageError.self) { try transaction.tree("t", options: TreeOptions(reduction: ends)) }
        #expect(throws: StorageError.self) { try transaction.tree("plain", options: TreeOptions(reduction: ends)) }
        #expect(try transaction.tree("t") == transaction.tree("t", options: TreeOptions(reduction: sum)))
        #expect(throws: StorageError.self) { try transaction.reduce(#require(try transaction.tree("plain"))) }
    }

    @Test("Check names a reduced value that disagrees with the entries")
    func damaged() throws {
        let sum = Reduction.sum(of: Int64.self)
        let store = try TreeStore.inMemory(options: smallPages, reductions: [sum])
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true, options: TreeOptions(reduction: sum)))
        for value in 0..<2000 { try transaction.append(tree, number(value), bytes(1)) }
        let writer = try #require(transaction.writer)
        let open = try transaction.opened(tree)
        try writer.settleReductions(open)
        let root = open.pointee.root
        let frame = try #require(writer.pages.frame(root.page))
        let node = NodeView(UnsafeRawPointer(frame), size: 4096)
        let place = frame + (node.cell(1).value - node.base) + NodeLayout.childSize
        place.storeBytes(of: Int128(77), as: Int128.self)
        try transaction.commit()
        var problems: [String] = []
        #expect(try !store.check { problems.append($0) })
        #expect(problems.contains { $0.contains("“t”") && $0.contains("reduced value of entry 1") })
    }

    // Sums in branches are read from the file, and their addition trapped on overflow: two forged sums ended the
    // program.
    @Test("Sums that no entries can have are added without a trap")
    func impossibleSums() {
        let largest = withUnsafeBytes(of: Int128.max) { Array($0) }
        var statistics = bytes(1) + bytes(0) + [UInt8](repeating: 0, count: 24)
        statistics.replaceSubrange(8..<24, with: largest)
        let cases = [
            (Reduction.sum(of: Int64.self), largest, 0), (Reduction.statistics(of: Int64.self), statistics, 8),
        ]
        for (reduction, value, offset) in cases {
            var target = value
            target.withUnsafeMutableBytes { target in
                value.withUnsafeBytes { next in
                    if let target = target.baseAddress, let next = next.baseAddress { reduction.combine(target, next) }
                }
            }
            let sum = target.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Int128.self) }
            #expect(sum == -2)
        }
    }

    /// The most bytes that a store's views held in addition to the page cache.
    private final class Peak: @unchecked Sendable {
        // Sendable: one thread uses it.
        var store: TreeStore?
        var bytes: UInt64 = 0

        func look() {
            guard let figures = store?.statistics.cache else { return }
            bytes = max(bytes, figures.readers.privateBytes + figures.writers.privateBytes)
        }
    }

    // A store without a mapping reads long values into memory. All values of a leaf were kept until the leaf was
    // done: a sum over values of a megabyte took a hundred megabytes.
    @Test("Reducing entries with long values holds one of them at a time")
    func longValues() throws {
        let peak = Peak()
        let sizes = Reduction(
            name: "sizes", identity: bytes(0),
            map: { (_, value, target) in
                peak.look()
                target.storeBytes(of: Int64(value.count), as: Int64.self)
            },
            combine: { (target, next) in
                let sum = target.loadUnaligned(as: Int64.self) &+ next.loadUnaligned(as: Int64.self)
                target.storeBytes(of: sum, as: Int64.self)
            })
        var options = smallPages
        options.access = .read
        let store = try TreeStore.open(file: try SimulatedDisk(), options: options, reductions: [sizes])
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(reduction: sizes)))
        for key in 0..<20 { try write.put(tree, number(key), [UInt8](repeating: 1, count: 100_000)) }
        try write.commit()
        peak.store = store
        let read = try store.beginRead()
        #expect(try read.reduce(tree) == bytes(2_000_000))
        #expect(peak.bytes >= 100_000 && peak.bytes < 200_000, "\(peak.bytes)")
    }
}
