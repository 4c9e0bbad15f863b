// SPDX-License-Identifier: Apache-2.0
// Maps a term to its entry. Terms have no length limit, but keys have one. So the key of a term of more than 200 bytes
// is its first 200, a byte that never occurs in UTF-8, a hash of the rest, and an ordinal among terms with the same
// hash. The rest itself is in the value and always compared, so that a hash collision can cost time but never gives a
// wrong match.
//
//   key, term of up to 200 bytes   the term
//   key, longer term               its first 200 bytes · 0xFF · hash of the rest u32 · ordinal u32, both big-endian
//   value  0/1  rest of a long term: varint size, bytes (only under such a key)
//   then, for a term whose postings are in the entry:
//          1-…  varint: documents · 4, + 2 if a frequency is above 1, + 1
//          0/1  varint: occurrences − documents, if a frequency is above 1
//          0/1  varint: length of the shortest document or less, if there are more than 8 documents
//          1-…  InlinePostings
//   or for a term with a list:
//          1-…  varints: number of the list · 2; documents; occurrences in all of them − documents
//          1-…  varint: number of pairs that bound the list, 1 to 4; + 8 if FieldBounds follow
//          2-…  varints: the most frequent pair's frequency and length, then the decreases to the next pair, …
//          1-…  Leaders, for a term in 128 documents or more
//          3-…  FieldBounds, for a term that occurs outside the first field

import HornbeamPages
import HornbeamTree

/// A term's entry in the dictionary. Borrows `block` from the tree: copy or decode it before the next change.
struct TermEntry {
    /// The number of its posting list, 0 if all postings are in `block`.
    var listNumber: UInt32
    var documentFrequency: UInt32
    /// Number of occurrences in all documents.
    var collectionFrequency: UInt64
    /// For a list: pairs that bound all its postings, the most frequent first.
    var bounds: [Bound] = []
    /// For a list: bounds of its postings in each field. Not stored in an index without positions.
    var fields = FieldBounds()
    /// For postings in the entry: a lower bound of the documents' lengths.
    var shortest: UInt32 = 1
    /// For a list of many documents: some of its best postings.
    var leaders = Leaders()
    var block = Bytes(start: nil, count: 0)

    /// Maximum number of pairs that bound a list.
    static let boundLimit = 4

    init(listNumber: UInt32, documentFrequency: UInt32, collectionFrequency: UInt64) {
        self.listNumber = listNumber
        self.documentFrequency = documentFrequency
        self.collectionFrequency = collectionFrequency
    }

    /// The entry of a term that occurs in no document.
    static var none: TermEntry { TermEntry(listNumber: 0, documentFrequency: 0, collectionFrequency: 0) }

    /// Reads a value, from behind the rest of a long term. Returns nil if it isn't one.
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

    /// Whether an entry without a list stores a lower bound of the lengths. For a few documents it isn't worth it.
    static func knowsShortest(_ documents: UInt32) -> Bool { documents > UInt32(InlinePostings.documentLimit) }

    /// Writes the entry of a list, or the part before the postings in an entry without one.
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

    /// Appends the postings in this entry to `target`. Returns false if they are not readable.
    func decodeInline(storesPositions: Bool, to target: inout PostingsBuffer) -> Bool {
        InlinePostings.decode(
            block, count: Int(documentFrequency), occurrences: collectionFrequency, storesPositions: storesPositions,
            to: &target)
    }

    /// Writes the postings in this entry to the given memory, which has room for `documentFrequency` of them (at most
    /// 128). Doesn't check positions. Returns false if they are not readable.
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

    /// Maximum size in bytes of a term that is its own key. The key of a longer term is nine bytes longer, which is
    /// well under the key limit of the smallest pages.
    static let plainLimit = 200
    static let longMark: UInt8 = 0xFF
    private static let longKeySize = plainLimit + 9

    /// Returns the entry of `term`, or nil if it occurs in no document.
    func find(_ term: Bytes) throws(StorageError) -> TermEntry? {
        guard term.count > Self.plainLimit else {
            guard let value = try transaction.get(tree, term) else { return nil }
            return try entry(ByteReader(value))
        }
        return try findLong(term).entry
    }

    /// Returns the entry of a long term, if there is one, and the key that it has or would get.
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

    /// Reads the entry under the key of a long term again. Its bytes belong to the transaction and outlive the cursor.
    private func readAgain(_ key: [UInt8]) throws(StorageError) -> (key: [UInt8], entry: TermEntry?) {
        guard let value = try transaction.get(tree, key) else { throw unreadable() }
        return (key, try entry(try split(value).reader))
    }

    /// Returns the term and the entry under the cursor.
    func read(_ cursor: borrowing Cursor) throws(StorageError) -> (term: [UInt8], entry: TermEntry) {
        guard Self.isLong(cursor.key) else { return ([UInt8](cursor.key), try entry(ByteReader(cursor.value))) }
        let (rest, reader) = try split(cursor.value)
        let term = [UInt8](cursor.key[..<Self.plainLimit]) + [UInt8](rest)
        return (term, try entry(reader))
    }

    /// Returns the entry in the value of a term of up to 200 bytes.
    func entry(_ value: Bytes) throws(StorageError) -> TermEntry { try entry(ByteReader(value)) }

    static func isLong(_ key: Bytes) -> Bool { key.count == longKeySize && key[plainLimit] == longMark }

    /// Appends the beginning of a long term's value: the rest of the term.
    static func appendRest(of term: Bytes, to bytes: inout ByteSink) {
        bytes.append(varint: UInt64(term.count - plainLimit))
        bytes.append(Bytes(rebasing: term[plainLimit...]))
    }

    /// Returns the rest of a long term, and a reader behind it.
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

    /// Returns the FNV-1a hash.
    static func hash(_ bytes: Bytes) -> UInt32 {
        var hash: UInt32 = 0x811C_9DC5
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return hash
    }
}
