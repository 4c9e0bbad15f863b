// SPDX-License-Identifier: Apache-2.0
// How a document's tokens are divided among its fields, and those of a field of several texts among these: its
// sections. Positions run over all of them, phrases don't cross from one to the next. A document that is one section
// (one field of one text) has no entry; 64 documents share one.
//
//   key    2, document / 64 u32 big-endian
//   value  for each document that has them, ascending: u8 its place among the 64 · varint size · its sections
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

    /// All of a document in one section.
    init(length: UInt32) { fields = [[length]] }

    /// Whether it is one section, of which nothing is stored.
    var isPlain: Bool { fields.count == 1 && fields[0].count == 1 }

    /// Tokens of each field.
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

    /// Nil if the bytes are no sections, or those of a document that has no entry.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        fields = []
        while !reader.isAtEnd {
            guard let code = reader.varint() else { return nil }
            if code & 1 == 0 {
                guard let tokens = UInt32(exactly: code >> 1) else { return nil }
                fields.append([tokens])
            } else {
                // One section is written otherwise, and each takes a byte.
                guard code >> 1 != 1, code >> 1 <= UInt64(bytes.count) else { return nil }
                var sections: [UInt32] = []
                for _ in 0..<code >> 1 {
                    guard let tokens = reader.varint32() else { return nil }
                    sections.append(tokens)
                }
                fields.append(sections)
            }
        }
        guard !fields.isEmpty, !isPlain else { return nil }
    }
}

/// Reads and writes the sections of documents.
struct SectionTable {
    static let chunkCapacity: UInt32 = 64

    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex

    /// The sections of a document of `length` tokens.
    func sections(of docno: UInt32, length: UInt32) throws(StorageError) -> DocumentSections {
        let place = UInt8(docno % Self.chunkCapacity)
        guard let bytes = try transaction.get(tree, Self.key(chunk: docno / Self.chunkCapacity)) else {
            return DocumentSections(length: length)
        }
        var found: DocumentSections?
        try forEach(bytes) { (entry, stored) throws(StorageError) in
            guard entry == place else { return }
            found = DocumentSections(stored)
            guard found?.length == UInt64(length) else { throw unreadable() }
        }
        return found ?? DocumentSections(length: length)
    }

    /// Calls `body` with the place and the bytes of each document of an entry.
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

    /// Writes the sections of the changed documents, ascending; `bytes` are what `DocumentSections` encodes, empty for
    /// a document that has none.
    func apply(
        _ changes: [DocumentChange], bytes: (DocumentChange) -> ArraySlice<UInt8>
    ) throws(StorageError) {
        var start = 0
        while start < changes.count {
            let chunk = changes[start].docno / Self.chunkCapacity
            var end = start + 1
            while end < changes.count, changes[end].docno / Self.chunkCapacity == chunk { end += 1 }
            let changed = changes[start..<end]
            start = end
            // Most indexes have none at all.
            let concerns = changed.contains { $0.oldLength >= 0 || !bytes($0).isEmpty }
            if concerns { try apply(changed, chunk, bytes) }
        }
    }

    private func apply(
        _ changes: ArraySlice<DocumentChange>, _ chunk: UInt32, _ bytes: (DocumentChange) -> ArraySlice<UInt8>
    ) throws(StorageError) {
        let stored = try transaction.get(tree, Self.key(chunk: chunk))
        if stored == nil, changes.allSatisfy({ bytes($0).isEmpty }) { return }
        var entries: [[UInt8]] = Array(repeating: [], count: Int(Self.chunkCapacity))
        if let stored {
            try forEach(stored) { (place, bytes) throws(StorageError) in entries[Int(place)] = [UInt8](bytes) }
        }
        for change in changes { entries[Int(change.docno % Self.chunkCapacity)] = [UInt8](bytes(change)) }
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

    private func unreadable() -> StorageError {
        index.corrupt(index.documentsName, "an entry of sections is not readable")
    }
}
