// SPDX-License-Identifier: Apache-2.0
// A term's postings in ascending order of documents, a decoded block at a time. Contract: `current` is the document it
// stands on, nil at the end and for good; documents only ever ascend, whatever the file holds, so whoever asks for
// those up to a bound gets none below the last bound.

import HornbeamPages
import HornbeamTree

/// Walks one posting list. Owns its decoded block; belongs to one search.
final class PostingIterator {
    let documentFrequency: UInt64
    private let index: TextIndex
    private let listNumber: UInt32
    private var cursor: Cursor
    private var block = DecodedBlock()
    private var position = 0
    /// Blocks of the postings tree decoded so far.
    private(set) var blockCount: UInt64 = 0
    /// Whether there may be blocks behind this one.
    private var hasMore: Bool
    /// The last document of the blocks left behind.
    private var passed: UInt64?

    /// Stands on the first posting. `entry` must come from the dictionary in the same state of the transaction.
    init(_ entry: TermEntry, index: TextIndex, trees: TextTrees, in transaction: Transaction) throws(StorageError) {
        self.index = index
        documentFrequency = entry.documentFrequency
        listNumber = entry.listNumber
        hasMore = entry.listNumber != 0
        cursor = try transaction.cursor(trees.postings)
        if hasMore {
            try load(cursor.seek(PostingKey(list: listNumber, first: 0).bytes))
            guard block.count > 0 else { throw unreadable("posting list \(listNumber) has no blocks") }
        } else if !block.decode(entry.block, first: entry.first) {
            throw index.corrupt(index.termsName, "the postings in a term's entry are not readable")
        }
    }

    var current: UInt64? { position < block.count ? block.docnos[position] : nil }

    /// The occurrences in the current document, 0 at the end.
    var frequency: UInt32 { position < block.count ? block.frequencies[position] : 0 }
    /// The bound that the current block gives for the lengths of its documents.
    var shortestLength: UInt32 { block.shortestLength }

    /// Moves to the next posting.
    func next() throws(StorageError) {
        guard position < block.count else { return }
        position += 1
        if position == block.count { try nextBlock() }
    }

    /// Moves to the first posting of `target` or a later document; stays if it is there or behind already.
    func advance(to target: UInt64) throws(StorageError) {
        guard let current, current < target else { return }
        if block.docnos[block.count - 1] < target {
            guard hasMore else { return end() }
            if try cursor.seekLast(PostingKey(list: listNumber, first: target).bytes),
                let key = PostingKey(cursor.key, list: listNumber), key.first > block.docnos[block.count - 1]
            {
                try load(true)
            } else {
                // The target lies between this block and the next.
                try load(cursor.seek(PostingKey(list: listNumber, first: target).bytes))
            }
        }
        while position < block.count, block.docnos[position] < target { position += 1 }
        if position == block.count, block.count > 0 {
            try nextBlock()
        }
    }

    /// Takes the postings up to and with `last`: each document less `base`, and its frequency. How many there were. The
    /// caller has room for `last − base + 1`, and nothing below `base` is left.
    func take(
        through last: UInt64, base: UInt64, offsets: UnsafeMutablePointer<UInt16>,
        frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) -> Int {
        var taken = 0
        while position < block.count {
            let (docnos, blockFrequencies, count) = (block.docnos, block.frequencies, block.count)
            var place = position
            while place < count, docnos[place] <= last {
                offsets[taken] = UInt16(truncatingIfNeeded: docnos[place] &- base)
                frequencies[taken] = blockFrequencies[place]
                taken &+= 1
                place &+= 1
            }
            position = place
            guard place == count else { break }
            try nextBlock()
        }
        return taken
    }

    private func nextBlock() throws(StorageError) {
        guard hasMore else { return end() }
        try load(cursor.next())
    }

    private func end() {
        hasMore = false
        block.removeAll()
        position = 0
    }

    /// Decodes the block under the cursor, or ends if `isThere` is false or it is another list's.
    private func load(_ isThere: Bool) throws(StorageError) {
        if block.count > 0 { passed = block.docnos[block.count - 1] }
        guard isThere, let key = PostingKey(cursor.key, list: listNumber) else { return end() }
        if let passed, key.first <= passed { throw unreadable("blocks of posting list \(listNumber) overlap") }
        guard block.decode(cursor.value, first: key.first) else { throw unreadable(PostingKey.unreadable(key)) }
        position = 0
        blockCount += 1
    }

    private func unreadable(_ reason: String) -> StorageError { index.corrupt(index.postingsName, reason) }
}
