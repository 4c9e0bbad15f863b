// SPDX-License-Identifier: Apache-2.0
// How a writer leaves few changes to be folded later, and folds: the batch is what is pending when it begins. What the
// index keeps of documents beside their postings gets the whole batch at once; then each commit takes so many terms, in
// the order of their bytes, as cost it little time, or twice what its own records will cost if that is more: so what is
// pending stays bounded, however large the commits are. The records of the batch go with its last term.

import HornbeamPages
import HornbeamTree

/// How much may be pending, and how much of it a commit folds at least; in terms and postings, roughly.
package struct PendingLimits: Sendable {
    /// Beyond this a batch is begun.
    package var pending: UInt64
    /// A slice ends with the term that reaches this.
    package var slice: Int

    package init(pending: UInt64, slice: Int) { (self.pending, self.slice) = (pending, slice) }

    package static let standard = PendingLimits(pending: 400_000, slice: 6_000)
    /// Every change is written into the postings at once.
    package static let none = PendingLimits(pending: 0, slice: .max)
}

// Gathering.
extension TextIndexWriter {
    /// Gathers a new document, unless there are too many changes already; then false.
    func gatherNew(_ row: UInt64, _ text: GatheredText) throws(StorageError) -> Bool {
        guard gathers else { return false }
        if let known = gathered.place(of: row) {
            guard gathered.documents[known].new == nil else { throw isThereAlready(row) }
            gathered.setNew(text, at: known)
        } else {
            if let largest, row <= largest, try storedDocno(of: row) != nil { throw isThereAlready(row) }
            gathered.add(GatheredDocument(row: row, docno: nil, old: nil, new: text))
            largest = max(largest ?? row, row)
        }
        try leaveGatheringIfFull()
        return true
    }

