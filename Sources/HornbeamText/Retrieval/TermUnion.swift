// SPDX-License-Identifier: Apache-2.0
// Counts the documents that hold any of several words, without scores and frequencies. Uses a bit set of all documents,
// to which each block of postings is added. If the postings are few in proportion to the documents, they are sorted
// instead.

import HornbeamPages

/// The documents that hold any of a query's words.
struct TermUnion {
    /// Number of documents.
    let count: UInt64

    init(_ query: TermQuery, _ view: IndexView) throws(StorageError) {
        var sources: [PostingSource] = []
        var postings = 0
        for term in query.terms {
            guard let source = try view.postings(of: term.token) else { continue }
            sources.append(source)
            postings += Int(source.documentFrequency)
        }
        var union = DocumentUnion(docnoLimit: view.docnoLimit, expecting: postings)
        try Self.forEachBlock(sources, view) { union.add($0) }
        count = union.finish()
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

/// Counts distinct documents. Keeps a list of the added documents while they are few in proportion to all, then a bit
/// for each document. So memory is proportional to the postings read, whatever the statistics say.
struct DocumentUnion: ~Copyable {
    /// Maximum number of documents whose bits (1 MiB) are allocated at once if many postings are expected.
    private static let smallLimit = 1 << 23
    private var list: [UInt32] = []
    private let listLimit: Int
    private var words: UnsafeMutablePointer<UInt64>?
    private let size: Int

    init(docnoLimit: UInt32, expecting postings: Int) {
        size = Int(docnoLimit) / 64 + 1
        listLimit = postings < size || docnoLimit > Self.smallLimit ? size : 0
    }

    deinit { words?.deallocate() }

    /// Whether there is a bit for each document.
    var isMarked: Bool { words != nil }

    /// - Parameter docnos: all below the limit.
    mutating func add(_ docnos: UnsafeBufferPointer<UInt32>) {
        if words == nil, list.count + docnos.count > listLimit { makeWords() }
        guard let words else {
            list += docnos
            return
        }
        Self.mark(docnos, words)
    }

    @inline(__always)
    private static func mark(_ docnos: UnsafeBufferPointer<UInt32>, _ words: UnsafeMutablePointer<UInt64>) {
        for docno in docnos { words[Int(docno &>> 6)] |= 1 &<< UInt64(truncatingIfNeeded: docno & 63) }
    }

    private mutating func makeWords() {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: size)
        words.initialize(repeating: 0, count: size)
        list.withUnsafeBufferPointer { Self.mark($0, words) }
        list = []
        self.words = words
    }

    /// Returns the number of distinct documents that were added.
    consuming func finish() -> UInt64 {
        var count = 0
        if let words {
            for word in 0..<size { count &+= words[word].nonzeroBitCount }
        } else {
            list.sort()
            for place in list.indices where place == 0 || list[place] != list[place - 1] { count &+= 1 }
        }
        return UInt64(count)
    }
}
