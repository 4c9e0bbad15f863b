// SPDX-License-Identifier: Apache-2.0
// From a term to its entry. A term has no length limit but a key has, so a term of more than 200 bytes is found by its
// first 200, a byte that UTF-8 never has, a hash of the rest and an ordinal among those of equal hash; the rest itself
// is in the value and always compared, so that a hash can cost time but never give a wrong match.
//
//   key, term of up to 200 bytes   the term
//   key, longer term               its first 200 bytes · 0xFF · hash of the rest u32 · ordinal u32, both big-endian
//   value  0/1  rest of a long term: varint size, bytes (only under such a key)
//          1-…  varint: number of the posting list, 0 if the postings are here
//          1-…  varints: document frequency, collection frequency (occurrences in all documents)
//          …    if the number is 0: varint first document, PostingBlock

import HornbeamPages
import HornbeamTree

/// What the dictionary says of a term. Borrows `block` from the tree: copy or decode it before the next change.
struct TermEntry {
    /// The number of its posting list in the postings tree, 0 if all postings are in `block`.
    var listNumber: UInt32
    var documentFrequency: UInt64
    /// Occurrences in all documents.
    var collectionFrequency: UInt64
    /// The first document of `block`.
    var first: UInt64 = 0
    var block = Bytes(start: nil, count: 0)

    /// A list of at most this many postings stands in the dictionary: half of all terms occur once.
    static let inlineCapacity = 8

    init(listNumber: UInt32, documentFrequency: UInt64, collectionFrequency: UInt64) {
        self.listNumber = listNumber
        self.documentFrequency = documentFrequency
        self.collectionFrequency = collectionFrequency
    }

    /// Reads a value from behind the rest of a long term. Nil if it isn't one.
    init?(_ reader: inout ByteReader) {
        guard let number = reader.varint32(), let documents = reader.varint(), let occurrences = reader.varint(),
            documents > 0, occurrences >= documents
        else { return nil }
        self.init(listNumber: number, documentFrequency: documents, collectionFrequency: occurrences)
        guard (number == 0) == (documents <= UInt64(Self.inlineCapacity)) else { return nil }
        if number == 0 {
            guard let first = reader.varint() else { return nil }
            self.first = first
            block = reader.rest
        } else if !reader.isAtEnd {
            return nil
        }
    }

    func encode(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(listNumber))
        bytes.appendVarint(documentFrequency)
        bytes.appendVarint(collectionFrequency)
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
            let (stored, reader) = try split(cursor.value)
            if stored.order(rest) == 0 { return ([UInt8](cursor.key), try entry(reader)) }
            guard found < .max else { throw unreadable() }
            ordinal = found + 1
            isThere = try cursor.next()
        }
        key.appendBigEndian(ordinal)
        return (key, nil)
    }

    /// The term and the entry that the cursor stands on.
    func read(_ cursor: borrowing Cursor) throws(StorageError) -> (term: [UInt8], entry: TermEntry) {
        guard Self.isLong(cursor.key) else { return ([UInt8](cursor.key), try entry(ByteReader(cursor.value))) }
        let (rest, reader) = try split(cursor.value)
        let term = [UInt8](cursor.key[..<Self.plainLimit]) + [UInt8](rest)
        return (term, try entry(reader))
    }

    static func isLong(_ key: Bytes) -> Bool { key.count == longKeySize && key[plainLimit] == longMark }

    /// What the value of a long term begins with.
    static func appendRest(of term: Bytes, to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(term.count - plainLimit))
        bytes.append(contentsOf: term[plainLimit...])
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
