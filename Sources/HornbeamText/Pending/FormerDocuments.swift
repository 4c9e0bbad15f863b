// SPDX-License-Identifier: Apache-2.0
// The documents of an index before a writer's changes. A writer asks for a few rows and their stored data. For these
// the view of the pending records in memory isn't extended to the last record: the last few records are searched one by
// one.

import HornbeamPages
import HornbeamTree

/// One state of an index, for its next change. A value, valid until the next change of the transaction.
struct FormerDocuments {
    /// The state before the last few records.
    private let snapshot: TextSnapshot
    /// The last few records, the newest at the end.
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

    /// Returns the document of a row, or nil if the index has none.
    func docno(of row: UInt64) throws(StorageError) -> UInt32? {
        if let last = unread.last(where: { $0.row == row }) { return last.length < 0 ? nil : last.docno }
        return try snapshot.docno(of: row)
    }

    /// Returns the length of a document, or nil if there is no such document.
    func length(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let last = unread.last(where: { $0.docno == docno }) { return UInt32(exactly: last.length) }
        return try snapshot.length(of: docno)
    }

    /// Returns the sections of an existing document as `DocumentSections` encodes them. Empty if there is a single
    /// section.
    func sections(of docno: UInt32) throws(StorageError) -> [UInt8] {
        if let last = unread.last(where: { $0.docno == docno }) { return last.sections }
        return try snapshot.encodedSections(of: docno)
    }

    /// Returns the fingerprint of an existing document's text.
    func fingerprint(of docno: UInt32) throws(StorageError) -> UInt32? {
        if let last = unread.last(where: { $0.docno == docno }) { return last.fingerprint }
        return try snapshot.fingerprint(of: docno)
    }
}
