// SPDX-License-Identifier: Apache-2.0
// A search's filter as its evaluation uses it: few documents are found by their rows at once, so that no others are
// looked at; of many, each that would be among the results is asked about.

import HornbeamPages

/// Which documents a search may return.
struct DocumentFilter {
    private let filter: TextFilter
    /// The documents that the filter lets through, if they are few.
    var allowed: DocumentList?

    /// Finding a document by its row costs as much as going through so many postings.
    private static let lookupCost = 256

    /// - Parameter cost: about how many postings are gone through if the documents are not known.
    init(_ filter: TextFilter, _ view: IndexView, cost: Int) throws(StorageError) {
        self.filter = filter
        if case .documents(let rows) = filter, rows.count <= max(cost / Self.lookupCost, 1) {
            allowed = try Self.documents(rows, view)
        }
    }

    private static func documents(_ rows: [UInt64], _ view: IndexView) throws(StorageError) -> DocumentList {
        var docnos: [UInt32] = []
        docnos.reserveCapacity(rows.count)
        var ascends = true
        for row in rows {
            guard let docno = try view.docno(of: row) else { continue }
            if let last = docnos.last, docno <= last { ascends = false }
            docnos.append(docno)
        }
        return DocumentList(ascends ? docnos : Set(docnos).sorted())
    }

    /// Whether it lets all through.
    var isAll: Bool {
        if case .all = filter { return true }
        return false
    }

    /// Whether nothing remains to be asked about single rows.
    var isAllOrKnown: Bool {
        if case .all = filter { return true }
        return allowed != nil
    }

    /// Whether the filter lets a row through, as far as the documents that are asked about are not only those.
    func accepts(_ row: UInt64) throws(StorageError) -> Bool {
        switch filter {
        case .all: return true
        case .matching(let accepts): return try accepts(row)
        case .documents(let rows):
            guard allowed == nil else { return true }
            var (low, high) = (0, rows.count)
            while low < high {
                let middle = (low + high) / 2
                if rows[middle] == row { return true }
                if rows[middle] < row { low = middle + 1 } else { high = middle }
            }
            return false
        }
    }
}
