// SPDX-License-Identifier: Apache-2.0
// What a transaction has changed and not yet written: for each term a chain of changes, each the state of one document:
// where the term stands in it now, or that it is gone from it. The last change of a document wins.
//
// A chain is a sequence of codes, varints, mostly one byte each. Documents are named by their places, which are given
// in the order in which they come.
//
//   distance · 2                        the term stands once more in the same document, so many positions on, less 1
//   distance · 4 + 1, position          it stands in a document that many places on
//   (distance′ · 2 + 1) · 4 + 3, position   the same, distance′ zigzag-coded
//   distance′ · 2 · 4 + 3               it is gone from that document

import HornbeamPages

/// All changes since the last flush. Large buffers: it can't be copied.
struct ChangeBuffer: ~Copyable {
    private(set) var documents = ChangedDocuments()
    /// Whether any of them was in the index before.
    private(set) var changesOlder = false
    private var terms = TermTable()
    private var chains = ByteChains()
    /// The sections of documents that have them: of each, varint size and as many bytes.
    private var sections: [UInt8] = []
    /// Where the fields of documents end, by their places; of those behind the last one of several fields not kept.
    private var fieldEnds: [FieldEnds] = []
    /// Of the next tokens.
    private let keys = UnsafeMutablePointer<TermTable.Key>.allocate(capacity: lookAhead)
    private static let lookAhead = 32

    deinit { keys.deallocate() }

    var isEmpty: Bool { documents.isEmpty }

    /// Bytes in use, roughly: what the budget limits.
    var size: Int {
        terms.size + chains.used + documents.size + sections.count
            + fieldEnds.count * MemoryLayout<FieldEnds>.stride
    }

    /// The place of the row's document that changed last.
    func place(of row: UInt64) -> UInt32? { documents.place(of: row) }

    /// The place of a document that has none yet; until more is known it is one that isn't there.
    mutating func addDocument(_ row: UInt64, _ docno: UInt32) -> UInt32 { documents.add(row, docno) }

    /// The document is one that the index had.
    mutating func setOldLength(_ length: Int64, at place: UInt32) {
        documents[place].oldLength = length
        changesOlder = true
    }

    mutating func setNewLength(_ length: Int64, at place: UInt32) { documents[place].newLength = length }

    /// Notes what tells the document's text from others.
    mutating func setFingerprint(_ fingerprint: UInt32, at place: UInt32) {
        documents[place].fingerprint = fingerprint
    }

    /// Notes how the tokens of the document are divided; nil if it has left or is one section.
    mutating func setSections(_ new: DocumentSections?, at place: UInt32) {
        setFields(new.map { FieldEnds($0) } ?? .one, at: place)
        guard let new, !new.isPlain else {
            documents[place].sections = -1
            return
        }
        documents[place].sections = Int32(truncatingIfNeeded: sections.count)
        var bytes: [UInt8] = []
        new.encode(to: &bytes)
        sections.appendVarint(UInt64(bytes.count))
        sections += bytes
    }

    private mutating func setFields(_ ends: FieldEnds, at place: UInt32) {
        if Int(place) < fieldEnds.count {
            fieldEnds[Int(place)] = ends
        } else if ends != .one {
            fieldEnds += repeatElement(.one, count: Int(place) - fieldEnds.count)
            fieldEnds.append(ends)
        }
    }

    @inline(__always)
    private func fieldEnds(of place: UInt32) -> FieldEnds {
        Int(place) < fieldEnds.count ? fieldEnds[Int(place)] : .one
    }

    /// Whether there is no room for more sections.
    var isFull: Bool { sections.count > Int(Int32.max) / 2 }

    /// What `DocumentSections` encodes for the document, empty if it has none.
    func sections(of change: DocumentChange) -> ArraySlice<UInt8> {
        guard change.sections >= 0 else { return [] }
        var (size, shift, place) = (0, 0, Int(change.sections))
        while sections[place] >= 0x80 {
            size |= Int(sections[place] & 0x7F) << shift
            (shift, place) = (shift + 7, place + 1)
        }
        size |= Int(sections[place]) << shift
        return sections[place + 1..<place + 1 + size]
    }

    /// Notes that the tokens of `text` stand in the document at `place`, from position `start` on; how many there are.
    mutating func add(_ text: Bytes, document place: UInt32, from start: UInt32, _ tokenizer: inout Tokenizer) -> UInt32
    {
        var position = start
        tokenizer.forEachBatch(in: text) { tokens in
            var first = 0
            while first < tokens.count {
                let count = min(tokens.count &- first, Self.lookAhead)
                prefetch(tokens, first, count)
                for offset in 0..<count {
                    set(tokens[first &+ offset], keys[offset], document: place, position)
                    position &+= 1
                }
                first &+= count
            }
        }
        return position &- start
    }

