// SPDX-License-Identifier: Apache-2.0
// The part of a check that concerns pending records: each record follows the one before, together they add up to the
// totals of the last one, and the postings that they remove are stored.

import HornbeamPages
import HornbeamTree

/// Walks through the pending records of an index.
struct PendingWalk {
    private let state: PendingState
    private let stored: TextStatistics
    private let transaction: Transaction
    /// The records of the batch that is being folded, and those behind it. Read from the tree, not from the cache.
    private let batch: PendingPart
    private let later: PendingPart
    /// Documents below this one are folded.
    private let foldedDocuments: UInt32
    /// Folded documents whose stored postings don't count any more for a term behind the watermark.
    private let superseded: Set<UInt32>
    /// The states of the documents in the records that aren't folded yet.
    private let documents: [PendingDocument]

    private init(
        _ state: PendingState, _ stored: TextStatistics, batch: PendingPart, later: PendingPart,
        in transaction: Transaction
    ) {
        (self.state, self.stored, self.batch, self.later) = (state, stored, batch, later)
        self.transaction = transaction
        let limit = state.fold.batch?.documents ?? .max
        foldedDocuments = limit
        let folded = PendingSegment.mergedDocuments(batch.segments).prefix { $0.docno < limit }
        superseded = Set(folded.lazy.filter(\.isSuperseded).map(\.docno))
        let unfolded = limit < .max ? PendingSegment.mergedDocuments(batch.segments + later.segments, from: limit) : []
        documents = Array(PendingSegment.mergedDocuments(later.segments).prefix { $0.docno < limit }) + unfolded
    }

    /// A function, because an initializer that throws and does all this crashes the optimizer of Swift 6.3.
    static func reading(
        _ state: PendingState, _ stored: TextStatistics, in transaction: Transaction
    ) throws(StorageError) -> PendingWalk {
        let bounds = state.bounds
        if let tree = state.trees.pending { try checkSequences(state, tree, in: transaction) }
        guard let tree = state.trees.pending, !bounds.isEmpty else {
            return PendingWalk(state, stored, batch: .none, later: .none, in: transaction)
        }
        let reader = PendingTreeReader(tree: tree, index: state.index, transaction: transaction)
        var identity = bounds.startIdentity
        let start = bounds.foldEnd ?? bounds.start
        let batch = PendingPart(try reader.segments(from: bounds.start, to: start, after: &identity))
        let later = PendingPart(try reader.segments(from: start, to: bounds.end, after: &identity))
        return PendingWalk(state, stored, batch: batch, later: later, in: transaction)
    }

    /// Checks that the tree holds the pending records, the folded ones that aren't deleted yet, and no others. The
    /// pending ones are read elsewhere.
    private static func checkSequences(
        _ state: PendingState, _ tree: TreeID, in transaction: Transaction
    ) throws(StorageError) {
        let (bounds, leftover) = (state.bounds, state.fold.leftover)
        var areThere = try transaction.count(tree) == bounds.end - bounds.start + leftover
        var cursor = try transaction.cursor(tree)
        var sequence = bounds.start - leftover
        while areThere, sequence < bounds.start {
            areThere = try cursor.next() && cursor.key.elementsEqual(PendingTreeReader.key(sequence))
            sequence += 1
        }
        guard areThere else {
            throw state.index.corrupt(
                state.index.pendingName, "the pending records are not those that the statistics name")
        }
    }

    /// Returns the documents whose stored postings of a term don't count any more.
    func superseded(for term: [UInt8]) -> Set<UInt32> { lacksBatch(term) ? superseded : [] }

    private func lacksBatch(_ term: [UInt8]) -> Bool {
        guard let watermark = state.fold.batch?.watermark else { return false }
        return watermark.withBytes { watermark in term.withBytes { $0.order(watermark) > 0 } }
    }

    /// Returns the number of occurrences in folded documents that are missing from the terms behind the watermark.
    func missingOccurrences() -> Int64 {
        var sum: Int64 = 0
        forEach(batch) { term, gathered in
            guard lacksBatch(term) else { return }
            sum += occurrences(gathered.docnos, gathered.frequencies)
            sum -= occurrences(gathered.removedDocnos, gathered.removedFrequencies)
        }
        return sum
    }

    private func occurrences(_ docnos: [UInt32], _ frequencies: [UInt32]) -> Int64 {
        zip(docnos, frequencies).reduce(0) { $1.0 < foldedDocuments ? $0 + Int64($1.1) : $0 }
    }

    private func forEach(_ part: PendingPart, _ body: ([UInt8], GatheredPostings) -> Void) {
        var cursor = part.terms()
        while cursor.advance() { body(cursor.withText { [UInt8]($0) }, part.gathered(cursor.current)) }
    }

