// SPDX-License-Identifier: Apache-2.0
// Sorting keys in one block of bytes: few and many, short and long, with much or nothing in common.

import HornbeamKeys
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Keys sorted in memory")
struct KeySortTests {
    fileprivate struct Entry: Equatable {
        let key: [UInt8]
        let number: UInt64
        let value: [UInt8]
    }

    /// A buffer's entries, in its order.
    private static func entries(_ buffer: EntryBuffer) -> [Entry] {
        (0..<buffer.count).map {
            Entry(key: Array(buffer.key($0)), number: buffer.number($0), value: Array(buffer.value($0)))
        }
    }

    private static func buffer(_ entries: [Entry]) -> EntryBuffer {
        var buffer = EntryBuffer()
        for entry in entries {
            // A removed key leaves nothing behind.
            buffer.keys.bytes += [1, 2, 3]
            buffer.removeWritten()
            buffer.keys.bytes += entry.key
            entry.value.withUnsafeBytes { buffer.addWritten(number: entry.number, value: $0) }
        }
        return buffer
    }

    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        left.key == right.key ? left.number < right.number : left.key.lexicographicallyPrecedes(right.key)
    }

    @Test("come in the order of their bytes, equal ones in the order of their numbers", .seeded)
    func order() throws {
        var random = SeededGenerator()
        for count in [0, 1, 2, 63, 64, 300, 511, 512, 3_000] {
            for kind in 0..<6 {
                let shared = random.bytes(random.below(20))
                var entries: [Entry] = []
                for number in 0..<count {
                    let key: [UInt8] =
                        switch kind {
                        // Integers: few or many different ones.
                        case 0: [1, 0x80, 0, 0, 0] + random.bytes(4)
                        case 1: [UInt8(random.below(7))]
                        // Any bytes, of any length, some of them the beginning of others.
                        case 2: random.bytes(random.below(40))
                        case 3: shared + random.bytes(random.below(12))
                        // Keys that share many bytes and then have zeros, with which heads are filled up.
                        case 4: Array(repeating: UInt8(random.below(2)), count: random.below(30))
                        default: shared + Array(repeating: 7, count: random.below(200)) + [UInt8(random.below(3))]
                        }
                    let place = random.oneIn(2) ? UInt64(number) : UInt64(random.below(1 << 40))
                    entries.append(Entry(key: key, number: place, value: random.bytes(random.below(3))))
                }
                var buffer = Self.buffer(entries)
                buffer.sort()
                let sorted = Self.entries(buffer)
                let expected = entries.sorted(by: Self.precedes)
                #expect(sorted.map(\.key) == expected.map(\.key), "\(count) of kind \(kind)")
                #expect(sorted.map(\.number) == expected.map(\.number), "\(count) of kind \(kind)")
                // Values stay with their keys; entries with equal keys and values may come in any order.
                let (found, given) = (Set(sorted.map(\.description)), Set(entries.map(\.description)))
                #expect(found == given)
            }
        }
    }

    @Test("can be left out and renumbered, and others can be added and sorted with them", .seeded)
    func renumbering() {
        var random = SeededGenerator()
        let entries = (0..<1_000).map { Entry(key: random.bytes(3), number: UInt64($0), value: random.bytes(2)) }
        var buffer = Self.buffer(entries)
        buffer.sort()
        let size = buffer.size
        var left = 100
        buffer.renumber { number in
            left -= 1
            return left >= 0 ? number + 5_000 : nil
        }
        let kept = entries.sorted(by: Self.precedes).prefix(100).map {
            Entry(key: $0.key, number: $0.number + 5_000, value: $0.value)
        }
        #expect(Self.entries(buffer) == kept)
        #expect(buffer.size < size / 5)
        for entry in entries {
            buffer.keys.bytes += entry.key
            entry.value.withUnsafeBytes { buffer.addWritten(number: entry.number, value: $0) }
        }
        buffer.sort()
        #expect(Self.entries(buffer) == (kept + entries).sorted(by: Self.precedes))
        var values: [UInt64] = []
        buffer.forEachValue(from: 1_090) { number, _ in
            values.append(number)
            return values.count < 7
        }
        #expect(values == (kept + entries).sorted(by: Self.precedes)[1_090..<1_097].map(\.number))
        #expect([3, 1, 2, 1].sorted(byKey: { $1.append(Int64($0)) }) == [1, 1, 2, 3])
    }
}

extension KeySortTests.Entry: CustomStringConvertible {
    fileprivate var description: String { "\(key) \(number) \(value)" }
}
