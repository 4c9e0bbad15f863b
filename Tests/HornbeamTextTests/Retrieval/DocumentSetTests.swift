// SPDX-License-Identifier: Apache-2.0
// The documents that a filter accepts, as bits, and searches for all of some words among them.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Sets of documents")
struct DocumentSetTests {
    @Test("The compact form of ascending documents has the set's members, with their positions", .seeded)
    func keeping() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<50 {
            let limit = UInt32(1 + random.below(3_000))
            let members = (0..<limit).filter { _ in random.oneIn(4) }
            let set = DocumentSet(PostingArrays(members), docnoLimit: limit)
            #expect((0..<limit).allSatisfy { set.contains($0) == members.contains($0) })
            #expect(!set.contains(limit) && !set.contains(.max))
            let documents = (0..<limit).filter { _ in random.oneIn(3) }
            let frequencies = documents.map { $0 &* 7 }
            let (start, end) = (documents.count / 5, documents.count)
            var docnos = [UInt32](repeating: 0, count: documents.count + 1)
            var places = [Int32](repeating: 0, count: documents.count + 1)
            documents.withUnsafeBufferPointer { documents in
                guard let first = documents.baseAddress, end > start else { return }
                let kept = set.keep(first, start, end, to: &docnos, &places)
                let expected = (start..<end).filter { members.contains(documents[$0]) }
                #expect(places[..<kept].map { Int($0) } == expected)
                #expect(Array(docnos[..<kept]) == expected.map { documents[$0] })
                var beside = [UInt32](repeating: 0, count: documents.count + 1)
                let all = set.keep(first, frequencies, count: documents.count, to: &docnos, &beside)
                #expect(Array(docnos[..<all]) == documents.filter { members.contains($0) })
                #expect(Array(beside[..<all]) == docnos[..<all].map { $0 &* 7 })
            }
        }
    }

    @Test("Wrong documents for rows in a damaged file are not in the set")
    func outside() {
        let set = DocumentSet(PostingArrays([3, 70, 4_000_000_000]), docnoLimit: 100)
        #expect(set.contains(3) && set.contains(70) && !set.contains(99) && !set.contains(4_000_000_000))
        var (docnos, places): ([UInt32], [Int32]) = ([0, 0, 0], [0, 0, 0])
        // The first document beyond the index is kept, so that a reader of its length can report it.
        #expect(set.keep([70, 5_000, 6_000], 0, 3, to: &docnos, &places) == 2)
        #expect(docnos == [70, 5_000, 0] && places == [0, 1, 0])
    }

    @Test("All of some words among many and few rows agree with those of all rows", arguments: SeededGenerator.seeds(2))
    func conjunctions(seed: UInt64) throws {
        var generator = RetrievalTests.Generator(seed: seed)
        let documents = generator.documents(4_000, fields: 1).compactMap { $0 }
        let searcher = try StoredRetrievalTests.store(documents).searcher()
        for round in 0..<12 {
            let words = (0..<2 + round % 3).map { _ in TextQuery.words(generator.word()) }
            let query = round % 4 == 3 ? TextQuery.phrase(generator.text(2...3), slop: 0) : .all(words)
            let all = try searcher.search(query, limit: .max)
            for share in [1, 3, 10, 60, 400] {
                let rows = documents.map(\.row).filter { _ in generator.random.oneIn(share) }.sorted()
                let (set, selection) = (Set(rows), RowSelection(rows))
                let some = all.filter { set.contains($0.row) }
                // At the first search it may not be worthwhile to find the documents.
                for _ in 0..<2 {
                    let filter = TextFilter.selection(selection)
                    let note: Comment = "\(query), one in \(share), HORNBEAM_SEED=\(seed)"
                    #expect(try searcher.search(query, limit: 10, filter: filter) == Array(some.prefix(10)), note)
                    #expect(try searcher.matches(query, filter: filter) == some.map(\.row).sorted(), note)
                    #expect(try searcher.count(query, filter: filter) == UInt64(some.count), note)
                }
                let odd = TextFilter.selection(selection) { $0 % 2 == 1 }
                let found = try searcher.search(query, limit: 10, filter: odd)
                #expect(found == Array(some.filter { $0.row % 2 == 1 }.prefix(10)), "\(query), HORNBEAM_SEED=\(seed)")
            }
        }
    }
}
