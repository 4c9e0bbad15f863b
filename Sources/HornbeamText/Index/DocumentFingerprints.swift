// SPDX-License-Identifier: Apache-2.0
// A 32-bit hash of each document's text. A caller that changes a document passes its old text. The fingerprint tells
// whether the index holds the words of this text. Without it each word would have to be looked up, which reads a page
// or two for each. 256 documents share an entry, which ends with the last document that was written.
//
//   key    5, document / 256 u32 big-endian
//   value  u32 little-endian for each document; without meaning if the document is absent

import HornbeamPages
import HornbeamTree

/// A hash of a document's text. Two texts have the same one with probability 1 in 2³².
struct TextFingerprint {
    private var state: UInt64 = 0

    /// Begins the next field, which has `texts` texts.
    mutating func begin(_ texts: Int) { state = state &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(texts) &+ 1 }

    mutating func add(_ text: Bytes) { state = Checksum.of(text, seed: state) }

    var value: UInt32 { UInt32(truncatingIfNeeded: state ^ state >> 32) }

    /// Returns the fingerprint of a document with one text.
    static func of(_ text: Bytes) -> UInt32 {
        var fingerprint = TextFingerprint()
        fingerprint.begin(1)
        fingerprint.add(text)
        return fingerprint.value
    }
}

extension DocumentText {
    var fingerprint: UInt32 {
        var fingerprint = TextFingerprint()
        for field in fields {
            fingerprint.begin(field.count)
            for var text in field { text.withUTF8 { fingerprint.add(Bytes($0)) } }
        }
        return fingerprint.value
    }
}

/// Reads and writes the fingerprints of documents.
struct DocumentFingerprints {
    static let chunkShift: UInt32 = 8
    static let chunkCapacity = 256
    private static let size = MemoryLayout<UInt32>.size

    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex

    /// Returns the fingerprint of a document, or nil if the index has none for it.
    func fingerprint(of docno: UInt32) throws(StorageError) -> UInt32? {
        let offset = Self.size * (Int(docno) % Self.chunkCapacity)
        guard let bytes = try stored(docno >> Self.chunkShift), offset < bytes.count else { return nil }
        return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private func stored(_ chunk: UInt32) throws(StorageError) -> Bytes? {
        let found = try DocumentKey.withBytes(DocumentKey.fingerprints, chunk) { (key) throws(StorageError) in
            try transaction.get(tree, key)
        }
        guard let found else { return nil }
        guard Self.isEntry(found) else { throw unreadable() }
        return found
    }

    static func isEntry(_ bytes: Bytes) -> Bool {
        bytes.count % size == 0 && bytes.count > 0 && bytes.count <= size * chunkCapacity
    }

    /// Writes the fingerprints of changed documents, which must be in ascending order.
    func apply(_ changes: [DocumentChange]) throws(StorageError) {
        var start = 0
        while start < changes.count {
            let chunk = changes[start].docno >> Self.chunkShift
            var bytes = try stored(chunk).map { [UInt8]($0) } ?? []
            var isChanged = false
            while start < changes.count, changes[start].docno >> Self.chunkShift == chunk {
                let change = changes[start]
                start += 1
                guard !change.hasLeft else { continue }
                isChanged = true
                let offset = Self.size * (Int(change.docno) % Self.chunkCapacity)
                if bytes.count <= offset {
                    bytes.append(contentsOf: repeatElement(0, count: offset + Self.size - bytes.count))
                }
                bytes.withUnsafeMutableBytes {
                    $0.storeBytes(of: change.fingerprint.littleEndian, toByteOffset: offset, as: UInt32.self)
                }
            }
            if isChanged { try transaction.put(tree, Self.key(chunk: chunk), bytes) }
        }
    }

    /// Removes the fingerprints of 256 documents that have all left.
    func removeChunk(_ number: UInt32) throws(StorageError) {
        _ = try transaction.delete(tree, Self.key(chunk: number))
    }

    static func key(chunk: UInt32) -> [UInt8] { DocumentKey.bytes(DocumentKey.fingerprints, chunk) }

    func unreadable() -> StorageError {
        index.corrupt(index.documentsName, "an entry of fingerprints is not readable")
    }
}
