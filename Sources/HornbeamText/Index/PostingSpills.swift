// SPDX-License-Identifier: Apache-2.0
// Spills for a load that exceeds the writer's memory. The gathered postings are written aside, sorted by term. When the
// load ends, all spills are merged, so that each posting list is written once and from left to right (single-pass
// in-memory indexing: Heinz and Zobel, Efficient single-pass index construction for text databases, 2003). If the lists
// were written each time, later runs would be inserted between those of other lists and split their leaves in halves.
//
// Until then the spills are in a tree of the same transaction. Entries are deleted as they are read, so that the index
// can use their pages.
//
//   key    number of the spill u32, number of the chunk u32, both big-endian
//   value  records, in the order of their terms, plain ones first; a long list takes several, by document:
//          varint: bytes of the term · the term
//          for each posting  varint: 2 · distance from the record's document before, or from −1; + 1 if the frequency
//                            is above 1
//                            varint: frequency, if it is above 1
//                            varints, if positions are kept: distance of each position from the one before, or from −1
//          0

import HornbeamPages
import HornbeamTree

/// The spills of one load. They have new documents only; the documents of a spill are greater than those of earlier
/// ones.
struct PostingSpills: ~Copyable {
    private let transaction: Transaction
    private let index: TextIndex
    /// Maximum size of a chunk, exceeded by at most one posting. The merge holds one chunk of each spill in memory.
    private let chunkSize: Int
    private var tree: (name: String, id: TreeID)?
    private var count: UInt32 = 0

    init(_ index: TextIndex, in transaction: Transaction, chunkSize: Int = 256 << 10) {
        self.index = index
        self.transaction = transaction
        self.chunkSize = chunkSize
    }

    var isEmpty: Bool { count == 0 }

    /// Writes all changes aside. They must be of new documents. Returns false if a document has left but a term wasn't
    /// removed from it. `changes` is scratch memory.
    mutating func add(_ buffer: borrowing ChangeBuffer, _ changes: inout TermChanges) throws(StorageError) -> Bool {
        let tree = try openedTree()
        var chunk = ByteSink()
        var number: UInt32 = 0
        for term in buffer.sortedTerms(plainLimit: TermDictionary.plainLimit) {
            guard buffer.collect(term, to: &changes) else { return false }
            var next = (place: 0, position: 0)
            while next.place < changes.count {
                buffer.withTerm(term) { bytes in
                    chunk.append(varint: UInt64(bytes.count))
                    chunk.append(bytes)
                }
                next = encode(changes.postings, from: next, to: &chunk)
                guard chunk.count >= chunkSize else { continue }
                try write(chunk.bytes, number, tree)
                chunk.removeAll()
                number += 1
            }
        }
        if chunk.count > 0 { try write(chunk.bytes, number, tree) }
        count += 1
        return true
    }

    /// Returns the merged spills, to be read once. Call `removeAll` afterwards.
    /// - Parameter mostValues: approximate maximum of postings and positions in memory. A longer list arrives in parts.
    func merge(
        _ trees: TextTrees, _ statistics: TextStatistics, mostValues: Int
    ) throws(StorageError) -> SpillMerge {
        var readers: [SpillReader] = []
        if let tree {
            for spill in 0..<count { readers.append(SpillReader(spill, tree.id, index, in: transaction)) }
        }
        return try SpillMerge(readers, index, trees, statistics, mostValues, in: transaction)
    }

    /// Removes all spills.
    mutating func removeAll() throws(StorageError) {
        if let tree { _ = try transaction.dropTree(tree.name) }
        (tree, count) = (nil, 0)
    }

    private mutating func openedTree() throws(StorageError) -> TreeID {
        if let tree { return tree.id }
        let made = try transaction.makeTree("spill:" + index.prefix)
        tree = (made.name, made.tree)
        return made.tree
    }

    private func write(_ chunk: Bytes, _ number: UInt32, _ tree: TreeID) throws(StorageError) {
        // In parts, so that the bytes need be neither in memory nor in the journal.
        let writer = try transaction.valueWriter(tree, Self.key(count, number), size: UInt64(chunk.count))
        try writer.append(chunk)
        try writer.finish()
    }

    static func key(_ spill: UInt32, _ chunk: UInt32) -> [UInt8] {
        var key: [UInt8] = []
        key.appendBigEndian(spill)
        key.appendBigEndian(chunk)
        return key
    }

    /// Writes at least one posting, then more until the chunk is full. Returns the next posting and where its positions
    /// begin.
    private func encode(
        _ postings: borrowing PostingsBuffer, from start: (place: Int, position: Int), to chunk: inout ByteSink
    ) -> (place: Int, position: Int) {
        var (place, position) = start
        var before = UInt32.max
        repeat {
            let frequency = Int(postings.frequencies[place])
            // None of the numbers has more than 33 bits.
            var end = chunk.end(reserving: 5 * (frequency + 2))
            end = end.storeVarint(UInt64(postings.docnos[place] &- before) << 1 | (frequency > 1 ? 1 : 0))
            before = postings.docnos[place]
            if frequency > 1 { end = end.storeVarint(UInt64(frequency)) }
            if index.storesPositions {
                var last = UInt32.max
                for next in position..<position + frequency {
                    end = end.storeVarint(UInt64(postings.positions[next] &- last))
                    last = postings.positions[next]
                }
                position += frequency
            }
            chunk.finish(at: end)
            place += 1
        } while place < postings.count && chunk.count < chunkSize
        chunk.append(byte: 0)
        return (place, position)
    }
}
