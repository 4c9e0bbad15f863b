// SPDX-License-Identifier: Apache-2.0
// The terms of one text: numbered in order of occurrence, looked up, and sorted by their bytes, in any number.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Terms of pending records")
struct PendingTermTableTests {
    @Test(
        "Terms keep their numbers and are sorted by their bytes",
        arguments: [0, 1, 2, 7, 8, 9, 16, 17, 100, 129, 3000], SeededGenerator.seeds(1))
    func order(count: Int, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ UInt64(count))
        var table = PendingTermTable()
        for _ in 0..<2 {
            table.removeAll()
            var terms: [[UInt8]] = []
            var numbers: [[UInt8]: UInt32] = [:]
            while terms.count < count {
                // Many begin with the same eight bytes, and some are the beginning of others.
                let start = ["", "a", "sameword", "samewords"][random.below(4)]
                let term = Array(start.utf8) + (0..<random.below(6)).map { _ in UInt8(97 + random.below(3)) }
                let isNew = !term.isEmpty && numbers[term] == nil
                let added = isNew ? term : Array("w\(terms.count)".utf8)
                numbers[added] = UInt32(terms.count)
                terms.append(added)
                let number = withBytes(added) { table.number(of: $0) }
                #expect(number == numbers[added])
            }
            for (term, number) in numbers {
                let found = withBytes(term) { table.number(of: $0) }
                #expect(found == number)
            }
            let expected = terms.indices.sorted { terms[$0].lexicographicallyPrecedes(terms[$1]) }
            let sorted = table.sorted().map { $0.number }
            #expect(sorted == expected, "\(count), HORNBEAM_SEED=\(seed)")
        }
    }
    @Test("A table that had very many terms shrinks after some texts with few")
    func shrinks() {
        var table = PendingTermTable()
        let small = table.byteCount
        for number in 0..<20_000 { _ = withBytes(Array("term\(number)".utf8)) { table.number(of: $0) } }
        let large = table.byteCount
        #expect(large > 10 * small)
        for _ in 0..<10 {
            table.removeAll()
            for number in 0..<100 {
                let found = withBytes(Array("\(number)".utf8)) { table.number(of: $0) }
                #expect(found == UInt32(number))
            }
        }
        // Slots are cleared each time; the other memory costs nothing to keep.
        #expect(large - table.byteCount >= 60_000 * 8)
    }

    @Test("A term's first eight bytes, padded with zeros, are a number in the order of the bytes")
    func heads() {
        let bytes: [UInt8] = [0xFF, 1, 0x80, 0x7F, 0xFE, 2, 0x81, 3, 9, 9]
        for count in 0...bytes.count {
            let padded = bytes[..<count] + repeatElement(0, count: 8)
            let expected = padded.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            // Memory of exactly that size, so that nothing beyond it can be read.
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            memory.copyBytes(from: bytes[..<count])
            #expect(PendingTerms.head(UnsafeRawBufferPointer(memory)) == expected, "\(count) bytes")
            memory.deallocate()
        }
    }
}
