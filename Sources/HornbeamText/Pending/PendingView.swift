// SPDX-License-Identifier: Apache-2.0
// The pending records of one snapshot, as a search reads them: for each term the postings that the records add to the
// stored ones, and the stored documents whose postings don't count any more. While a batch is being folded, the stored
// terms up to the watermark already include it. For them only the records behind the batch are pending.

import HornbeamPages
import Synchronization

/// The range of records that a snapshot sees, with the identities that distinguish it from another history.
struct PendingBounds: Equatable, Sendable {
    /// The first sequence that is not completely folded.
    var start: UInt64 = 0
    /// Identity of the record before it.
    var startIdentity: UInt64 = 0
    /// The end of the batch that is being folded. Nil if there is none.
    var foldEnd: UInt64?
    /// The sequence behind the last record.
    var end: UInt64 = 0
    /// Identity of the last record.
    var identity: UInt64 = 0

    var isEmpty: Bool { end <= start }

    /// Whether both bounds have the same state of folding, and these have fewer records.
    func differsInEnd(from other: PendingBounds) -> Bool {
        start == other.start && startIdentity == other.startIdentity && foldEnd == other.foldEnd && end < other.end
    }
}

/// Immutable except for cached answers. Any number of searches can share it.
final class PendingView: Sendable {
    let bounds: PendingBounds
    /// All records.
    let whole: PendingPart
    /// The records behind the batch that is being folded. All records if there is no batch.
    let later: PendingPart
    /// The records of the batch that is being folded. Empty if there is none.
    let batch: PendingPart

    /// - Parameter segments: of the bounds' records; none of them crosses the batch's end.
    convenience init(_ bounds: PendingBounds, _ segments: [PendingSegment]) {
        let whole = PendingPart(segments)
        guard let end = bounds.foldEnd else {
            self.init(bounds, whole, later: whole, batch: .none)
            return
        }
        let first = segments.firstIndex { $0.start >= end } ?? segments.count
        let batch = first == segments.count ? whole : PendingPart(Array(segments[..<first]))
        self.init(bounds, whole, later: PendingPart(Array(segments[first...])), batch: batch)
    }

    private init(_ bounds: PendingBounds, _ whole: PendingPart, later: PendingPart, batch: PendingPart) {
        (self.bounds, self.whole, self.later, self.batch) = (bounds, whole, later, batch)
    }

    /// Returns the view of `bounds`, which extend the bounds of this view, with the added records in `segment`.
    /// Segments are merged while the one before is at most twice as large as those behind it. The size of a merge is
    /// limited, because a commit may have to wait for it.
    func appending(_ segment: PendingSegment, _ bounds: PendingBounds) -> PendingView {
        let (all, own) = (whole.segments.count, later.segments.count)
        var (first, weight) = (all, segment.weight)
        while first > all - own {
            let more = whole.segments[first - 1].weight
            guard more <= 2 * weight, weight + more <= Self.mergeLimit else { break }
            first -= 1
            weight += more
        }
        let merged = PendingSegment.merging(Array(whole.segments[first...]) + [segment])
        func extended(_ part: PendingPart) -> PendingPart {
            let count = merged == nil ? 0 : all - first
            return part.appending(segment, mergingLast: count, to: merged ?? segment)
        }
        let newWhole = extended(whole)
        return PendingView(bounds, newWhole, later: later === whole ? newWhole : extended(later), batch: batch)
    }

    /// Maximum weight of a segment that is made by a merge.
    private static let mergeLimit = 1 << 16

    static let empty = PendingView(PendingBounds(), [])
}

/// Consecutive segments, read as one.
final class PendingPart: Sendable {
    let segments: [PendingSegment]
    private let overlap: PendingOverlap
    private let known = Mutex(KnownPostings())
    static let none = PendingPart([])

    init(_ segments: [PendingSegment]) { (self.segments, overlap) = (segments, PendingOverlap(segments)) }

    private init(_ segments: [PendingSegment], _ overlap: PendingOverlap) {
        (self.segments, self.overlap) = (segments, overlap)
    }

