// SPDX-License-Identifier: Apache-2.0
// From a term to its entry. A term has no length limit but a key has, so a term of more than 200 bytes is found by its
// first 200, a byte that UTF-8 never has, a hash of the rest and an ordinal among those of equal hash; the rest itself
// is in the value and always compared, so that a hash can cost time but never give a wrong match.
//
//   key, term of up to 200 bytes   the term
//   key, longer term               its first 200 bytes · 0xFF · hash of the rest u32 · ordinal u32, both big-endian
//   value  0/1  rest of a long term: varint size, bytes (only under such a key)
//   then, of a term whose postings are here:
//          1-…  varint: documents · 4, + 2 if it stands in any of them more than once, + 1
//          0/1  varint: occurrences − documents, if it does
//          0/1  varint: tokens of the shortest of the documents or fewer, if they are more than 8
//          1-…  InlinePostings
//   or of a term with a list:
//          1-…  varints: number of the list · 2; documents; occurrences in all of them − documents
//          1-…  varint: pairs that bound the list, 1 to 4; + 8 if it tells of fields
//          2-…  varints: the most frequent pair's frequency and length, then how much less those of the next are, …
//          1-…  Leaders, of a term in 128 documents or more
//          3-…  FieldBounds, if it tells of fields: of a term that stands elsewhere than in the first one

import HornbeamPages
import HornbeamTree

/// What the dictionary says of a term. Borrows `block` from the tree: copy or decode it before the next change.
struct TermEntry {
    /// The number of its posting list, 0 if all postings are in `block`.
    var listNumber: UInt32
    var documentFrequency: UInt32
    /// Occurrences in all documents.
    var collectionFrequency: UInt64
    /// Of a list: pairs that bound all its postings, the most frequent first.
    var bounds: [Bound] = []
    /// Of a list: what bounds its postings in each field. Without positions nothing is known of fields.
    var fields = FieldBounds()
    /// Of one without: no document is shorter.
    var shortest: UInt32 = 1
    /// Of a list of many documents: some of its best postings.
    var leaders = Leaders()
    var block = Bytes(start: nil, count: 0)

    /// Pairs that bound a list.
    static let boundLimit = 4

    init(listNumber: UInt32, documentFrequency: UInt32, collectionFrequency: UInt64) {
        self.listNumber = listNumber
        self.documentFrequency = documentFrequency
        self.collectionFrequency = collectionFrequency
    }

    /// Of a term that no document holds.
    static var none: TermEntry { TermEntry(listNumber: 0, documentFrequency: 0, collectionFrequency: 0) }

    /// Reads a value from behind the rest of a long term. Nil if it isn't one.
    init?(_ reader: inout ByteReader) {
        guard let code = reader.varint() else { return nil }
        if code & 1 == 1 {
            self.init(inline: code, &reader)
        } else {
            self.init(list: code, &reader)
        }
    }

    private init?(inline code: UInt64, _ reader: inout ByteReader) {
        let documents = code >> 2
        var more: UInt64 = 0
        if code & 2 != 0 {
            guard let count = reader.varint(), count > 0, count <= UInt64(InlinePostings.mostOccurrences) else {
                return nil
            }
            more = count
        }
        guard documents > 0, documents <= UInt64(InlinePostings.mostDocuments),
            documents + more <= UInt64(InlinePostings.mostOccurrences)
        else { return nil }
        self.init(
            listNumber: 0, documentFrequency: UInt32(truncatingIfNeeded: documents),
            collectionFrequency: documents + more)
        if Self.knowsShortest(documentFrequency) {
            guard let length = reader.varint32(), length > 0 else { return nil }
            shortest = length
        }
        block = reader.rest
    }

    private init?(list code: UInt64, _ reader: inout ByteReader) {
        guard let number = UInt32(exactly: code >> 1), number > 0, let documents = reader.varint32(), documents > 0,
            let more = reader.varint(), more < 1 << 62
        else { return nil }
        self.init(
            listNumber: number, documentFrequency: documents, collectionFrequency: UInt64(documents) + more)
        guard
            documents > UInt32(InlinePostings.documentLimit)
                || collectionFrequency > UInt64(InlinePostings.occurrenceLimit),
            let code = reader.varint(), code & 7 > 0, code & 7 <= UInt64(Self.boundLimit), code < 16,
            let frequency = reader.varint32(),
            let length = reader.varint32(), frequency > 0
        else { return nil }
        var bound = Bound(frequency: frequency, length: length)
        let count = code & 7
        bounds.reserveCapacity(Int(count))
        bounds.append(bound)
        for _ in 1..<count {
            guard let less = reader.varint32(), let shorter = reader.varint32(), less > 0, less < bound.frequency,
                shorter > 0, shorter <= bound.length
            else { return nil }
            bound = Bound(frequency: bound.frequency - less, length: bound.length - shorter)
            bounds.append(bound)
        }
        if documents >= Leaders.leastDocuments {
            guard let leaders = Leaders(&reader) else { return nil }
            self.leaders = leaders
        }
        if code & 8 != 0 {
            guard let told = FieldBounds(&reader) else { return nil }
            fields = told
        } else {
            fields = FieldBounds(Bound(frequency: frequency, length: bound.length), in: 0)
        }
        guard reader.isAtEnd else { return nil }
    }

    /// Whether an entry without a list says how long its documents are: of a few it doesn't matter.
    static func knowsShortest(_ documents: UInt32) -> Bool { documents > UInt32(InlinePostings.documentLimit) }

