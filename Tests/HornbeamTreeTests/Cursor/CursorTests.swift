// SPDX-License-Identifier: Apache-2.0
// Cursors: every move compared with the model, in reads and between the changes of a write transaction.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Cursor")
struct CursorTests {
    private func fill(_ kind: KeyKind, _ count: Int, _ random: inout SeededGenerator) -> ModelTree {
        var counter: UInt64 = 0
        var model = ModelTree()
        for index in 0..<count {
            let key = kind.key(&random, maximum: 1024, counter: &counter)
            model.put(key, random.bytes(index % 97 == 0 ? 5000 : random.below(50)))
        }
        return model
    }

    private func store(_ model: ModelTree) throws -> TreeStore {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let store = try TreeStore.inMemory(options: options)
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        try transaction.load(tree, zip(model.keys, model.values).map { (key: $0, value: $1) })
        try transaction.commit()
        return store
    }

    @Test("Forwards and backwards a cursor meets every entry once", .seeded, arguments: KeyKind.allCases)
    func scans(kind: KeyKind) throws {
        var random = SeededGenerator()
        let model = fill(kind, 2000, &random)
        let transaction = try store(model).beginRead()
        let tree = try #require(try transaction.tree("t"))
        var cursor = try transaction.cursor(tree)
        for index in 0..<model.count {
            #expect(try cursor.next())
            #expect(Array(cursor.key) == model.keys[index])
            #expect(Array(cursor.value) == model.values[index])
        }
        #expect(try !cursor.next())
        #expect(try !cursor.next())
        let isValid = cursor.isValid
        #expect(!isValid)
        for index in (0..<model.count).reversed() {
            #expect(try cursor.previous())
            #expect(Array(cursor.key) == model.keys[index])
            #expect(Array(cursor.value) == model.values[index])
        }
        #expect(try !cursor.previous())
        #expect(try !cursor.previous())
        #expect(try cursor.next())
        #expect(Array(cursor.key) == model.keys.first)
    }

