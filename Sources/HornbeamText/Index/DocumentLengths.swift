// SPDX-License-Identifier: Apache-2.0
// The number of tokens of each document. 512 documents share an entry, so reading the lengths of neighbours costs one
// look-up and the entry lies in its leaf. (An entry of 1,024 documents would take a page of its own and leave half of
// it empty.) An entry ends with its last present document.
//
//   key    0, document / 512 u32 big-endian
//   value  u16 little-endian for each document: 0 absent, n + 1 length n, 65535 see the document's own key
//   key    1, document u32 big-endian
//   value  varint: a length of 65,534 or more

import HornbeamPages
import HornbeamTree

/// The kinds of entries in the documents tree: the first byte of their keys.
enum DocumentKey {
    static let lengths: UInt8 = 0
    static let longLength: UInt8 = 1
    static let sections: UInt8 = 2
    static let rows: UInt8 = 3
    static let exception: UInt8 = 4
    static let fingerprints: UInt8 = 5

    /// Calls `body` with the bytes of such a key, which are valid during the call.
    @inline(__always)
    static func withBytes<Result>(
        _ kind: UInt8, _ number: UInt32, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        var whole = (UInt64(kind) << 56 | UInt64(number) << 24).bigEndian
        return try withUnsafePointer(to: &whole) { (pointer) throws(StorageError) in
            try body(Bytes(start: pointer, count: 5))
        }
    }

    static func bytes<Number: FixedWidthInteger>(_ kind: UInt8, _ number: Number) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(9)
        key.append(kind)
        key.appendBigEndian(number)
        return key
    }
}

/// Reads lengths, a chunk of 512 documents at a time.
struct DocumentLengths {
    static let chunkCapacity = 512
    static let chunkShift: UInt32 = 9
    static let escape: UInt16 = 65_535

    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex

    /// Writes `length + 1` of each of the chunk's 512 documents to `target`, 0 where there is no document.
    func load(chunk: UInt32, to target: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        guard let bytes = try stored(chunk) else {
            return target.update(repeating: 0, count: Self.chunkCapacity)
        }
        let count = bytes.count / 2
        var largest: UInt16 = 0
        for place in 0..<count {
            let stored = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 &* place, as: UInt16.self))
            largest = max(largest, stored)
            target[place] = UInt32(stored)
        }
        (target + count).update(repeating: 0, count: Self.chunkCapacity - count)
        guard largest == Self.escape else { return }
        for place in 0..<count where target[place] == UInt32(Self.escape) {
            target[place] = try escaped(chunk << Self.chunkShift | UInt32(place)) + 1
        }
    }

    /// Returns the length of a document, or nil if there is no such document.
    func length(of docno: UInt32) throws(StorageError) -> UInt32? {
        guard let bytes = try stored(docno >> Self.chunkShift) else { return nil }
        let place = Int(docno) % Self.chunkCapacity
        guard 2 * place < bytes.count else { return nil }
        let stored = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 * place, as: UInt16.self))
        if stored == Self.escape { return try escaped(docno) }
        return stored == 0 ? nil : UInt32(stored) - 1
    }

    /// Returns the entry of a chunk, or nil if there is none: length + 1 for each of its first documents. The others
    /// are absent. Valid until the next change.
    func stored(_ chunk: UInt32) throws(StorageError) -> Bytes? {
        let found = try DocumentKey.withBytes(DocumentKey.lengths, chunk) { (key) throws(StorageError) in
            try transaction.get(tree, key)
        }
        guard let bytes = found else { return nil }
        guard bytes.count % 2 == 0, bytes.count <= 2 * Self.chunkCapacity else {
            throw index.corrupt(index.documentsName, "an entry of document lengths has \(bytes.count) bytes")
        }
        return bytes
    }

    private func escaped(_ docno: UInt32) throws(StorageError) -> UInt32 {
        if let bytes = try transaction.get(tree, Self.key(escaped: docno)) {
            var reader = ByteReader(bytes)
            if let length = reader.varint32(), reader.isAtEnd, length >= UInt32(Self.escape) - 1, length < .max {
                return length
            }
        }
        throw index.corrupt(index.documentsName, "the length of document \(docno) is missing or not readable")
    }

    static func key(chunk: UInt32) -> [UInt8] { DocumentKey.bytes(DocumentKey.lengths, chunk) }
    static func key(escaped docno: UInt32) -> [UInt8] { DocumentKey.bytes(DocumentKey.longLength, docno) }
}

