// SPDX-License-Identifier: Apache-2.0
// The documents that pass a filter, as a bit set. If they aren't much rarer than the postings that a search reads, a
// look-up costs less than any intersection of two lists.

import HornbeamPages

/// A set of documents. Immutable; owns its memory.
final class DocumentSet {
    private let words: UnsafeMutablePointer<UInt64>
    private let limit: UInt32

    /// Maximum number of documents for each member of a set. A smaller set takes less memory as a list.
    private static let share = 64

    /// Whether `count` documents of `docnoLimit` should be a set.
    static func isWorthwhile(_ count: Int, of docnoLimit: UInt32) -> Bool { count >= Int(docnoLimit) / share }

    /// - Parameter documents: ascending. Documents from the limit on are left out.
    init(_ documents: PostingArrays, docnoLimit: UInt32) {
        limit = docnoLimit
        let size = Int(docnoLimit) / 64 + 1
        words = .allocate(capacity: size)
        words.initialize(repeating: 0, count: size)
        for place in 0..<documents.count where documents.docnos[place] < docnoLimit {
            let docno = documents.docnos[place]
            words[Int(docno &>> 6)] |= 1 &<< UInt64(docno & 63)
        }
    }

    deinit { words.deallocate() }

    @inline(__always)
    func contains(_ docno: UInt32) -> Bool { docno < limit && bit(docno) == 1 }

    @inline(__always)
    private func bit(_ docno: UInt32) -> Int {
        Int(truncatingIfNeeded: words[Int(docno &>> 6)] &>> UInt64(docno & 63) & 1)
    }

    /// Writes the documents from index `start` up to `end` that the set has, and their indexes. Returns their number.
    /// The documents ascend. There must be room for one more than the set has.
    func keep(
        _ documents: UnsafePointer<UInt32>, _ start: Int, _ end: Int, to docnos: UnsafeMutablePointer<UInt32>,
        _ places: UnsafeMutablePointer<Int32>
    ) -> Int {
        var (count, inside) = (0, end)
        // A document that isn't in the index is detected when its length is read. So the first such document is passed
        // on.
        while inside > start, documents[inside &- 1] >= limit { inside &-= 1 }
        for place in start..<max(start, inside) {
            let docno = documents[place]
            // No branch, since it couldn't be predicted.
            docnos[count] = docno
            places[count] = Int32(truncatingIfNeeded: place)
            count &+= bit(docno)
        }
        guard inside < end else { return count }
        docnos[count] = documents[inside]
        places[count] = Int32(truncatingIfNeeded: inside)
        return count &+ 1
    }

    /// Of the first `count` documents, writes the ones in the set and their frequencies. Returns their number. The
    /// documents ascend. There must be room for one more than the set has.
    @inline(__always)
    func keep(
        _ documents: UnsafePointer<UInt32>, _ frequencies: UnsafePointer<UInt32>, count: Int,
        to docnos: UnsafeMutablePointer<UInt32>, _ kept: UnsafeMutablePointer<UInt32>
    ) -> Int {
        var (found, inside) = (0, count)
        while inside > 0, documents[inside &- 1] >= limit { inside &-= 1 }
        for place in 0..<inside {
            let docno = documents[place]
            docnos[found] = docno
            kept[found] = frequencies[place]
            found &+= bit(docno)
        }
        guard inside < count else { return found }
        docnos[found] = documents[inside]
        kept[found] = frequencies[inside]
        return found &+ 1
    }
}
