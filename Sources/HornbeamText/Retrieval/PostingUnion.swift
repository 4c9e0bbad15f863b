// SPDX-License-Identifier: Apache-2.0
// Adds up the postings of many terms, so that the terms of a prefix count like one term. If the postings are many in
// proportion to the documents, they are added up in an array over all documents, so that the cost of a posting doesn't
// depend on the number of terms. A few among millions of documents are sorted. Memory is proportional to the postings
// read, whatever the statistics say.

import HornbeamPages

/// Adds up frequencies by document.
struct PostingUnion: ~Copyable {
    /// Maximum number of documents of an index that gets the array at once.
    private static let smallLimit = 1 << 18
    private let limit: Int
    /// Document in the upper half, frequency in the lower, until there is an array.
    private var list: [UInt64] = []
    private let listLimit: Int
    private var frequencies: UnsafeMutablePointer<UInt32>?
    private var present: UnsafeMutablePointer<UInt64>?
    private let words: Int

    init(docnoLimit: UInt32) {
        limit = Int(docnoLimit)
        words = limit / 64 + 1
        listLimit = limit <= Self.smallLimit ? 0 : limit / 64
    }

    deinit {
        frequencies?.deallocate()
        present?.deallocate()
    }

    /// Adds all postings of a term. Its source is at the end afterwards.
    mutating func add(_ source: PostingSource, _ view: IndexView) throws(StorageError) {
        while !source.isAtEnd {
            let start = try source.decode(from: 0)
            guard source.blockLast < UInt32(limit) else {
                throw view.unknownDocument()
            }
            if frequencies == nil, list.count + source.count > listLimit { makeArray() }
            if let frequencies, let present {
                Self.add(source, from: start, frequencies, present)
            } else {
                for place in start..<source.count {
                    list.append(UInt64(source.docnos[place]) << 32 | UInt64(source.frequencies[place]))
                }
            }
            try source.nextBlock()
        }
    }

    /// Adds postings that were decoded elsewhere.
    mutating func add(_ buffer: borrowing PostingsBuffer, _ view: IndexView) throws(StorageError) {
        if frequencies == nil, list.count + buffer.count > listLimit { makeArray() }
        for place in 0..<buffer.count {
            guard buffer.docnos[place] < UInt32(limit) else {
                throw view.unknownDocument()
            }
            if let frequencies, let present {
                Self.add(buffer.docnos[place], buffer.frequencies[place], frequencies, present)
            } else {
                list.append(UInt64(buffer.docnos[place]) << 32 | UInt64(buffer.frequencies[place]))
            }
        }
    }

    @inline(__always)
    private static func add(
        _ source: PostingSource, from start: Int, _ frequencies: UnsafeMutablePointer<UInt32>,
        _ present: UnsafeMutablePointer<UInt64>
    ) {
        let (docnos, counts) = (source.docnos, source.frequencies)
        for place in start..<source.count { add(docnos[place], counts[place], frequencies, present) }
    }

    @inline(__always)
    private static func add(
        _ document: UInt32, _ count: UInt32, _ frequencies: UnsafeMutablePointer<UInt32>,
        _ present: UnsafeMutablePointer<UInt64>
    ) {
        let docno = Int(document)
        let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: docno & 63)
        let isNew = present[docno &>> 6] & bit == 0
        present[docno &>> 6] |= bit
        // The memory of documents that weren't present is uninitialised.
        frequencies[docno] = isNew ? count : sum(frequencies[docno], count)
    }

    /// Adds without wrapping. No document has that many words: an overflow comes from a damaged file and must not look
    /// like a small sum.
    @inline(__always)
    private static func sum(_ first: UInt32, _ second: UInt32) -> UInt32 {
        let sum = first &+ second
        return sum < first ? .max : sum
    }

    private mutating func makeArray() {
        let frequencies = UnsafeMutablePointer<UInt32>.allocate(capacity: words * 64)
        let present = UnsafeMutablePointer<UInt64>.allocate(capacity: words)
        present.initialize(repeating: 0, count: words)
        for entry in list {
            Self.add(UInt32(truncatingIfNeeded: entry >> 32), UInt32(truncatingIfNeeded: entry), frequencies, present)
        }
        list = []
        (self.frequencies, self.present) = (frequencies, present)
    }

    /// Sorts the list, and adds up the frequencies of the same document.
    private mutating func sumList() {
        guard list.count > 1 else { return }
        list.sort()
        var kept = 0
        for place in 1..<list.count {
            if list[place] >> 32 == list[kept] >> 32 {
                let (first, second) = (
                    UInt32(truncatingIfNeeded: list[kept]), UInt32(truncatingIfNeeded: list[place])
                )
                list[kept] = list[kept] & ~0xFFFF_FFFF | UInt64(Self.sum(first, second))
            } else {
                kept += 1
                list[kept] = list[place]
            }
        }
        list.removeSubrange((kept + 1)...)
    }

    /// Number of documents.
    var documentFrequency: UInt32 {
        mutating get {
            guard let present else {
                sumList()
                return UInt32(clamping: list.count)
            }
            var count = 0
            for word in 0..<words { count &+= present[word].nonzeroBitCount }
            return UInt32(clamping: count)
        }
    }

    /// Calls `body` with each document, ascending, and its summed frequency.
    @inline(__always)
    mutating func forEach<Failure: Error>(
        _ body: (_ docno: UInt32, _ frequency: UInt32) throws(Failure) -> Void
    ) throws(Failure) {
        guard let present, let frequencies else {
            sumList()
            for entry in list {
                try body(UInt32(truncatingIfNeeded: entry >> 32), UInt32(truncatingIfNeeded: entry))
            }
            return
        }
        for word in 0..<words {
            var rest = present[word]
            while rest != 0 {
                let docno = word &<< 6 | rest.trailingZeroBitCount
                rest &= rest &- 1
                try body(UInt32(truncatingIfNeeded: docno), frequencies[docno])
            }
        }
    }

    /// Returns the sums as postings.
    mutating func finish() -> PostingArrays {
        var (docnos, sums): ([UInt32], [UInt32]) = ([], [])
        docnos.reserveCapacity(Int(documentFrequency))
        sums.reserveCapacity(docnos.capacity)
        forEach { docno, frequency in
            docnos.append(docno)
            sums.append(frequency)
        }
        return PostingArrays(docnos, sums)
    }

    /// Offers the documents that may be among the best to `best`, scored like those of a single term, if `accepts`
    /// takes their rows.
    mutating func rank(
        _ best: inout TopK, _ view: IndexView,
        accepts: (UInt64) throws(StorageError) -> Bool
    ) throws(StorageError) {
        let weight = BM25.weight(documentCount: view.documentCount, documentFrequency: UInt64(documentFrequency))
        let averageLength = view.averageLength
        let rowsAscend = view.rowsAscend
        var need = best.threshold
        try forEach { (docno, count) throws(StorageError) in
            let frequency = Double(count)
            let divisor = frequency + BM25.k1 * (1 - BM25.b + BM25.b * (try view.tokens(of: docno)) / averageLength)
            let share = weight * frequency
            // Both are positive, so clearly low scores need no division.
            guard share >= need * divisor * (1 - TopK.slack) || need <= 0 else { return }
            let score = share / divisor
            guard best.mayAdmit(score, laterRow: rowsAscend) else { return }
            let hit = TextHit(row: try view.row(of: docno), score: score)
            guard try best.admits(hit), try accepts(hit.row) else { return }
            try best.insert(hit)
            need = best.threshold
        }
    }
}