    /// Writes the entry of a list, or what comes before the postings in one without.
    func encode(to bytes: inout ByteSink) {
        let more = collectionFrequency - UInt64(documentFrequency)
        guard listNumber != 0 else {
            bytes.append(varint: UInt64(documentFrequency) << 2 | (more > 0 ? 2 : 0) | 1)
            if more > 0 { bytes.append(varint: more) }
            if Self.knowsShortest(documentFrequency) { bytes.append(varint: UInt64(shortest)) }
            return
        }
        bytes.append(varint: UInt64(listNumber) << 1)
        bytes.append(varint: UInt64(documentFrequency))
        bytes.append(varint: more)
        let tellsFields = fields.places != .first
        bytes.append(varint: UInt64(bounds.count) + (tellsFields ? 8 : 0))
        var before: Bound?
        for bound in bounds {
            bytes.append(varint: UInt64((before?.frequency).map { $0 - bound.frequency } ?? bound.frequency))
            bytes.append(varint: UInt64((before?.length).map { $0 - bound.length } ?? bound.length))
            before = bound
        }
        if documentFrequency >= Leaders.leastDocuments { leaders.encode(to: &bytes) }
        if tellsFields { fields.encode(to: &bytes) }
    }

    /// Appends the postings that stand here to `target`. False if they are not readable.
    func decodeInline(storesPositions: Bool, to target: inout PostingsBuffer) -> Bool {
        InlinePostings.decode(
            block, count: Int(documentFrequency), occurrences: collectionFrequency, storesPositions: storesPositions,
            to: &target)
    }

    /// Writes them elsewhere, where there is room for `documentFrequency`, which is at most 128. Positions are not
    /// looked at.
    func decodeInline(
        storesPositions: Bool, docnos: UnsafeMutablePointer<UInt32>, frequencies: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        InlinePostings.decode(
            block, count: Int(documentFrequency), occurrences: collectionFrequency, storesPositions: storesPositions,
            docnos: docnos, frequencies: frequencies)
    }
}

/// The terms tree.
struct TermDictionary {
    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex

    /// Terms up to this many bytes are keys themselves. With what a longer one gets behind it, well under the key limit
    /// of the smallest pages.
    static let plainLimit = 200
    static let longMark: UInt8 = 0xFF
    private static let longKeySize = plainLimit + 9

    /// The entry of `term`, nil if no document holds it.
    func find(_ term: Bytes) throws(StorageError) -> TermEntry? {
        guard term.count > Self.plainLimit else {
            guard let value = try transaction.get(tree, term) else { return nil }
            return try entry(ByteReader(value))
        }
        return try findLong(term).entry
    }

    /// The entry of a long term, if there, and the key it has or would get.
    func findLong(_ term: Bytes) throws(StorageError) -> (key: [UInt8], entry: TermEntry?) {
        let rest = Bytes(rebasing: term[Self.plainLimit...])
        var key = [UInt8](term[..<Self.plainLimit])
        key.append(Self.longMark)
        key.appendBigEndian(Self.hash(rest))
        var ordinal: UInt32 = 0
        var cursor = try transaction.cursor(tree)
        var isThere = try cursor.seek(key)
        while isThere, cursor.key.starts(with: key), let found = cursor.key.bigEndian(at: key.count, as: UInt32.self) {
            let stored = try split(cursor.value).rest
            if stored.order(rest) == 0 { return try readAgain([UInt8](cursor.key)) }
            guard found < .max else { throw unreadable() }
            ordinal = found + 1
            isThere = try cursor.next()
        }
        key.appendBigEndian(ordinal)
        return (key, nil)
    }

    /// The entry under the key of a long term. It outlives the cursor that found it: its bytes are the transaction's.
    private func readAgain(_ key: [UInt8]) throws(StorageError) -> (key: [UInt8], entry: TermEntry?) {
        guard let value = try transaction.get(tree, key) else { throw unreadable() }
        return (key, try entry(try split(value).reader))
    }

    /// The term and the entry that the cursor stands on.
    func read(_ cursor: borrowing Cursor) throws(StorageError) -> (term: [UInt8], entry: TermEntry) {
        guard Self.isLong(cursor.key) else { return ([UInt8](cursor.key), try entry(ByteReader(cursor.value))) }
        let (rest, reader) = try split(cursor.value)
        let term = [UInt8](cursor.key[..<Self.plainLimit]) + [UInt8](rest)
        return (term, try entry(reader))
    }

    /// The entry that is the value of a term of up to 200 bytes.
    func entry(_ value: Bytes) throws(StorageError) -> TermEntry { try entry(ByteReader(value)) }

    static func isLong(_ key: Bytes) -> Bool { key.count == longKeySize && key[plainLimit] == longMark }

    /// What the value of a long term begins with.
    static func appendRest(of term: Bytes, to bytes: inout ByteSink) {
        bytes.append(varint: UInt64(term.count - plainLimit))
        bytes.append(Bytes(rebasing: term[plainLimit...]))
    }

    /// The rest of a long term, and a reader behind it.
    private func split(_ value: Bytes) throws(StorageError) -> (rest: Bytes, reader: ByteReader) {
        var reader = ByteReader(value)
        guard let size = reader.varint(), let rest = reader.slice(size) else { throw unreadable() }
        return (rest, reader)
    }

    private func entry(_ reader: ByteReader) throws(StorageError) -> TermEntry {
        var reader = reader
        guard let entry = TermEntry(&reader) else { throw unreadable() }
        return entry
    }

    private func unreadable() -> StorageError {
        index.corrupt(index.termsName, "an entry of the term dictionary is not readable")
    }

    /// FNV-1a.
    static func hash(_ bytes: Bytes) -> UInt32 {
        var hash: UInt32 = 0x811C_9DC5
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return hash
    }
}
