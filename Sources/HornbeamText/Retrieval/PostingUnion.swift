// SPDX-License-Identifier: Apache-2.0
// The postings of many terms added up: what a prefix stands for counts like one term. As soon as they are many beside
// the documents, an array over all of these, so that each posting costs the same however many terms there are; a few
// beside millions of documents are sorted. Memory is in proportion to what was read, whatever the statistics say.

import HornbeamPages

/// Adds up frequencies by document.
struct PostingUnion: ~Copyable {
    /// Indexes of fewer documents get the array at once.
    private static let smallLimit = 1 << 18
    private let limit: Int
    /// Document and frequency in one, until there is an array.
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

    /// Adds all postings of a term, which is at its end then.
    mutating func add(_ source: PostingSource, _ view: IndexView) throws(StorageError) {
        while !source.isAtEnd {
            let start = try source.decode(from: 0)
            guard source.blockLast < UInt32(limit) else {
                throw view.corrupt("a document has postings but is not in the index")
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
        // Memory of documents that weren't there is of no meaning.
        frequencies[docno] = isNew ? count : frequencies[docno] &+ count
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

    /// How many documents there are.
    var documentFrequency: UInt32 {
        guard let present else { return UInt32(clamping: Set(list.lazy.map { $0 >> 32 }).count) }
        var count = 0
        for word in 0..<words { count += present[word].nonzeroBitCount }
        return UInt32(clamping: count)
    }

    /// The sums as postings.
    mutating func finish() -> PostingSource {
        var (docnos, sums): ([UInt32], [UInt32]) = ([], [])
        if let present, let frequencies {
            docnos.reserveCapacity(Int(documentFrequency))
            sums.reserveCapacity(docnos.capacity)
            for word in 0..<words {
                var rest = present[word]
                while rest != 0 {
                    let docno = word << 6 | rest.trailingZeroBitCount
                    docnos.append(UInt32(truncatingIfNeeded: docno))
                    sums.append(frequencies[docno])
                    rest &= rest - 1
                }
            }
            return ArrayPostings(docnos, sums)
        }
        list.sort()
        for entry in list {
            let docno = UInt32(truncatingIfNeeded: entry >> 32)
            if docno == docnos.last {
                sums[sums.count - 1] &+= UInt32(truncatingIfNeeded: entry)
            } else {
                docnos.append(docno)
                sums.append(UInt32(truncatingIfNeeded: entry))
            }
        }
        return ArrayPostings(docnos, sums)
    }
}
