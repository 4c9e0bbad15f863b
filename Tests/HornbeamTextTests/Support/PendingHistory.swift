// SPDX-License-Identifier: Apache-2.0
// A history of changed documents, as records and as plain texts, for the suites of pending documents.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

@testable import HornbeamText

/// Documents by number, and a record for each change.
struct PendingHistory {
    struct Document: Equatable {
        var row: UInt64
        var words: [String]
    }

    var random: SeededGenerator
    private(set) var documents: [UInt32: Document] = [:]
    /// The records' bytes in order.
    private(set) var records: [[UInt8]] = []
    /// The documents after each record; the first state is the one before the first record.
    private(set) var states: [[UInt32: Document]]
    private(set) var identity: UInt64
    private var nextDocno: UInt32

    static let words = ["a", "ab", "abc", "b", "common", "commoner", "ünder", String(repeating: "long", count: 90)]

    /// - Parameter stored: the number of documents before the first record.
    init(seed: UInt64, stored: UInt32 = 12, identity: UInt64 = 77) {
        random = SeededGenerator(seed: seed)
        self.identity = identity
        nextDocno = stored
        states = []
        for docno in 0..<stored { documents[docno] = Document(row: UInt64(docno) * 10, words: text()) }
        states = [documents]
    }

    private mutating func text() -> [String] {
        (0..<random.below(14)).map { _ in Self.words[min(random.below(8), random.below(8))] }
    }

    /// Adds, changes or removes a document.
    mutating func change() {
        let known = documents.keys.sorted()
        let choice = random.below(10)
        if known.isEmpty || choice < 5 {
            let words = text()
            let row = UInt64(random.below(1 << 20)) << 16 | UInt64(nextDocno)
            set(nextDocno, Document(row: row, words: words))
            nextDocno += 1
        } else {
            let docno = known[random.below(known.count)]
            let words = text()
            set(docno, choice < 8 ? documents[docno].map { Document(row: $0.row, words: words) } : nil)
        }
    }

    private mutating func set(_ docno: UInt32, _ new: Document?) {
        let old = documents[docno]
        documents[docno] = new
        var header = PendingHeader(
            row: new?.row ?? old?.row ?? 0, docno: docno, oldLength: old.map { Int64($0.words.count) } ?? -1,
            newLength: new.map { Int64($0.words.count) } ?? -1)
        header.totals = PendingHeader.Totals(
            documentCount: UInt64(documents.count),
            totalLength: UInt64(documents.values.reduce(0) { $0 + $1.words.count }),
            nextDocno: max(nextDocno, docno + 1))
        let terms = Set((old?.words ?? []) + (new?.words ?? [])).map { Array($0.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        var writer = PendingRecordWriter(header, termCount: terms.count)
        for term in terms {
            let positions = Self.positions(of: term, in: new?.words ?? [])
            let count = Self.positions(of: term, in: old?.words ?? []).count
            withBytes(term) { term in
                positions.withUnsafeBufferPointer {
                    writer.add(
                        term, oldFrequency: UInt32(count), newFrequency: UInt32(positions.count), positions: $0)
                }
            }
        }
        let record = writer.finish(after: identity)
        identity = record.identity
        records.append([UInt8](record.bytes))
        states.append(documents)
    }

    static func positions(of term: [UInt8], in words: [String]) -> [UInt32] {
        words.indices.filter { Array(words[$0].utf8) == term }.map { UInt32($0) }
    }

    /// Returns the segment of some of the records. A record's sequence number is its index.
    func segment(_ range: Range<Int>) -> PendingSegment? {
        var builder = PendingSegmentBuilder()
        for place in range {
            guard withBytes(records[place], { PendingRecord($0).map { builder.add($0) } ?? false }) else { return nil }
        }
        return builder.finish(start: UInt64(range.lowerBound), end: UInt64(range.upperBound))
    }

    /// All data about the records in a range, for comparing a part with the texts before and after them.
    struct Answers: Equatable {
        /// For each word: the present documents, frequencies and lengths; the documents before; the positions.
        var terms: [String: [[UInt32]]] = [:]
        var rows: [UInt64: UInt32?] = [:]
        var lengths: [UInt32: Int64] = [:]
    }

    /// Returns the answers computed from the texts.
    func answers(_ range: Range<Int>) -> Answers {
        let (before, after) = (states[range.lowerBound], states[range.upperBound])
        let changed = Set(range.compactMap { place in withBytes(records[place]) { PendingRecord($0)?.header.docno } })
        var answers = Answers()
        for word in Self.words + ["unknown"] {
            let term = Array(word.utf8)
            var lists = [[UInt32]](repeating: [], count: 7)
            for docno in changed.sorted() {
                let removed = Self.positions(of: term, in: before[docno]?.words ?? []).count
                if removed > 0 {
                    lists[3].append(docno)
                    lists[4].append(UInt32(removed))
                    lists[5].append(UInt32(before[docno]?.words.count ?? 0))
                }
                let positions = Self.positions(of: term, in: after[docno]?.words ?? [])
                guard !positions.isEmpty else { continue }
                lists[0].append(docno)
                lists[1].append(UInt32(positions.count))
                lists[2].append(UInt32(after[docno]?.words.count ?? 0))
                lists[6] += positions
            }
            answers.terms[word] = lists
        }
        for docno in changed {
            answers.lengths[docno] = after[docno].map { Int64($0.words.count) } ?? -1
            if let row = (after[docno] ?? before[docno])?.row { answers.rows[row] = after[docno] == nil ? nil : docno }
        }
        return answers
    }

    /// Returns the answers of the part.
    func answers(_ range: Range<Int>, _ part: PendingPart) -> Answers {
        var answers = Answers()
        for word in Self.words + ["unknown"] {
            let postings = withBytes(Array(word.utf8)) { part.postings(of: $0) } ?? .none
            var positions: [UInt32] = []
            for place in 0..<postings.count { postings.appendPositions(of: place, to: &positions) }
            let added = [postings.docnos, postings.frequencies, postings.lengths].map { ($0, postings.count) }
            let removed = [postings.removedDocnos, postings.removedFrequencies, postings.removedLengths]
                .map { ($0, postings.removedCount) }
            answers.terms[word] =
                (added + removed).map { Array(UnsafeBufferPointer(start: $0, count: $1)) } + [positions]
        }
        let model = self.answers(range)
        for row in model.rows.keys {
            answers.rows[row] = part.document(ofRow: row).flatMap { $0.isThere ? $0.docno : nil }
        }
        for docno in model.lengths.keys { answers.lengths[docno] = part.document(docno)?.newLength }
        return answers
    }
}
