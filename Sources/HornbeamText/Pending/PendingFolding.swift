// SPDX-License-Identifier: Apache-2.0
// Folding: how pending records become part of the postings. A batch is everything that is pending when it begins. Each
// commit folds a part of it that takes little time, or twice the cost of its own records if that is more. So the
// pending records stay bounded, however large the commits are. A batch is folded in this order: the data stored for
// documents besides their postings; the terms, in byte order; then the records are deleted, a few with each commit. So
// no commit writes more because it begins or ends a batch.

import HornbeamPages
import HornbeamTree

/// Limits of pending changes and of the part that a commit folds. The unit is roughly one term or posting.
package struct PendingLimits: Sendable {
    /// The pending weight above which a small index begins a batch.
    package var pending: UInt64
    /// The highest limit, for a large index. In a large index, most changes of a common word fall into different runs.
    /// A batch writes each run once, however many changes fall into it, so large batches are cheaper.
    package var most: UInt64
    /// The cost at which a slice ends, after the document or term that reaches it.
    package var slice: Int
    /// Number of folded records that a commit deletes, if that is more than twice the number it adds.
    package var records: UInt64

    /// - Parameter most: `pending` if nil, however large the index is.
    package init(pending: UInt64, most: UInt64? = nil, slice: Int, records: UInt64 = 256) {
        (self.pending, self.most, self.slice, self.records) = (pending, most ?? pending, slice, records)
    }

    /// Returns the limit of pending weight in an index with this many tokens.
    package func pending(tokens: UInt64) -> UInt64 { max(pending, min(tokens / Self.tokensForOne, most)) }

    /// Index tokens per additional unit of pending weight.
    package static let tokensForOne: UInt64 = 64

    package static let standard = PendingLimits(pending: 400_000, most: 1_000_000, slice: 6_000)
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

    /// Folds what is due after a commit that has written `records` records of weight `added`.
    func foldIfDue(_ state: PendingState, added: UInt64, records: UInt64) throws(StorageError) {
        guard state.fold.batch != nil || state.fold.leftover > 0 || state.weight > pendingLimit else { return }
        try foldSlice(added: added, records: max(limits.records, 2 * records))
    }

    private var pendingLimit: UInt64 { limits.pending(tokens: statistics.totalLength) }

    /// Folds a part of the batch in proportion to `added`, the weight of new records, or all of it if `added` is nil.
    /// Begins a batch if there is none and one is due. Deletes at most `records` records.
    ///
    /// If it finds damage, every later commit finds it again. So the error tells what to do.
    private func foldSlice(added: UInt64?, records: UInt64) throws(StorageError) {
        do { try foldPart(added: added, records: records) } catch {
            guard case .corrupt(var what) = error else { throw error }
            what.reason +=
                " (found while pending records were folded: nothing that changes the index “\(index.prefix)” can be "
                + "saved until database.repair(index:of:) has built it anew)"
            throw .corrupt(what)
        }
    }

    private func foldPart(added: UInt64?, records: UInt64) throws(StorageError) {
        guard let trees, let tree = trees.pending else { return }
        var state = try state(trees)
        (knownState, former) = (nil, nil)
        var (fold, records) = (state.fold, records)
        try dropFolded(&fold, tree, &records)
        if fold.batch == nil, added == nil ? !state.isEmpty : state.weight > pendingLimit {
            fold.batch = FoldState.Batch(end: state.next, documents: 0)
            statistics.foldState = fold.encoded()
            state = try PendingState(index, trees, statistics, in: transaction)
        }
        if var batch = fold.batch {
            let part = try state.view(in: transaction).batch
            var budget = added.map { self.budget(part, state, added: $0) } ?? .all
            if let first = batch.documents {
                batch.documents = try foldDocuments(part, from: first, trees, &budget)
            }
            if batch.documents == nil, !budget.isSpent, try foldTerms(part, &batch, trees, budget) {
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

    /// Returns the part to fold after records of weight `added`. It is twice their proportion of the batch, so the
    /// batch is done before half its weight is pending again. It is multiplied when the pending weight is above its
    /// limit. It is at least a slice.
    private func budget(_ part: PendingPart, _ state: PendingState, added: UInt64) -> FoldBudget {
        let weight = (state.fold.batch?.end.weight ?? state.next.weight) - state.fold.start.weight
        let share = 2 * Double(added) * Double(part.foldCost) / Double(max(weight, 1))
        let excess = max(1, Double(state.weight) / Double(max(pendingLimit, 1)))
        return FoldBudget(
            share: Int(min(share * excess, 1e15)), slice: Int(min(Double(limits.slice) * excess, 1e15)))
    }

    /// Deletes completely folded records, the oldest first, up to the limit.
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

    /// Folds rows, sections, lengths and fingerprints of the batch's documents from `first` on, as far as the budget
    /// allows, and reduces the budget. Returns the first document that wasn't reached, or nil if all were. Updates the
    /// statistics.
    private func foldDocuments(
        _ part: PendingPart, from first: UInt32, _ trees: TextTrees, _ budget: inout FoldBudget
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
            if budget.isSpent(by: cost.sum), !merge.isAtEnd { unreached = document.docno + 1 }
        }
        try count(changes)
        try write(changes, trees, nextDocno: nextDocno) { sections[$0.docno].map { $0[...] } ?? [] }
        budget.spend(cost.sum)
        return unreached
    }

    private func strayDocument() -> StorageError {
        index.corrupt(index.pendingName, "pending records don't use the next document numbers")
    }

    /// Folds the terms behind the watermark, as far as the budget allows. Returns whether all are done.
    private func foldTerms(
        _ part: PendingPart, _ batch: inout FoldState.Batch, _ trees: TextTrees, _ budget: FoldBudget
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
            if budget.isSpent(by: spent, andBeside: editor.cost) {
                isDone = false
                break
            }
        }
        statistics.nextListNumber = editor.nextListNumber
        return isDone
    }
}

/// The part of a batch that a commit folds.
private struct FoldBudget {
    /// Minimum in terms of the estimated cost (`PendingPart.foldCost`). It bounds the pending weight.
    private var share: Int
    /// Minimum in terms of the actual cost, including the runs of lists.
    private var slice: Int

    static let all = FoldBudget(share: .max, slice: .max)

    init(share: Int, slice: Int) { (self.share, self.slice) = (share, slice) }

    var isSpent: Bool { isSpent(by: 0) }

    /// - Parameter beside: actual cost that wasn't estimated.
    func isSpent(by cost: Int, andBeside beside: Int = 0) -> Bool { cost >= share && cost + beside >= slice }

    mutating func spend(_ cost: Int) { (share, slice) = (max(share - cost, 0), max(slice - cost, 0)) }
}

extension PendingPart {
    /// The cost of folding a term, besides its postings, which cost 1 each.
    static let termCost = 16

    /// An upper estimate of the cost of folding all of it, without its lists (`PostingListEditor.cost`): the number of
    /// postings that fall into the same run isn't known beforehand.
    var foldCost: Int {
        segments.reduce(0) { $0 + $1.documentCost + Self.termCost * $1.lists.termCount + $1.lists.postingCount }
    }

    /// Collects the changes of a term by the records into `changes`. Returns the number of postings that were read.
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
