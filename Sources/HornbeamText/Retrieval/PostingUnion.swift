// SPDX-License-Identifier: Apache-2.0
// The postings of many terms added up: what a prefix stands for counts like one term. An array over all documents, so
// that each posting costs the same however many terms there are.

import HornbeamPages

/// Adds up frequencies by document.
struct PostingUnion: ~Copyable {
    private let limit: Int
    private let frequencies: UnsafeMutablePointer<UInt32>
    private let present: UnsafeMutablePointer<UInt64>
    private let words: Int

    init(docnoLimit: UInt32) {
        limit = Int(docnoLimit)
        words = limit / 64 + 1
        frequencies = .allocate(capacity: words * 64)
        present = .allocate(capacity: words)
        present.initialize(repeating: 0, count: words)
    }

    deinit {
        frequencies.deallocate()
        present.deallocate()
    }

    /// Adds all postings of a term, which is at its end then.
    mutating func add(_ source: PostingSource, _ view: IndexView) throws(StorageError) {
        while !source.isAtEnd {
            let start = try source.decode(from: 0)
            guard source.blockLast < UInt32(limit) else {
                throw view.corrupt("a document has postings but is not in the index")
            }
            let (docnos, counts, present, frequencies) = (
                source.docnos, source.frequencies, self.present, self.frequencies
            )
            for place in start..<source.count {
                let docno = Int(docnos[place])
                let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: docno & 63)
                let isNew = present[docno &>> 6] & bit == 0
                present[docno &>> 6] |= bit
                // Memory of documents that weren't there is of no meaning.
                frequencies[docno] = isNew ? counts[place] : frequencies[docno] &+ counts[place]
            }
            try source.nextBlock()
        }
    }

    /// How many documents there are.
    var documentFrequency: UInt32 {
        var count = 0
        for word in 0..<words { count += present[word].nonzeroBitCount }
        return UInt32(clamping: count)
    }

    /// The sums as postings.
    func finish() -> PostingSource {
        let count = Int(documentFrequency)
        var sums: [UInt32] = []
        sums.reserveCapacity(count)
        let docnos = [UInt32](unsafeUninitializedCapacity: count) { target, size in
            for word in 0..<words {
                var rest = present[word]
                while rest != 0, size < count {
                    let docno = word << 6 | rest.trailingZeroBitCount
                    target.initializeElement(at: size, to: UInt32(truncatingIfNeeded: docno))
                    sums.append(frequencies[docno])
                    size += 1
                    rest &= rest - 1
                }
            }
        }
        return ArrayPostings(docnos, sums)
    }
}
