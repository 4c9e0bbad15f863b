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
    init(_ bounds: PendingBounds, _ segments: [PendingSegment]) {
        self.bounds = bounds
        whole = PendingPart(segments)
        if let end = bounds.foldEnd {
            let first = segments.firstIndex { $0.start >= end } ?? segments.count
            later = PendingPart(Array(segments[first...]))
            batch = first == segments.count ? whole : PendingPart(Array(segments[..<first]))
        } else {
            (later, batch) = (whole, PendingPart.none)
        }
    }

    static let empty = PendingView(PendingBounds(), [])
}

/// Segments that follow each other, read as one.
final class PendingPart: Sendable {
    let segments: [PendingSegment]
    /// Documents whose stored postings count no more: changed, or gone. Ascending.
    let superseded: [UInt32]
    private let overlap: PendingOverlap
    /// Terms that were asked for.
    private let known = Mutex<[[UInt8]: PendingPostings]>([:])
    private static let knownLimit = 4096
    static let none = PendingPart([])

    init(_ segments: [PendingSegment]) {
        self.segments = segments
        let overlap = PendingOverlap(segments)
        self.overlap = overlap
        var superseded: [UInt32] = []
        for (place, segment) in segments.enumerated() {
            var skip = 0
            let earlier = overlap.earlier[place]
            for document in segment.documents where document.isSuperseded {
                while skip < earlier.count, earlier[skip] < document.docno { skip += 1 }
                if skip < earlier.count, earlier[skip] == document.docno { continue }
                superseded.append(document.docno)
            }
        }
        if segments.count > 1 { superseded.sort() }
        self.superseded = superseded
    }

    var isEmpty: Bool { segments.isEmpty }

    /// Whether a document now has sections.
    var hasSections: Bool { segments.contains { $0.hasSections } }

    /// Whether the rows of new documents ascend with their numbers, from a row on.
    func addsAscendingRows(after row: UInt64?) -> Bool {
        var last = row
        for segment in segments {
            guard segment.addedRowsAscend else { return false }
            guard let rows = segment.addedRows else { continue }
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

    /// How often a document that records are about holds a term; nil if none is.
    func frequency(of term: Bytes, in docno: UInt32) -> UInt32? {
        for segment in segments.reversed() where segment.document(docno) != nil {
            let (place, isThere) = segment.lists.terms.find(term)
            return isThere ? segment.lists.frequency(place, docno) : 0
        }
        return nil
    }

    /// What the records say of a term.
    func postings(of term: Bytes) -> PendingPostings {
        if segments.isEmpty { return .none }
        let key = [UInt8](term)
        if let found = known.withLock({ $0[key] }) { return found }
        var places: [(segment: Int, term: Int)] = []
        for (place, segment) in segments.enumerated() {
            let found = segment.lists.terms.find(term)
            if found.isThere { places.append((place, found.place)) }
        }
        let postings = places.isEmpty ? .none : gather(places)
        known.withLock { (known) in
            if known.count >= Self.knownLimit { known.removeAll() }
            known[key] = postings
        }
        return postings
    }

    /// The same of a term that a cursor over `segments` stands on.
    private func gather(_ places: [(segment: Int, term: Int)]) -> PendingPostings {
        PendingPostings(gathered(places), segments)
    }

    func gathered(_ places: [(segment: Int, term: Int)]) -> GatheredPostings {
        var gathered = GatheredPostings()
        for (place, term) in places { gathered.add(segments[place], at: place, term: term, overlap) }
        gathered.sort()
        return gathered
    }

    /// The terms that the records speak of, ascending.
    func terms() -> PendingTermCursor { PendingTermCursor(segments) }
}

/// A term's postings from pending records, and how many stored ones they take away.
final class PendingPostings: Sendable {
    /// Ascending.
    let docnos: [UInt32]
    let frequencies: [UInt32]
    /// Tokens of each posting's document.
    let lengths: [UInt32]
    /// Of each 128 postings, the largest frequency and the smallest length.
    let blockBounds: [(frequency: UInt32, length: UInt32)]
    /// Occurrences in all these documents.
    let occurrences: UInt64
    /// Stored documents that held the term and are changed or gone: how many, and how often they held it.
    let removedDocuments: UInt64
    let removedOccurrences: UInt64
    private let sources: [UInt64]
    private let segments: [PendingSegment]

    static let blockSize = 128
    static let none = PendingPostings(GatheredPostings(), [])

    init(_ gathered: GatheredPostings, _ segments: [PendingSegment]) {
        let (bounds, sum) = Self.bounds(gathered)
        docnos = gathered.docnos
        frequencies = gathered.frequencies
        lengths = gathered.lengths
        sources = gathered.sources
        self.segments = segments
        blockBounds = bounds
        occurrences = sum
        removedDocuments = UInt64(gathered.removedDocnos.count)
        removedOccurrences = Self.sum(gathered.removedFrequencies)
    }

    private static func bounds(_ gathered: GatheredPostings) -> ([(frequency: UInt32, length: UInt32)], UInt64) {
        let count = gathered.docnos.count
        var bounds: [(frequency: UInt32, length: UInt32)] = []
        bounds.reserveCapacity((count + blockSize - 1) / blockSize)
        var occurrences: UInt64 = 0
        var start = 0
        while start < count {
            var bound: (frequency: UInt32, length: UInt32) = (0, .max)
            for place in start..<min(start + blockSize, count) {
                bound.frequency = max(bound.frequency, gathered.frequencies[place])
                bound.length = min(bound.length, gathered.lengths[place])
                occurrences &+= UInt64(gathered.frequencies[place])
            }
            bounds.append(bound)
            start += blockSize
        }
        return (bounds, occurrences)
    }

    private static func sum(_ frequencies: [UInt32]) -> UInt64 {
        var sum: UInt64 = 0
        for frequency in frequencies { sum &+= UInt64(frequency) }
        return sum
    }

    /// Appends the positions of the posting at `place`, ascending.
    func appendPositions(of place: Int, to positions: inout [UInt32]) {
        let source = sources[place]
        let lists = segments[Int(source >> 32)].lists
        lists.positions.withBytes { bytes in
            var reader = ByteReader(Bytes(rebasing: bytes[lists.positionRange(Int(source & 0xFFFF_FFFF))]))
            var next: UInt32 = 0
            // They were read once already: as many as there are, none too large.
            while let delta = reader.varint32() {
                positions.append(next &+ delta)
                next = next &+ delta &+ 1
            }
        }
    }
}
