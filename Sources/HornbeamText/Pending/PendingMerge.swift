// SPDX-License-Identifier: Apache-2.0
// Several segments, one after the other in time, read as one. Of a document that more than one of them changes, the
// oldest says what it was before and the newest what it is now; what those between say of either is passed over.

import HornbeamPages

/// What each of several segments says that others overrule.
struct PendingOverlap: Sendable {
    /// Of each segment, the documents that a later one changes too, ascending: its postings of them count no more.
    private(set) var later: [[UInt32]]
    /// Of each segment, the documents that an earlier one changes too: its postings before aren't the first ones.
    private(set) var earlier: [[UInt32]]

    init(_ segments: [PendingSegment]) {
        later = segments.map { _ in [] }
        earlier = later
        var seen: [UInt32] = []
        for place in segments.indices.reversed() { later[place] = Self.take(segments[place], &seen, place > 0) }
        seen = []
        for place in segments.indices {
            earlier[place] = Self.take(segments[place], &seen, place + 1 < segments.count)
        }
    }

    /// The documents of the segment that were seen; then it is seen itself.
    private static func take(_ segment: PendingSegment, _ seen: inout [UInt32], _ goesOn: Bool) -> [UInt32] {
        let documents = segment.documents
        guard let first = documents.first, let last = documents.last else { return [] }
        if let oldest = seen.first, let newest = seen.last, newest >= first.docno, oldest <= last.docno {
            var both: [UInt32] = []
            var all: [UInt32] = []
            all.reserveCapacity(seen.count + documents.count)
            var place = 0
            for document in documents {
                while place < seen.count, seen[place] < document.docno {
                    all.append(seen[place])
                    place += 1
                }
                if place < seen.count, seen[place] == document.docno {
                    both.append(document.docno)
                    place += 1
                }
                all.append(document.docno)
            }
            all.append(contentsOf: seen[place...])
            seen = all
            return both
        }
        guard goesOn else { return [] }
        let own = documents.map(\.docno)
        seen = seen.first.map { $0 > last.docno } ?? false ? own + seen : seen + own
        return []
    }
}

/// The postings of one term from several segments.
struct GatheredPostings {
    var docnos: [UInt32] = []
    var frequencies: [UInt32] = []
    var lengths: [UInt32] = []
    /// Where each posting stands: place of its segment in the upper half, of the posting in the lower.
    var sources: [UInt64] = []
    var removedDocnos: [UInt32] = []
    var removedFrequencies: [UInt32] = []

    mutating func removeAll() {
        docnos.removeAll(keepingCapacity: true)
        frequencies.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        sources.removeAll(keepingCapacity: true)
        removedDocnos.removeAll(keepingCapacity: true)
        removedFrequencies.removeAll(keepingCapacity: true)
    }

    /// Adds what the segment at `place`, later than those added before, has under its term number `term`.
    mutating func add(_ segment: PendingSegment, at place: Int, term: Int, _ overlap: PendingOverlap) {
        let lists = segment.lists
        let source = UInt64(place) << 32
        let hidden = overlap.later[place]
        let added = lists.added(term)
        if hidden.isEmpty {
            docnos.append(contentsOf: lists.addedDocnos[added])
            frequencies.append(contentsOf: lists.addedFrequencies[added])
            lengths.append(contentsOf: lists.addedLengths[added])
            for posting in added { sources.append(source | UInt64(posting)) }
        } else {
            var skip = 0
            for posting in added where !Self.contains(hidden, lists.addedDocnos[posting], from: &skip) {
                docnos.append(lists.addedDocnos[posting])
                frequencies.append(lists.addedFrequencies[posting])
                lengths.append(lists.addedLengths[posting])
                sources.append(source | UInt64(posting))
            }
        }
        let removed = lists.removed(term)
        guard !removed.isEmpty else { return }
        let known = overlap.earlier[place]
        var skip = 0
        for posting in removed where !Self.contains(known, lists.removedDocnos[posting], from: &skip) {
            removedDocnos.append(lists.removedDocnos[posting])
            removedFrequencies.append(lists.removedFrequencies[posting])
        }
    }

    /// Whether an ascending list has the value; for ascending values.
    @inline(__always)
    private static func contains(_ list: [UInt32], _ value: UInt32, from place: inout Int) -> Bool {
        while place < list.count, list[place] < value { place += 1 }
        return place < list.count && list[place] == value
    }

