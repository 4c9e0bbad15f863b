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
    /// Of the text now.
    var fingerprint: UInt32 = 0

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
    let hasSections: Bool
    /// What writing what is stored of its documents costs, roughly.
    let documentCost: Int
    /// Of the documents that were not there before: from which row to which, and whether these ascend with the numbers.
    private let addedRows: (range: ClosedRange<UInt64>?, ascend: Bool)

    /// - Parameters:
    ///   - documents: ascending by docno, none twice.
    ///   - lists: belong to the segment from now on.
    init(start: UInt64, end: UInt64, documents: [PendingDocument], lists: PendingLists) {
        self.start = start
        self.end = end
        self.documents = documents
        self.lists = lists
        addedRows = Self.addedRows(documents[...])
        hasSections = documents.contains { !$0.sections.isEmpty }
        var cost = DocumentCost()
        for document in documents { cost.add(document) }
        documentCost = cost.sum
        byRow = Self.byRow(documents)
    }

    deinit { lists.deallocate() }

    private static func addedRows(
        _ documents: ArraySlice<PendingDocument>
    ) -> (range: ClosedRange<UInt64>?, ascend: Bool) {
        var result: (range: ClosedRange<UInt64>?, ascend: Bool) = (nil, true)
        for document in documents where !document.isSuperseded {
            if let before = result.range, document.row <= before.upperBound { result.ascend = false }
            let first = min(result.range?.lowerBound ?? document.row, document.row)
            result.range = first...max(result.range?.upperBound ?? 0, document.row)
        }
        return result
    }

    /// Of the documents from one on that were not there before: from which row to which, and whether these ascend with
    /// the numbers.
    func addedRows(from docno: UInt32) -> (range: ClosedRange<UInt64>?, ascend: Bool) {
        let place = docno == 0 ? 0 : place(of: docno)
        return place == 0 ? addedRows : Self.addedRows(documents[place...])
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

/// What writing what is stored of documents costs, in ascending order, as folding measures it: roughly what as many
/// postings cost. Lengths and sections are written a chunk at a time, however many documents of it change.
struct DocumentCost {
    private(set) var sum = 0
    private var lengths: UInt32?
    private var fingerprints: UInt32?
    private var sections: UInt32?

    mutating func add(_ document: PendingDocument) {
        sum += 4
        let chunk = document.docno >> DocumentLengths.chunkShift
        if lengths != chunk { sum += 64 }
        lengths = chunk
        let quarter = document.docno >> DocumentFingerprints.chunkShift
        if fingerprints != quarter { sum += 32 }
        fingerprints = quarter
        guard document.isSuperseded || !document.sections.isEmpty else { return }
        let part = document.docno / SectionTable.chunkCapacity
        if sections != part { sum += 16 }
        sections = part
    }
}
