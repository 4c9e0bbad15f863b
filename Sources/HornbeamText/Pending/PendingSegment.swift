// SPDX-License-Identifier: Apache-2.0
// What a range of pending records comes to, in memory and made for reading: for each changed document its state before
// and after, for each term the documents that hold it now and those that held it before. Immutable, so that any number
// of searches in any thread may share it. Everything in it can be made again from the records.

import HornbeamPages

/// A document that the records of a segment change: what it was before all of them and is after all of them.
struct PendingDocument: Equatable, Sendable {
    var docno: UInt32
    var row: UInt64
    /// Tokens before; −1 if it was not there.
    var oldLength: Int64
    /// Tokens now; −1 if it is gone.
    var newLength: Int64
    /// How the tokens now are divided, as `DocumentSections` encodes it; empty if there is one section.
    var sections: [UInt8] = []

    /// Whether stored postings of it count no more.
    var isSuperseded: Bool { oldLength >= 0 }
    var isThere: Bool { newLength >= 0 }
}

/// The changes of the records of sequences `start`..<`end`. Unchecked: the memory of `lists` is written before and
/// freed with the segment; nothing changes it in between.
final class PendingSegment: @unchecked Sendable {
    let start: UInt64
    let end: UInt64
    /// Ascending by docno.
    let documents: [PendingDocument]
    /// Places among `documents`, ascending by row, then docno.
    private let byRow: [UInt32]
    let lists: PendingLists
    /// Whether the rows of the documents that were not there before ascend with their numbers; from which to which.
    let addedRowsAscend: Bool
    let addedRows: ClosedRange<UInt64>?
    let hasSections: Bool

    /// - Parameters:
    ///   - documents: ascending by docno, none twice.
    ///   - lists: belong to the segment from now on.
    init(start: UInt64, end: UInt64, documents: [PendingDocument], lists: PendingLists) {
        self.start = start
        self.end = end
        self.documents = documents
        self.lists = lists
        let rows = Self.addedRows(documents)
        addedRows = rows.range
        addedRowsAscend = rows.ascend
        hasSections = rows.hasSections
        byRow = Self.byRow(documents)
    }

    deinit { lists.deallocate() }

    private static func addedRows(
        _ documents: [PendingDocument]
    ) -> (range: ClosedRange<UInt64>?, ascend: Bool, hasSections: Bool) {
        var result: (range: ClosedRange<UInt64>?, ascend: Bool, hasSections: Bool) = (nil, true, false)
        for document in documents {
            if !document.sections.isEmpty { result.hasSections = true }
            guard !document.isSuperseded else { continue }
            if let before = result.range, document.row <= before.upperBound { result.ascend = false }
            let first = min(result.range?.lowerBound ?? document.row, document.row)
            result.range = first...max(result.range?.upperBound ?? 0, document.row)
        }
        return result
    }

    private static func byRow(_ documents: [PendingDocument]) -> [UInt32] {
        documents.indices.map { UInt32($0) }.sorted { left, right in
            let (left, right) = (documents[Int(left)], documents[Int(right)])
            return (left.row, left.docno) < (right.row, right.docno)
        }
    }

    /// What merging it costs, roughly: postings and documents.
    var weight: Int { documents.count * 4 + lists.postingCount }

    /// The place of the first document that isn't before `docno`.
    func place(of docno: UInt32) -> Int {
        var (low, high) = (0, documents.count)
        while low < high {
            let middle = (low + high) / 2
            if documents[middle].docno < docno { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The state of a document; nil if no record here is about it.
    func document(_ docno: UInt32) -> PendingDocument? {
        let place = place(of: docno)
        return place < documents.count && documents[place].docno == docno ? documents[place] : nil
    }

    /// The state of a row's document: the one that is there, else one that is gone; nil if no record here is about it.
    func document(ofRow row: UInt64) -> PendingDocument? {
        var (low, high) = (0, byRow.count)
        while low < high {
            let middle = (low + high) / 2
            if documents[Int(byRow[middle])].row < row { low = middle + 1 } else { high = middle }
        }
        var found: PendingDocument?
        while low < byRow.count {
            let document = documents[Int(byRow[low])]
            guard document.row == row else { break }
            if document.isThere { return document }
            found = document
            low += 1
        }
        return found
    }
}
