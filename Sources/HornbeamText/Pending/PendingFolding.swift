// SPDX-License-Identifier: Apache-2.0
// How what is pending becomes part of the postings: the batch is what is pending when it begins. Each commit takes so
// much of it as costs little time, or twice what its own records will cost if that is more: so what is pending stays
// bounded, however large the commits are. First come the documents, with what the index keeps of them beside their
// postings; then the terms, in the order of their bytes; then the records go, a few with each commit. So no commit
// writes more for having begun or ended a batch.

import HornbeamPages
import HornbeamTree

/// How much may be pending, and how much of it a commit folds at least; in terms and postings, roughly.
package struct PendingLimits: Sendable {
    /// Beyond this a batch is begun.
    package var pending: UInt64
    /// A slice ends with the document or term that reaches this.
    package var slice: Int
    /// So many folded records go with a commit, or twice as many as come.
    package var records: UInt64

    package init(pending: UInt64, slice: Int, records: UInt64 = 256) {
        (self.pending, self.slice, self.records) = (pending, slice, records)
    }

    package static let standard = PendingLimits(pending: 400_000, slice: 6_000)
    /// Every change is written into the postings at once.
    package static let none = PendingLimits(pending: 0, slice: .max)
}

extension TextIndexWriter {
    /// Folds everything that is pending.
    func foldAll() throws(StorageError) {
        while let trees {
            let state = try state(trees)
            if state.isEmpty, state.fold.leftover == 0 { return }
            try foldSlice(added: nil, records: .max)
        }
    }

    /// Folds what a commit should that has written so many records of weight `added`.
    func foldIfDue(_ state: PendingState, added: UInt64, records: UInt64) throws(StorageError) {
        guard state.fold.batch != nil || state.fold.leftover > 0 || state.weight > limits.pending else { return }
        try foldSlice(added: added, records: max(limits.records, 2 * records))
    }

    /// Folds a part of the batch, as much as records of weight `added` call for; all if that is nil. Begins a batch if
    /// there is none and should be. Deletes so many records at most.
    ///
    /// What it finds damaged the next commit finds again: so it says what helps.
    private func foldSlice(added: UInt64?, records: UInt64) throws(StorageError) {
        do { try foldPart(added: added, records: records) } catch {
            guard case .corrupt(var what) = error else { throw error }
            what.reason +=
                " (found by folding what is pending: until the index “\(index.prefix)” is built anew nothing can be "
                + "saved that changes it; to build it, open the database once with models that don't declare it, and "
                + "then with those that do)"
            throw .corrupt(what)
        }
    }

    private func foldPart(added: UInt64?, records: UInt64) throws(StorageError) {
        guard let trees, let tree = trees.pending else { return }
        var state = try state(trees)
        (knownState, former) = (nil, nil)
        var (fold, records) = (state.fold, records)
        try dropFolded(&fold, tree, &records)
        if fold.batch == nil, added == nil ? !state.isEmpty : state.weight > limits.pending {
            fold.batch = FoldState.Batch(end: state.next, documents: 0)
            statistics.foldState = fold.encoded()
            state = try PendingState(index, trees, statistics, in: transaction)
        }
        if var batch = fold.batch {
            let part = try state.view(in: transaction).batch
            var budget = added.map { sliceBudget(part, state, added: $0) } ?? .max
            if let first = batch.documents {
                batch.documents = try foldDocuments(part, from: first, trees, &budget)
            }
            if batch.documents == nil, budget > 0, try foldTerms(part, &batch, trees, budget) {
                fold.leftover += batch.end.sequence - fold.start.sequence
                (fold.start, fold.batch) = (batch.end, nil)
                try dropFolded(&fold, tree, &records)
            } else {
                fold.batch = batch
            }
        }
        statistics.foldState = fold.encoded()
        try transaction.put(trees.statistics, TextStatistics.key, statistics.encoded())
    }

    /// How much to fold after records of weight `added`: twice what folding these will cost, by what the batch costs,
    /// so that a batch is done before half as much as it has come to be pending; a slice at least; and the more, the
    /// farther what is pending is above its limit.
    private func sliceBudget(_ part: PendingPart, _ state: PendingState, added: UInt64) -> Int {
        let weight = (state.fold.batch?.end.weight ?? state.next.weight) - state.fold.start.weight
        let cost = 2 * Double(added) * Double(part.foldCost) / Double(max(weight, 1))
        let excess = max(1, Double(state.weight) / Double(max(limits.pending, 1)))
        return Int(min(max(Double(limits.slice), cost) * excess, 1e15))
    }

