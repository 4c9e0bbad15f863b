// SPDX-License-Identifier: Apache-2.0
// The documents of an index as a writer finds them. It asks for a few rows and the words of their old texts, for which
// it isn't worth while to bring what is in memory of the pending records up to the last one: the last few are looked
// through as they are.

import HornbeamPages
import HornbeamTree

/// One state of an index, for who changes it next. A value; good until the next change of the transaction.
struct FormerDocuments {
    /// The last records, the newest at the end: what each says of its document.
    private struct Unread {
        let sequence: UInt64
        let row: UInt64
        let docno: UInt32
        /// −1 if it is gone.
        let length: Int64
    }

    /// Of the records before those.
    private let snapshot: TextSnapshot
    private let unread: [Unread]
    private let reader: PendingTreeReader?

    static func reading(
        _ index: TextIndex, _ trees: TextTrees, _ stored: TextStatistics, in transaction: Transaction
    ) throws(StorageError) -> FormerDocuments {
        let state = try PendingState(index, trees, stored, in: transaction)
        guard let tree = trees.pending, !state.isEmpty else {
            return FormerDocuments(snapshot: TextSnapshot(state, .empty, in: transaction), unread: [], reader: nil)
        }
        let bounds = state.bounds
        let view = try PendingIndex.of(tree, in: transaction)
            .view(bounds, tree, index, lacking: PendingIndex.unreadLimit, in: transaction)
        let reader = PendingTreeReader(tree: tree, index: index, transaction: transaction)
        var unread: [Unread] = []
        var identity = view.bounds.identity
        try reader.forEach(from: view.bounds.end, to: bounds.end, after: &identity) { sequence, record in
            let header = record.header
            unread.append(
                Unread(sequence: sequence, row: header.row, docno: header.docno, length: header.newLength))
            return true
        }
        guard identity == bounds.identity else { throw reader.damaged(bounds.end - 1) }
        return FormerDocuments(snapshot: TextSnapshot(state, view, in: transaction), unread: unread, reader: reader)
    }

    /// The document of a row, nil if the index has none.
    func docno(of row: UInt64) throws(StorageError) -> UInt32? {
        if let last = unread.last(where: { $0.row == row }) { return last.length < 0 ? nil : last.docno }
        return try snapshot.docno(of: row)
    }

    /// The length of a document, nil if it isn't there.
    func length(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let last = unread.last(where: { $0.docno == docno }) { return UInt32(exactly: last.length) }
        return try snapshot.length(of: docno)
    }

    /// Whether the document holds each of the terms that `forEachTerm` gives just as often as that says.
    func holds(
        _ docno: UInt32,
        _ forEachTerm: ((Bytes, UInt32) throws(StorageError) -> Void) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        var isSame = true
        guard let last = unread.last(where: { $0.docno == docno }), let reader else {
            let document = try DocumentFrequencies(docno, in: snapshot)
            try forEachTerm { (term, frequency) throws(StorageError) in
                if isSame { isSame = try document.frequency(of: term) == frequency }
            }
            return isSame
        }
        let known = try reader.frequencies(last.sequence)
        try forEachTerm { (term, frequency) throws(StorageError) in
            if known[[UInt8](term)] != frequency { isSame = false }
        }
        return isSame
    }
}
