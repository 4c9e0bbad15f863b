// SPDX-License-Identifier: Apache-2.0
// The sections of a document: how its tokens are divided among its fields, and among the texts of a field that has
// several. Positions run over all sections; phrases don't cross from one to the next. A document with a single section
// (one field of one text) has no entry. 64 documents share an entry.
//
//   key    2, document / 64 u32 big-endian
//   value  for each document that has sections, ascending: u8 its index among the 64 · varint size · its sections
//
// Sections: for each field in order, varint tokens · 2 if it is one section; else varint number of sections · 2 + 1,
// and a varint for the tokens of each.

import HornbeamPages
import HornbeamTree

/// A document's tokens by field and section.
struct DocumentSections: Equatable, Sendable {
    /// For each field, the number of tokens of each of its sections.
    var fields: [[UInt32]]

    init(fields: [[UInt32]]) { self.fields = fields }

    /// A document with a single section.
    init(length: UInt32) { fields = [[length]] }

    /// Whether there is a single section. Then nothing is stored.
    var isPlain: Bool { fields.count == 1 && fields[0].count == 1 }

    /// Number of tokens of each field.
    var fieldLengths: [UInt32] { fields.map { $0.reduce(0, &+) } }

    var length: UInt64 { fields.joined().reduce(0) { $0 + UInt64($1) } }

    func encode(to bytes: inout [UInt8]) {
        for field in fields {
            if field.count == 1 {
                bytes.appendVarint(UInt64(field[0]) << 1)
            } else {
                bytes.appendVarint(UInt64(field.count) << 1 | 1)
                for tokens in field { bytes.appendVarint(UInt64(tokens)) }
            }
        }
    }

    /// Returns nil if the bytes are not sections, or are a single section: such a document has no entry.
    init?(_ bytes: Bytes) {
        var fields: [[UInt32]] = []
        let count = Self.forEach(in: bytes) { field, tokens in
            while fields.count <= field { fields.append([]) }
            fields[field].append(tokens)
        }
        guard let count else { return nil }
        while fields.count < count { fields.append([]) }
        self.fields = fields
        guard !isPlain else { return nil }
    }

    /// Calls `body` with the field and the number of tokens of each section, in order. Returns the number of fields, or
    /// nil if the bytes are not sections.
    @inline(__always)
    static func forEach(in bytes: Bytes, _ body: (_ field: Int, _ tokens: UInt32) -> Void) -> Int? {
        var reader = ByteReader(bytes)
        var field = 0
        while !reader.isAtEnd {
            guard let code = reader.varint() else { return nil }
            if code & 1 == 0 {
                guard let tokens = UInt32(exactly: code >> 1) else { return nil }
                body(field, tokens)
            } else {
                // A single section is coded differently, and each section takes at least a byte.
                guard code >> 1 != 1, code >> 1 <= UInt64(bytes.count) else { return nil }
                for _ in 0..<code >> 1 {
                    guard let tokens = reader.varint32() else { return nil }
                    body(field, tokens)
                }
            }
            field += 1
        }
        return field > 0 ? field : nil
    }
}

/// The tokens of each field in a set of documents. Weighted fields need them for their average lengths.
struct FieldTotals: Equatable, Sendable {
    /// By field. The last one isn't 0.
    private(set) var tokens: [UInt64] = []

    init() {}

    init(_ tokens: [UInt64]) { self.tokens = tokens }

    /// Adds a document of `length` tokens, or nothing if `length` is negative. `sections` are the document's stored
    /// sections. Returns false if they can't be read.
    mutating func add(_ length: Int64, _ sections: Bytes) -> Bool { change(length, sections, &+) }

    /// Removes a document. The counterpart of `add`.
    mutating func remove(_ length: Int64, _ sections: Bytes) -> Bool { change(length, sections, &-) }

    /// Wraps around. An error shows as a sum that isn't the number of all tokens.
    private mutating func change(_ length: Int64, _ sections: Bytes, _ add: (UInt64, UInt64) -> UInt64) -> Bool {
        guard length >= 0 else { return true }
        var isRead = true
        if sections.isEmpty {
            change(0, UInt64(length), add)
        } else {
            isRead =
                DocumentSections.forEach(in: sections) { field, tokens in change(field, UInt64(tokens), add) } != nil
        }
        while tokens.last == 0 { tokens.removeLast() }
        return isRead
    }

