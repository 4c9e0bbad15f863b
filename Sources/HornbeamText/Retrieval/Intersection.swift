// SPDX-License-Identifier: Apache-2.0
// Intersects two runs of ascending documents and returns the indexes in both: with a table of the denser run's
// documents, or else by searching or merging. The targets must have room for one more than is found.

/// Ways to intersect two lists.
enum Intersection {
    /// Documents from one index up to another.
    typealias Run = (docnos: UnsafePointer<UInt32>, start: Int, end: Int)

    /// Looks up each document of the rare run in the table of a block of `size` postings. Returns the number of
    /// matches.
    static func look(
        _ rare: Run, in table: PlaceTable, _ size: Int, _ docnos: UnsafeMutablePointer<UInt32>,
        _ rarePlaces: UnsafeMutablePointer<Int32>, _ densePlaces: UnsafeMutablePointer<Int32>
    ) -> Int {
        var count = 0
        for left in rare.start..<rare.end {
            let docno = rare.docnos[left]
            let place = table.place(of: docno)
            docnos[count] = docno
            rarePlaces[count] = Int32(truncatingIfNeeded: left)
            densePlaces[count] = Int32(truncatingIfNeeded: place)
            // No branch: half of the documents are in the table, in no predictable order.
            count &+= Int(truncatingIfNeeded: (UInt64(place) &- UInt64(size)) &>> 63)
        }
        return count
    }

    /// Searches the dense run for each document of the rare one.
    static func gallop(
        _ rare: Run, _ dense: Run, _ docnos: UnsafeMutablePointer<UInt32>, _ rarePlaces: UnsafeMutablePointer<Int32>,
        _ densePlaces: UnsafeMutablePointer<Int32>
    ) -> Int {
        var (right, count) = (dense.start, 0)
        for left in rare.start..<rare.end {
            let docno = rare.docnos[left]
            right = PostingSource.gallop(dense.docnos, from: right, count: dense.end, to: docno)
            guard right < dense.end else { break }
            docnos[count] = docno
            rarePlaces[count] = Int32(truncatingIfNeeded: left)
            densePlaces[count] = Int32(truncatingIfNeeded: right)
            count &+= dense.docnos[right] == docno ? 1 : 0
        }
        return count
    }

    /// Merges both runs.
    static func merge(
        _ rare: Run, _ dense: Run, _ docnos: UnsafeMutablePointer<UInt32>, _ rarePlaces: UnsafeMutablePointer<Int32>,
        _ densePlaces: UnsafeMutablePointer<Int32>
    ) -> Int {
        var (left, right, count) = (rare.start, dense.start, 0)
        while left < rare.end, right < dense.end {
            let (one, other) = (rare.docnos[left], dense.docnos[right])
            docnos[count] = one
            rarePlaces[count] = Int32(truncatingIfNeeded: left)
            densePlaces[count] = Int32(truncatingIfNeeded: right)
            count &+= one == other ? 1 : 0
            left &+= one <= other ? 1 : 0
            right &+= other <= one ? 1 : 0
        }
        return count
    }
}
