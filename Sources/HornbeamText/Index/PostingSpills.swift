// SPDX-License-Identifier: Apache-2.0
// A load of more than the writer's memory holds: what has gathered is put aside, sorted by terms, and all of it is
// merged when the load ends, so that each posting list is written once and from left to right (single-pass in-memory
// indexing: Heinz and Zobel, Efficient single-pass index construction for text databases, 2003). Written each time, a
// list's later runs would come among those of other lists and split their leaves in halves.
//
// Until then it lies in a tree of the same transaction, whose entries go as they are read: their places become those of
// the index's pages.
//
//   key    number of the spill u32, number of the chunk u32, both big-endian
//   value  records, in the order of their terms, plain ones first; a long list takes several, by document:
//          varint: bytes of the term · the term
//          of each posting   varint: 2 · documents since the record's one before, of the first its number + 1;
//                            + 1 if it stands there more than once
//                            varint, if it does: frequency
//                            varints, if positions are kept: of each, how far behind the one before; the first + 1
//          0

import HornbeamPages
import HornbeamTree

/// What one load has put aside: of new documents only, those of each spill behind those of the one before.
struct PostingSpills: ~Copyable {
    private let transaction: Transaction
    private let index: TextIndex
    /// A chunk is no larger but for one posting: of each spill one is in memory while they are merged.
    private let chunkSize: Int
    private var tree: (name: String, id: TreeID)?
    private var count: UInt32 = 0

    init(_ index: TextIndex, in transaction: Transaction, chunkSize: Int = 256 << 10) {
        self.index = index
        self.transaction = transaction
        self.chunkSize = chunkSize
    }

    var isEmpty: Bool { count == 0 }

    /// Puts all changes aside, which are of new documents. False if one has left without a term having been taken from
    /// it. `changes` is for its use.
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

    /// What was put aside, to be read once; `removeAll` follows.
    /// - Parameter mostValues: postings and positions in memory, roughly, from which on a term's next ones come apart.
    func merge(
        _ trees: TextTrees, _ statistics: TextStatistics, mostValues: Int
    ) throws(StorageError) -> SpillMerge {
        var readers: [SpillReader] = []
        if let tree {
            for spill in 0..<count { readers.append(SpillReader(spill, tree.id, index, in: transaction)) }
        }
        return try SpillMerge(readers, index, trees, statistics, mostValues, in: transaction)
    }

    /// Forgets all of it.
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
        // In parts: its bytes need be neither in memory nor in the journal.
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

    /// Writes postings, one at least, until the chunk is full; which is next then, and where its positions begin.
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