    private mutating func change(_ field: Int, _ count: UInt64, _ add: (UInt64, UInt64) -> UInt64) {
        while tokens.count <= field { tokens.append(0) }
        tokens[field] = add(tokens[field], count)
    }

    /// Whether the fields have `total` tokens together.
    func isSum(_ total: UInt64) -> Bool {
        var rest = total
        for count in tokens {
            guard count <= rest else { return false }
            rest -= count
        }
        return rest == 0
    }
}

/// The sections of 64 consecutive documents, found together and read without copying.
final class SectionChunk {
    @exclusivity(unchecked) fileprivate(set) var number: UInt32?
    @exclusivity(unchecked) fileprivate var bytes = Bytes(start: nil, count: 0)
    /// The range of each document's sections in the bytes. Empty if it has none.
    @exclusivity(unchecked) fileprivate var places = [Range<Int>](
        repeating: 0..<0, count: Int(SectionTable.chunkCapacity))

    /// The stored sections of a document of the chunk. Empty if it has none.
    @inline(__always)
    subscript(docno: UInt32) -> Bytes {
        Bytes(rebasing: bytes[places[Int(docno % SectionTable.chunkCapacity)]])
    }

    /// Forgets the sections. Call it when their bytes may have moved.
    func forget() { number = nil }
}

/// Reads and writes the sections of documents.
struct SectionTable {
    static let chunkCapacity: UInt32 = 64

    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex

    /// Returns the sections of a document of `length` tokens.
    func sections(of docno: UInt32, length: UInt32) throws(StorageError) -> DocumentSections {
        let chunk = SectionChunk()
        try load(docno / Self.chunkCapacity, into: chunk)
        guard !chunk[docno].isEmpty else { return DocumentSections(length: length) }
        guard let found = DocumentSections(chunk[docno]), found.length == UInt64(length) else { throw unreadable() }
        return found
    }

    /// Returns the stored sections of a document. Empty if it has none.
    func encoded(of docno: UInt32) throws(StorageError) -> [UInt8] {
        let chunk = SectionChunk()
        try load(docno / Self.chunkCapacity, into: chunk)
        return [UInt8](chunk[docno])
    }

    /// Finds the sections of a chunk. They are valid as long as the transaction's bytes are.
    func load(_ number: UInt32, into chunk: SectionChunk) throws(StorageError) {
        chunk.forget()
        for place in chunk.places.indices { chunk.places[place] = 0..<0 }
        chunk.bytes = try transaction.get(tree, Self.key(chunk: number)) ?? Bytes(start: nil, count: 0)
        if let start = chunk.bytes.baseAddress {
            try forEach(chunk.bytes) { (place, stored) throws(StorageError) in
                let offset = stored.baseAddress.map { start.distance(to: $0) } ?? 0
                chunk.places[Int(place)] = offset..<offset + stored.count
            }
        }
        chunk.number = number
    }

    /// Calls `body` with the index and the bytes of each document of an entry.
    func forEach(_ bytes: Bytes, _ body: (UInt8, Bytes) throws(StorageError) -> Void) throws(StorageError) {
        var reader = ByteReader(bytes)
        var next: UInt8 = 0
        while !reader.isAtEnd {
            guard let place = reader.byte(), place >= next, place < UInt8(Self.chunkCapacity),
                let size = reader.varint(), let stored = reader.slice(size)
            else { throw unreadable() }
            try body(place, stored)
            next = place + 1
        }
    }

    static func key(chunk: UInt32) -> [UInt8] { DocumentKey.bytes(DocumentKey.sections, chunk) }

    /// Writes the sections of the changed documents, which are in ascending order, and updates the totals of the
    /// fields. `bytes` returns a document's encoded sections, empty if it has none.
    func apply(
        _ changes: [DocumentChange], _ totals: inout FieldTotals, bytes: (DocumentChange) -> ArraySlice<UInt8>
    ) throws(StorageError) {
        var start = 0
        while start < changes.count {
            let chunk = changes[start].docno / Self.chunkCapacity
            var end = start + 1
            while end < changes.count, changes[end].docno / Self.chunkCapacity == chunk { end += 1 }
            let changed = changes[start..<end]
            start = end
            // Most indexes have no sections at all.
            let concerns = changed.contains { $0.oldLength >= 0 || !bytes($0).isEmpty }
            if concerns { try apply(changed, chunk, bytes, &totals) }
            for change in changed {
                guard bytes(change).withUnsafeBytes({ totals.add(change.newLength, $0) }) else { throw unreadable() }
            }
        }
    }