    /// Brings all into the order of the documents. None is there twice.
    mutating func sort() {
        if let order = Self.order(docnos) {
            docnos = order.map { docnos[$0] }
            frequencies = order.map { frequencies[$0] }
            lengths = order.map { lengths[$0] }
            sources = order.map { sources[$0] }
        }
        if let order = Self.order(removedDocnos) {
            removedDocnos = order.map { removedDocnos[$0] }
            removedFrequencies = order.map { removedFrequencies[$0] }
        }
    }

    /// Nil if they ascend.
    private static func order(_ docnos: [UInt32]) -> [Int]? {
        var ascends = true
        for place in docnos.indices.dropFirst() where docnos[place - 1] >= docnos[place] {
            ascends = false
            break
        }
        if ascends { return nil }
        var keys = docnos.enumerated().map { UInt64($0.element) << 32 | UInt64($0.offset) }
        keys.sort()
        return keys.map { Int($0 & 0xFFFF_FFFF) }
    }
}

/// Walks through the terms of several segments in the order of their bytes.
struct PendingTermCursor {
    private let segments: [PendingSegment]
    private var places: [Int]
    /// Which segments have the current term, and as which; empty at the end. The oldest first.
    private(set) var current: [(segment: Int, term: Int)] = []

    /// Before the first term; `advance` goes to it.
    init(_ segments: [PendingSegment]) {
        self.segments = segments
        places = segments.map { _ in 0 }
    }

    /// Before the first term that isn't before `term`.
    mutating func seek(_ term: Bytes) {
        for (place, segment) in segments.enumerated() { places[place] = segment.lists.terms.find(term).place }
        current.removeAll(keepingCapacity: true)
    }

    /// Goes to the next term; false at the end.
    mutating func advance() -> Bool {
        current.removeAll(keepingCapacity: true)
        for (place, segment) in segments.enumerated() where places[place] < segment.lists.terms.count {
            guard let first = current.first else {
                current.append((place, places[place]))
                continue
            }
            let order = segment.lists.terms.order(places[place], segments[first.segment].lists.terms, first.term)
            if order < 0 { current.removeAll(keepingCapacity: true) }
            if order <= 0 { current.append((place, places[place])) }
        }
        for (segment, _) in current { places[segment] += 1 }
        return !current.isEmpty
    }

    /// The current term's bytes, for the length of `body`. Only while there is one.
    func withText<Result, Failure: Error>(_ body: (Bytes) throws(Failure) -> Result) throws(Failure) -> Result {
        try segments[current[0].segment].lists.terms.withText(current[0].term, body)
    }
}

extension PendingSegment {
    /// One segment of several that follow each other. Nil if it would be too large for memory.
    static func merging(_ segments: [PendingSegment]) -> PendingSegment? {
        guard let first = segments.first, let last = segments.last else { return nil }
        if segments.count == 1 { return first }
        let overlap = PendingOverlap(segments)
        var lists = PendingLists()
        let postings = segments.reduce(0) { $0 + $1.lists.addedDocnos.count }
        lists.addedDocnos.reserveCapacity(postings)
        lists.addedFrequencies.reserveCapacity(postings)
        lists.addedLengths.reserveCapacity(postings)
        lists.positionStarts.reserveCapacity(postings)
        lists.positions.reserveCapacity(segments.reduce(0) { $0 + $1.lists.positions.count })
        var cursor = PendingTermCursor(segments)
        var gathered = GatheredPostings()
        while cursor.advance() {
            gathered.removeAll()
            for (place, term) in cursor.current { gathered.add(segments[place], at: place, term: term, overlap) }
            gathered.sort()
            guard !gathered.docnos.isEmpty || !gathered.removedDocnos.isEmpty else { continue }
            lists.addedDocnos += gathered.docnos
            lists.addedFrequencies += gathered.frequencies
            lists.addedLengths += gathered.lengths
            for source in gathered.sources {
                let other = segments[Int(source >> 32)].lists
                lists.positionStarts.append(UInt32(truncatingIfNeeded: lists.positions.count))
                lists.positions += other.positions[other.positionRange(Int(source & 0xFFFF_FFFF))]
            }
            lists.removedDocnos += gathered.removedDocnos
            lists.removedFrequencies += gathered.removedFrequencies
            lists.addedEnds.append(UInt32(truncatingIfNeeded: lists.addedDocnos.count))
            lists.removedEnds.append(UInt32(truncatingIfNeeded: lists.removedDocnos.count))
            guard cursor.withText({ lists.terms.append($0) }) else { return nil }
        }
        guard lists.positions.count <= Int(UInt32.max), lists.addedDocnos.count <= Int(UInt32.max) else { return nil }
        return PendingSegment(
            start: first.start, end: last.end, documents: mergedDocuments(segments), lists: lists)
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
