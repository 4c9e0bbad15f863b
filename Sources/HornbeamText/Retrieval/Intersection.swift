// SPDX-License-Identifier: Apache-2.0
// What two runs of ascending documents have in common, and where it stands in each: by the places of the denser one's
// documents where these are known, else by searching or merging. What is written has room for one more than is found.

/// Ways to intersect two lists.
enum Intersection {
    /// Documents from one place up to another.
    typealias Run = (docnos: UnsafePointer<UInt32>, start: Int, end: Int)

    /// Looks for each document of the rare run among those of a block of `size`. How many are there.
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
            // No branch: half of them are there, in no order.
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

    /// Goes through both.
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
