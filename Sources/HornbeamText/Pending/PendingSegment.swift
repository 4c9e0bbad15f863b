// SPDX-License-Identifier: Apache-2.0
// A range of pending records in memory, prepared for reading: for each changed document its former and its new state,
// for each term the documents that hold it now and those that held it before. Immutable, so that any number of searches
// in any thread can share it. It can be made again from the records.

import HornbeamPages

/// A document that the records of a segment change: its state before and after all of them.
struct PendingDocument: Equatable, Sendable {
    var docno: UInt32
    var row: UInt64
    /// Number of tokens before. −1 if the document did not exist.
    var oldLength: Int64
    /// Number of tokens now. −1 if the document was removed.
    var newLength: Int64
    /// The new sections as `DocumentSections` encodes them. Empty if there is a single section.
    var sections: [UInt8] = []
    /// The fingerprint of the new text.
    var fingerprint: UInt32 = 0

    /// Whether its stored postings don't count any more.
    var isSuperseded: Bool { oldLength >= 0 }
    var isThere: Bool { newLength >= 0 }
}

/// The changes of the records of sequences `start`..<`end`. Unchecked: the memory of `lists` is written before the
/// segment is made, freed with it and never changed in between.
final class PendingSegment: @unchecked Sendable {
    let start: UInt64
    let end: UInt64
    /// Ascending by docno.
    let documents: [PendingDocument]
    /// Indexes of `documents`, ascending by row, then docno.
    private let byRow: [UInt32]
    let lists: PendingLists
    let hasSections: Bool
    /// Approximate cost of writing the data that is stored for its documents.
    let documentCost: Int
    /// The range of the rows of new documents, and whether these rows ascend with the document numbers.
    private let addedRows: (range: ClosedRange<UInt64>?, ascend: Bool)

    /// - Parameters:
    ///   - documents: ascending by docno, without duplicates.
    ///   - lists: become property of the segment.
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

    /// Returns the range of the rows of new documents from `docno` on, and whether these rows ascend with the document
    /// numbers.
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

    /// Approximate cost of merging it: postings and documents.
    var weight: Int { documents.count * 4 + lists.postingCount }

    /// Returns the index of the first document that isn't below `docno`.
    func place(of docno: UInt32) -> Int {
        var (low, high) = (0, documents.count)
        while low < high {
            let middle = (low + high) / 2
            if documents[middle].docno < docno { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the state of a document, or nil if no record here changes it.
    func document(_ docno: UInt32) -> PendingDocument? {
        let place = place(of: docno)
        return place < documents.count && documents[place].docno == docno ? documents[place] : nil
    }

    /// Returns the state of a row's document: preferably an existing one, else a removed one. Returns nil if no record
    /// here is about the row.
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

/// The cost of writing the data stored for documents, in the unit of folding, which is roughly one posting. Documents
/// are added in ascending order. Lengths and sections are written a chunk at a time, however many of its documents
/// change.
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
