// SPDX-License-Identifier: Apache-2.0
// Exactly a block's documents are found at their positions, after any earlier blocks.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Places of a block's documents")
struct PlaceTableTests {
    @Test("Each block is right, also when the table's numbers run out", .seeded, arguments: [1, UInt32.max - 20_000])
    func blocks(start: UInt32) {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var table = PlaceTable(start: start)
        defer { table.end() }
        var base: UInt32 = 0
        for _ in 0..<400 {
            let span = [130, 300, 4096][random.below(3)]
            let docnos = (0..<span).shuffled(using: &random).prefix(Int.random(in: 1...128, using: &random)).sorted()
                .map { base + UInt32($0) }
            #expect(PlaceTable.canHold(docnos[0], docnos[docnos.count - 1]))
            docnos.withUnsafeBufferPointer { buffer in
                if let first = buffer.baseAddress { table.fill(first, count: buffer.count) }
            }
            #expect(table.last == docnos.last)
            for docno in docnos[0]...docnos[docnos.count - 1] {
                let place = Int(table.place(of: docno))
                #expect(place < docnos.count ? docnos[place] == docno : !docnos.contains(docno))
            }
            base += UInt32(random.below(9000))
        }
        #expect(!PlaceTable.canHold(7, 7 + 4096))
    }
}
