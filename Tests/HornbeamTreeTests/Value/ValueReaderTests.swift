// SPDX-License-Identifier: Apache-2.0
// Parts of values: any part of any value, mapped or read, published or not; only the parts read are verified.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Values in parts")
struct ValueReaderTests {
    private func part(_ reader: ValueReader, _ offset: Int, _ count: Int) throws -> [UInt8] {
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { target.deallocate() }
        let found = try reader.read(at: UInt64(offset), into: target)
        return Array(target.prefix(found))
    }

    private func compare(
        _ transaction: Transaction, _ tree: TreeID, _ values: [[UInt8]], _ random: inout SeededGenerator
    ) throws {
        for (index, value) in values.enumerated() {
            let reader = try #require(try transaction.valueReader(tree, [UInt8(index)]))
            #expect(reader.size == UInt64(value.count))
            #expect(try part(reader, 0, value.count + 1) == value)
            #expect(try part(reader, value.count, 5) == [])
            for _ in 0..<20 where !value.isEmpty {
                let offset = random.below(value.count)
                let count = 1 + random.below(random.oneIn(2) ? 50 : 150_000)
                #expect(try part(reader, offset, count) == Array(value[offset...].prefix(count)))
            }
        }
        #expect(try transaction.valueReader(tree, [200])?.size == nil)
    }

    @Test("Any part of a value is as it was put", .seeded, arguments: [PageAccess.mapped, .read])
    func parts(access: PageAccess) throws {
        var random = SeededGenerator()
        var options = StoreOptions.withLargeRing
        options.access = access
        let values = [0, 1, 900, 5000, 65_536, 65_537, 300_000].map { random.bytes($0) }
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for (index, value) in values.enumerated() { try write.put(tree, [UInt8(index)], value) }
        // The transaction's own values, then published ones, then those of a reopened store.
        try compare(write, tree, values, &random)
        try write.commit()
        try compare(try store.beginRead(), tree, values, &random)
        let again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: options)
        let read = try again.beginRead()
        let same = try #require(try read.tree("t"))
        try compare(read, same, values, &random)
    }

    @Test(
        "Damage in one part of a value doesn't keep the others from being read", arguments: [PageAccess.mapped, .read])
    func damage(access: PageAccess) throws {
        var options = StoreOptions.withLargeRing
        options.access = access
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        let value = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 65_536 + 1) }
        try write.put(tree, [1], value)
        try write.commit()
        try store.close()
        var image = try #require(disk.killedImage())
        // A byte in the middle of the second block, in the page as well as in the journal's copy. The pattern is
        // longer than chance repetitions in random bytes such as checksums.
        let border: [UInt8] = [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]
        for index in 0..<image.count - 30_000 where image[index] == 1 && image[index + 11] == 2 {
            if image[index..<index + 12].elementsEqual(border) { image[index + 30_000] ^= 1 }
        }
        let again = try TreeStore.open(file: try SimulatedDisk(image: image), options: options)
        let read = try again.beginRead()
        let found = try #require(try read.tree("t"))
        let reader = try #require(try read.valueReader(found, [1]))
        #expect(try part(reader, 0, 65_536) == Array(value[..<65_536]))
        #expect(try part(reader, 140_000, 100_000) == Array(value[140_000...]))
        #expect {
            _ = try part(reader, 65_000, 1000)
        } throws: { error in
            guard case .corrupt(let what)? = error as? StorageError else { return false }
            return what.tree == "t" && what.reason.contains("block 1")
        }
        #expect(throws: StorageError.self) { _ = try read.value(found, [1]) }
    }

    @Test("A reader is refused once its value was replaced or deleted, or its transaction ended")
    func ended() throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        try write.put(tree, [1], [UInt8](repeating: 3, count: 100_000))
        var reader = try #require(try write.valueReader(tree, [1]))
        #expect(try part(reader, 5, 2) == [3, 3])
        // A value of the transaction itself: after any change, another value may be in its place.
        try write.put(tree, [2], [UInt8](repeating: 5, count: 100_000))
        #expect(throws: StorageError.self) { try part(reader, 99_999, 2) }
        reader = try #require(try write.valueReader(tree, [1]))
        #expect(try write.delete(tree, [1]))
        #expect(throws: StorageError.self) { try part(reader, 5, 2) }
        try write.put(tree, [1], [UInt8](repeating: 4, count: 100_000))
        reader = try #require(try write.valueReader(tree, [1]))
        try write.commit()
        #expect(throws: StorageError.self) { try part(reader, 5, 2) }
    }

    @Test("A reader of a value from before the transaction survives changes of others, but not of its own")
    func others() throws {
        let store = try TreeStore.inMemory()
        let fill = try store.beginWrite()
        let tree = try #require(try fill.tree("t", create: true))
        try fill.put(tree, [1], [UInt8](repeating: 3, count: 100_000))
        try fill.commit()
        let write = try store.beginWrite()
        let reader = try #require(try write.valueReader(tree, [1]))
        try write.put(tree, [2], [UInt8](repeating: 5, count: 100_000))
        _ = try write.delete(tree, [2])
        #expect(try part(reader, 99_999, 2) == [3])
        try write.put(tree, [1], [UInt8](repeating: 3, count: 100_000))
        #expect(throws: StorageError.self) { try part(reader, 5, 2) }
    }

    // Readers of the transaction's own values looked for the page in the transaction's first state: a value that was
    // put after a savepoint, spilled, or written in parts was reported as damage.
    @Test("A transaction's own values can be read wherever they are", .seeded, arguments: [PageAccess.mapped, .read])
    func own(access: PageAccess) throws {
        var random = SeededGenerator()
        var options = StoreOptions.withLargeRing
        options.access = access
        options.cacheBytes = 1 << 20
        let store = try TreeStore.open(file: try SimulatedDisk(), options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        let values = (0..<4).map { _ in random.bytes(200_000) }
        try write.put(tree, [0], values[0])
        _ = try write.savepoint()
        try write.put(tree, [1], values[1])
        let inParts = try write.valueWriter(tree, [2], size: 200_000)
        try values[2].withUnsafeBytes { try inParts.append($0) }
        try inParts.finish()
        _ = try write.savepoint()
        try write.put(tree, [3], values[3])
        try compare(write, tree, values, &random)
        // More than half of the budget, so that all of it is spilled.
        for key in UInt8(100)...110 { try write.put(tree, [key], random.bytes(100_000)) }
        try compare(write, tree, values, &random)
        try write.commit()
        try compare(try store.beginRead(), tree, values, &random)
        #expect(try store.check { Issue.record("\($0)") })
    }
}
