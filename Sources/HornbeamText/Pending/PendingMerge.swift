// SPDX-License-Identifier: Apache-2.0
// Several segments, one after the other in time, become one. Of a document that more than one of them changes, the
// oldest says what it was before and the newest what it is now; what those between say of either is passed over.

import HornbeamPages

extension PendingSegment {
    /// One segment of several that follow each other. Nil if it would be too large for memory.
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

    /// Ascending; of each document the first state before and the last state now.
    static func mergedDocuments(_ segments: [PendingSegment]) -> [PendingDocument] {
        var all: [PendingDocument] = []
        all.reserveCapacity(segments.reduce(0) { $0 + $1.documents.count })
        for segment in segments { all += segment.documents }
        var order = all.indices.map { UInt64(all[$0].docno) << 32 | UInt64($0) }
        order.sort()
        var merged: [PendingDocument] = []
        merged.reserveCapacity(all.count)
        for key in order {
            var document = all[Int(key & 0xFFFF_FFFF)]
            if let last = merged.last, last.docno == document.docno {
                document.oldLength = last.oldLength
                merged[merged.count - 1] = document
            } else {
                merged.append(document)
            }
        }
        return merged
    }
}
