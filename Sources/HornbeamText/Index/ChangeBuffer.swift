// SPDX-License-Identifier: Apache-2.0
// The changes of a transaction that aren't written yet. Each term has a chain of changes. A change is the state of one
// document: the term's positions in it now, or its removal. The last change of a document wins.
//
// A chain is a sequence of codes, varints, mostly one byte each. Documents are named by their indexes in `documents`,
// in order of arrival (`place` in the code).
//
//   distance · 2                        one more position in the same document; distance to the position before, less 1
//   distance · 4 + 1, position          a position in the document `distance` indexes further on
//   (distance′ · 2 + 1) · 4 + 3, position   likewise, distance′ zigzag-coded
//   distance′ · 2 · 4 + 3               the term is removed from that document

import HornbeamPages

/// All changes since the last flush. Has large buffers, so it can't be copied.
struct ChangeBuffer: ~Copyable {
    private(set) var documents = ChangedDocuments()
    /// Whether a changed document was in the index before.
    private(set) var changesOlder = false
    private var terms = TermTable()
    private var chains = ByteChains()
    /// Sections of the documents that have them: for each, varint size, then the bytes.
    private var sections: [UInt8] = []
    /// The field ends of documents, by index. The list ends with the last document of several fields; all later ones
    /// have one field.
    private var fieldEnds: [FieldEnds] = []
    /// Keys of the next tokens.
    private let keys = UnsafeMutablePointer<TermTable.Key>.allocate(capacity: lookAhead)
    private static let lookAhead = 32

    deinit { keys.deallocate() }

    var isEmpty: Bool { documents.isEmpty }

    /// Approximate memory in use, in bytes. The budget limits it.
    var size: Int {
        terms.size + chains.used + documents.size + sections.count
            + fieldEnds.count * MemoryLayout<FieldEnds>.stride
    }

    /// Returns the index of the row's latest document.
    func place(of row: UInt64) -> UInt32? { documents.place(of: row) }

    /// Adds a document. Until its lengths are set it counts as absent. Returns its index.
    mutating func addDocument(_ row: UInt64, _ docno: UInt32) -> UInt32 { documents.add(row, docno) }

    /// Marks the document as one that the index has, with this length.
    mutating func setOldLength(_ length: Int64, at place: UInt32) {
        documents[place].oldLength = length
        changesOlder = true
    }

    mutating func setNewLength(_ length: Int64, at place: UInt32) { documents[place].newLength = length }

    /// Sets the fingerprint of the document's text.
    mutating func setFingerprint(_ fingerprint: UInt32, at place: UInt32) {
        documents[place].fingerprint = fingerprint
    }

    /// Sets the sections of the document; nil if it has left or has a single section.
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

    /// Returns the encoded sections of the document, empty if it has none.
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

    /// Adds the tokens of `text` to the document at index `place`, from position `start` on. Returns the number of
    /// tokens.
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

    /// Makes the keys of some tokens. Slots, terms and chain ends are scattered in memory. They are prefetched
    /// together, since fetching them one by one would spend most of the time waiting.
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

    /// Removes the tokens of `text` from the document at index `place`. Returns the number of tokens.
    mutating func remove(_ text: Bytes, document place: UInt32, _ tokenizer: inout Tokenizer) -> UInt32 {
        var count: UInt32 = 0
        tokenizer.forEachToken(in: text) { token in
            remove(token, document: place)
            count &+= 1
        }
        return count
    }

    /// - Parameter token: from the tokenizer, so the memory behind it is readable.
    @inline(__always)
    private mutating func set(_ token: Bytes, _ key: TermTable.Key, document place: UInt32, _ position: UInt32) {
        let term = terms.find(token, key)
        // A document has fewer tokens than there are position numbers, so a later token of the same text has a larger
        // position.
        if term.pointee.place == place, !term.pointee.isRemoved, position > term.pointee.position {
            chains.append(varint: UInt64(position &- term.pointee.position &- 1) << 1, to: &term.pointee.chain)
        } else {
            // `place` is −1 before the first change.
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

    /// Removes all changes and keeps the memory.
    mutating func removeAll() {
        documents.removeAll()
        changesOlder = false
        terms.removeAll()
        chains.removeAll()
        sections.removeAll(keepingCapacity: true)
        fieldEnds.removeAll(keepingCapacity: true)
    }
}

/// The changes of one term: one for each document, in ascending order of documents. A posting of frequency 0 is a
/// removal.
struct TermChanges: ~Copyable {
    var postings = PostingsBuffer()
    /// Whether the list must already have a posting of the document. Empty if it must have none of these documents.
    var existed: [Bool] = []

    var count: Int { postings.count }

    @inline(__always)
    func mustExist(_ place: Int) -> Bool { !existed.isEmpty && existed[place] }

    mutating func removeAll() {
        postings.removeAll()
        existed.removeAll(keepingCapacity: true)
    }
}

// Reading, term by term.
extension ChangeBuffer {
    /// Returns the terms in byte order. Terms longer than `plainLimit` follow all others.
    func sortedTerms(plainLimit: Int) -> [Int] { terms.sorted(plainLimit: plainLimit) }

    /// Calls `body` with the bytes of a term, which are valid during the call.
    func withTerm<Result, Failure: Error>(
        _ number: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try terms.withText(terms.term(number), body)
    }

    /// Collects the term's changes into `changes`. Returns false if a document has left but the term wasn't removed
    /// from it.
    func collect(_ number: Int, to changes: inout TermChanges) -> Bool {
        let term = terms.term(number).pointee
        changes.removeAll()
        let isPlain = documents.withAll { collectNew(term, $0, to: &changes.postings) }
        return isPlain || collectAll(term, to: &changes)
    }

    /// The fast path, the usual one: all changes are of new documents in ascending order. Returns false if they aren't;
    /// then `postings` has no meaning.
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
        /// Range of the document's positions among those of the chain. Empty for a removal.
        var positions: Range<Int>
    }

    /// The general case. Returns false if a document that has left would keep a posting.
    private func collectAll(_ term: ChangedTerm, to changes: inout TermChanges) -> Bool {
        changes.removeAll()
        var positions: [UInt32] = []
        var records = readRecords(term, &positions)
        // Stable: changes of one document keep their order.
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