    /// Makes the keys of some tokens. The slots, the terms and the ends of their chains lie anywhere: they are asked
    /// for all together, since to fetch one after the other would be waiting most of the time.
    @inline(__always)
    private func prefetch(_ tokens: TokenBatch, _ first: Int, _ count: Int) {
        for offset in 0..<count {
            let key = terms.key(tokens[first &+ offset])
            keys[offset] = key
            terms.prefetchSlot(key)
        }
        for offset in 0..<count {
            if let term = terms.guess(keys[offset]) { UnsafeRawPointer(term).prefetch() }
        }
        for offset in 0..<count {
            if let term = terms.guess(keys[offset]) { chains.prefetch(term.pointee.chain) }
        }
    }

    /// Notes that the tokens of `text` are gone from the document at `place`; how many there were.
    mutating func remove(_ text: Bytes, document place: UInt32, _ tokenizer: inout Tokenizer) -> UInt32 {
        var count: UInt32 = 0
        tokenizer.forEachToken(in: text) { token in
            remove(token, document: place)
            count &+= 1
        }
        return count
    }

    /// - Parameter token: from the tokenizer, so memory goes on behind it.
    @inline(__always)
    private mutating func set(_ token: Bytes, _ key: TermTable.Key, document place: UInt32, _ position: UInt32) {
        let term = terms.find(token, key)
        // A document has fewer tokens than positions have numbers, so a later one of the same text has a larger one.
        if term.pointee.place == place, !term.pointee.isRemoved, position > term.pointee.position {
            chains.append(varint: UInt64(position &- term.pointee.position &- 1) << 1, to: &term.pointee.chain)
        } else {
            // Before the first is −1.
            let distance = place &- term.pointee.place
            let isBehind = Int32(bitPattern: distance) > 0
            let code = isBehind ? UInt64(distance) << 2 | 1 : (Self.zigzag(distance) << 1 | 1) << 2 | 3
            chains.append(varint: code, varint: UInt64(position), to: &term.pointee.chain)
            term.pointee.place = place
            term.pointee.isRemoved = false
            term.pointee.changes &+= 1
        }
        term.pointee.position = position
        term.pointee.codes &+= 1
    }

    @inline(__always)
    private mutating func remove(_ token: Bytes, document place: UInt32) {
        let term = terms.find(token, terms.key(token))
        if term.pointee.place == place, term.pointee.isRemoved { return }
        let distance = place &- term.pointee.place
        chains.append(varint: Self.zigzag(distance) << 3 | 3, to: &term.pointee.chain)
        term.pointee.place = place
        term.pointee.isRemoved = true
        term.pointee.changes &+= 1
        term.pointee.codes &+= 1
    }

    private static func zigzag(_ distance: UInt32) -> UInt64 {
        let value = Int32(bitPattern: distance)
        return UInt64(UInt32(bitPattern: value << 1 ^ value >> 31))
    }

    @inline(__always)
    fileprivate static func unzigzag(_ code: UInt64) -> UInt32 {
        let bits = UInt32(truncatingIfNeeded: code)
        return bits >> 1 ^ (0 &- (bits & 1))
    }

    /// Forgets everything; keeps the memory.
    mutating func removeAll() {
        documents.removeAll()
        changesOlder = false
        terms.removeAll()
        chains.removeAll()
        sections.removeAll(keepingCapacity: true)
        fieldEnds.removeAll(keepingCapacity: true)
    }
}

/// The changes of one term, ascending by document, one a document. A posting of frequency 0 is to be removed.
struct TermChanges: ~Copyable {
    var postings = PostingsBuffer()
    /// Whether there must be a posting of the document already; empty if there must be none of any.
    var existed: [Bool] = []

    var count: Int { postings.count }

    @inline(__always)
    func mustExist(_ place: Int) -> Bool { !existed.isEmpty && existed[place] }

    mutating func removeAll() {
        postings.removeAll()
        existed.removeAll(keepingCapacity: true)
    }
}

// Reading it, term by term.
extension ChangeBuffer {
    /// The terms in byte order, those longer than `plainLimit` behind all others.
    func sortedTerms(plainLimit: Int) -> [Int] { terms.sorted(plainLimit: plainLimit) }

    /// The bytes of a term, for the length of `body`.
    func withTerm<Result, Failure: Error>(
        _ number: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try terms.withText(terms.term(number), body)
    }

    /// Puts the term's changes into `changes`. False if a document has left without the term having been taken from it.
    func collect(_ number: Int, to changes: inout TermChanges) -> Bool {
        let term = terms.term(number).pointee
        changes.removeAll()
        let isPlain = documents.withAll { collectNew(term, $0, to: &changes.postings) }
        return isPlain || collectAll(term, to: &changes)
    }

