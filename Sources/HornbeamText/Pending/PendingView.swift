// SPDX-License-Identifier: Apache-2.0
// The pending records that one snapshot sees, as a search reads them: of each term the postings that the records add
// to the stored ones, and the stored documents whose postings count no more. While a batch is being folded, the stored
// terms up to the watermark have its records already; for them only the records behind the batch are pending.

import HornbeamPages
import Synchronization

/// Which records a snapshot sees, and what tells them from those of another history.
struct PendingBounds: Equatable, Sendable {
    /// The first sequence that is not folded as a whole.
    var start: UInt64 = 0
    /// Identity of the record before it.
    var startIdentity: UInt64 = 0
    /// The end of the batch that is being folded; nil if none is.
    var foldEnd: UInt64?
    /// Behind the last record.
    var end: UInt64 = 0
    /// Identity of the last record.
    var identity: UInt64 = 0

    var isEmpty: Bool { end <= start }

    /// Whether these are bounds of the same state of folding, with fewer records.
    func differsInEnd(from other: PendingBounds) -> Bool {
        start == other.start && startIdentity == other.startIdentity && foldEnd == other.foldEnd && end < other.end
    }
}

/// Immutable but for what it keeps of answers given: any number of searches share it.
final class PendingView: Sendable {
    let bounds: PendingBounds
    /// All records.
    let whole: PendingPart
    /// Those behind the batch that is being folded; all if none is.
    let later: PendingPart
    /// Those of the batch; none if none is being folded.
    let batch: PendingPart

    /// - Parameter segments: of the bounds' records, none of them on both sides of the batch's end.
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

    /// The view of `bounds`, which go on behind those of this view and are otherwise the same, with the records between
    /// in one segment. Segments are merged while the one before is at most twice as large as those behind it, and no
    /// merge takes long: whoever commits may have to do it.
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

    /// No segment of more postings comes of a merge.
    private static let mergeLimit = 1 << 16

    static let empty = PendingView(PendingBounds(), [])
}

/// Segments that follow each other, read as one.
final class PendingPart: Sendable {
    let segments: [PendingSegment]
    private let overlap: PendingOverlap
    private let known = Mutex(KnownPostings())
    static let none = PendingPart([])

    init(_ segments: [PendingSegment]) { (self.segments, overlap) = (segments, PendingOverlap(segments)) }

    private init(_ segments: [PendingSegment], _ overlap: PendingOverlap) {
        (self.segments, self.overlap) = (segments, overlap)
    }

    /// With one more segment, and that and the `count` ones before it in the form of `merged`.
    func appending(_ segment: PendingSegment, mergingLast count: Int, to merged: PendingSegment) -> PendingPart {
        var overlap = overlap
        overlap.append(segment, to: segments[...])
        let first = segments.count - count
        if count > 0 { overlap.mergeLast(from: first) }
        return PendingPart(segments[..<first] + [merged], overlap)
    }

    /// Whether a document now has sections.
    var hasSections: Bool { segments.contains { $0.hasSections } }

    /// Whether the rows of new documents from one on ascend with their numbers, from a row on.
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

    /// The state of a document; nil if no record is about it. `oldLength` is that before the newest segment about it.
    func document(_ docno: UInt32) -> PendingDocument? {
        for segment in segments.reversed() {
            if let document = segment.document(docno) { return document }
        }
        return nil
    }

    /// The state of a row's document: the one that is there, else one that is gone; nil if no record is about the row.
    func document(ofRow row: UInt64) -> PendingDocument? {
        for segment in segments.reversed() {
            if let document = segment.document(ofRow: row) { return document }
        }
        return nil
    }

    /// Which segments speak of a term, and as which of theirs; the oldest first.
    func places(of term: Bytes) -> [(segment: Int, term: Int)] {
        var places: [(segment: Int, term: Int)] = []
        for (place, segment) in segments.enumerated() {
            let found = segment.lists.terms.find(term)
            if found.isThere { places.append((place, found.place)) }
        }
        return places
    }

    /// What the records say of a term, kept for who asks again; nil if none of them names it.
    func postings(of term: Bytes) -> PendingPostings? {
        if segments.isEmpty { return nil }
        let key = [UInt8](term)
        // A look at each segment takes longer, and words that many documents hold are asked for over and over.
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

    /// Whether a document holds the term at these places now, as far as that is told without looking at documents.
    func surelyAdds(_ places: [(segment: Int, term: Int)]) -> Bool {
        places.contains { overlap.later[$0.segment].isEmpty && !segments[$0.segment].lists.added($0.term).isEmpty }
    }

    func gathered(_ places: [(segment: Int, term: Int)]) -> GatheredPostings {
        var gathered = GatheredPostings()
        for (place, term) in places { gathered.add(segments[place].lists, at: place, term: term, overlap) }
        gathered.sort()
        return gathered
    }

    /// The terms that the records speak of, ascending.
    func terms() -> PendingTermCursor { PendingTermCursor(segments) }
}

/// The terms that were asked for: when there are many, those go that were not asked for again since half as many came.
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
