// SPDX-License-Identifier: Apache-2.0
// The positions of any of many terms: the amount read for a number of documents, and the claims of a damaged file.

import HornbeamPages
import Testing

@testable import HornbeamText

@Suite("Places of groups of terms")
struct GroupSpansTests {
    /// A view in which every term occurs once in every document, at a position of its own.
    private final class View: IndexView {
        let docnos: [UInt32]
        let claimed: UInt32
        var (opened, read) = (0, 0)

        init(documents: Int, claimed: UInt32 = 1) {
            (docnos, self.claimed) = ((0..<UInt32(documents)).map { $0 }, claimed)
            super.init(documentCount: UInt64(documents), totalLength: 1, docnoLimit: UInt32(documents))
        }

        override func postings(of term: [UInt8]) throws(StorageError) -> PostingSource? {
            opened += 1
            return Postings(self, place: UInt32(term[0]))
        }
    }

    private final class Postings: PostingSource {
        private let view: View
        private let place: UInt32
        private let arrays: PostingArrays

        init(_ view: View, place: UInt32) {
            (self.view, self.place) = (view, place)
            arrays = PostingArrays(view.docnos, view.docnos.map { _ in view.claimed })
            super.init(documentFrequency: UInt32(view.docnos.count), bounds: [arrays.bound], arrays.docnos)
            (blockFirst, blockLast, count) = (0, UInt32(view.docnos.count - 1), view.docnos.count)
            frequencies = arrays.frequencies
        }

        override func readPositions(_ place: Int, _ positions: inout [UInt32]) throws(StorageError) {
            view.read += 1
            positions = (0..<view.claimed).map { self.place + 100 * $0 }
        }
    }

    private func spans(
        _ view: View, terms: Int, sums: UInt32? = nil, budget: OccurrenceBudget = OccurrenceBudget()
    ) -> GroupSpans {
        let arrays = PostingArrays(view.docnos, view.docnos.map { _ in sums ?? UInt32(terms) * view.claimed })
        let list = (0..<terms).map { ExpandedTerm(term: [UInt8($0)], distance: 0) }
        return GroupSpans(ArrayPostings(arrays), arrays, .listed(list), view, budget)
    }

    @Test("For a few scattered documents only a few are read; for all, the terms are read a few times")
    func work() throws {
        let view = View(documents: 20_000)
        let few = spans(view, terms: 20)
        for document in stride(from: UInt32(0), to: 20_000, by: 2_000) {
            #expect(try few.advance(to: document) == document)
            try few.read()
            #expect(few.starts == (0..<20).map { UInt32($0) })
        }
        #expect(view.read < 30_000, "of 400,000")
        (view.opened, view.read) = (0, 0)
        let all = spans(view, terms: 20)
        for document in view.docnos {
            #expect(try all.advance(to: document) == document)
            try all.read()
            if all.starts.count != 20 { Issue.record("document \(document) has \(all.starts)") }
        }
        #expect(view.read == 400_000 && view.opened <= 20 * 5)
    }

    @Test("Many groups share the limit of one")
    func shares() throws {
        let view = View(documents: 2_000)
        let budget = OccurrenceBudget()
        let groups = (0..<4_096).map { _ in budget.addGroup() }.count
        #expect(budget.room == (1 << 22) / groups)
        let spans = spans(view, terms: 20, budget: budget)
        #expect(try spans.advance(to: 0) == 0)
        try spans.read()
        #expect(spans.starts.count == 20 && view.read <= 1_024)
    }

    @Test("Terms with more occurrences in a document than were counted are corruption")
    func claims() throws {
        let view = View(documents: 3, claimed: 5)
        let spans = spans(view, terms: 2, sums: 1)
        #expect(try spans.advance(to: 0) == 0)
        #expect(throws: StorageError.self) { try spans.read() }
    }
}
