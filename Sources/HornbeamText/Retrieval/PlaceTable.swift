// SPDX-License-Identifier: Apache-2.0
// A hash table from the documents of a decoded block to their indexes, by the documents' lower bits. Unlike searching
// and merging, its look-ups don't depend on each other. Entries of earlier blocks are recognised by their smaller
// values, so the table is never cleared.

/// The indexes of one block's documents. Owns its memory until `end`.
struct PlaceTable {
    /// Number of entries. A block's documents must lie within as many numbers.
    private static let size = 4096
    private let entries: UnsafeMutablePointer<UInt32>
    /// The entry of the block's first posting. Greater than the entries of all earlier blocks; the first one is 1.
    private var start: UInt32
    private var count: UInt32 = 0
    /// The block's last document. Nil without a block.
    private(set) var last: UInt32?

    init(start: UInt32 = 1) {
        self.start = start
        entries = .allocate(capacity: Self.size)
        entries.initialize(repeating: 0, count: Self.size)
    }

    func end() { entries.deallocate() }

    /// Whether a block with this first and last document fits.
    @inline(__always)
    static func canHold(_ first: UInt32, _ last: UInt32) -> Bool { last &- first < UInt32(size) }

    /// Replaces the table by the indexes of a block's documents, which ascend.
    mutating func fill(_ docnos: UnsafePointer<UInt32>, count size: Int) {
        let (next, overflows) = start.addingReportingOverflow(count)
        (start, count) = (next, UInt32(clamping: size))
        if overflows || next > .max - count {
            entries.update(repeating: 0, count: Self.size)
            start = 1
        }
        for place in 0..<size { entries[Self.slot(docnos[place])] = start &+ UInt32(truncatingIfNeeded: place) }
        last = size > 0 ? docnos[size - 1] : nil
    }

    @inline(__always)
    private static func slot(_ docno: UInt32) -> Int { Int(docno & UInt32(size - 1)) }

    /// Returns the index of a document, or a value of at least the block's size if the block doesn't have it. The
    /// document must not be below the block's first one or above its last one: otherwise the result belongs to another
    /// document.
    @inline(__always)
    func place(of docno: UInt32) -> UInt32 { entries[Self.slot(docno)] &- start }
}