    /// Deletes records that are folded as a whole, the oldest first, as many as the limit allows.
    private func dropFolded(
        _ fold: inout FoldState, _ tree: TreeID, _ limit: inout UInt64
    ) throws(StorageError) {
        let count = min(fold.leftover, limit)
        guard count > 0 else { return }
        let first = fold.start.sequence - fold.leftover
        _ = try transaction.deleteRange(
            tree, from: PendingTreeReader.key(first), to: PendingTreeReader.key(first + count))
        fold.leftover -= count
        limit -= count
    }

    /// Rows, sections, lengths of the batch's documents from one on, as far as the budget goes, which is less
    /// afterwards. The first document that wasn't reached; nil if all were. What the statistics say stays in step.
    private func foldDocuments(
        _ part: PendingPart, from first: UInt32, _ trees: TextTrees, _ budget: inout Int
    ) throws(StorageError) -> UInt32? {
        var merge = DocumentMerge(part.segments, from: first)
        var cost = DocumentCost()
        var changes: [DocumentChange] = []
        var sections: [UInt32: [UInt8]] = [:]
        var nextDocno = statistics.nextDocno
        var unreached: UInt32?
        while unreached == nil, let document = merge.next() {
            if !document.isSuperseded {
                guard document.docno == nextDocno else { throw strayDocument() }
                nextDocno += 1
            }
            if !document.sections.isEmpty { sections[document.docno] = document.sections }
            changes.append(
                DocumentChange(
                    row: document.row, docno: document.docno, oldLength: document.oldLength,
                    newLength: document.newLength, fingerprint: document.fingerprint))
            cost.add(document)
            if cost.sum >= budget, !merge.isAtEnd { unreached = document.docno + 1 }
        }
        try count(changes)
        try write(changes, trees, nextDocno: nextDocno) { sections[$0.docno].map { $0[...] } ?? [] }
        budget = max(budget - cost.sum, 0)
        return unreached
    }

    private func strayDocument() -> StorageError {
        index.corrupt(index.pendingName, "pending records give out other document numbers than the next ones")
    }

    /// The terms behind the watermark, as far as the budget goes; whether that was all.
    private func foldTerms(
        _ part: PendingPart, _ batch: inout FoldState.Batch, _ trees: TextTrees, _ budget: Int
    ) throws(StorageError) -> Bool {
        let dictionary = TermDictionary(transaction: transaction, tree: trees.terms, index: index)
        var editor = try PostingListEditor(dictionary, trees, statistics)
        var cursor = part.terms()
        batch.watermark.withBytes { cursor.seek($0) }
        var spent = 0
        var isDone = true
        while cursor.advance() {
            let term = cursor.withText { [UInt8]($0) }
            if term == batch.watermark { continue }
            spent += PendingPart.termCost + part.collect(cursor.current, to: &changes)
            if changes.count > 0 {
                try term.withBytes { (bytes) throws(StorageError) in try editor.apply(changes, to: bytes) }
            }
            batch.watermark = term
            if spent >= budget {
                isDone = false
                break
            }
        }
        statistics.nextListNumber = editor.nextListNumber
        return isDone
    }
}

extension PendingPart {
    /// What folding a term costs beside its postings, of which each costs 1.
    static let termCost = 16

    /// What folding all of it costs, or some more.
    var foldCost: Int {
        segments.reduce(0) { $0 + $1.documentCost + Self.termCost * $1.lists.termCount + $1.lists.postingCount }
    }

    /// Puts what the records change of a term into `changes`; how many postings were looked at.
    func collect(_ places: [(segment: Int, term: Int)], to changes: inout TermChanges) -> Int {
        let gathered = gathered(places)
        changes.removeAll()
        var positions: [UInt32] = []
        let hasOld = !gathered.removedDocnos.isEmpty
        var removed = 0
        func appendRemoved(before docno: UInt64) {
            while removed < gathered.removedDocnos.count, UInt64(gathered.removedDocnos[removed]) < docno {
                changes.postings.append(gathered.removedDocnos[removed], frequency: 0, length: 0)
                changes.existed.append(true)
                removed += 1
            }
        }
        for place in gathered.docnos.indices {
            let docno = gathered.docnos[place]
            if hasOld {
                appendRemoved(before: UInt64(docno))
                let existed = removed < gathered.removedDocnos.count && gathered.removedDocnos[removed] == docno
                if existed { removed += 1 }
                changes.existed.append(existed)
            }
            changes.postings.append(docno, frequency: gathered.frequencies[place], length: gathered.lengths[place])
            positions.removeAll(keepingCapacity: true)
            GatheredPostings.appendPositions(gathered.sources[place], segments, to: &positions)
            for position in positions { changes.postings.append(position: position) }
            if let fields = fieldCounts(docno, of: gathered.sources[place], positions) {
                changes.postings.setLastFields(fields)
            }
        }
        appendRemoved(before: .max)
        return gathered.docnos.count + gathered.removedDocnos.count
    }
}
