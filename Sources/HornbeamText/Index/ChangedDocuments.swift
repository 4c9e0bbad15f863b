// SPDX-License-Identifier: Apache-2.0
// The documents that change, each with a place of its own. They mostly come with ascending rows, as rows are made:
// while they do, the last one answers whether a row is known and halving finds it; only the first that comes out of
// order makes a table. A row that leaves and comes again is another document, with a place of its own.

import HornbeamPages

/// A document that changes: the length that its stored entry must have, and the length it has now; −1 is no document.
struct DocumentChange {
    let row: UInt64
    let docno: UInt32
    /// Where its sections begin among those of all that change, −1 if it has none.
    var sections: Int32 = -1
    var oldLength: Int64 = -1
    var newLength: Int64 = -1
    /// Of the text now.
    var fingerprint: UInt32 = 0

    /// Whether the row isn't in the index any more.
    var hasLeft: Bool { newLength < 0 }
}

/// All documents since the last flush.
struct ChangedDocuments {
    private var changes: [DocumentChange] = []
    /// The last place of each row; filled from the first document on that has no larger row than the one before it.
    private var places: [UInt64: UInt32] = [:]
    private var ascends = true
    private var docnosAscend = true

    var count: Int { changes.count }
    var isEmpty: Bool { changes.isEmpty }

    /// Bytes in use, roughly.
    var size: Int { changes.count * (MemoryLayout<DocumentChange>.stride + (ascends ? 0 : 40)) }

    subscript(place: UInt32) -> DocumentChange {
        @inline(__always) get { changes[Int(place)] }
        set { changes[Int(place)] = newValue }
    }

    /// The place of the row's document that changed last.
    func place(of row: UInt64) -> UInt32? {
        guard ascends else { return places[row] }
        guard let last = changes.last, row <= last.row else { return nil }
        var range = 0..<changes.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if changes[middle].row == row { return UInt32(middle) }
            range = changes[middle].row < row ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    /// The place of a document that has none yet; until more is known it is one that isn't there.
    mutating func add(_ row: UInt64, _ docno: UInt32) -> UInt32 {
        let place = UInt32(changes.count)
        if ascends, let last = changes.last, row <= last.row {
            ascends = false
            for (place, change) in changes.enumerated() { places[change.row] = UInt32(place) }
        }
        if !ascends { places[row] = place }
        if let last = changes.last, docno <= last.docno { docnosAscend = false }
        changes.append(DocumentChange(row: row, docno: docno))
        return place
    }

    /// All of them by their places, for the length of `body`.
    @inline(__always)
    func withAll<Result>(_ body: (UnsafeBufferPointer<DocumentChange>) -> Result) -> Result {
        changes.withUnsafeBufferPointer(body)
    }

    /// Ascending by document.
    func sorted() -> [DocumentChange] { docnosAscend ? changes : changes.sorted { $0.docno < $1.docno } }

    /// Forgets everything; keeps the memory.
    mutating func removeAll() {
        changes.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        ascends = true
        docnosAscend = true
    }
}
