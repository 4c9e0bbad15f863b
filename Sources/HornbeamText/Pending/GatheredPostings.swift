// SPDX-License-Identifier: Apache-2.0
// The postings of one term from several segments, and a cursor over the terms of all of them.

import HornbeamPages

/// The postings of one term from several segments.
struct GatheredPostings {
    var docnos: [UInt32] = []
    var frequencies: [UInt32] = []
    var lengths: [UInt32] = []
    /// The source of each posting: its segment in the upper half, its number there in the lower.
    var sources: [UInt64] = []
    var removedDocnos: [UInt32] = []
    var removedFrequencies: [UInt32] = []
    var removedLengths: [UInt32] = []

    mutating func removeAll() {
        docnos.removeAll(keepingCapacity: true)
        frequencies.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        sources.removeAll(keepingCapacity: true)
        removedDocnos.removeAll(keepingCapacity: true)
        removedFrequencies.removeAll(keepingCapacity: true)
        removedLengths.removeAll(keepingCapacity: true)
    }

    /// Appends the positions, ascending, of the posting with this source.
    static func appendPositions(_ source: UInt64, _ segments: [PendingSegment], to positions: inout [UInt32]) {
        let posting = Int(source & 0xFFFF_FFFF)
        withExtendedLifetime(segments) {
            var reader = ByteReader(segments[Int(source >> 32)].lists.positions(posting..<posting + 1))
            var next: UInt32 = 0
            // They were checked before: their number is right and none is too large.
            while let delta = reader.varint32() {
                positions.append(next &+ delta)
                next = next &+ delta &+ 1
            }
        }
    }

    /// Adds the postings of a term from the segment with index `place`, which must be later than those added before.
    /// `term` is the term's number in the segment.
    mutating func add(_ lists: PendingLists, at place: Int, term: Int, _ overlap: PendingOverlap) {
        let source = UInt64(place) << 32
        let added = lists.added(term)
        if overlap.later[place].isEmpty {
            let (start, count) = (added.lowerBound, added.count)
            docnos.append(contentsOf: UnsafeBufferPointer(start: lists.addedDocnos + start, count: count))
            frequencies.append(contentsOf: UnsafeBufferPointer(start: lists.addedFrequencies + start, count: count))
            lengths.append(contentsOf: UnsafeBufferPointer(start: lists.addedLengths + start, count: count))
            for posting in added { sources.append(source | UInt64(posting)) }
        } else {
            var search = Ascending(overlap.later[place])
            for posting in added where !search.contains(lists.addedDocnos[posting]) {
                docnos.append(lists.addedDocnos[posting])
                frequencies.append(lists.addedFrequencies[posting])
                lengths.append(lists.addedLengths[posting])
                sources.append(source | UInt64(posting))
            }
        }
        let removed = lists.removed(term)
        guard !removed.isEmpty else { return }
        var search = Ascending(overlap.earlier[place])
        for posting in removed where !search.contains(lists.removedDocnos[posting]) {
            removedDocnos.append(lists.removedDocnos[posting])
            removedFrequencies.append(lists.removedFrequencies[posting])
            removedLengths.append(lists.removedLengths[posting])
        }
    }

    /// Looks up ascending values in an ascending list, which may be much longer than the number of values.
    private struct Ascending {
        private let list: [UInt32]
        private var place = 0

        init(_ list: [UInt32]) { self.list = list }

        mutating func contains(_ value: UInt32) -> Bool {
            var step = 1
            while place + step < list.count, list[place + step] < value {
                place += step
                step *= 2
            }
            var high = min(place + step, list.count)
            while place < high {
                let middle = (place + high) / 2
                if list[middle] < value { place = middle + 1 } else { high = middle }
            }
            return place < list.count && list[place] == value
        }
    }

    /// Sorts all postings by document. No document occurs twice.
    mutating func sort() {
        Self.sort(&docnos, &frequencies, &lengths, &sources)
        var none: [UInt64] = []
        Self.sort(&removedDocnos, &removedFrequencies, &removedLengths, &none)
    }

    /// - Parameter sources: as many as there are documents, or none.
    private static func sort(
        _ docnos: inout [UInt32], _ frequencies: inout [UInt32], _ lengths: inout [UInt32], _ sources: inout [UInt64]
    ) {
        guard docnos.count > few else { return sortFew(&docnos, &frequencies, &lengths, &sources) }
        guard let order = order(docnos) else { return }
        docnos = order.map { docnos[$0] }
        frequencies = order.map { frequencies[$0] }
        lengths = order.map { lengths[$0] }
        if !sources.isEmpty { sources = order.map { sources[$0] } }
    }

