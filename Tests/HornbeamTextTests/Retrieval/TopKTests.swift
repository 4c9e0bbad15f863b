// SPDX-License-Identifier: Apache-2.0
// The bounded heap compared with sorting all hits.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("The best k")
struct TopKTests {
    @Test("They are the first k of all, sorted, in any order of arrival", arguments: SeededGenerator.seeds(3))
    func likeSorting(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let hits = (0..<Int.random(in: 0..<60, using: &random)).map { docno in
                TextHit(row: UInt64(docno), score: Double(Int.random(in: 0..<12, using: &random)))
            }
            let limit = Int.random(in: 1..<70, using: &random)
            for descends in [false, true] {
                var best = TopK(limit: limit, tieBreak: descends ? { $0 > $1 } : nil)
                for hit in hits.shuffled(using: &random) {
                    if hit.score < best.threshold { continue }
                    if try best.admits(hit) { try best.insert(hit) }
                }
                let expected = hits.sorted {
                    $0.score != $1.score ? $0.score > $1.score : ($0.row < $1.row) != descends
                }
                #expect(try best.sorted() == Array(expected.prefix(limit)), "HORNBEAM_SEED=\(seed)")
            }
        }
    }
}
