// SPDX-License-Identifier: Apache-2.0
// Searches go through the documents in windows of 4,096 numbers, so that sets of documents are 64 words, scores an
// array, and the inner loops run over plain memory.

import HornbeamPages

/// A window's documents are `base..<base + size`. An offset is a document less the base.
enum DocumentWindow {
    static let size = 4096
    static let words = size / 64

    /// Returns the base of the window that a document is in.
    @inline(__always)
    static func base(of docno: UInt32) -> UInt32 { docno & ~UInt32(size - 1) }
    /// Returns the last document of a window.
    @inline(__always)
    static func last(_ base: UInt32) -> UInt32 { base | UInt32(size - 1) }
}

/// A set of a window's documents. Owns its memory.
struct WindowSet: ~Copyable {
    let words: UnsafeMutablePointer<UInt64>

    init() {
        words = .allocate(capacity: DocumentWindow.words)
        words.initialize(repeating: 0, count: DocumentWindow.words)
    }

    deinit { words.deallocate() }
}

/// A view of a set's words.
typealias WindowBits = UnsafePointer<UInt64>

extension UnsafeMutablePointer<UInt64> {
    @inline(__always)
    func clear() { update(repeating: 0, count: DocumentWindow.words) }
    @inline(__always)
    func insert(_ offset: Int) { self[offset &>> 6] |= 1 &<< UInt64(truncatingIfNeeded: offset & 63) }
    @inline(__always)
    func assign(_ other: UnsafePointer<UInt64>) { update(from: other, count: DocumentWindow.words) }
    @inline(__always)
    func formUnion(_ other: UnsafePointer<UInt64>) {
        for word in 0..<DocumentWindow.words { self[word] |= other[word] }
    }
    @inline(__always)
    func formIntersection(_ other: UnsafePointer<UInt64>) {
        for word in 0..<DocumentWindow.words { self[word] &= other[word] }
    }
    @inline(__always)
    func subtract(_ other: UnsafePointer<UInt64>) {
        for word in 0..<DocumentWindow.words { self[word] &= ~other[word] }
    }
    @inline(__always)
    var bits: UnsafePointer<UInt64> { UnsafePointer(self) }
}

extension UnsafePointer<UInt64> {
    @inline(__always)
    func contains(_ offset: Int) -> Bool {
        self[offset &>> 6] &>> UInt64(truncatingIfNeeded: offset & 63) & 1 != 0
    }

    var isEmpty: Bool {
        var all: UInt64 = 0
        for word in 0..<DocumentWindow.words { all |= self[word] }
        return all == 0
    }

    var population: Int {
        var count = 0
        for word in 0..<DocumentWindow.words { count &+= self[word].nonzeroBitCount }
        return count
    }

    /// Returns the first member from `offset` on, or the window's `size` if there is none.
    @inline(__always)
    func next(from offset: Int) -> Int {
        guard offset < DocumentWindow.size else { return DocumentWindow.size }
        var word = offset &>> 6
        var rest = self[word] & (UInt64.max &<< UInt64(truncatingIfNeeded: offset & 63))
        while rest == 0 {
            word &+= 1
            guard word < DocumentWindow.words else { return DocumentWindow.size }
            rest = self[word]
        }
        return word &<< 6 | rest.trailingZeroBitCount
    }

    /// Calls `body` with each member, ascending.
    @inline(__always)
    func forEach<Failure: Error>(_ body: (Int) throws(Failure) -> Void) throws(Failure) {
        for word in 0..<DocumentWindow.words {
            var rest = self[word]
            while rest != 0 {
                try body(word &<< 6 | rest.trailingZeroBitCount)
                rest &= rest &- 1
            }
        }
    }
}