    private func apply(
        _ changes: ArraySlice<DocumentChange>, _ chunk: UInt32, _ bytes: (DocumentChange) -> ArraySlice<UInt8>,
        _ totals: inout FieldTotals
    ) throws(StorageError) {
        let stored = try transaction.get(tree, Self.key(chunk: chunk))
        var entries: [[UInt8]] = Array(repeating: [], count: Int(Self.chunkCapacity))
        if let stored {
            try forEach(stored) { (place, bytes) throws(StorageError) in entries[Int(place)] = [UInt8](bytes) }
        }
        for change in changes {
            let place = Int(change.docno % Self.chunkCapacity)
            let isRead = entries[place].withUnsafeBytes { totals.remove(change.oldLength, $0) }
            guard isRead else { throw unreadable() }
            entries[place] = [UInt8](bytes(change))
        }
        var value: [UInt8] = []
        for (place, entry) in entries.enumerated() where !entry.isEmpty {
            value.append(UInt8(place))
            value.appendVarint(UInt64(entry.count))
            value.append(contentsOf: entry)
        }
        if !value.isEmpty {
            try transaction.put(tree, Self.key(chunk: chunk), value)
        } else if stored != nil {
            _ = try transaction.delete(tree, Self.key(chunk: chunk))
        }
    }

    func unreadable() -> StorageError {
        index.corrupt(index.documentsName, "an entry of sections is not readable")
    }
}

/// Field ends of documents in any order. Each chunk is read once while there is room: 4 MiB for 262,144 documents.
struct FieldEndCache: ~Copyable {
    private let table: SectionTable
    private let chunk = SectionChunk()
    private var chunks: [UInt32: [FieldEnds]] = [:]
    /// The chunk that was used last. Documents usually arrive in order.
    private var last: (number: UInt32, ends: [FieldEnds])?
    private let mostChunks: Int

    /// - Parameter mostChunks: maximum number of chunks. Each has 64 documents and takes a kilobyte.
    init(_ table: SectionTable, mostChunks: Int = 1 << 12) {
        self.table = table
        self.mostChunks = mostChunks
    }

    mutating func ends(of docno: UInt32) throws(StorageError) -> FieldEnds {
        let (number, place) = (docno / SectionTable.chunkCapacity, Int(docno % SectionTable.chunkCapacity))
        if let last, last.number == number { return last.ends[place] }
        if let known = chunks[number] {
            last = (number, known)
            return known[place]
        }
        try table.load(number, into: chunk)
        var ends: [FieldEnds] = []
        for place in 0..<SectionTable.chunkCapacity {
            guard let found = FieldEnds(sections: chunk[number * SectionTable.chunkCapacity + place]) else {
                throw table.unreadable()
            }
            ends.append(found)
        }
        if chunks.count >= mostChunks { chunks.removeAll(keepingCapacity: true) }
        chunks[number] = ends
        last = (number, ends)
        return ends[place]
    }
}

extension FieldEnds {
    /// Returns nil if the sections can't be read.
    /// - Parameter sections: the document's stored sections; empty for a document with a single section.
    init?(sections: Bytes) {
        var ends = Self.none
        guard !sections.isEmpty else {
            self.init(ends)
            return
        }
        var (next, end): (Int, UInt32) = (0, 0)
        let fields = DocumentSections.forEach(in: sections) { field, tokens in
            // A field without text ends where the field before it ends.
            while next < min(field, FieldPlace.others) {
                ends[next] = end
                next += 1
            }
            end = end &+ tokens
        }
        guard let fields else { return nil }
        while next < min(fields, FieldPlace.others) {
            ends[next] = end
            next += 1
        }
        self.init(ends)
    }

    init(_ sections: DocumentSections) {
        var ends = Self.none
        var end: UInt32 = 0
        for (field, tokens) in sections.fieldLengths.enumerated().prefix(FieldPlace.others) {
            end = end &+ tokens
            ends[field] = end
        }
        self.init(ends)
    }
}