    @Test(
        "Seeking finds neighbours by key and entries by rank, and continues from there", .seeded,
        arguments: KeyKind.allCases)
    func seeks(kind: KeyKind) throws {
        var random = SeededGenerator()
        let model = fill(kind, 1500, &random)
        let transaction = try store(model).beginRead()
        let tree = try #require(try transaction.tree("t"))
        var cursor = try transaction.cursor(tree)
        var counter: UInt64 = 0
        for _ in 0..<1500 {
            let isThere = random.oneIn(2)
            let key =
                isThere
                ? model.keys[random.below(model.count)] : kind.key(&random, maximum: 1024, counter: &counter)
            let rank = model.rank(key)
            let expected: Int
            switch random.below(4) {
            case 0:
                #expect(try cursor.seek(key) == (rank < model.count))
                expected = rank
            case 3:
                // Mostly within the current leaf.
                let near = cursor.isValid && random.oneIn(4) ? nil : model.index(of: Array(cursor.key))
                let other = near.map { model.keys[min(max(0, $0 + random.below(9) - 4), model.count - 1)] } ?? key
                expected = model.rank(other)
                #expect(try cursor.seekNear(other) == (expected < model.count))
            case 1:
                expected = model.index(of: key) ?? rank - 1
                #expect(try cursor.seekLast(key) == (expected >= 0))
            default:
                expected = random.below(model.count + 2)
                #expect(try cursor.seek(index: UInt64(expected)) == (expected < model.count))
            }
            let isValid = cursor.isValid
            #expect(isValid == model.keys.indices.contains(expected))
            guard isValid else {
                let size = cursor.key.count + cursor.value.count
                #expect(size == 0)
                continue
            }
            #expect(Array(cursor.key) == model.keys[expected])
            let step = random.oneIn(2) ? 1 : -1
            let moved = step == 1 ? try cursor.next() : try cursor.previous()
            #expect(moved == model.keys.indices.contains(expected + step))
            if moved { #expect(Array(cursor.value) == model.values[expected + step]) }
        }
    }

    /// Returns copies of the entries from `read`.
    private func read(_ cursor: inout Cursor, _ isForward: Bool, _ capacity: Int) throws -> [([UInt8], [UInt8])] {
        let parts = UnsafeMutablePointer<EntryPart>.allocate(capacity: 2 * capacity)
        defer { parts.deallocate() }
        let count = try cursor.read(
            isForward: isForward, keys: parts, values: parts + capacity, capacity: capacity)
        return (0..<count).map { index in
            (
                Array(Bytes(start: parts[index].start, count: parts[index].size)),
                Array(Bytes(start: parts[capacity + index].start, count: parts[capacity + index].size))
            )
        }
    }

    @Test(
        "Many entries in one call equal those of single steps, in a read and between changes", .seeded,
        arguments: KeyKind.allCases)
    func reads(kind: KeyKind) throws {
        var random = SeededGenerator()
        var model = fill(kind, 1500, &random)
        let store = try store(model)
        for isWritable in [false, true] {
            let transaction = isWritable ? try store.beginWrite() : try store.beginRead()
            let tree = try #require(try transaction.tree("t"))
            var cursor = try transaction.cursor(tree)
            #expect(try read(&cursor, true, 4).isEmpty)
            for _ in 0..<60 {
                let isForward = random.oneIn(2)
                var place = random.below(model.count)
                #expect(try cursor.seek(index: UInt64(place)))
                for _ in 0..<random.below(20) {
                    let capacity = 1 + random.below(random.oneIn(2) ? 200 : 4)
                    let entries = try read(&cursor, isForward, capacity)
                    #expect((1...capacity).contains(entries.count))
                    for (key, value) in entries {
                        #expect(key == model.keys[place] && value == model.values[place])
                        place += isForward ? 1 : -1
                    }
                    // The cursor is on the last entry.
                    let key = Array(cursor.key)
                    #expect(key == entries.last?.0)
                    if isWritable, random.oneIn(2) {
                        // The entry is deleted and another one changes: the position stays.
                        let other = model.keys[random.below(model.count)]
                        model.put(other, [1, 2, 3])
                        try transaction.put(tree, other, [1, 2, 3])
                    }
                    let moved = isForward ? try cursor.next() : try cursor.previous()
                    #expect(moved == model.keys.indices.contains(place))
                    if !moved { break }
                }
            }
            transaction.abort()
            #expect(throws: StorageError.self) { try cursor.first() }
        }
    }

    /// How leaves are read.
    enum Reading: CaseIterable {
        case mapped, called, compressed, compressedAndCalled

        var isCompressed: Bool { self == .compressed || self == .compressedAndCalled }
        var isCalled: Bool { self == .called || self == .compressedAndCalled }
    }

    /// Returns a tree with `levels` levels above its leaves, in a file that was opened again.
    private func store(
        _ kind: KeyKind, _ reading: Reading, levels: Int, _ random: inout SeededGenerator
    ) throws -> (store: TreeStore, model: ModelTree) {
        var counter: UInt64 = 0
        var model = ModelTree()
        // Compressed leaves are eight times as large.
        let sizes = reading.isCompressed ? 450..<650 : 0..<120
        for index in 0..<[30, 600, 10_000][levels] {
            let size = index % 41 == 20 ? Self.longSize : sizes.lowerBound + random.below(sizes.count)
            let key = kind.key(&random, maximum: 1024, counter: &counter)
            model.put(key, [UInt8](repeating: UInt8(random.below(256)), count: size))
        }
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        options.access = reading.isCalled ? .read : .mapped
        // Too little to keep all read pages.
        options.cacheBytes = 256 << 10
        let disk = try SimulatedDisk()
        let first = try TreeStore.open(file: disk, options: options)
        let write = try first.beginWrite()
        let tree = try #require(
            try write.tree("t", create: true, options: TreeOptions(isCompressed: reading.isCompressed)))
        try write.load(tree, zip(model.keys, model.values).map { (key: $0, value: $1) })
        try write.commit()
        try first.close()
        return (try TreeStore.open(file: disk, options: options), model)
    }

    /// Too large for any leaf, including compressed ones.
    private static let longSize = 10_000

    /// Returns the number of entries from one read if its leaf holds all of them. A long value comes alone.
    private func readCount(_ model: ModelTree, _ place: Int, _ step: Int, _ capacity: Int) -> Int {
        let isLong = { (index: Int) in model.values[index].count == Self.longSize }
        var count = 1
        while !isLong(place), count < capacity, model.keys.indices.contains(place + step * count),
            !isLong(place + step * count)
        {
            count += 1
        }
        return count
    }

