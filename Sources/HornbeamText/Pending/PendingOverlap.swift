// SPDX-License-Identifier: Apache-2.0
// Segments that follow each other in time and are read as one: which documents more than one of them is about. Kept up
// as segments come and are merged, for the cost of what comes and not of all there is.

/// What each of several segments says that others overrule.
struct PendingOverlap: Sendable {
    /// Of each segment, the documents that a later one changes too, ascending: its postings of them count no more.
    private(set) var later: [[UInt32]] = []
    /// Of each segment, the documents that an earlier one changes too: its postings before aren't the first ones.
    private(set) var earlier: [[UInt32]] = []

    init(_ segments: [PendingSegment]) {
        for place in segments.indices { append(segments[place], to: segments[..<place]) }
    }

    /// Whether all that a segment says counts.
    func isNone(_ place: Int) -> Bool { later[place].isEmpty && earlier[place].isEmpty }

    /// A segment comes behind those that there are.
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

    /// The segments from `first` on, the last ones, become one.
    mutating func mergeLast(from first: Int) {
        var known: [UInt32] = []
        for place in first..<earlier.count { known = Self.union(known, earlier[place]) }
        // One of them is about all of these. Which of the others are?
        known.removeAll { docno in !later[..<first].contains { Self.contains($0, docno) } }
        later.removeSubrange(first...)
        earlier.removeSubrange(first...)
        later.append([])
        earlier.append(known)
    }

    /// The documents that both are about, ascending.
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

    /// The first place from `start` on that isn't before `docno`: near ones are found in few steps.
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

    /// Both ascending lists as one.
    static func union(_ left: [UInt32], _ right: [UInt32]) -> [UInt32] {
        guard let last = left.last, let first = right.first else { return left.isEmpty ? right : left }
        if last < first { return left + right }
        var all: [UInt32] = []
        all.reserveCapacity(left.count + right.count)
        var place = 0
        for value in right {
            // What comes before it, at once: `right` is mostly much the shorter one.
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
