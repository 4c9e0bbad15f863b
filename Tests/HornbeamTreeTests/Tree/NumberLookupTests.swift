// SPDX-License-Identifier: Apache-2.0
// Looking up keys of eight bytes together as numbers agrees with single look-ups by their bytes, with any other keys,
// any common prefix, and any heads in their nodes.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Look-ups by numbers")
struct NumberLookupTests {
    /// Kinds of numbers.
    enum Kind: CaseIterable {
        /// Small neighbouring numbers, with leading zeros.
        case small
        /// Above 2^40, like assigned row ids.
        case assigned
        /// Numbers whose bytes all differ.
        case random
        /// Few different bytes: equal heads, and keys that are prefixes of others.
        case fewBytes
    }

    private func number(_ kind: Kind, _ random: inout SeededGenerator) -> UInt64 {
        switch kind {
        case .small: UInt64.random(in: 0..<3_000, using: &random)
        case .assigned: (1 << 40) + UInt64.random(in: 0..<200_000, using: &random)
        case .random: UInt64.random(in: 0...UInt64.max, using: &random)
        case .fewBytes:
            (0..<8).reduce(0) { number, _ in number << 8 | UInt64.random(in: 0..<2, using: &random) }
        }
    }

    private func key(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    @Test("agree with look-ups by bytes", .seeded, arguments: Kind.allCases, [false, true])
    func sameAsBytes(kind: Kind, hasOtherSizes: Bool) throws {
        var random = SeededGenerator()
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        var numbers: [UInt64] = []
        for _ in 0..<2_000 {
            let number = number(kind, &random)
            numbers.append(number)
            var bytes = key(number)
            // Shorter or longer keys, or keys with zeros appended.
            if hasOtherSizes {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.removeLast(Int.random(in: 1...7, using: &random))
                case 1: bytes += (0..<Int.random(in: 1...5, using: &random)).map { _ in UInt8(0) }
                default: break
                }
            }
            let value = random.bytes(Int.random(in: 0...90, using: &random))
            try write.put(tree, bytes, value)
        }
        try write.commit()
        let read = try store.beginRead()
        #expect(try lookUp([], read, tree).isEmpty)
        for _ in 0..<400 {
            let wanted = (0..<Int.random(in: 1...16, using: &random)).map { _ in
                Bool.random(using: &random) ? numbers.randomElement(using: &random) ?? 0 : number(kind, &random)
            }
            #expect(try lookUp(wanted, read, tree) == (try wanted.map { try read.value(tree, key($0)) }))
        }
        read.abort()
    }

    @Test("find nothing in an empty tree")
    func empty() throws {
        let write = try TreeStore.inMemory().beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        #expect(try lookUp([0, 7, .max], write, tree) == [nil, nil, nil])
        write.abort()
    }

    private func lookUp(_ numbers: [UInt64], _ transaction: Transaction, _ tree: TreeID) throws -> [[UInt8]?] {
        var found = [Bytes?](repeating: Bytes(start: nil, count: 0), count: 16)
        try numbers.withUnsafeBufferPointer { numbers in
            try found.withUnsafeMutableBufferPointer { try transaction.getMany(tree, numbers: numbers, into: $0) }
        }
        return found.prefix(numbers.count).map { $0.map { Array($0) } }
    }
}