    @Test(
        "Reads that change direction, or continue elsewhere, give the right entries", .seeded,
        arguments: Reading.allCases, [0, 1, 2])
    func turns(reading: Reading, levels: Int) throws {
        var random = SeededGenerator()
        for kind in [KeyKind.random, .sharedPrefix] {
            let (store, model) = try store(kind, reading, levels: levels, &random)
            let transaction = try store.beginRead()
            let tree = try #require(try transaction.tree("t"))
            try #require(try transaction.opened(tree).pointee.root.level == levels)
            for capacity in [1, 2, 3, 7, 64] {
                var cursor = try transaction.cursor(tree)
                var place = random.below(model.count)
                #expect(try cursor.seek(index: UInt64(place)))
                for _ in 0..<100 {
                    let step = random.oneIn(2) ? 1 : -1
                    let entries = try read(&cursor, step > 0, capacity)
                    let most = readCount(model, place, step, capacity)
                    #expect(levels == 0 ? entries.count == most : (1...most).contains(entries.count))
                    let places = entries.indices.map { place + step * $0 }
                    #expect(entries.map(\.0) == places.map { model.keys[$0] })
                    #expect(entries.map(\.1) == places.map { model.values[$0] })
                    place = places.last ?? place
                    // The cursor is on the last entry.
                    #expect(try cursor.entry().map { Array($0.key) } == model.keys[place])
                    place = try move(&cursor, from: place, step, model, &random)
                }
            }
            transaction.abort()
            try store.close()
        }
    }

    /// Stays, so that the next read may change direction, or moves on, or elsewhere. Returns the new position.
    private func move(
        _ cursor: inout Cursor, from place: Int, _ step: Int, _ model: ModelTree, _ random: inout SeededGenerator
    ) throws -> Int {
        let other = random.below(model.count)
        switch random.below(5) {
        case 0, 1: return place
        case 2:
            let moved = step > 0 ? try cursor.next() : try cursor.previous()
            #expect(moved == model.keys.indices.contains(place + step))
            if moved { return place + step }
            // Past an end, and back to it.
            #expect(step > 0 ? try cursor.previous() : try cursor.next())
            return place
        case 3: #expect(try cursor.seek(model.keys[other]))
        default: #expect(try cursor.seek(index: UInt64(other)))
        }
        return other
    }

