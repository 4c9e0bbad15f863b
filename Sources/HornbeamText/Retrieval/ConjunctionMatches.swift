// SPDX-License-Identifier: Apache-2.0
// The data of a conjunction's lists and of its current documents. Each is in one block of memory, since most
// conjunctions end soon and separate allocations would cost too much.

/// A list of a conjunction, with data of its current block.
struct ConjunctionList {
    let source: UnownedPostings
    var frequencies: UnsafePointer<UInt32>
    /// The indexes of its documents. Nil until they are needed.
    var table: PlaceTable?
    /// Bounds of the contribution of a term of weight 1: in all documents, and in the block that ends with
    /// `boundedLast`.
    var bound = 0.0
    var blockBound = 0.0
    var boundedLast = UInt64.max

    /// The caller must keep the source alive.
    init(_ source: PostingSource) {
        self.source = UnownedPostings(source)
        frequencies = source.frequencies
    }
}

/// Documents that hold all terms. Owns its memory until `end`. Each array has room for `capacity` elements.
struct ConjunctionMatches {
    /// A multiple of four, because estimates are made four at a time.
    let capacity: Int
    let docnos: UnsafeMutablePointer<UInt32>
    /// The indexes of the matches' postings in the block of each list. The arrays of the lists follow each other.
    let places: UnsafeMutablePointer<Int32>
    /// The allowed documents of the leading list, and their indexes.
    let leading: UnsafeMutablePointer<UInt32>
    let leadingPlaces: UnsafeMutablePointer<Int32>
    /// Upper estimates of the matches' scores, and the length terms and frequencies that they are made of.
    let estimates: UnsafeMutablePointer<Float>
    let lengths: UnsafeMutablePointer<Float>
    let counts: UnsafeMutablePointer<Float>
    private let memory: UnsafeMutableRawPointer

    init(capacity size: Int, lists: Int) {
        let capacity = (size + 3) / 4 * 4
        self.capacity = capacity
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 4 * capacity * (6 + lists), alignment: 16)
        self.memory = memory
        func part<Element>(_ number: Int, of type: Element.Type, count: Int = 1) -> UnsafeMutablePointer<Element> {
            (memory + 4 * capacity * number).bindMemory(to: type, capacity: capacity * count)
        }
        (docnos, leading) = (part(0, of: UInt32.self), part(1, of: UInt32.self))
        leadingPlaces = part(2, of: Int32.self)
        (estimates, lengths, counts) = (part(3, of: Float.self), part(4, of: Float.self), part(5, of: Float.self))
        places = part(6, of: Int32.self, count: lists)
        // Elements behind the last match are read, but their results aren't used.
        lengths.initialize(repeating: 1, count: capacity)
        counts.initialize(repeating: 0, count: capacity)
    }

    func end() { memory.deallocate() }
}