    /// Gathers a change, unless there are too many already; then false.
    func gatherChange(_ row: UInt64, from old: DocumentText, to new: DocumentText?) throws(StorageError) -> Bool {
        guard gathers else { return false }
        let new = new.map { GatheredText.texts($0) }
        if let known = gathered.place(of: row) {
            guard let before = gathered.documents[known].new, tokenCount(before) == tokenCount(.texts(old)) else {
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

    private func tokenCount(_ text: GatheredText) -> Int {
        var count = 0
        text.forEachPiece(of: index.analyzer) { count += tokenizer.tokenCount(of: $0) }
        return count
    }

    /// There are more changes than are kept as texts. They become records, and gathering goes on; unless this
    /// transaction changes half as much as is pending, or more: then they are written term by term, which costs less
    /// for many. All that is pending goes first, so that postings and records never speak of the same change in the
    /// wrong order. So what a transaction folds is bounded by what it changes.
    private func leaveGatheringIfFull() throws(StorageError) {
        guard gathered.isFull, let trees else { return }
        let pending: UInt64
        do { pending = try state(trees).weight } catch { throw fail(error) }
        guard pending / 2 <= recordedWeight + gathered.weight else { return try flush() }
        do { try foldAll() } catch { throw fail(error) }
        gathers = false
        let documents = gathered.documents
        gathered.removeAll()
        for document in documents {
            switch (document.old, document.new) {
            case (nil, .plain(let text)?):
                try text.withBytes { (text) throws(StorageError) in try insert(document.row, utf8: text) }
            case (nil, .texts(let text)?): try insert(document.row, text)
            case (.texts(let old)?, .texts(let new)?): try update(document.row, from: old, to: new)
            case (.texts(let old)?, .plain(let new)?):
                try update(document.row, from: old, to: DocumentText(String(decoding: new, as: UTF8.self)))
            case (.texts(let old)?, nil): try remove(document.row, old)
            // What came and left; old texts always come as such.
            case (nil, nil), (.plain?, _): break
            }
        }
    }

    /// Appends a record for each gathered document.
    func writeRecords() throws(StorageError) {
        guard let trees, let tree = trees.pending else { throw fail(statisticsDisagree()) }
        var state = try state(trees)
        knownState = nil
        let before = state.next.weight
        let pending = PendingIndex.of(tree, in: transaction)
        for document in gathered.documents where document.old != nil || document.new != nil {
            guard document.docno != nil || nextDocno < UInt32.max - 1 else { throw docnosUsedUp() }
            let docno = document.docno ?? nextDocno
            guard let (read, terms) = records.read(document, docno: docno, index, &tokenizer) else {
                throw .tooLarge(what: "text to index", size: document.new?.size ?? 0, limit: Self.textSizeLimit)
            }
            var header = read
            if document.old != nil { try requireOld(header) }
            if document.docno == nil { nextDocno += 1 }
            header.totals = try totals(header, state, terms: terms)
            let record = records.write(header, after: state.next.identity)
            try transaction.append(tree, PendingTreeReader.key(state.next.sequence), record.bytes)
            pending.note(
                LastRecords.Record(sequence: state.next.sequence, identity: record.identity, header),
                after: state.next.identity)
            let next = FoldState.Mark(
                sequence: state.next.sequence + 1, identity: record.identity, weight: header.totals.weight)
            state.note(header.totals, next)
        }
        former = nil
        knownState = state
        try pending.keepUp(state.bounds, tree, index, in: transaction)
        let added = state.next.weight - before
        recordedWeight += added
        if state.fold.batch != nil || state.weight > limits.pending { try foldSlice(added: added) }
    }

    /// The index after a record, and before it `state`.
    private func totals(
        _ header: PendingHeader, _ state: PendingState, terms: Int
    ) throws(StorageError) -> PendingHeader.Totals {
        let count =
            Int64(clamping: state.statistics.documentCount) + (header.newLength < 0 ? 0 : 1)
            - (header.oldLength < 0 ? 0 : 1)
        let difference = max(header.newLength, 0) - max(header.oldLength, 0)
        let (length, overflows) = Int64(clamping: state.statistics.totalLength).addingReportingOverflow(difference)
        // What is read is below this limit; a record must not be above it either.
        let weight = state.next.weight + PendingHeader.weight(terms: terms, tokens: header.newLength)
        guard count >= 0, length >= 0, !overflows, length < TextStatistics.lengthLimit,
            weight < PendingHeader.Totals.weightLimit
        else { throw statisticsDisagree() }
        return PendingHeader.Totals(
            documentCount: UInt64(count), totalLength: UInt64(length), nextDocno: nextDocno,
            largestRow: max(state.largestRow ?? 0, header.row), weight: weight)
    }

    /// The index must have what the old text makes.
    private func requireOld(_ header: PendingHeader) throws(StorageError) {
        guard let former = try openedFormer() else { throw isMissing(header.row) }
        let length = try former.length(of: header.docno)
        guard length.map({ Int64($0) }) == header.oldLength else {
            throw index.corrupt(
                index.documentsName,
                "document \(header.row) has \(length.map { "\($0)" } ?? "no") tokens in the index, but should have "
                    + "\(header.oldLength) by its text")
        }
        let isSame = try former.holds(header.docno) { (body) throws(StorageError) in try records.forEachOld(body) }
        guard isSame else { throw oldTextDisagrees(header.row) }
    }

    /// What is pending, and the statistics with it, before what is gathered.
    func state(_ trees: TextTrees) throws(StorageError) -> PendingState {
        if let knownState { return knownState }
        let made = try PendingState(index, trees, statistics, in: transaction)
        knownState = made
        return made
    }

    /// The documents of the index as they were before what is gathered.
    func openedFormer() throws(StorageError) -> FormerDocuments? {
        if let former { return former }
        guard let trees else { return nil }
        let made = try FormerDocuments.reading(try state(trees), in: transaction)
        former = made
        return made
    }
}

// Folding.
extension TextIndexWriter {
    /// Folds everything that is pending.
    func foldAll() throws(StorageError) {
        while let trees, try !state(trees).isEmpty {
            try foldSlice(added: nil)
        }
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

    /// Folds terms of the batch, as many as records of weight `added` call for; all if that is nil. Begins a batch if
    /// there is none.
    private func foldSlice(added: UInt64?) throws(StorageError) {
        guard let trees, let tree = trees.pending else { return }
        var state = try state(trees)
        guard !state.isEmpty else { return }
        knownState = nil
        var fold = state.fold
        if fold.batch == nil {
            fold.batch = FoldState.Batch(end: state.next, watermark: [])
            statistics.foldState = fold.encoded()
            state = try PendingState(index, trees, statistics, in: transaction)
            try foldDocuments(state, trees)
        }
        guard var batch = fold.batch else { return }
        let part = try state.view(in: transaction).batch
        former = nil
        let isDone = try foldTerms(part, &batch, trees, added.map { sliceBudget(part, state, added: $0) } ?? .max)
        if isDone {
            let start = fold.start
            fold = FoldState()
            fold.start = batch.end
            _ = try transaction.deleteRange(
                tree, from: PendingTreeReader.key(start.sequence), to: PendingTreeReader.key(batch.end.sequence))
        } else {
            fold.batch = batch
        }
        statistics.foldState = fold.encoded()
        try transaction.put(trees.statistics, TextStatistics.key, statistics.encoded())
    }

    /// Rows, sections, lengths: all of the batch.
    private func foldDocuments(_ state: PendingState, _ trees: TextTrees) throws(StorageError) {
        let documents = PendingSegment.mergedDocuments(try state.view(in: transaction).batch.segments)
        var places: [UInt32: Int] = [:]
        var changes: [DocumentChange] = []
        changes.reserveCapacity(documents.count)
        let added = documents.lazy.filter { !$0.isSuperseded }.map(\.docno)
        let numbers = statistics.nextDocno..<max(statistics.nextDocno, state.statistics.nextDocno)
        guard added.elementsEqual(numbers) else {
            throw index.corrupt(index.pendingName, "pending records give out other document numbers than the next ones")
        }
        for (place, document) in documents.enumerated() {
            if !document.sections.isEmpty { places[document.docno] = place }
            changes.append(
                DocumentChange(
                    row: document.row, docno: document.docno, oldLength: document.oldLength,
                    newLength: document.newLength))
        }
        try write(changes, trees, nextDocno: state.statistics.nextDocno) { change in
            places[change.docno].map { documents[$0].sections[...] } ?? []
        }
        statistics.documentCount = state.statistics.documentCount
        statistics.totalLength = state.statistics.totalLength
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
    var foldCost: Int { segments.reduce(0) { $0 + Self.termCost * $1.lists.termCount + $1.lists.postingCount } }

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
