// SPDX-License-Identifier: Apache-2.0
// An index in plain arrays, for tests of retrieval without storage. It is made of documents given as tokens by field.

import HornbeamPages

@testable import HornbeamText

/// A document of a test: its row, and for each field its sections of tokens.
struct TestDocument {
    var row: UInt64
    let fields: [[[String]]]
    /// Each token with its field and its section, in order.
    let tokens: [(token: String, field: Int, section: Int)]
    /// The texts of the tokens, if these texts don't give the tokens.
    var texts: [[String]]?

    init(row: UInt64, fields: [[[String]]]) {
        (self.row, self.fields) = (row, fields)
        tokens = Self.tokens(fields)
    }

    init(row: UInt64, texts: [[String]], _ analyzer: Analyzer) {
        self.init(
            row: row,
            fields: texts.map { $0.map { analyzer.tokens(of: $0).map { String(decoding: $0, as: UTF8.self) } } })
        self.texts = texts
    }

    private static func tokens(_ fields: [[[String]]]) -> [(token: String, field: Int, section: Int)] {
        var tokens: [(token: String, field: Int, section: Int)] = []
        var section = 0
        for (field, sections) in fields.enumerated() {
            for words in sections {
                tokens += words.map { ($0, field, section) }
                section += 1
            }
        }
        return tokens
    }
}

/// The documents as an index. Some document numbers may be unused, as after deletions.
class MemoryView: IndexView {
    private let documents: [TestDocument?]
    private var terms: [(term: [UInt8], docnos: [UInt32], positions: [[UInt32]])] = []
    private var places: [[UInt8]: Int] = [:]
    private var docnos: [UInt64: UInt32] = [:]
    private let ascends: Bool
    private let fieldCount: Int

    init(_ documents: [TestDocument?], fieldCount: Int) {
        self.documents = documents
        self.fieldCount = fieldCount
        var postings: [[UInt8]: [UInt32: [UInt32]]] = [:]
        for (docno, document) in documents.enumerated() {
            if let document { docnos[document.row] = UInt32(docno) }
            for (position, token) in (document?.tokens ?? []).enumerated() {
                postings[Array(token.token.utf8), default: [:]][UInt32(docno), default: []].append(UInt32(position))
            }
        }
        for term in postings.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let sorted = postings[term, default: [:]].sorted { $0.key < $1.key }
            places[term] = terms.count
            terms.append((term, sorted.map(\.key), sorted.map(\.value)))
        }
        let rows = documents.compactMap { $0?.row }
        ascends = zip(rows, rows.dropFirst()).allSatisfy { $0 < $1 }
        let present = documents.compactMap { $0 }
        super.init(
            documentCount: UInt64(present.count), totalLength: present.reduce(0) { $0 + UInt64($1.tokens.count) },
            docnoLimit: UInt32(documents.count))
    }

    override func length(of docno: UInt32) -> UInt32 { UInt32(documents[Int(docno)]?.tokens.count ?? 0) }

    override func postings(of term: [UInt8]) throws(StorageError) -> PostingSource? {
        guard let place = places[term] else { return nil }
        let found = terms[place]
        var starts = [0]
        for positions in found.positions { starts.append(starts[starts.count - 1] + positions.count) }
        return ArrayPostings(
            found.docnos, found.positions.map { UInt32($0.count) }, lengths: found.docnos.map { length(of: $0) },
            positions: found.positions.flatMap { $0 }, starts: starts)
    }

    override func forEachTerm(
        from start: [UInt8], _ body: (_ term: Bytes) throws(StorageError) -> Step
    ) throws(StorageError) {
        var place = 0
        var start = start
        while true {
            while place < terms.count, terms[place].term.lexicographicallyPrecedes(start) { place += 1 }
            guard place < terms.count else { return }
            let step = try terms[place].term.withBytes { (term) throws(StorageError) in try body(term) }
            switch step {
            case .next: place += 1
            case .seek(let target): start = target
            case .stop: return
            }
        }
    }

    override func findLengths(chunk: UInt32) throws(StorageError) -> UnsafeRawPointer {
        let target = lengthTable.makeRoom()
        for place in 0..<1 << Int(IndexView.lengthsShift) {
            let docno = Int(chunk) << Int(IndexView.lengthsShift) + place
            let isThere = docno < documents.count && documents[docno] != nil
            target[place] = isThere ? UInt16(clamping: length(of: UInt32(docno)) + 1) : 0
        }
        return UnsafeRawPointer(target)
    }

    override func row(of docno: UInt32) throws(StorageError) -> UInt64 { documents[Int(docno)]?.row ?? .max }

    override func docno(of row: UInt64) throws(StorageError) -> UInt32? {
        docnos[row]
    }

    override var rowsAscend: Bool { ascends }

    override func fieldStarts(_ docno: UInt32, _ starts: inout [UInt32]) throws(StorageError) {
        starts = [0]
        for field in documents[Int(docno)]?.fields ?? [] {
            starts.append(starts[starts.count - 1] + UInt32(field.joined().count))
        }
    }

    override func isOneSection(_ docno: UInt32, _ first: UInt32, _ second: UInt32) throws(StorageError) -> Bool {
        guard let tokens = documents[Int(docno)]?.tokens else { return false }
        return tokens[Int(first)].section == tokens[Int(second)].section
    }

    override func fieldTotals() throws(StorageError) -> [UInt64] {
        (0..<fieldCount).map { field in
            documents.reduce(0) { $0 + UInt64($1?.fields[field].joined().count ?? 0) }
        }
    }
}
