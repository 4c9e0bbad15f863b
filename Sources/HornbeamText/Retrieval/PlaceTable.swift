// SPDX-License-Identifier: Apache-2.0
// Where each document of a decoded block stands in it, found by the document's lower bits: neither searching nor
// merging, whose every step waits for the one before. What earlier blocks left behind tells itself from the block's own
// by being less, so nothing is ever cleared.

/// Places of one block's documents. Memory of its own, until `end`.
struct PlaceTable {
    /// Documents of a block must lie within so many numbers.
    private static let size = 4096
    private let entries: UnsafeMutablePointer<UInt32>
    /// The entry of the block's first posting; greater than those of all blocks before, which begin with 1.
    private var start: UInt32
    private var count: UInt32 = 0
    /// The block's last document; nil without one.
    private(set) var last: UInt32?

    init(start: UInt32 = 1) {
        self.start = start
        entries = .allocate(capacity: Self.size)
        entries.initialize(repeating: 0, count: Self.size)
    }

    func end() { entries.deallocate() }

    /// Whether documents from one through another can be told apart.
    @inline(__always)
    static func canHold(_ first: UInt32, _ last: UInt32) -> Bool { last &- first < UInt32(size) }

    /// Takes the places of a block's documents, which ascend, instead of those of the block before.
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

    /// Where in the block a document stands that is not before its first one, nor behind its last; the block's size or
    /// more if it isn't there. Of one that is outside it tells where another stands.
    @inline(__always)
    func place(of docno: UInt32) -> UInt32 { entries[Self.slot(docno)] &- start }
}
