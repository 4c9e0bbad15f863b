// SPDX-License-Identifier: Apache-2.0
// The terms of a prefix, a pattern or a misspelt word, treated as one term with the positions of all of them. They may
// be all terms of the index. So neither the terms nor their postings are kept. They are read once for the documents,
// and again for the positions in some thousands of occurrences, in bounded memory.

import HornbeamPages

/// Terms that can be read any number of times.
enum TermGroup: Hashable {
    /// All terms that begin with these bytes.
    case prefix([UInt8])
    case pattern(WildcardPattern)
    case listed([ExpandedTerm])

    /// Adds the postings of all terms. Returns how many terms there are, and the first one.
    func addPostings(
        of view: IndexView, to union: inout PostingUnion
    ) throws(StorageError) -> (terms: Int, first: [UInt8]) {
        switch self {
        case .prefix(let head): return try view.addPostings(head, to: &union) { _ in true }
        case .pattern(let pattern): return try view.addPostings(pattern.prefix, to: &union) { pattern.matches($0) }
        case .listed(let terms):
            // The caller uses the postings of a single term directly.
            guard terms.count > 1 else { return (terms.count, terms.first?.term ?? []) }
            for term in terms {
                if let source = try view.postings(of: term.term) { try union.add(source, view) }
            }
            return (terms.count, terms.first?.term ?? [])
        }
    }

    fileprivate func forEachTerm(
        of view: IndexView, _ body: ([UInt8]) throws(StorageError) -> Void
    ) throws(StorageError) {
        switch self {
        case .listed(let terms): for term in terms { try body(term.term) }
        case .prefix(let head):
            try view.forEachTerm(beginningWith: head) { (term) throws(StorageError) in try body([UInt8](term)) }
        case .pattern(let pattern):
            try view.forEachTerm(beginningWith: pattern.prefix) { (term) throws(StorageError) in
                if pattern.matches(term) { try body([UInt8](term)) }
            }
        }
    }
}

/// The number of occurrences that all groups of one search may gather at a time. It is shared, because a query can
/// contain any number of prefixes.
final class OccurrenceBudget {
    private static let total = 1 << 22
    @exclusivity(unchecked) private var groups = 0

    func addGroup() { groups += 1 }

    /// The room of one group.
    var room: Int { max(Self.total / max(groups, 1), 1) }
}

/// Any of the terms of a group, whose documents are already known.
final class GroupSpans: SpanSource {
    private let documents: PostingSource
    /// The postings of `documents` as arrays, for looking ahead.
    private let sums: PostingArrays
    private let terms: TermGroup
    private let view: IndexView
    private var document: UInt32 = 0
    /// Index range of the documents whose occurrences are gathered, and their occurrences, ascending: the document in
    /// the upper half, the position in the lower.
    private var gathered = 0..<0
    private var occurrences: [UInt64] = []
    /// All occurrences before this index belong to earlier documents.
    private var place = 0
    /// Number of gathered documents that were asked for.
    private var asked = 0
    /// Maximum number of occurrences to gather next time. Small at first, because a search may ask for a few documents
    /// only.
    private var room = 1 << 14
    private let budget: OccurrenceBudget
    /// Number of terms that were read to gather.
    private var termCount = 0

    init(
        _ documents: PostingSource, _ sums: PostingArrays, _ terms: TermGroup, _ view: IndexView,
        _ budget: OccurrenceBudget
    ) {
        (self.documents, self.sums, self.terms, self.view) = (documents, sums, terms, view)
        self.budget = budget
        budget.addGroup()
        super.init(documentBound: Int(documents.documentFrequency), bound: documents.bound)
    }

    override var blocks: PostingSource? { documents }

    override func advance(to target: UInt32) throws(StorageError) -> UInt32 {
        document = try documents.advance(to: target)
        return document
    }

    override var frequencyBound: UInt32 { documents.frequencies[documents.current] }

    override func read() throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        if gathered.isEmpty || sums.docnos[gathered.upperBound - 1] < document { try gather() }
        asked += 1
        let first = UInt64(document) << 32
        // Exponential search.
        var step = 1
        while place + step < occurrences.count, occurrences[place + step] < first {
            place += step
            step *= 2
        }
        var high = min(place + step, occurrences.count)
        while place < high {
            let middle = (place + high) / 2
            if occurrences[middle] < first { place = middle + 1 } else { high = middle }
        }
        var next = place
        while next < occurrences.count, occurrences[next] >> 32 == UInt64(document) {
            starts.append(UInt32(truncatingIfNeeded: occurrences[next]))
            next += 1
        }
        endAtStarts()
    }

    /// Increases the room if at least a quarter of the gathered documents were asked for. Otherwise reduces it, since
    /// gathering the others was useless. But not below the number of terms: gathering reads all of them, which costs as
    /// much as an occurrence or two in each.
    private func adaptRoom() {
        if !gathered.isEmpty { room = asked * 4 >= gathered.count ? 4 * room : max(room / 4, termCount, 1) }
        room = min(room, budget.room)
    }

    /// Gathers the occurrences in the current document and in those behind it, while there is room.
    private func gather() throws(StorageError) {
        adaptRoom()
        let start = PostingSource.gallop(
            sums.docnos, from: gathered.upperBound, count: sums.count, to: document)
        var (end, count) = (start, 0)
        while end < sums.count, end == start || count + Int(sums.frequencies[end]) <= room {
            count += Int(sums.frequencies[end])
            end += 1
        }
        gathered = start..<end
        asked = 0
        occurrences.removeAll(keepingCapacity: true)
        place = 0
        guard start < end else { return }
        let (first, last) = (sums.docnos[start], sums.docnos[end - 1])
        var positions: [UInt32] = []
        termCount = 0
        try terms.forEachTerm(of: view) { (term) throws(StorageError) in
            termCount += 1
            guard let source = try view.postings(of: term) else { return }
            try source.seekBlock(first)
            while !source.isAtEnd, source.blockFirst <= last {
                var place = try source.decode(from: first)
                while place < source.count, source.docnos[place] <= last {
                    let document = UInt64(source.docnos[place]) << 32
                    try source.readPositions(place, &positions)
                    guard occurrences.count + positions.count <= count else {
                        throw view.corrupt("terms occur in a document more often than their frequencies say")
                    }
                    for position in positions { occurrences.append(document | UInt64(position)) }
                    place += 1
                }
                guard source.blockLast < last else { break }
                try source.nextBlock()
            }
        }
        occurrences.sort()
    }
}
