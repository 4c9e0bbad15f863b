// SPDX-License-Identifier: Apache-2.0
// The documents that change, each with a place of its own. Documents mostly come with ascending numbers, as rows are
// made: while they do, the last one answers whether a document is known and halving finds it; only the first that comes
// out of order makes a table.

import HornbeamPages

/// A document that changes: the length that its stored entry must have, and the length it has now; −1 is no document.
struct DocumentChange {
    let docno: UInt64
    var oldLength: Int64
    var newLength: Int64

    /// Whether blocks that keep a posting of it may claim too large a smallest length.
    var shrinks: Bool { newLength >= 0 && newLength < oldLength }
}

/// All documents since the last flush.
struct ChangedDocuments {
    private var changes: [DocumentChange] = []
    /// Filled from the first document on that has a smaller number than one before it.
    private var places: [UInt64: UInt32] = [:]
    private var ascends = true

    var count: Int { changes.count }
    var isEmpty: Bool { changes.isEmpty }

    /// Bytes in use, roughly.
    var size: Int { changes.count * (MemoryLayout<DocumentChange>.stride + (ascends ? 0 : 40)) }

    subscript(place: UInt32) -> DocumentChange {
        @inline(__always) get { changes[Int(place)] }
        set { changes[Int(place)] = newValue }
    }

    /// The place of a document that has a change.
    func place(of docno: UInt64) -> UInt32? {
        guard ascends else { return places[docno] }
        guard let last = changes.last, docno <= last.docno else { return nil }
        var range = 0..<changes.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if changes[middle].docno == docno { return UInt32(middle) }
            range = changes[middle].docno < docno ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    /// The place of a document that has none yet; until more is known it is one that isn't there.
    mutating func add(_ docno: UInt64) -> UInt32 {
        let place = UInt32(changes.count)
        if ascends, let last = changes.last, docno < last.docno {
            ascends = false
            for (place, change) in changes.enumerated() { places[change.docno] = UInt32(place) }
        }
        if !ascends { places[docno] = place }
        changes.append(DocumentChange(docno: docno, oldLength: -1, newLength: -1))
        return place
    }

    /// All of them by their places, for the length of `body`.
    @inline(__always)
    func withAll<Result>(_ body: (UnsafeBufferPointer<DocumentChange>) -> Result) -> Result {
        changes.withUnsafeBufferPointer(body)
    }

    /// Ascending by number.
    func sorted() -> [DocumentChange] { ascends ? changes : changes.sorted { $0.docno < $1.docno } }

    /// Forgets everything; keeps the memory.
    mutating func removeAll() {
        changes.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        ascends = true
    }
}