    /// Maximum number of postings that are sorted by insertion, without memory for their order. Most terms of a segment
    /// have fewer.
    private static let few = 16

    private static func sortFew(
        _ docnos: inout [UInt32], _ frequencies: inout [UInt32], _ lengths: inout [UInt32], _ sources: inout [UInt64]
    ) {
        for next in docnos.indices.dropFirst() {
            var place = next
            while place > 0, docnos[place - 1] > docnos[place] {
                docnos.swapAt(place - 1, place)
                frequencies.swapAt(place - 1, place)
                lengths.swapAt(place - 1, place)
                if !sources.isEmpty { sources.swapAt(place - 1, place) }
                place -= 1
            }
        }
    }

    /// Returns the indexes in the order of their documents, or nil if the documents are already ascending. Uses a merge
    /// sort of the ascending runs. The postings of a term in one segment ascend and there are few segments, so there
    /// are few runs.
    private static func order(_ docnos: [UInt32]) -> [Int]? {
        var starts = [0]
        for place in docnos.indices.dropFirst() where docnos[place - 1] >= docnos[place] { starts.append(place) }
        if starts.count == 1 { return nil }
        var keys = docnos.enumerated().map { UInt64($0.element) << 32 | UInt64($0.offset) }
        var other = keys
        while starts.count > 1 {
            keys.withUnsafeBufferPointer { from in
                other.withUnsafeMutableBufferPointer { to in
                    for run in stride(from: 0, to: starts.count, by: 2) {
                        let middle = run + 1 < starts.count ? starts[run + 1] : from.count
                        let end = run + 2 < starts.count ? starts[run + 2] : from.count
                        merge(from, starts[run], middle, end, to)
                    }
                }
            }
            swap(&keys, &other)
            starts = stride(from: 0, to: starts.count, by: 2).map { starts[$0] }
        }
        return keys.map { Int($0 & 0xFFFF_FFFF) }
    }

    /// Merges the ascending keys from `start` and from `middle` up to `end`.
    @inline(__always)
    private static func merge(
        _ from: UnsafeBufferPointer<UInt64>, _ start: Int, _ middle: Int, _ end: Int,
        _ to: UnsafeMutableBufferPointer<UInt64>
    ) {
        var (left, right, place) = (start, middle, start)
        while left < middle, right < end {
            let takesRight = from[right] < from[left]
            to[place] = from[takesRight ? right : left]
            left &+= takesRight ? 0 : 1
            right &+= takesRight ? 1 : 0
            place &+= 1
        }
        while left < middle {
            to[place] = from[left]
            (left, place) = (left &+ 1, place &+ 1)
        }
        while right < end {
            to[place] = from[right]
            (right, place) = (right &+ 1, place &+ 1)
        }
    }
}

/// A cursor over the terms of several segments, in byte order.
struct PendingTermCursor {
    /// Keeps the memory that `terms` reads.
    private let segments: [PendingSegment]
    private let terms: [PendingTerms]
    private var places: [Int]
    /// The segments that have the current term, the oldest first, and the term's number in each. Empty at the end.
    private(set) var current: [(segment: Int, term: Int)] = []

    /// Starts before the first term. Call `advance` to move to it.
    init(_ segments: [PendingSegment]) {
        self.segments = segments
        terms = segments.map(\.lists.terms)
        places = segments.map { _ in 0 }
    }

    /// Moves to just before the first term that isn't below `term`.
    mutating func seek(_ term: Bytes) {
        for place in terms.indices { places[place] = terms[place].find(term).place }
        current.removeAll(keepingCapacity: true)
    }

    /// Moves to the next term. Returns false at the end.
    mutating func advance() -> Bool {
        current.removeAll(keepingCapacity: true)
        for place in terms.indices where places[place] < terms[place].count {
            guard let first = current.first else {
                current.append((place, places[place]))
                continue
            }
            let order = terms[place].order(places[place], terms[first.segment], first.term)
            if order < 0 { current.removeAll(keepingCapacity: true) }
            if order <= 0 { current.append((place, places[place])) }
        }
        for (segment, _) in current { places[segment] += 1 }
        return !current.isEmpty
    }

    /// Calls `body` with the current term's bytes, which are valid during the call. There must be a current term.
    func withText<Result, Failure: Error>(_ body: (Bytes) throws(Failure) -> Result) throws(Failure) -> Result {
        let (segment, term) = current[0]
        return try withExtendedLifetime(segments) { () throws(Failure) in try body(terms[segment].text(term)) }
    }
}
