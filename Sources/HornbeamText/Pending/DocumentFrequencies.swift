// SPDX-License-Identifier: Apache-2.0
// How often one document holds each of many terms: what a writer compares with an old text. It is told from the newest
// segment that is about the document, else from the one block of each term's stored postings where it would stand.

import HornbeamPages
import HornbeamTree

/// One document in one state of an index; good until the next change of the transaction.
final class DocumentFrequencies {
    private let docno: UInt32
    private let snapshot: TextSnapshot
    private let dictionary: TermDictionary
    /// The newest segments about it, for terms that have the batch that is being folded and for those that lack it.
    private let later: PendingSegment?
    private let whole: PendingSegment?
    @exclusivity(unchecked) private var cursor: Cursor
    @exclusivity(unchecked) private var directory = RunDirectory()
    private let docnos: UnsafeMutablePointer<UInt32>
    private let frequencies: UnsafeMutablePointer<UInt32>

    init(_ docno: UInt32, in snapshot: TextSnapshot) throws(StorageError) {
        self.docno = docno
        self.snapshot = snapshot
        cursor = try snapshot.transaction.cursor(snapshot.trees.postings)
        dictionary = TermDictionary(
            transaction: snapshot.transaction, tree: snapshot.trees.terms, index: snapshot.index)
        (later, whole) = snapshot.newestSegments(about: docno)
        docnos = .allocate(capacity: 2 * PostingRun.blockCapacity)
        frequencies = docnos + PostingRun.blockCapacity
    }

    deinit { docnos.deallocate() }

    /// How often the document holds the term.
    func frequency(of term: Bytes) throws(StorageError) -> UInt32 {
        if let segment = snapshot.lacksBatch(term) ? whole : later {
            let (place, isThere) = segment.lists.terms.find(term)
            return isThere ? segment.lists.frequency(place, docno) : 0
        }
        guard !term.isEmpty, let place = try dictionary.place(of: term) else { return 0 }
        switch place {
        case .list(let number): return try stored(number)
        case .entry(let entry):
            let isRead = entry.decodeInline(
                storesPositions: snapshot.index.storesPositions, docnos: docnos, frequencies: frequencies)
            guard isRead else {
                throw snapshot.index.corrupt(
                    snapshot.index.termsName, "the postings in a term's entry are not readable")
            }
            return found(Int(entry.documentFrequency))
        }
    }

    private func stored(_ list: UInt32) throws(StorageError) -> UInt32 {
        let isThere = try PostingKey(list: list, first: docno).withBytes { (key) throws(StorageError) in
            try cursor.seekLast(key)
        }
        guard isThere, let key = PostingKey(cursor.key, list: list) else { return 0 }
        let run = cursor.value
        guard directory.read(run, first: key.first) else { throw unreadable(key) }
        for block in 0..<directory.count where directory.last(block) >= docno {
            guard directory.decode(block, of: run, docnos: docnos, frequencies: frequencies) else {
                throw unreadable(key)
            }
            return found(directory.size(block))
        }
        return 0
    }

    private func found(_ count: Int) -> UInt32 {
        for place in 0..<count where docnos[place] == docno { return frequencies[place] }
        return 0
    }

    private func unreadable(_ key: PostingKey) -> StorageError {
        snapshot.index.corrupt(snapshot.index.postingsName, PostingKey.unreadable(key))
    }
}
