// SPDX-License-Identifier: Apache-2.0
// A search's filter as its evaluation uses it: of rows that are named, only their documents are looked at, one by one
// where they are few; where finding these takes longer, and of rows that are not named, each document that would be
// among the results is asked about.

import HornbeamPages

/// Which documents a search may return.
struct DocumentFilter {
    private let filter: TextFilter
    /// The documents that the filter lets through at most, if the evaluation is to go by them.
    let allowed: DocumentList?
    /// The allowed documents as a set. Nil if they are few beside all, or `allowed` is nil.
    let set: DocumentSet?
    /// Whether the allowed documents are so few that each of them is asked about.
    let isFew: Bool

    /// Cost of asking about a document, in postings that are gone through.
    private static let askingCost = 16

    /// - Parameters:
    ///   - cost: about how many postings are gone through if the documents are not known.
    ///   - limit: how many documents are wanted.
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

    /// Whether a document may be let through. Documents ascend from one question to the next.
    @inline(__always)
    func mayAccept(_ docno: UInt32) -> Bool {
        guard let allowed else { return true }
        return set?.contains(docno) ?? (allowed.advance(to: docno) == docno)
    }

    /// Whether it lets all documents through.
    var isAll: Bool {
        if case .all = filter { return true }
        return false
    }

    /// Whether nothing has to be asked about single rows.
    var isAllOrKnown: Bool {
        switch filter {
        case .all: true
        case .selection(_, let test): allowed != nil && test == nil
        case .matching: false
        }
    }

    /// Whether the filter lets a row through, as far as the documents that are asked about are not only those.
    func accepts(_ row: UInt64) throws(StorageError) -> Bool {
        guard case .selection(_, let test) = filter, allowed != nil else { return try filter.accepts(row) }
        return try test?(row) ?? true
    }
}

extension TextFilter {
    /// The rows that it names.
    var selection: RowSelection? {
        if case .selection(let selection, _) = self { selection } else { nil }
    }

    /// Whether it lets a row through.
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

/// Documents, ascending, that a search goes through once.
final class DocumentList {
    let count: Int
    /// Keeps what `docnos` points to.
    private let owner: PostingArrays
    private let docnos: UnsafePointer<UInt32>
    @exclusivity(unchecked) private var place = 0

    init(_ documents: PostingArrays) {
        owner = documents
        (count, docnos) = (documents.count, documents.docnos)
    }

    @inline(__always)
    subscript(place: Int) -> UInt32 { docnos[place] }

    /// The place of the first document from `target` on, `count` if there is none. Targets ascend.
    @inline(__always)
    func seek(_ target: UInt32) -> Int {
        if place < count, docnos[place] < target {
            place = PostingSource.gallop(docnos, from: place, count: count, to: target)
        }
        return place
    }

    /// Returns the first document from `target` on, `.max` if there is none. Targets ascend.
    @inline(__always)
    func advance(to target: UInt32) -> UInt32 {
        let place = seek(target)
        return place < count ? docnos[place] : .max
    }

    /// Whether it has a document, which is looked for from a place on; that is moved to where it is or would be.
    @inline(__always)
    func has(_ docno: UInt32, from place: inout Int) -> Bool {
        guard place < count else { return false }
        place = PostingSource.gallop(docnos, from: place, count: count, to: docno)
        return place < count && docnos[place] == docno
    }

    /// Sets `bits` to the documents of a window, which needn't begin where a window of all documents does.
    func match(_ base: UInt32, through last: UInt32, _ bits: UnsafeMutablePointer<UInt64>) {
        bits.clear()
        var place = seek(base)
        while place < count, docnos[place] <= last {
            bits.insert(Int(docnos[place] &- base))
            place += 1
        }
    }
}
