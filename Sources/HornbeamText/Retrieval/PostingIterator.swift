// SPDX-License-Identifier: Apache-2.0
// A term's postings one by one, in ascending order of documents. Contract: `current` is the current document, and stays
// nil once the end is reached. Documents always ascend, whatever the file holds, so a caller that reads up to a bound
// never gets a document below the previous bound.

import HornbeamPages
import HornbeamTree

/// Reads one posting list. Belongs to one search.
final class PostingIterator {
    let postings: TermPostings
    private var position = 0

    /// Starts at the first posting.
    init(_ postings: TermPostings) throws(StorageError) {
        self.postings = postings
        try postings.decode()
    }

    var current: UInt32? { postings.isAtEnd ? nil : postings.docnos[position] }

    /// Number of occurrences in the current document, 0 at the end.
    var frequency: UInt32 { postings.isAtEnd ? 0 : postings.frequencies[position] }

    /// Appends the positions of the current posting.
    func appendPositions(to target: inout [UInt32]) throws(StorageError) {
        if !postings.isAtEnd { try postings.appendPositions(of: position, to: &target) }
    }

    /// Moves to the next posting.
    func next() throws(StorageError) {
        guard !postings.isAtEnd else { return }
        position += 1
        if position == postings.count { try nextBlock() }
    }

    /// Moves to the first posting of `target` or a later document. Doesn't move if the current one is not below
    /// `target`.
    func advance(to target: UInt32) throws(StorageError) {
        guard let current, current < target else { return }
        if postings.blockLast < target {
            position = 0
            guard try postings.seekBlock(target) else { return }
            try postings.decode()
        }
        // The block's last document is not below the target.
        while postings.docnos[position] < target { position += 1 }
    }

    private func nextBlock() throws(StorageError) {
        position = 0
        if try postings.nextBlock() { try postings.decode() }
    }
}
