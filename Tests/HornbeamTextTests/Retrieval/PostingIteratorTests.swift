// SPDX-License-Identifier: Apache-2.0
// A posting list read by steps and by leaps, at every size at which its form changes.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Walking a posting list")
struct PostingIteratorTests {
    @Test("Advancing lands on the first posting not before the target", .seeded, arguments: [1, 8, 9, 128, 129, 700])
    func advance(count: Int) throws {
        let store = try TreeStore.inMemory()
        // Only every seventh document has the term.
        let docnos = (0..<count).map { UInt32($0 * 7 + 3) }
        try store.write { writer in
            for docno in 0..<UInt32(count * 7) {
                let text = docno % 7 == 3 ? String(repeating: "x ", count: Int(docno % 4) + 1) : ""
                try writer.insert(UInt64(docno) + 100, text: text)
            }
        }
        let transaction = try store.beginRead()
        let snapshot = try #require(try TextSnapshot(testIndex, in: transaction))
        var random = SeededGenerator()
        for _ in 0..<40 {
            let found = try withBytes(Array("x".utf8)) { try snapshot.postings(of: $0) }
            let postings = try PostingIterator(try #require(found))
            var target: UInt32 = 0
            while let current = postings.current {
                #expect(current == docnos.first { $0 >= target })
                #expect(postings.frequency == current % 4 + 1)
                var positions: [UInt32] = []
                try postings.appendPositions(to: &positions)
                #expect(positions == Array(0..<postings.frequency))
                if Bool.random(using: &random) {
                    try postings.next()
                    target = current + 1
                } else {
                    target =
                        current
                        + UInt32.random(in: 0...[5, 900][Int.random(in: 0...1, using: &random)], using: &random)
                    try postings.advance(to: target)
                }
            }
            #expect(docnos.allSatisfy { $0 < target })
            try postings.advance(to: .max)
            try postings.next()
            #expect(postings.current == nil)
        }
    }
}
