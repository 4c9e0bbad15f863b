// SPDX-License-Identifier: Apache-2.0
// How many documents hold any of some words, without scores and frequencies: by a set of all documents, to which each
// block of postings is added; where the postings are few beside the documents they are sorted instead, so that memory
// is in proportion to what was read, whatever the statistics say.

import HornbeamPages

/// The documents that hold any of a query's words.
struct TermUnion {
    /// How many there are.
    let count: UInt64

    init(_ query: TermQuery, _ view: IndexView) throws(StorageError) {
        var sources: [PostingSource] = []
        var postings = 0
        for term in query.terms {
            guard let source = try view.postings(of: term.token) else { continue }
            sources.append(source)
            postings += Int(source.documentFrequency)
        }
        let isSparse = postings < Int(view.docnoLimit) / 64
        count = try isSparse ? Self.sorted(sources, view) : Self.marked(sources, view)
    }

    private static func sorted(_ sources: [PostingSource], _ view: IndexView) throws(StorageError) -> UInt64 {
        var all: [UInt32] = []
        try forEachBlock(sources, view) { all += $0 }
        all.sort()
        var count: UInt64 = all.isEmpty ? 0 : 1
        for place in all.indices.dropFirst() where all[place] != all[place - 1] { count += 1 }
        return count
    }

    private static func marked(_ sources: [PostingSource], _ view: IndexView) throws(StorageError) -> UInt64 {
        let size = Int(view.docnoLimit) / 64 + 1
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: size)
        defer { words.deallocate() }
        words.initialize(repeating: 0, count: size)
        try forEachBlock(sources, view) {
            for docno in $0 { words[Int(docno &>> 6)] |= 1 &<< UInt64(truncatingIfNeeded: docno & 63) }
        }
        var count = 0
        for word in 0..<size { count &+= words[word].nonzeroBitCount }
        return UInt64(count)
    }

    /// Calls `body` with the documents of each block, all of them below the view's limit.
    @inline(__always)
    private static func forEachBlock(
        _ sources: [PostingSource], _ view: IndexView, _ body: (UnsafeBufferPointer<UInt32>) -> Void
    ) throws(StorageError) {
        var capacity = PostingRun.blockCapacity
        var docnos = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
        defer { docnos.deallocate() }
        for source in sources {
            while !source.isAtEnd {
                guard source.blockLast < view.docnoLimit else { throw view.unknownDocument() }
                if source.count > capacity {
                    capacity = source.count
                    docnos.deallocate()
                    docnos = .allocate(capacity: capacity)
                }
                try source.decodeDocuments(to: docnos)
                // They ascend up to the block's last one.
                body(UnsafeBufferPointer(start: docnos, count: source.count))
                try source.nextBlock()
            }
        }
    }
}
