// SPDX-License-Identifier: Apache-2.0
// The documents that hold any of some words, without scores: a set of all documents, to which each block of postings is
// added; frequencies are not decoded.

import HornbeamPages

/// Documents of an index.
struct TermUnion: ~Copyable {
    private let words: UnsafeMutablePointer<UInt64>
    private let wordCount: Int
    private let limit: UInt32

    /// Those that hold any of the query's words.
    init(_ query: TermQuery, _ view: IndexView) throws(StorageError) {
        limit = view.docnoLimit
        wordCount = Int(limit) / 64 + 1
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
        var capacity = PostingRun.blockCapacity
        var docnos = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
        defer { docnos.deallocate() }
        for term in query.terms {
            guard let source = try view.postings(of: term.token) else { continue }
            while !source.isAtEnd {
                guard source.blockLast < limit else { throw view.unknownDocument() }
                if source.count > capacity {
                    capacity = source.count
                    docnos.deallocate()
                    docnos = .allocate(capacity: capacity)
                }
                try source.decodeDocuments(to: docnos)
                // They ascend up to the block's last one.
                for place in 0..<source.count {
                    let docno = docnos[place]
                    words[Int(docno &>> 6)] |= 1 &<< UInt64(truncatingIfNeeded: docno & 63)
                }
                try source.nextBlock()
            }
        }
    }

    deinit { words.deallocate() }

    /// How many there are.
    var count: UInt64 {
        var count = 0
        for word in 0..<wordCount { count &+= words[word].nonzeroBitCount }
        return UInt64(count)
    }
}
