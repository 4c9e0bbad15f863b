// SPDX-License-Identifier: Apache-2.0
// Words that are in few documents, any of them: their postings are put in the order of documents and added up, which
// takes less than to set up windows.

import HornbeamPages

/// A term's postings, where they are few.
enum SmallList {
    /// No document holds the term.
    case none
    /// They were appended to the buffer.
    case inBuffer
    case source(PostingSource)
    /// They are too many.
    case many
}

/// Gathers them; memory of its own, used for one search after the other.
final class FewPostings {
    /// So many postings are few.
    static let limit = 256
    private static let frequencyLimit: UInt32 = 1 << 24
    private static let termLimit = 256

    private let view: IndexView
    private let lengths: LengthTable
    /// Of each posting, sorted: document · 2³² + place of the term · 2²⁴ + frequency.
    private let entries = UnsafeMutablePointer<UInt64>.allocate(capacity: limit)
    @exclusivity(unchecked) private var count = 0
    @exclusivity(unchecked) private var buffer = PostingsBuffer()
    /// The distinct terms and their weights, and which of them stand in the query in which order.
    @exclusivity(unchecked) private var terms: [[UInt8]] = []
    @exclusivity(unchecked) private var weights: [Double] = []
    @exclusivity(unchecked) private var order: [Int] = []
    /// How often each term stands in the document at hand.
    private let frequencies = UnsafeMutablePointer<UInt32>.allocate(capacity: termLimit)

    init(_ view: IndexView, _ lengths: LengthTable) {
        (self.view, self.lengths) = (view, lengths)
        frequencies.initialize(repeating: 0, count: Self.termLimit)
    }

    deinit {
        entries.deallocate()
        frequencies.deallocate()
    }

    /// Takes the postings of all these terms. False if they are too many.
    func gather(_ tokens: [QueryToken]) throws(StorageError) -> Bool {
        count = 0
        buffer.removeAll()
        terms.removeAll(keepingCapacity: true)
        weights.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
        guard tokens.count <= Self.termLimit else { return false }
        for token in tokens {
            if let known = terms.firstIndex(of: token.term) {
                order.append(known)
                continue
            }
            guard !token.isOpen, try add(token.term) else { return false }
            order.append(terms.count)
            terms.append(token.term)
        }
        sort()
        return true
    }

    private func add(_ term: [UInt8]) throws(StorageError) -> Bool {
        let start = buffer.count
        var frequency: UInt32 = 0
        switch try view.smallList(of: term, &buffer) {
        case .many: return false
        case .none: break
        case .inBuffer:
            frequency = UInt32(truncatingIfNeeded: buffer.count - start)
            for place in start..<buffer.count {
                guard append(buffer.docnos[place], buffer.frequencies[place]) else { return false }
            }
        case .source(let source):
            frequency = source.documentFrequency
            guard Int(frequency) <= Self.limit - count else { return false }
            while !source.isAtEnd {
                for place in try source.decode(from: 0)..<source.count {
                    guard append(source.docnos[place], source.frequencies[place]) else { return false }
                }
                try source.nextBlock()
            }
        }
        weights.append(
            BM25.weight(documentCount: view.documentCount, documentFrequency: UInt64(frequency)))
        return true
    }

    @inline(__always)
    private func append(_ docno: UInt32, _ frequency: UInt32) -> Bool {
        guard count < Self.limit, frequency < Self.frequencyLimit else { return false }
        entries[count] = UInt64(docno) << 32 | UInt64(terms.count) << 24 | UInt64(frequency)
        count &+= 1
        return true
    }

    /// Most are sorted already: each term's are.
    private func sort() {
        guard count > 32 else {
            for place in 1..<max(count, 1) {
                let entry = entries[place]
                var free = place
                while free > 0, entries[free &- 1] > entry {
                    entries[free] = entries[free &- 1]
                    free &-= 1
                }
                entries[free] = entry
            }
            return
        }
        var all = UnsafeMutableBufferPointer(start: entries, count: count)
        all.sort()
    }

    /// Offers all documents to `best`, as far as `accepts` lets their rows through.
    func rank(_ best: inout TopK, accepts: (UInt64) throws(StorageError) -> Bool) throws(StorageError) {
        let average = Double(view.totalLength) / Double(view.documentCount)
        let averageLength = average > 0 ? average : 1
        var place = 0
        while place < count {
            let docno = UInt32(truncatingIfNeeded: entries[place] >> 32)
            var end = place
            while end < count, entries[end] >> 32 == UInt64(docno) {
                frequencies[Int(entries[end] >> 24 & 0xFF)] = UInt32(truncatingIfNeeded: entries[end] & 0xFF_FFFF)
                end += 1
            }
            let length = try lengths.length(docno)
            var score = 0.0
            for term in order where frequencies[term] > 0 {
                score += BM25.score(
                    weight: weights[term], frequency: Double(frequencies[term]), length: length,
                    averageLength: averageLength)
            }
            while place < end {
                frequencies[Int(entries[place] >> 24 & 0xFF)] = 0
                place += 1
            }
            guard best.mayAdmit(score, laterRow: false) else { continue }
            let hit = TextHit(docno: try view.row(of: docno), score: score)
            guard try best.admits(hit), try accepts(hit.docno) else { continue }
            try best.insert(hit)
        }
    }
}
