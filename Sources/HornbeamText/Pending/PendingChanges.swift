// SPDX-License-Identifier: Apache-2.0
// The changes of a transaction while they are few. Their texts are kept, because only the end of the transaction
// decides whether they become pending records or are written into the postings. Larger changes go to the
// `ChangeBuffer`.

import HornbeamPages

/// The text of a gathered document.
enum GatheredText {
    /// A single section in UTF-8.
    case plain([UInt8])
    case texts(DocumentText)

    var size: Int {
        switch self {
        case .plain(let bytes): bytes.count
        case .texts(let text): text.size
        }
    }

    var fingerprint: UInt32 {
        switch self {
        case .plain(let bytes): bytes.withBytes { TextFingerprint.of($0) }
        case .texts(let text): text.fingerprint
        }
    }

    /// Calls `body` with texts in order. The document's tokens are the tokens of these texts.
    func forEachText(_ body: (Bytes) -> Void) {
        switch self {
        case .plain(let bytes): bytes.withBytes(body)
        case .texts(let text): text.forEachText(body)
        }
    }

    /// Calls `body` with each text and the position of its first token. `body` returns the number of the text's tokens.
    /// Returns the resulting sections.
    func divide(_ body: (Bytes, UInt32) -> UInt32) -> DocumentSections {
        switch self {
        case .plain(let bytes): DocumentSections(length: bytes.withBytes { body($0, 0) })
        case .texts(let text): text.divide(body)
        }
    }
}

/// A changed document.
struct GatheredDocument {
    let row: UInt64
    /// The document's number, nil for a new document.
    let docno: UInt32?
    /// The text that the index has for it, nil for a new document.
    let old: GatheredText?
    /// The new text, nil for a document that is removed.
    var new: GatheredText?
}

/// All changed documents, in the order of their first change.
struct PendingChanges {
    private(set) var documents: [GatheredDocument] = []
    private var places: [UInt64: Int] = [:]
    private(set) var size = 0

    /// Limits of the number of documents and of their size in bytes. Larger changes aren't kept here.
    static let documentLimit = 256
    static let sizeLimit = 1 << 20

    var isEmpty: Bool { documents.isEmpty }
    var isFull: Bool { documents.count > Self.documentLimit || size > Self.sizeLimit }

    /// The estimated weight of their records, at eight bytes of text for a term.
    var weight: UInt64 {
        UInt64(documents.count) * PendingHeader.weight(terms: 0, tokens: 0, bytes: 0) + UInt64(size / 8)
    }

    func place(of row: UInt64) -> Int? {
        if documents.count <= 4 { return documents.lastIndex { $0.row == row } }
        return places[row]
    }

    mutating func add(_ document: GatheredDocument) {
        documents.append(document)
        if documents.count == 5 {
            for (place, document) in documents.enumerated() { places[document.row] = place }
        } else if documents.count > 5 {
            places[document.row] = documents.count - 1
        }
        size += (document.old?.size ?? 0) + (document.new?.size ?? 0)
    }

    mutating func setNew(_ text: GatheredText?, at place: Int) {
        documents[place].new = text
        size += text?.size ?? 0
    }

    mutating func removeAll() {
        documents.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        size = 0
    }
}
