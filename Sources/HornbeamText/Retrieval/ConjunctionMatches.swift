// SPDX-License-Identifier: Apache-2.0
// What a conjunction keeps of its lists, and of the documents that it is looking at: each in one piece of memory, since
// most conjunctions are over before more than a few would have been asked for.

/// A list of a conjunction, and what is known of its current block.
struct ConjunctionList {
    let source: UnownedPostings
    var frequencies: UnsafePointer<UInt32>
    /// The places of its documents, as far as that was asked for.
    var table: PlaceTable?
    /// What a term of weight 1 contributes at most: in all documents, and in the block that ends with `boundedLast`.
    var bound = 0.0
    var blockBound = 0.0
    var boundedLast = UInt64.max

    /// Whoever makes it keeps the source alive.
    init(_ source: PostingSource) {
        self.source = UnownedPostings(source)
        frequencies = source.frequencies
    }
}

/// Documents that hold all terms. Memory of its own, until `end`; each part of it has room for `capacity`.
struct ConjunctionMatches {
    /// A multiple of four: estimates are made for four at a time.
    let capacity: Int
    let docnos: UnsafeMutablePointer<UInt32>
    /// Of each list the postings' places, those of the next list `capacity` behind.
    let places: UnsafeMutablePointer<Int32>
    /// Those of the leading list's documents that are allowed, and their places.
    let leading: UnsafeMutablePointer<UInt32>
    let leadingPlaces: UnsafeMutablePointer<Int32>
    /// What the matches score at most, or nearly; the lengths and frequencies that it is made of.
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
        // Behind the last match something is read, and nothing made of it.
        lengths.initialize(repeating: 1, count: capacity)
        counts.initialize(repeating: 0, count: capacity)
    }

    func end() { memory.deallocate() }
}
