// SPDX-License-Identifier: Apache-2.0
// Leaders belong to existing postings: collected, written, read and removed. The suites of retrieval test that
// searches that begin with leaders give the same results.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("The best postings of a list")
struct LeadersTests {
    static func postings(_ count: Int, _ random: inout SeededGenerator) -> [Bound] {
        (0..<count).map { _ in
            let frequency = UInt32.random(in: 1...UInt32.random(in: 1...9, using: &random), using: &random)
            return Bound(frequency: frequency, length: frequency + .random(in: 0...60, using: &random))
        }
    }

    static func leaders(_ postings: [Bound]) -> Leaders {
        var gatherer = LeaderGatherer(averageLength: 30)
        for posting in postings { gatherer.add(posting) }
        return gatherer.leaders
    }

    @Test("Leaders are the best postings, are read back as written, and change only by removals", .seeded)
    func model() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<200 {
            var postings = Self.postings(Int.random(in: 1...80, using: &random), &random)
            var leaders = Self.leaders(postings)
            func score(_ posting: Bound) -> Double {
                BM25.score(
                    weight: 2, frequency: Double(posting.frequency), length: Double(posting.length), averageLength: 30)
            }
            func scores() -> [Double] { postings.map(score).sorted(by: >) }
            for count in 0...11 {
                let known = leaders.score(of: count, weight: 2, averageLength: 30)
                #expect((known == nil) == (count == 0 || count > min(10, postings.count)))
                // If two differ only by rounding, either may count as the better one.
                guard let known else { continue }
                let best = scores()[count - 1]
                #expect(known <= best && known > best * (1 - 1e-12))
            }
            var bytes = ByteSink()
            leaders.encode(to: &bytes)
            var reader = ByteReader(bytes.bytes)
            #expect(Leaders(&reader) == leaders && reader.isAtEnd)
            while !postings.isEmpty {
                let gone = postings.remove(at: random.below(postings.count))
                if random.below(2) == 0 { leaders.remove(gone) } else { leaders.remove(frequency: gone.frequency) }
                #expect(leaders.areAmong(postings))
                for average in [2.0, 30, 500] {
                    for count in 1...10 {
                        let known = leaders.score(of: count, weight: 1, averageLength: average)
                        let truth = postings.map {
                            BM25.score(
                                weight: 1, frequency: Double($0.frequency), length: Double($0.length),
                                averageLength: average)
                        }.sorted(by: >)
                        #expect(known.map { count <= truth.count && truth[count - 1] >= $0 } ?? true)
                    }
                }
            }
        }
    }

    @Test("Bytes that are no leaders are refused")
    func garbage() {
        for bytes in [[], [11], [1, 0, 3], [1, 3], [2, 3, 4, 3, 4], [2, 3, 4, 0, 3], [2, 3, 4, 4, 9]] as [[UInt8]] {
            withBytes(bytes) { (bytes) in
                var reader = ByteReader(bytes)
                #expect(Leaders(&reader) == nil, "\(Array(bytes))")
            }
        }
    }

    @Test("The check finds leaders without postings, and no search skips documents because of them")
    func forged() throws {
        let store = try TreeStore.inMemory()
        var model = NaiveIndex()
        try store.write { writer in
            for row in 0..<200 as Range<UInt64> {
                model[row] = "word" + String(repeating: " other", count: Int(row) % 7 + 2)
                try writer.insert(row, text: model[row] ?? "")
            }
        }
        #expect(try store.problems(model) == [])
        for forged in [[Bound(frequency: 2, length: 3)], [Bound](repeating: Bound(frequency: 1, length: 1), count: 3)] {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.termsName))
            let key = Array("word".utf8)
            let value = try #require(try transaction.get(tree, key))
            var reader = ByteReader(value)
            var entry = try #require(TermEntry(&reader))
            #expect(!entry.leaders.pairs.isEmpty)
            entry.leaders = Self.leaders(forged)
            var bytes = ByteSink()
            entry.encode(to: &bytes)
            try transaction.put(tree, key, [UInt8](bytes.bytes))
            try transaction.commit()
            #expect(try store.problems(model).contains { $0.contains("better postings") })
            let read = try store.beginRead()
            defer { read.abort() }
            let searcher = try TextSearcher(testIndex, in: read)
            let error = #expect(throws: StorageError.self) { try searcher.search("word", limit: forged.count) }
            #expect(error.map { "\($0)" }?.contains("the best postings of a term") == true)
            #expect(try searcher.search("word", limit: 20).count == 20)
        }
    }
}
