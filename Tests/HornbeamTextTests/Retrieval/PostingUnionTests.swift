// SPDX-License-Identifier: Apache-2.0
// Lists of postings that are added up, in both ways, compared with a dictionary.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Postings added up")
struct PostingUnionTests {
    @Test("The sums are those of a dictionary", .seeded, arguments: [300, 5_000_000] as [UInt32])
    func sums(limit: UInt32) throws {
        var random = SeededGenerator()
        // Small indexes get an array at once; in large ones a few postings are sorted, and many move to the array.
        for count in [1, 40, 200, 60_000] where limit > 300 || count < 300 {
            var expected: [UInt32: UInt32] = [:]
            var union = PostingUnion(docnoLimit: limit)
            for _ in 0..<3 {
                var documents: [UInt32: UInt32] = [:]
                for _ in 0..<count {
                    documents[.random(in: 0..<limit, using: &random)] = .random(in: 1...9, using: &random)
                }
                let docnos = documents.keys.sorted()
                let frequencies = docnos.map { documents[$0, default: 0] }
                try union.add(
                    ArrayPostings(docnos, frequencies), IndexView(documentCount: 1, totalLength: 1, docnoLimit: limit))
                expected.merge(documents) { $0 + $1 }
            }
            let documentFrequency = union.documentFrequency
            #expect(documentFrequency == UInt32(expected.count))
            let sum = ArrayPostings(union.finish())
            var found: [UInt32: UInt32] = [:]
            var docno = try sum.advance(to: 0)
            while docno < .max {
                found[docno] = sum.frequencies[sum.current]
                docno = try sum.advance(to: docno + 1)
            }
            #expect(found == expected)
        }
    }

    @Test("A document that the index can't have is corruption")
    func beyond() {
        let view = IndexView(documentCount: 1, totalLength: 1, docnoLimit: 5)
        var union = PostingUnion(docnoLimit: 5)
        var failure: StorageError?
        do throws(StorageError) { try union.add(ArrayPostings([2, 5], [1, 1]), view) } catch { failure = error }
        #expect(failure != nil)
    }
}

extension PostingUnionTests {
    @Test("A sum that overflows doesn't become a small one", arguments: [300, 5_000_000] as [UInt32])
    func overflow(limit: UInt32) throws {
        let view = IndexView(documentCount: 1, totalLength: 1, docnoLimit: limit)
        var union = PostingUnion(docnoLimit: limit)
        for _ in 0..<3 { try union.add(ArrayPostings([2, 7], [.max - 1, 1]), view) }
        let sum = union.finish()
        #expect((sum.frequencies[0], sum.frequencies[1]) == (.max, 3))
    }
}

@Suite("Documents counted")
struct DocumentUnionTests {
    @Test("Each document counts once, in a list and in bits", .seeded, arguments: [300, 20_000_000] as [UInt32])
    func counts(limit: UInt32) {
        var random = SeededGenerator()
        for (count, expected) in [(2, 0), (3, 900), (250, 900), (400_000, 400_000)] where limit > 300 || count < 300 {
            var union = DocumentUnion(docnoLimit: limit, expecting: expected)
            var all = Set<UInt32>()
            for _ in 0..<2 {
                let docnos = (0..<count).map { _ in UInt32.random(in: 0..<limit, using: &random) }
                docnos.withUnsafeBufferPointer { union.add($0) }
                all.formUnion(docnos)
            }
            let isMarked = union.isMarked
            #expect(isMarked == (limit == 300 ? count > 2 : count == 400_000))
            let found = union.finish()
            #expect(found == UInt64(all.count))
        }
    }

    @Test("Statistics that claim much take no memory")
    func claims() {
        var union = DocumentUnion(docnoLimit: .max, expecting: 1 << 27)
        [7, 4_000_000_000].withUnsafeBufferPointer { union.add($0) }
        let isMarked = union.isMarked
        let found = union.finish()
        #expect(!isMarked && found == 2)
    }
}

@Suite("Postings in arrays")
struct ArrayPostingsTests {
    @Test("Advancing lands on the first posting not before the target", .seeded, arguments: [1, 127, 128, 129, 2000])
    func advance(count: Int) throws {
        var random = SeededGenerator()
        let docnos = (0..<count).map { UInt32($0 * 7 + 3) }
        for _ in 0..<30 {
            let postings = ArrayPostings(docnos, docnos.map { $0 % 5 + 1 }, lengths: docnos.map { $0 % 11 + 5 })
            #expect(
                postings.bound
                    == Bound(
                        frequency: docnos.map { $0 % 5 + 1 }.max() ?? 0, length: docnos.map { $0 % 11 + 5 }.min() ?? 0))
            var target: UInt32 = 0
            while true {
                let found = try postings.advance(to: target)
                let expected = docnos.first { $0 >= target } ?? .max
                #expect(found == expected)
                guard found < .max else { break }
                #expect(postings.frequencies[postings.current] == found % 5 + 1)
                #expect(postings.blockBound.frequency >= found % 5 + 1 && postings.blockBound.length <= found % 11 + 5)
                target = found + UInt32.random(in: 1...(random.oneIn(2) ? 9 : 3000), using: &random)
            }
            #expect(try postings.lowerBound(from: target) == .max)
        }
    }
}
