// SPDX-License-Identifier: Apache-2.0
// The changes of a transaction while they are few: the texts themselves, since whether they become pending records or
// are written into the postings is known at the end. Bounded: more changes than that go to the `ChangeBuffer`.

import HornbeamPages

/// A text that waits.
enum GatheredText {
    /// One section in UTF-8.
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

    /// Calls `body` with texts that have, one behind the other, the document's tokens.
    func forEachPiece(of analyzer: Analyzer, _ body: (Bytes) -> Void) {
        switch self {
        case .plain(let bytes): bytes.withBytes(body)
        case .texts(let text): text.forEachPiece(of: analyzer, body)
        }
    }

    /// Calls `body` with the same and the position of each one's first token, which gives how many tokens it has. How
    /// they are divided.
    func divide(of analyzer: Analyzer, _ body: (Bytes, UInt32) -> UInt32) -> DocumentSections {
        switch self {
        case .plain(let bytes): DocumentSections(length: bytes.withBytes { body($0, 0) })
        case .texts(let text): text.divide(of: analyzer, body)
        }
    }
}

/// A document that changes.
struct GatheredDocument {
    let row: UInt64
    /// Nil for one that is new.
    let docno: UInt32?
    /// What the index has of it; nil for one that is new.
    let old: GatheredText?
    /// Nil for one that leaves.
    var new: GatheredText?
}

/// All that change, in the order in which they first came.
struct PendingChanges {
    private(set) var documents: [GatheredDocument] = []
    private var places: [UInt64: Int] = [:]
    private(set) var size = 0

    /// More documents or bytes of text than these don't wait.
    static let documentLimit = 256
    static let sizeLimit = 1 << 20

    var isEmpty: Bool { documents.isEmpty }
    var isFull: Bool { documents.count > Self.documentLimit || size > Self.sizeLimit }

    /// What records of them will weigh, roughly: eight bytes of text make a term.
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

/// Makes records of texts. Keeps its memory from one to the next.
struct PendingRecordMaker: ~Copyable {
    private var table = PendingTermTable()
    /// Of each term, how often it stood in the old text and stands in the new one.
    private var oldCounts: [UInt32] = []
    private var newCounts: [UInt32] = []
    /// The term of each token of the new text.
    private var tokens: [UInt32] = []
    private var starts: [Int] = []
    private var positions: [UInt32] = []
    private var isOverflown = false

    /// The record's header without totals, and its terms, which `write` adds to a record. Nil if there is no room.
    mutating func read(
        _ document: GatheredDocument, docno: UInt32, _ index: TextIndex, _ tokenizer: inout Tokenizer
    ) -> (header: PendingHeader, termCount: Int)? {
        table.removeAll()
        oldCounts.removeAll(keepingCapacity: true)
        newCounts.removeAll(keepingCapacity: true)
        tokens.removeAll(keepingCapacity: true)
        isOverflown = false
        var header = PendingHeader(row: document.row, docno: docno, oldLength: -1, newLength: -1)
        header.hasPositions = index.storesPositions
        if let old = document.old {
            var length: Int64 = 0
            old.forEachPiece(of: index.analyzer) { text in
                tokenizer.forEachToken(in: text) { token in
                    oldCounts[number(of: token)] += 1
                    length += 1
                }
            }
            header.oldLength = length
        }
        if let new = document.new {
            let sections = new.divide(of: index.analyzer) { text, _ in
                let before = tokens.count
                tokenizer.forEachToken(in: text) { token in
                    let number = number(of: token)
                    newCounts[number] += 1
                    tokens.append(UInt32(truncatingIfNeeded: number))
                }
                return UInt32(truncatingIfNeeded: tokens.count - before)
            }
            header.newLength = Int64(tokens.count)
            header.fingerprint = new.fingerprint
            if !sections.isPlain { sections.encode(to: &header.sections) }
        }
        return isOverflown ? nil : (header, table.count)
    }

    @inline(__always)
    private mutating func number(of token: Bytes) -> Int {
        guard let number = table.number(of: token) else {
            isOverflown = true
            return 0
        }
        if Int(number) == oldCounts.count {
            oldCounts.append(0)
            newCounts.append(0)
        }
        return Int(number)
    }

    /// The whole record, behind one of identity `previous`; its own identity.
    mutating func write(_ header: PendingHeader, after previous: UInt64) -> (bytes: [UInt8], identity: UInt64) {
        var writer = PendingRecordWriter(header, termCount: table.count)
        sortPositions()
        for number in table.sorted() {
            let end = starts[number]
            let start = end - Int(newCounts[number])
            table.withText(number) { term in
                positions.withUnsafeBufferPointer { positions in
                    writer.add(
                        term, oldFrequency: oldCounts[number], newFrequency: newCounts[number],
                        positions: UnsafeBufferPointer(rebasing: positions[start..<end]))
                }
            }
        }
        return writer.finish(after: previous)
    }

    /// Fills `positions`, term by term; `starts` is where each term's end.
    private mutating func sortPositions() {
        starts.removeAll(keepingCapacity: true)
        var sum = 0
        for count in newCounts {
            starts.append(sum)
            sum += Int(count)
        }
        positions.removeAll(keepingCapacity: true)
        positions.append(contentsOf: repeatElement(0, count: sum))
        for (position, term) in tokens.enumerated() {
            positions[starts[Int(term)]] = UInt32(truncatingIfNeeded: position)
            starts[Int(term)] += 1
        }
    }
}