extension DocumentLengths {
    /// Changes the length of each document from `oldLength` to `newLength`. `changes` are in ascending order of
    /// documents. Throws `.corrupt` if a stored length isn't the old length: then the index and its entities are out of
    /// step. Calls `emptied` with each range of 256 documents that lost its last one.
    func apply(
        _ changes: [DocumentChange], emptied: (_ chunk: UInt32) throws(StorageError) -> Void
    ) throws(StorageError) {
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: Self.chunkCapacity)
        defer { places.deallocate() }
        var start = 0
        while start < changes.count {
            let chunk = changes[start].docno >> Self.chunkShift
            var end = start + 1
            while end < changes.count, changes[end].docno >> Self.chunkShift == chunk { end += 1 }
            try load(chunk: chunk, to: places)
            for change in changes[start..<end] {
                let place = Int(change.docno) % Self.chunkCapacity
                guard Int64(places[place]) - 1 == change.oldLength else {
                    throw index.corrupt(index.documentsName, Self.outOfStep(change, stored: places[place]))
                }
                try storeEscaped(change)
                places[place] = UInt32(truncatingIfNeeded: change.newLength + 1)
            }
            try store(chunk, places)
            var told: UInt32?
            for change in changes[start..<end] where change.newLength < 0 {
                let rows = change.docno >> DocumentMap.chunkShift
                guard told != rows else { continue }
                told = rows
                let first = Int(rows << DocumentMap.chunkShift) % Self.chunkCapacity
                let isEmpty = (first..<first + DocumentMap.chunkCapacity).allSatisfy { places[$0] == 0 }
                if isEmpty { try emptied(rows) }
            }
            start = end
        }
    }

    private static func outOfStep(_ change: DocumentChange, stored: UInt32) -> String {
        func text(_ length: Int64) -> String { length < 0 ? "no entry" : "\(length) tokens" }
        return "document \(change.row) has \(text(Int64(stored) - 1)) in the index, but should have "
            + "\(text(change.oldLength)) by its text"
    }

    private func storeEscaped(_ change: DocumentChange) throws(StorageError) {
        let limit = Int64(Self.escape) - 1
        if change.newLength >= limit {
            var value: [UInt8] = []
            value.appendVarint(UInt64(change.newLength))
            try transaction.put(tree, Self.key(escaped: change.docno), value)
        } else if change.oldLength >= limit {
            _ = try transaction.delete(tree, Self.key(escaped: change.docno))
        }
    }

    private func store(_ chunk: UInt32, _ places: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        var count = Self.chunkCapacity
        while count > 0, places[count - 1] == 0 { count -= 1 }
        guard count > 0 else {
            _ = try transaction.delete(tree, Self.key(chunk: chunk))
            return
        }
        var value: [UInt8] = []
        value.reserveCapacity(2 * count)
        for place in 0..<count { value.appendFixed16(UInt16(min(places[place], UInt32(Self.escape)))) }
        try transaction.put(tree, Self.key(chunk: chunk), value)
    }
}

/// Lengths of documents in any order, with each chunk read once. For one writer: it doesn't see later changes.
struct LengthCache: ~Copyable {
    private let lengths: DocumentLengths
    private var chunks: [UInt32: UnsafeMutablePointer<UInt32>] = [:]
    /// The chunk that was used last.
    private var last: (number: UInt32, places: UnsafeMutablePointer<UInt32>)?

    init(_ lengths: DocumentLengths) { self.lengths = lengths }

    deinit { for places in chunks.values { places.deallocate() } }

    /// Returns the document's length. Returns 1 if there is no such document, which is a valid lower bound.
    @inline(__always)
    mutating func length(of docno: UInt32) throws(StorageError) -> UInt32 {
        let chunk = docno &>> DocumentLengths.chunkShift
        let places: UnsafeMutablePointer<UInt32>
        if let last, last.number == chunk { places = last.places } else { places = try load(chunk) }
        let stored = places[Int(docno & UInt32(DocumentLengths.chunkCapacity - 1))]
        return stored == 0 ? 1 : stored - 1
    }

    private mutating func load(_ chunk: UInt32) throws(StorageError) -> UnsafeMutablePointer<UInt32> {
        if let known = chunks[chunk] {
            last = (chunk, known)
            return known
        }
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: DocumentLengths.chunkCapacity)
        do { try lengths.load(chunk: chunk, to: places) } catch {
            places.deallocate()
            throw error
        }
        chunks[chunk] = places
        last = (chunk, places)
        return places
    }
}
