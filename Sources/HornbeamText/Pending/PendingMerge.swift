// SPDX-License-Identifier: Apache-2.0
// Merges segments that follow each other in time into one. If several of them change a document, the oldest says what
// it was before and the newest what it is now. What the others say of it is passed over.

import HornbeamPages

extension PendingSegment {
    /// Merges segments that follow each other into one. Returns nil if it would be too large for memory.
    static func merging(_ segments: [PendingSegment]) -> PendingSegment? {
        guard let first = segments.first, let last = segments.last else { return nil }
        if segments.count == 1 { return first }
        var capacity = PendingLists.Capacity()
        for segment in segments {
            let more = segment.lists.capacity
            capacity.terms += more.terms
            capacity.textSize += more.textSize
            capacity.added += more.added
            capacity.positionSize += more.positionSize
            capacity.removed += more.removed
        }
        guard capacity.isPossible else { return nil }
        let lists = withExtendedLifetime(segments) { mergedLists(segments, capacity) }
        return PendingSegment(
            start: first.start, end: last.end, documents: mergedDocuments(segments), lists: lists)
    }

    private static func mergedLists(_ segments: [PendingSegment], _ capacity: PendingLists.Capacity) -> PendingLists {
        let lists = segments.map(\.lists)
        let overlap = PendingOverlap(segments)
        // Where all documents of a segment are behind those of the one before, so are their postings.
        let areInOrder = zip(segments, segments.dropFirst()).allSatisfy { before, after in
            guard let last = before.documents.last, let first = after.documents.first else { return true }
            return last.docno < first.docno
        }
        var writer = PendingListsWriter(capacity)
        var gathered = GatheredPostings()
        var cursor = PendingTermCursor(segments)
        while cursor.advance() {
            if areInOrder || cursor.current.count == 1 && overlap.isNone(cursor.current[0].segment) {
                for (place, term) in cursor.current {
                    let source = lists[place]
                    writer.add(source.added(term), removed: source.removed(term), of: source)
                }
            } else {
                gathered.removeAll()
                for (place, term) in cursor.current { gathered.add(lists[place], at: place, term: term, overlap) }
                gathered.sort()
                write(gathered, lists, to: &writer)
            }
            if writer.isEmpty { continue }
            let (place, term) = cursor.current[0]
            let terms = lists[place].terms
            writer.close(terms.text(term), head: terms.heads[term])
        }
        return writer.finish()
    }

    private static func write(
        _ gathered: GatheredPostings, _ lists: [PendingLists], to writer: inout PendingListsWriter
    ) {
        for source in gathered.sources {
            let from = lists[Int(source >> 32)]
            let posting = Int(source & 0xFFFF_FFFF)
            writer.add(
                from.addedDocnos[posting], frequency: from.addedFrequencies[posting],
                length: from.addedLengths[posting], positions: from.positions(posting..<posting &+ 1))
        }
        for place in gathered.removedDocnos.indices {
            writer.addRemoved(
                gathered.removedDocnos[place], frequency: gathered.removedFrequencies[place],
                length: gathered.removedLengths[place])
        }
    }

    /// Returns the documents from `docno` on, ascending. Each has its first state before and its last state now.
    static func mergedDocuments(_ segments: [PendingSegment], from docno: UInt32 = 0) -> [PendingDocument] {
        var merge = DocumentMerge(segments, from: docno)
        var merged: [PendingDocument] = []
        merged.reserveCapacity(merge.remaining)
        while let document = merge.next() { merged.append(document) }
        return merged
    }
}

/// Goes through the documents of segments that follow each other in time, ascending: of each the first state before and
/// the last state now. There are few segments, so the least of their next documents is looked for each time.
struct DocumentMerge {
    private let documents: [[PendingDocument]]
    private var places: [Int]
    /// The number of each segment's next document; `end` behind its last.
    private var heads: [UInt64]
    private static let end = UInt64.max

    init(_ segments: [PendingSegment], from docno: UInt32 = 0) {
        documents = segments.map(\.documents)
        places = segments.map { docno == 0 ? 0 : $0.place(of: docno) }
        heads = []
        for number in documents.indices { heads.append(head(of: number)) }
    }

    /// Maximum number of documents that are left. There may be fewer: several segments may have the same document.
    var remaining: Int { zip(documents, places).reduce(0) { $0 + $1.0.count - $1.1 } }

    var isAtEnd: Bool { heads.allSatisfy { $0 == Self.end } }

    private func head(of number: Int) -> UInt64 {
        places[number] < documents[number].count ? UInt64(documents[number][places[number]].docno) : Self.end
    }

    /// Returns the next document, or nil behind the last.
    mutating func next() -> PendingDocument? {
        let least = heads.min() ?? Self.end
        guard least < Self.end else { return nil }
        var found: PendingDocument?
        for number in heads.indices where heads[number] == least {
            let before = found
            found = documents[number][places[number]]
            if let before { found?.oldLength = before.oldLength }
            places[number] += 1
            heads[number] = head(of: number)
        }
        return found
    }
}
