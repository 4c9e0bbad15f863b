// SPDX-License-Identifier: Apache-2.0
// A search's filter in the form that its evaluation uses. If the filter names rows, only their documents are evaluated,
// one by one if they are few. If finding them takes longer, or the filter doesn't name rows, each candidate for the
// results is tested.

import HornbeamPages

/// Decides which documents a search may return.
struct DocumentFilter {
    private let filter: TextFilter
    /// The documents that may pass the filter, if the evaluation is to use them.
    let allowed: DocumentList?
    /// The allowed documents as a set. Nil if they are few in proportion to all documents, or if `allowed` is nil.
    let set: DocumentSet?
    /// Whether the allowed documents are so few that each of them is evaluated by itself.
    let isFew: Bool

    /// Cost of evaluating a single document, in postings read.
    private static let askingCost = 16

    /// - Parameters:
    ///   - cost: approximate number of postings that are read if the documents are not known.
    ///   - limit: number of documents that are wanted.
    init(_ filter: TextFilter, _ view: IndexView, cost: Int, limit: Int) throws(StorageError) {
        self.filter = filter
        if let selection = filter.selection, selection.isWorthwhile(cost, limit: limit, view) {
            let documents = DocumentList(try selection.documents(view))
            allowed = documents
            set = try selection.set(view)
            isFew = documents.count <= max(cost / Self.askingCost, 1)
        } else {
            (allowed, set, isFew) = (nil, nil, false)
        }
    }

    /// Whether a document may pass the filter. Documents must ascend from one call to the next.
    @inline(__always)
    func mayAccept(_ docno: UInt32) -> Bool {
        guard let allowed else { return true }
        return set?.contains(docno) ?? (allowed.advance(to: docno) == docno)
    }

    /// Whether all documents pass.
    var isAll: Bool {
        if case .all = filter { return true }
        return false
    }

    /// Whether no rows have to be tested.
    var isAllOrKnown: Bool {
        switch filter {
        case .all: true
        case .selection(_, let test): allowed != nil && test == nil
        case .matching: false
        }
    }

    /// Whether the filter accepts a row. If `allowed` is set, only rows of these documents may be passed.
    func accepts(_ row: UInt64) throws(StorageError) -> Bool {
        guard case .selection(_, let test) = filter, allowed != nil else { return try filter.accepts(row) }
        return try test?(row) ?? true
    }
}

extension TextFilter {
    /// The rows that the filter names.
    var selection: RowSelection? {
        if case .selection(let selection, _) = self { selection } else { nil }
    }

    /// Whether the filter accepts a row.
    func accepts(_ row: UInt64) throws(StorageError) -> Bool {
        switch self {
        case .all: return true
        case .matching(let test): return try test(row)
        case .selection(let selection, let test):
            guard selection.has(row) else { return false }
            return try test?(row) ?? true
        }
    }
}

/// Ascending documents that a search reads once.
final class DocumentList {
    let count: Int
    /// Keeps the memory of `docnos`.
    private let owner: PostingArrays
    private let docnos: UnsafePointer<UInt32>
    @exclusivity(unchecked) private var place = 0

    init(_ documents: PostingArrays) {
        owner = documents
        (count, docnos) = (documents.count, documents.docnos)
    }

    @inline(__always)
    subscript(place: Int) -> UInt32 { docnos[place] }

    /// Returns the index of the first document from `target` on, or `count` if there is none. Targets ascend.
    @inline(__always)
    func seek(_ target: UInt32) -> Int {
        if place < count, docnos[place] < target {
            place = PostingSource.gallop(docnos, from: place, count: count, to: target)
        }
        return place
    }

    /// Returns the first document from `target` on, or `.max` if there is none. Targets ascend.
    @inline(__always)
    func advance(to target: UInt32) -> UInt32 {
        let place = seek(target)
        return place < count ? docnos[place] : .max
    }

    /// Whether the list has a document. The search begins at index `place`, which is moved to the document's index.
    @inline(__always)
    func has(_ docno: UInt32, from place: inout Int) -> Bool {
        guard place < count else { return false }
        place = PostingSource.gallop(docnos, from: place, count: count, to: docno)
        return place < count && docnos[place] == docno
    }

    /// Sets `bits` to the documents of a window, which need not begin at the base of a `DocumentWindow`.
    func match(_ base: UInt32, through last: UInt32, _ bits: UnsafeMutablePointer<UInt64>) {
        bits.clear()
        var place = seek(base)
        while place < count, docnos[place] <= last {
            bits.insert(Int(docnos[place] &- base))
            place += 1
        }
    }
}
