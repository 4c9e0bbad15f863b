// SPDX-License-Identifier: Apache-2.0
// The documents that change. Each has an index, called place in the code. Rows usually arrive in ascending order. While
// they do, a row is found by binary search, and the last row tells whether a row is new. The first row out of order
// creates a hash table. A row that leaves and returns is a new document with an index of its own.

import HornbeamPages

/// A changed document with the length that its stored entry must have and its new length. −1 means no document.
struct DocumentChange {
    let row: UInt64
    let docno: UInt32
    /// Offset of its sections in `ChangeBuffer.sections`, −1 if it has none.
    var sections: Int32 = -1
    var oldLength: Int64 = -1
    var newLength: Int64 = -1
    /// Fingerprint of the new text.
    var fingerprint: UInt32 = 0

    /// Whether the row is no longer in the index.
    var hasLeft: Bool { newLength < 0 }
}

/// All documents since the last flush.
struct ChangedDocuments {
    private var changes: [DocumentChange] = []
    /// The last index of each row. Filled once a row isn't larger than the row before it.
    private var places: [UInt64: UInt32] = [:]
    private var ascends = true
    private var docnosAscend = true

    var count: Int { changes.count }
    var isEmpty: Bool { changes.isEmpty }

    /// Approximate memory in use, in bytes.
    var size: Int { changes.count * (MemoryLayout<DocumentChange>.stride + (ascends ? 0 : 40)) }

    subscript(place: UInt32) -> DocumentChange {
        @inline(__always) get { changes[Int(place)] }
        set { changes[Int(place)] = newValue }
    }

    /// Returns the index of the row's latest document.
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

    /// Adds a document. Until its lengths are set it counts as absent. Returns its index.
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

    /// Calls `body` with all documents by index, which are valid during the call.
    @inline(__always)
    func withAll<Result>(_ body: (UnsafeBufferPointer<DocumentChange>) -> Result) -> Result {
        changes.withUnsafeBufferPointer(body)
    }

    /// Returns the documents in ascending order of their numbers.
    func sorted() -> [DocumentChange] { docnosAscend ? changes : changes.sorted { $0.docno < $1.docno } }

    /// Removes all documents and keeps the memory.
    mutating func removeAll() {
        changes.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        ascends = true
        docnosAscend = true
    }
}
