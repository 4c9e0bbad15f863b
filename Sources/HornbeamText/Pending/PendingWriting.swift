// SPDX-License-Identifier: Apache-2.0
// How a writer records few changes: as pending records of the documents, which are folded later. Used while the changes
// are few in proportion to the pending ones.

import HornbeamPages
import HornbeamTree

// Gathering.
extension TextIndexWriter {
    /// Gathers a new document. Returns false if there are too many changes already.
    func gatherNew(_ row: UInt64, _ text: GatheredText) throws(StorageError) -> Bool {
        guard gathers else { return false }
        if let known = gathered.place(of: row) {
            guard gathered.documents[known].new == nil else { throw isThereAlready(row) }
            gathered.setNew(text, at: known)
        } else {
            if try isStored(row) { throw isThereAlready(row) }
            gathered.add(GatheredDocument(row: row, docno: nil, old: nil, new: text))
            largest = max(largest ?? row, row)
        }
        try leaveGatheringIfFull()
        return true
    }

    /// Gathers a change. Returns false if there are too many changes already.
    func gatherChange(_ row: UInt64, from old: DocumentText, to new: DocumentText?) throws(StorageError) -> Bool {
        guard gathers else { return false }
        let new = new.map { GatheredText.texts($0) }
        if let known = gathered.place(of: row) {
            guard let before = gathered.documents[known].new, before.fingerprint == old.fingerprint else {
                throw fail(oldTextDisagrees(row))
            }
            gathered.setNew(new, at: known)
        } else {
            let docno: UInt32?
            do { docno = try storedDocno(of: row) } catch { throw fail(error) }
            guard let docno else { throw fail(isMissing(row)) }
            gathered.add(GatheredDocument(row: row, docno: docno, old: .texts(old), new: new))
        }
        try leaveGatheringIfFull()
        return true
    }

    /// Handles more changes than are kept as texts. They become records, and gathering goes on. But if this transaction
    /// changes at least half as much as is pending, they are written term by term, which is cheaper for many. Then
    /// everything pending is folded first, so that postings and records never apply the same change in the wrong order.
    /// So the work of folding in a transaction is bounded by its changes.
    private func leaveGatheringIfFull() throws(StorageError) {
        guard gathered.isFull, let trees else { return }
        let pending: UInt64
        do { pending = try state(trees).weight } catch { throw fail(error) }
        guard pending / 2 <= recordedWeight + gathered.weight else { return try flush() }
        do { try foldAll() } catch { throw fail(error) }
        gathers = false
        let documents = gathered.documents
        gathered.removeAll()
        // If it fails, the writer has failed: committing would lose some of the documents.
        do { try bufferAll(documents) } catch { throw fail(error) }
    }

    private func bufferAll(_ documents: [GatheredDocument]) throws(StorageError) {
        for document in documents {
            switch (document.old, document.new) {
            case (nil, .plain(let text)?):
                try text.withBytes { (text) throws(StorageError) in try insert(document.row, utf8: text) }
            case (nil, .texts(let text)?): try insert(document.row, text)
            case (.texts(let old)?, .texts(let new)?): try update(document.row, from: old, to: new)
            case (.texts(let old)?, .plain(let new)?):
                try update(document.row, from: old, to: DocumentText(String(decoding: new, as: UTF8.self)))
            case (.texts(let old)?, nil): try remove(document.row, old)
            // A document that was added and removed again. Old texts are always `.texts`.
            case (nil, nil), (.plain?, _): break
            }
        }
    }

