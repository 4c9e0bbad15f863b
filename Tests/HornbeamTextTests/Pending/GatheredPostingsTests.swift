// SPDX-License-Identifier: Apache-2.0
// Postings of several segments, merged in the order of their documents: with any number of segments, and with
// documents interleaved in any way.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Postings of several segments")
struct GatheredPostingsTests {
    @Test("are merged in the order of their documents, each with its own data", arguments: SeededGenerator.seeds(4))
    func order(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for runs in [0, 1, 2, 3, 4, 7, 8, 9, 40] {
            for most in [1, 3, 50, 400] {
                var gathered = GatheredPostings()
                var documents = Array(UInt32(0)..<UInt32(runs * most + 1)).shuffled(using: &random)
                for run in 0..<runs {
                    let count = 1 + random.below(most)
                    for docno in documents.suffix(count).sorted() { add(docno, run, to: &gathered) }
                    documents.removeLast(count)
                }
                let expected = gathered.docnos.sorted()
                let removed = gathered.removedDocnos.sorted()
                gathered.sort()
                #expect(gathered.docnos == expected, "\(runs) runs, HORNBEAM_SEED=\(seed)")
                #expect(gathered.frequencies == expected.map { $0 % 7 })
                #expect(gathered.lengths == expected.map { $0 % 11 })
                #expect(gathered.sources.map { UInt32($0 & 0xFFFF) } == expected)
                #expect(gathered.removedDocnos == removed)
                #expect(gathered.removedFrequencies == removed.map { $0 % 5 })
                #expect(gathered.removedLengths == removed.map { $0 % 13 })
            }
        }
    }

    private func add(_ docno: UInt32, _ run: Int, to gathered: inout GatheredPostings) {
        gathered.docnos.append(docno)
        gathered.frequencies.append(docno % 7)
        gathered.lengths.append(docno % 11)
        gathered.sources.append(UInt64(run) << 32 | UInt64(docno))
        gathered.removedDocnos.append(docno)
        gathered.removedFrequencies.append(docno % 5)
        gathered.removedLengths.append(docno % 13)
    }
}
