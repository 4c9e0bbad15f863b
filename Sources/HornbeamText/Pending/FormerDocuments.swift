// SPDX-License-Identifier: Apache-2.0
// The documents of an index as a writer finds them. It asks for a few rows and what is kept of their texts, for which
// it isn't worth while to bring what is in memory of the pending records up to the last one: the last few are looked
// through as they are.

import HornbeamPages
import HornbeamTree

/// One state of an index, for who changes it next. A value; good until the next change of the transaction.
struct FormerDocuments {
    /// Of the records before the last few.
    private let snapshot: TextSnapshot
    /// The last few, the newest at the end.
    private let unread: [LastRecords.Record]

    static func reading(_ state: PendingState, in transaction: Transaction) throws(StorageError) -> FormerDocuments {
        guard let tree = state.trees.pending, !state.isEmpty else {
            return FormerDocuments(snapshot: TextSnapshot(state, .empty, in: transaction), unread: [])
        }
        let pending = PendingIndex.of(tree, in: transaction)
        let view = try pending.view(
            state.bounds, tree, state.index, lacking: PendingIndex.unreadLimit, in: transaction)
        let reader = PendingTreeReader(tree: tree, index: state.index, transaction: transaction)
        let unread = try pending.records(behind: view, state.bounds, reader)
        return FormerDocuments(snapshot: TextSnapshot(state, view, in: transaction), unread: unread)
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

    /// How the tokens of a document that is there are divided, as `DocumentSections` encodes it; empty if there is one
    /// section.
    func sections(of docno: UInt32) throws(StorageError) -> [UInt8] {
        if let last = unread.last(where: { $0.docno == docno }) { return last.sections }
        return try snapshot.encodedSections(of: docno)
    }

    /// What tells the text of a document that is there from others.
    func fingerprint(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let last = unread.last(where: { $0.docno == docno }) { return last.fingerprint }
        return try snapshot.fingerprint(of: docno)
    }
}