    /// Appends a record for each gathered document.
    func writeRecords() throws(StorageError) {
        guard let trees, let tree = trees.pending else { throw fail(statisticsDisagree()) }
        var state = try state(trees)
        knownState = nil
        let before = state.next
        let pending = PendingIndex.of(tree, in: transaction)
        let records = pending.takeMaker()
        for document in gathered.documents where document.old != nil || document.new != nil {
            guard document.docno != nil || nextDocno < UInt32.max - 1 else { throw docnosUsedUp() }
            let docno = document.docno ?? nextDocno
            guard let (read, terms) = records.maker.read(document, docno: docno, index, &tokenizer) else {
                throw .tooLarge(what: "text to index", size: document.new?.size ?? 0, limit: Self.textSizeLimit)
            }
            var header = read
            if let old = document.old { try requireOld(header, old) }
            if document.docno == nil { nextDocno += 1 }
            header.totals = try totals(
                header, state, terms: terms, bytes: (document.old?.size ?? 0) + (document.new?.size ?? 0))
            let record = records.maker.write(header, after: state.next.identity)
            try PendingTreeReader.key(state.next.sequence).withBytes { (key) throws(StorageError) in
                try transaction.append(tree, key, record.bytes)
            }
            pending.note(
                LastRecords.Record(sequence: state.next.sequence, identity: record.identity, header),
                after: state.next.identity)
            let next = FoldState.Mark(
                sequence: state.next.sequence + 1, identity: record.identity, weight: header.totals.weight)
            state.note(header.totals, next)
        }
        pending.giveBack(records)
        former = nil
        knownState = state
        try pending.keepUp(state.bounds, tree, index, in: transaction)
        let added = state.next.weight - before.weight
        recordedWeight += added
        try foldIfDue(state, added: added, records: state.next.sequence - before.sequence)
    }

    /// Returns the totals of the index after a record. `state` is the state before it.
    private func totals(
        _ header: PendingHeader, _ state: PendingState, terms: Int, bytes: Int
    ) throws(StorageError) -> PendingHeader.Totals {
        let count =
            Int64(clamping: state.statistics.documentCount) + (header.newLength < 0 ? 0 : 1)
            - (header.oldLength < 0 ? 0 : 1)
        let difference = max(header.newLength, 0) - max(header.oldLength, 0)
        let (length, overflows) = Int64(clamping: state.statistics.totalLength).addingReportingOverflow(difference)
        // Reading refuses a weight above this limit, so no record may exceed it.
        let weight =
            state.next.weight + PendingHeader.weight(terms: terms, tokens: header.newLength, bytes: bytes)
        guard count >= 0, length >= 0, !overflows, length < TextStatistics.lengthLimit,
            weight < PendingHeader.Totals.weightLimit
        else { throw statisticsDisagree() }
        var fields = state.statistics.fieldTotals
        let before = try formerSections(header, fields)
        guard before.withBytes({ fields.remove(header.oldLength, $0) }),
            header.sections.withBytes({ fields.add(header.newLength, $0) }), fields.isSum(UInt64(length))
        else { throw statisticsDisagree() }
        return PendingHeader.Totals(
            documentCount: UInt64(count), totalLength: UInt64(length), nextDocno: nextDocno,
            largestRow: max(state.largestRow ?? 0, header.row), weight: weight,
            laterFields: Array(fields.tokens.dropFirst()))
    }

    /// Returns the former sections of a changed document. While only first fields have tokens, they aren't needed.
    private func formerSections(_ header: PendingHeader, _ fields: FieldTotals) throws(StorageError) -> [UInt8] {
        guard header.oldLength >= 0, fields.tokens.count > 1, let former = try openedFormer() else { return [] }
        return try former.sections(of: header.docno)
    }

    /// Checks that the index has the length and fingerprint of the old text. Throws otherwise.
    private func requireOld(_ header: PendingHeader, _ old: GatheredText) throws(StorageError) {
        guard let former = try openedFormer() else { throw isMissing(header.row) }
        let length = try former.length(of: header.docno)
        guard length.map({ Int64($0) }) == header.oldLength else {
            throw index.corrupt(
                index.documentsName,
                "document \(header.row) has \(length.map { "\($0)" } ?? "no") tokens in the index, but should have "
                    + "\(header.oldLength) by its text")
        }
        guard let fingerprint = try former.fingerprint(of: header.docno) else { throw isMissing(header.row) }
        guard fingerprint == old.fingerprint else { throw oldTextDisagrees(header.row) }
    }

    /// Returns the pending state with its statistics, before the gathered changes.
    func state(_ trees: TextTrees) throws(StorageError) -> PendingState {
        if let knownState { return knownState }
        let made = try PendingState(index, trees, statistics, in: transaction)
        knownState = made
        return made
    }

    /// Returns the documents of the index before the gathered changes.
    func openedFormer() throws(StorageError) -> FormerDocuments? {
        if let former { return former }
        guard let trees else { return nil }
        let made = try FormerDocuments.reading(try state(trees), in: transaction)
        former = made
        return made
    }
}
