// SPDX-License-Identifier: Apache-2.0
// Merges segments that are consecutive in time. If several of them change a document, its former state comes from the
// oldest and its new state from the newest. The states between are dropped.

import HornbeamPages

extension PendingSegment {
    /// Merges consecutive segments. Returns nil if the result would be too large for memory.
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
        // If all documents of each segment are greater than those of the segment before, so are their postings.
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

    /// Returns the documents from `docno` on, ascending, each with its first former state and its last new state.
    static func mergedDocuments(_ segments: [PendingSegment], from docno: UInt32 = 0) -> [PendingDocument] {
        var merge = DocumentMerge(segments, from: docno)
        var merged: [PendingDocument] = []
        merged.reserveCapacity(merge.remaining)
        while let document = merge.next() { merged.append(document) }
        return merged
    }
}

/// Goes through the documents of consecutive segments, ascending, each with its first former state and its last new
/// state. There are few segments, so the smallest next document is found by comparing all of them.
struct DocumentMerge {
    private let documents: [[PendingDocument]]
    private var places: [Int]
    /// The number of each segment's next document. `end` behind the last one.
    private var heads: [UInt64]
    private static let end = UInt64.max

    init(_ segments: [PendingSegment], from docno: UInt32 = 0) {
        documents = segments.map(\.documents)
        places = segments.map { docno == 0 ? 0 : $0.place(of: docno) }
        heads = []
        for number in documents.indices { heads.append(head(of: number)) }
    }

    /// Maximum number of remaining documents. There may be fewer, as several segments may have the same document.
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