    @Test("In an empty tree no move succeeds, and after the transaction's end each throws")
    func emptyAndEnded() throws {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree("t", create: true))
        var cursor = try transaction.cursor(tree)
        #expect(try !cursor.next())
        #expect(try !cursor.previous())
        #expect(try !cursor.first())
        #expect(try !cursor.last())
        #expect(try !cursor.seek([1]))
        #expect(try !cursor.seekLast([1]))
        #expect(try !cursor.seek(index: 0))
        try transaction.put(tree, [1], [2])
        #expect(try cursor.first())
        transaction.abort()
        #expect(throws: StorageError.invalid("the transaction has ended")) { try cursor.next() }
        #expect(throws: StorageError.invalid("the transaction has ended")) { try cursor.seek([1]) }
        #expect(throws: StorageError.invalid("the transaction has ended")) { try cursor.last() }
    }

    @Test("A cursor keeps its place through its transaction's changes", .seeded, arguments: KeyKind.allCases)
    func keepsPlace(kind: KeyKind) throws {
        var random = SeededGenerator()
        var counter: UInt64 = 0
        var model = fill(kind, 600, &random)
        let transaction = try store(model).beginWrite()
        let tree = try #require(try transaction.tree("t"))
        var cursor = try transaction.cursor(tree)
        /// The current key, or the key before it if it was deleted.
        var place: [UInt8]?
        for _ in 0..<3000 {
            switch random.below(6) {
            case 1 where model.count > 300 && random.oneIn(10):
                // Often the range includes the cursor's position.
                let from = model.keys[random.below(model.count)]
                let to = random.oneIn(3) ? [] : model.keys[min(model.count - 1, model.rank(from) + random.below(200))]
                if model.range(from, to).count > 250 { continue }
                let expected = model.deleteRange(from, to)
                #expect(try transaction.deleteRange(tree, from: from, to: to) == UInt64(expected))
            case 0 where random.oneIn(8):
                let key = [255] + random.bytes(20)
                guard model.keys[model.count - 1].lexicographicallyPrecedes(key) else { continue }
                try transaction.append(tree, key, [8])
                model.put(key, [8])
            case 0:
                let key = kind.key(&random, maximum: 1024, counter: &counter)
                try transaction.put(tree, key, [9, 9])
                model.put(key, [9, 9])
            case 1 where model.count > 50:
                let key = random.oneIn(2) ? place ?? model.keys[0] : model.keys[random.below(model.count)]
                #expect(try transaction.delete(tree, key) == model.delete(key))
            case 2:
                let index = random.below(model.count)
                #expect(try cursor.seek(index: UInt64(index)))
                place = model.keys[index]
            case 3 where place != nil && model.get(place ?? []) != nil:
                #expect(Array(cursor.key) == place)
                #expect(Array(cursor.value) == model.get(place ?? []))
            default:
                guard let key = place else { continue }
                let isForward = random.oneIn(2)
                let rank = model.rank(key)
                let next = isForward ? (model.index(of: key) == nil ? rank : rank + 1) : rank - 1
                let moved = isForward ? try cursor.next() : try cursor.previous()
                #expect(moved == model.keys.indices.contains(next))
                place = moved ? model.keys[next] : nil
                if moved { #expect(Array(cursor.key) == place) }
            }
        }
        transaction.abort()
    }

    @Test("A cursor comes to the end when its tree is emptied, and a move throws when the tree is dropped")
    func emptiedAndDropped() throws {
        var random = SeededGenerator()
        let transaction = try store(fill(.random, 500, &random)).beginWrite()
        let tree = try #require(try transaction.tree("t"))
        var cursor = try transaction.cursor(tree)
        #expect(try cursor.seek(index: 250))
        #expect(try transaction.deleteRange(tree, from: [], to: []) == 500)
        #expect(cursor.value.isEmpty)
        #expect(try !cursor.next())
        #expect(try !cursor.previous())
        try transaction.put(tree, [7], [7])
        #expect(try cursor.first())
        #expect(try transaction.dropTree("t"))
        #expect(cursor.value.isEmpty)
        #expect(try !cursor.next())
        #expect(try !cursor.first())
    }

    @Test("A scan may delete the current entry, or put one next to it", .seeded)
    func changesDuringScan() throws {
        var random = SeededGenerator()
        let model = fill(.random, 1000, &random)
        let transaction = try store(model).beginWrite()
        let tree = try #require(try transaction.tree("t"))
        var cursor = try transaction.cursor(tree)
        var met = 0
        while try cursor.next() {
            let key = Array(cursor.key)
            #expect(key == model.keys[met])
            if met % 3 == 0 { #expect(try transaction.delete(tree, key)) }
            if met % 3 == 1 { try transaction.put(tree, key, random.bytes(200)) }
            met += 1
        }
        #expect(met == model.count)
        #expect(try transaction.count(tree) == UInt64(model.count - (model.count + 2) / 3))
    }

    /// Returns whether a move, one of four, to the entry of key 2 fails.
    private func isRefused(_ cursor: inout Cursor, _ move: Int) -> Bool {
        do throws(StorageError) {
            switch move {
            case 0: _ = try cursor.next()
            case 1: _ = try cursor.previous()
            case 2: _ = try cursor.seek([2])
            default: _ = try cursor.seek(index: 1)
            }
            return false
        } catch {
            return true
        }
    }

    // A move to an entry with an unreadable long value threw, and left the cursor on that entry's key with the
    // previous value: the next access returned an entry that never existed.
    @Test("After a move that failed a cursor stands on no entry", arguments: [PageAccess.mapped, .read])
    func failedMove(access: PageAccess) throws {
        let disk = try SimulatedDisk()
        var options = StoreOptions.withLargeRing
        options.access = access
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [1], [11])
        try write.put(tree, [2], [UInt8](repeating: 22, count: 100_000))
        try write.put(tree, [3], [33])
        try write.commit()
        try store.close()
        var image = try #require(disk.killedImage())
        for sector in 0..<image.count / 4096 where (0..<4096).allSatisfy({ image[sector * 4096 + $0] == 22 }) {
            image[sector * 4096 + 9] = 23
        }
        let damaged = try TreeStore.open(file: try SimulatedDisk(image: image), options: options)
        for isWriting in [false, true] {
            let transaction = isWriting ? try damaged.beginWrite() : try damaged.beginRead()
            let tree = try #require(try transaction.tree("t"))
            var cursor = try transaction.cursor(tree)
            for move in 0..<4 {
                #expect(try cursor.seek(move == 1 ? [3] : [1]))
                let isRefused = isRefused(&cursor, move)
                let isValid = cursor.isValid
                #expect(isRefused && !isValid, "move \(move)")
                let hasEntry = try cursor.entry() != nil
                #expect(!hasEntry)
                #expect(cursor.key.isEmpty)
                #expect(cursor.value.isEmpty)
                #expect(try cursor.previous())
                #expect(Array(cursor.value) == [33])
            }
            transaction.abort()
        }
    }

    @Test("A cursor finds its tree's changes at the tree's own address")
    func changes() { #expect(MemoryLayout<OpenTree>.offset(of: \.changes) == 0) }
}