    func run(_ problems: inout TextProblems) throws(StorageError) {
        try problems.collect { () throws(StorageError) in try compareFields() }
        compareTotals(&problems)
        try compareDocuments(&problems)
        let dictionary = TermDictionary(transaction: transaction, tree: state.trees.terms, index: state.index)
        for part in [batch, later] {
            var cursor = part.terms()
            while cursor.advance(), !problems.isFull {
                let term = cursor.withText { [UInt8]($0) }
                let gathered = part.gathered(cursor.current)
                // Records behind the batch remove postings that the batch made, which aren't stored for all terms yet.
                guard !gathered.removedDocnos.isEmpty, part === later ? !lacksBatch(term) : lacksBatch(term) else {
                    continue
                }
                do throws(StorageError) {
                    try term.withBytes { (bytes) throws(StorageError) in
                        try compare(gathered, try dictionary.find(bytes), TextWalk.name(term))
                    }
                } catch {
                    try problems.collect { () throws(StorageError) in throw error }
                }
            }
        }
    }

    private func compareTotals(_ problems: inout TextProblems) {
        var count = Int64(clamping: stored.documentCount)
        var length = Int64(clamping: stored.totalLength)
        var added: UInt64 = 0
        var largestRow = stored.largestRow ?? 0
        for document in documents {
            if !document.isSuperseded {
                added += 1
                largestRow = max(largestRow, document.row)
            }
            count += (document.isThere ? 1 : 0) - (document.isSuperseded ? 1 : 0)
            // Below 2^62 at first. A file can't hold changes up to 2^63, and an overflow would be reported as wrong in
            // any case.
            length &+= max(document.newLength, 0) - max(document.oldLength, 0)
        }
        if count != Int64(clamping: state.statistics.documentCount) {
            problems.add(
                "the last pending record counts \(state.statistics.documentCount) documents, there are \(count)")
        }
        if UInt64(state.statistics.nextDocno) != UInt64(stored.nextDocno) + added {
            problems.add(
                "the last pending record has \(state.statistics.nextDocno) as the next document number, there are "
                    + "\(stored.nextDocno) and \(added) new ones")
        }
        if state.largestRow ?? 0 < largestRow {
            problems.add("the largest row of the last pending record is below \(largestRow)")
        }
        if length != Int64(clamping: state.statistics.totalLength) {
            problems.add(
                "the last pending record counts \(state.statistics.totalLength) tokens, the documents have \(length)")
        }
    }

    private func compareFields() throws(StorageError) {
        var totals = stored.fieldTotals
        let table = SectionTable(transaction: transaction, tree: state.trees.documents, index: state.index)
        for document in documents {
            let sections = document.isSuperseded ? try table.encoded(of: document.docno) : []
            guard sections.withBytes({ totals.remove(document.oldLength, $0) }),
                document.sections.withBytes({ totals.add(document.newLength, $0) })
            else { throw table.unreadable() }
        }
        guard totals == state.statistics.fieldTotals else {
            throw corrupt(
                "the last pending record counts \(state.statistics.fieldTotals.tokens) tokens in the fields, the "
                    + "documents have \(totals.tokens)")
        }
    }

    private func compareDocuments(_ problems: inout TextProblems) throws(StorageError) {
        let lengths = DocumentLengths(transaction: transaction, tree: state.trees.documents, index: state.index)
        for document in documents where !problems.isFull {
            try problems.collect { () throws(StorageError) in
                let length = try lengths.length(of: document.docno).map { Int64($0) } ?? -1
                guard length == document.oldLength else {
                    throw corrupt(
                        "a pending record says that document \(document.row) has \(document.oldLength) tokens, "
                            + "the index has \(length)")
                }
            }
        }
    }

    private func compare(
        _ gathered: GatheredPostings, _ entry: TermEntry?, _ name: String
    ) throws(StorageError) {
        guard let entry else { throw corrupt("pending records remove \(name), which is not stored") }
        let postings = try StoredPostings(entry, index: state.index, trees: state.trees, in: transaction)
        for (docno, frequency) in zip(gathered.removedDocnos, gathered.removedFrequencies) {
            var found: UInt32 = 0
            if try postings.seekBlock(docno) {
                try postings.decode()
                for place in 0..<postings.count where postings.docnos[place] == docno {
                    found = postings.frequencies[place]
                }
            }
            guard found == frequency else {
                throw corrupt(
                    "pending records remove \(name) \(frequency) times from document \(docno), not \(found) times"
                )
            }
        }
    }

    private func corrupt(_ reason: String) -> StorageError { state.index.corrupt(state.index.pendingName, reason) }
}
