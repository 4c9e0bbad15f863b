// SPDX-License-Identifier: Apache-2.0
// The documents that occur in more than one of a sequence of segments, which are consecutive in time and read as one.
// Updated when a segment is added or segments are merged, at a cost that depends on the new segment and not on all.

/// The parts of each segment that other segments override.
struct PendingOverlap: Sendable {
    /// For each segment, the documents that a later segment also changes, ascending. The segment's new postings of them
    /// don't count.
    private(set) var later: [[UInt32]] = []
    /// For each segment, the documents that an earlier segment also changes. The segment's former postings of them
    /// aren't the first ones.
    private(set) var earlier: [[UInt32]] = []

    init(_ segments: [PendingSegment]) {
        for place in segments.indices { append(segments[place], to: segments[..<place]) }
    }

    /// Whether no other segment overrides a part of this one.
    func isNone(_ place: Int) -> Bool { later[place].isEmpty && earlier[place].isEmpty }

    /// Adds a segment behind the present ones.
    mutating func append(_ segment: PendingSegment, to segments: ArraySlice<PendingSegment>) {
        var known: [UInt32] = []
        for (place, other) in segments.enumerated() {
            let common = Self.common(other.documents, segment.documents)
            if common.isEmpty { continue }
            later[place] = Self.union(later[place], common)
            known = Self.union(known, common)
        }
        later.append([])
        earlier.append(known)
    }

    /// Replaces the segments from `first` on by one segment.
    mutating func mergeLast(from first: Int) {
        var known: [UInt32] = []
        for place in first..<earlier.count { known = Self.union(known, earlier[place]) }
        // The merged segments change all of these documents. Keep those that an earlier segment also changes.
        known.removeAll { docno in !later[..<first].contains { Self.contains($0, docno) } }
        later.removeSubrange(first...)
        earlier.removeSubrange(first...)
        later.append([])
        earlier.append(known)
    }

    /// Returns the documents that both segments change, ascending.
    private static func common(_ left: [PendingDocument], _ right: [PendingDocument]) -> [UInt32] {
        guard let first = left.first, let last = left.last, let other = right.first, let otherLast = right.last,
            first.docno <= otherLast.docno, other.docno <= last.docno
        else { return [] }
        if left.count > right.count { return common(right, left) }
        var found: [UInt32] = []
        var place = 0
        for document in left {
            place = lowerBound(right, document.docno, from: place)
            if place == right.count { break }
            if right[place].docno == document.docno { found.append(document.docno) }
        }
        return found
    }

    /// Returns the first index from `start` on that isn't below `docno`, by exponential search.
    private static func lowerBound(_ documents: [PendingDocument], _ docno: UInt32, from start: Int) -> Int {
        var (low, step) = (start, 1)
        while low + step < documents.count, documents[low + step].docno < docno {
            low += step
            step *= 2
        }
        var high = min(low + step, documents.count)
        while low < high {
            let middle = (low + high) / 2
            if documents[middle].docno < docno { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func contains(_ list: [UInt32], _ docno: UInt32) -> Bool {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < docno { low = middle + 1 } else { high = middle }
        }
        return low < list.count && list[low] == docno
    }

    /// Returns the union of two ascending lists.
    static func union(_ left: [UInt32], _ right: [UInt32]) -> [UInt32] {
        guard let last = left.last, let first = right.first else { return left.isEmpty ? right : left }
        if last < first { return left + right }
        var all: [UInt32] = []
        all.reserveCapacity(left.count + right.count)
        var place = 0
        for value in right {
            // Copies all smaller values at once: `right` is usually much shorter.
            let start = place
            while place < left.count, left[place] < value { place += 1 }
            all.append(contentsOf: left[start..<place])
            if place < left.count, left[place] == value { place += 1 }
            all.append(value)
        }
        all.append(contentsOf: left[place...])
        return all
    }
}