    /// Returns the part with `segment` added. The new segment and the `count` segments before it are replaced by
    /// `merged`.
    func appending(_ segment: PendingSegment, mergingLast count: Int, to merged: PendingSegment) -> PendingPart {
        var overlap = overlap
        overlap.append(segment, to: segments[...])
        let first = segments.count - count
        if count > 0 { overlap.mergeLast(from: first) }
        return PendingPart(segments[..<first] + [merged], overlap)
    }

    /// Whether a document has sections in its new state.
    var hasSections: Bool { segments.contains { $0.hasSections } }

    /// Whether the rows of new documents from `docno` on are above `row` and ascend with the document numbers.
    func addsAscendingRows(after row: UInt64?, from docno: UInt32) -> Bool {
        var last = row
        for segment in segments {
            let (range, ascend) = segment.addedRows(from: docno)
            guard ascend else { return false }
            guard let rows = range else { continue }
            if let last, rows.lowerBound <= last { return false }
            last = rows.upperBound
        }
        return true
    }

    /// Returns the state of a document, or nil if no record changes it. `oldLength` is the length before the newest
    /// segment that changes it.
    func document(_ docno: UInt32) -> PendingDocument? {
        for segment in segments.reversed() {
            if let document = segment.document(docno) { return document }
        }
        return nil
    }

    /// Returns the state of a row's document: preferably an existing one, else a removed one. Returns nil if no record
    /// is about the row.
    func document(ofRow row: UInt64) -> PendingDocument? {
        for segment in segments.reversed() {
            if let document = segment.document(ofRow: row) { return document }
        }
        return nil
    }

    /// Returns the segments that have a term, the oldest first, and its number in each.
    func places(of term: Bytes) -> [(segment: Int, term: Int)] {
        var places: [(segment: Int, term: Int)] = []
        for (place, segment) in segments.enumerated() {
            let found = segment.lists.terms.find(term)
            if found.isThere { places.append((place, found.place)) }
        }
        return places
    }

    /// Returns the changes of a term by the records, and caches them. Returns nil if no record names the term.
    func postings(of term: Bytes) -> PendingPostings? {
        if segments.isEmpty { return nil }
        let key = [UInt8](term)
        // Searching each segment takes longer, and frequent words are asked for again and again.
        if let found = known.withLock({ $0.find(key) }) { return found }
        let places = places(of: term)
        if places.isEmpty { return nil }
        let postings = postings(at: places)
        known.withLock { $0.add(postings, of: key) }
        return postings
    }

    func postings(at places: [(segment: Int, term: Int)]) -> PendingPostings {
        PendingPostings(gathered(places), segments)
    }

    /// Whether a document certainly holds the term now, judged without reading documents.
    func surelyAdds(_ places: [(segment: Int, term: Int)]) -> Bool {
        places.contains { overlap.later[$0.segment].isEmpty && !segments[$0.segment].lists.added($0.term).isEmpty }
    }

    func gathered(_ places: [(segment: Int, term: Int)]) -> GatheredPostings {
        var gathered = GatheredPostings()
        for (place, term) in places { gathered.add(segments[place].lists, at: place, term: term, overlap) }
        gathered.sort()
        return gathered
    }

    /// Returns a cursor over the terms of the records, ascending.
    func terms() -> PendingTermCursor { PendingTermCursor(segments) }
}

/// A cache of terms that were asked for, in two generations. When the recent one is full, it replaces the older one.
struct KnownPostings {
    private var recent: [[UInt8]: PendingPostings] = [:]
    private var older: [[UInt8]: PendingPostings] = [:]
    private static let limit = 2048

    mutating func find(_ term: [UInt8]) -> PendingPostings? {
        if let found = recent[term] { return found }
        guard let found = older[term] else { return nil }
        add(found, of: term)
        return found
    }

    mutating func add(_ postings: PendingPostings, of term: [UInt8]) {
        if recent.count >= Self.limit { (recent, older) = ([:], recent) }
        recent[term] = postings
    }
}