    /// Where all changes are of new documents in ascending order, which is most of what there is to write. False, and
    /// what was collected of no meaning, if they aren't.
    @inline(__always)
    private func collectNew(
        _ term: ChangedTerm, _ documents: UnsafeBufferPointer<DocumentChange>, to postings: inout PostingsBuffer
    ) -> Bool {
        var reader = chains.reader(term.chain)
        postings.reserve(postings: Int(term.changes))
        postings.reserve(positions: Int(term.codes))
        var place = UInt32.max
        var (position, frequency, before): (UInt32, UInt32, Int64) = (0, 0, -1)
        let hasFields = !fieldEnds.isEmpty
        var (fields, counter) = (FieldEnds.one, FieldEnds.Counter())
        if hasFields { postings.makeFields() }
        for _ in 0..<term.codes {
            let code = reader.varint()
            if code & 1 == 0 {
                position &+= UInt32(truncatingIfNeeded: code >> 1) &+ 1
                frequency &+= 1
            } else {
                guard code & 2 == 0 else { return false }
                if frequency > 0 { Self.endPosting(&postings, frequency, hasFields ? counter : nil) }
                place &+= UInt32(truncatingIfNeeded: code >> 2)
                let document = documents[Int(place)]
                guard document.oldLength < 0, document.newLength >= 0, Int64(document.docno) > before else {
                    return false
                }
                before = Int64(document.docno)
                position = UInt32(truncatingIfNeeded: reader.varint())
                frequency = 1
                postings.append(
                    document.docno, frequency: 1, length: UInt32(truncatingIfNeeded: document.newLength))
                if hasFields { (fields, counter) = (fieldEnds(of: place), FieldEnds.Counter()) }
            }
            postings.append(position: position)
            if hasFields { counter.add(position, fields) }
        }
        if frequency > 0 { Self.endPosting(&postings, frequency, hasFields ? counter : nil) }
        return true
    }

    @inline(__always)
    private static func endPosting(
        _ postings: inout PostingsBuffer, _ frequency: UInt32, _ fields: FieldEnds.Counter?
    ) {
        postings.setLastFrequency(frequency)
        if let fields { postings.setFields(postings.count &- 1, fields.counts) }
    }

    /// A change in a chain.
    private struct Record {
        let place: UInt32
        let docno: UInt32
        /// Its positions among those of the chain; none if it is a removal.
        var positions: Range<Int>
    }

    /// The general case. False if a document that has left would keep a posting.
    private func collectAll(_ term: ChangedTerm, to changes: inout TermChanges) -> Bool {
        changes.removeAll()
        var positions: [UInt32] = []
        var records = readRecords(term, &positions)
        // In the order of the changes where the document is the same.
        if !zip(records, records.dropFirst()).allSatisfy({ $0.docno <= $1.docno }) {
            records = records.enumerated().sorted {
                ($0.element.docno, $0.offset) < ($1.element.docno, $1.offset)
            }.map(\.element)
        }
        var start = 0
        while start < records.count {
            var end = start + 1
            while end < records.count, records[end].docno == records[start].docno { end += 1 }
            let (existed, last) = (records[start].positions.isEmpty, records[end - 1])
            start = end
            if !existed, last.positions.isEmpty { continue }
            let document = documents[last.place]
            guard last.positions.isEmpty || !document.hasLeft else { return false }
            changes.postings.append(
                last.docno, frequency: UInt32(last.positions.count),
                length: UInt32(truncatingIfNeeded: max(document.newLength, 0)))
            for place in last.positions { changes.postings.append(position: positions[place]) }
            if !fieldEnds.isEmpty, !last.positions.isEmpty {
                changes.postings.setLastFields(fieldEnds(of: last.place).counts(positions[last.positions]))
            }
            changes.existed.append(existed)
        }
        return true
    }

    private func readRecords(_ term: ChangedTerm, _ positions: inout [UInt32]) -> [Record] {
        var records: [Record] = []
        records.reserveCapacity(Int(term.changes))
        var reader = chains.reader(term.chain)
        var place = UInt32.max
        for _ in 0..<term.codes {
            let code = reader.varint()
            if code & 1 == 0 {
                positions.append(positions[positions.count - 1] &+ UInt32(truncatingIfNeeded: code >> 1) &+ 1)
                records[records.count - 1].positions = records[records.count - 1].positions.lowerBound..<positions.count
                continue
            }
            let isSet = code & 2 == 0 || code >> 2 & 1 == 1
            place &+= code & 2 == 0 ? UInt32(truncatingIfNeeded: code >> 2) : Self.unzigzag(code >> 3)
            let start = positions.count
            if isSet { positions.append(UInt32(truncatingIfNeeded: reader.varint())) }
            records.append(
                Record(place: place, docno: documents[place].docno, positions: start..<positions.count))
        }
        return records
    }
}
