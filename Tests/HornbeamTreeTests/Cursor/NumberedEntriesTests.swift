// SPDX-License-Identifier: Apache-2.0
// Entries read by the numbers at the beginning of their keys agree with single entries from the cursor, for any
// common prefix of a leaf's keys.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Entries read by numbers")
struct NumberedEntriesTests {
    @Test("equal the cursor's, for every size of a common prefix and of a value", .seeded, arguments: 0...19)
    func prefixes(shared: Int) throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        let prefix = (0..<shared).map { _ in UInt8.random(in: 0...255, using: &random) }
        for _ in 0..<300 {
            let size = max(8 - shared, 1) + Int.random(in: 0...12, using: &random)
            let rest = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            let value = [UInt8](repeating: 7, count: Int.random(in: 0...20, using: &random))
            try write.put(tree, prefix + rest, value)
        }
        let target = UnsafeMutablePointer<NumberedEntry>.allocate(capacity: 16)
        defer { target.deallocate() }
        var plain = try write.cursor(tree)
        var cursor = try write.cursor(tree)
        var many = 0
        while try cursor.next() {
            let count = try cursor.read(numbers: target, capacity: 16)
            many += count
            for place in 0..<max(1, count) {
                let isThere = try plain.next()
                #expect(isThere)
                guard count > 0 else { continue }
                let key = Array(plain.key)
                let (entry, value) = (target[place], Array(plain.value))
                #expect(entry.first == key[..<8].reduce(0) { $0 << 8 | UInt64($1) })
                if key.count >= 10 { #expect(entry.second == UInt16(key[8]) << 8 | UInt16(key[9])) }
                #expect(Array(Bytes(start: entry.value.start, count: entry.value.size)) == value)
            }
        }
        let isOver = try !plain.next()
        #expect(isOver)
        #expect(many > 0)
        write.abort()
    }

    @Test("are available for entries of ten bytes, with any part of the number in the prefix", arguments: 0...8)
    func small(shared: Int) throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for number in UInt16(0)..<500 {
            var key = [UInt8](repeating: 1, count: 10)
            (key[shared], key[shared + 1]) = (UInt8(number >> 8), UInt8(number & 255))
            try write.put(tree, key, [])
        }
        let target = UnsafeMutablePointer<NumberedEntry>.allocate(capacity: 64)
        defer { target.deallocate() }
        var cursor = try write.cursor(tree)
        var numbers: [UInt16] = []
        while try cursor.next() {
            let count = try cursor.read(numbers: target, capacity: 64)
            try #require(count > 0)
            for entry in UnsafeBufferPointer(start: target, count: count) {
                let key =
                    (0..<8).map { UInt8(truncatingIfNeeded: entry.first >> (56 - 8 * UInt64($0))) }
                    + [UInt8(entry.second >> 8), UInt8(entry.second & 255)]
                numbers.append(UInt16(key[shared]) << 8 | UInt16(key[shared + 1]))
                #expect(entry.value.size == 0)
            }
        }
        #expect(numbers == Array(0..<500))
        write.abort()
    }
}
