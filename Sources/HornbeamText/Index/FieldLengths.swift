// SPDX-License-Identifier: Apache-2.0
// How many tokens each document has. 256 documents share an entry, so reading the lengths of neighbours costs one
// look-up; entries end with the last document that is there.
//
//   key    document / 256, u64 big-endian (its first byte is therefore 0)
//   value  u16 little-endian each: 0 no such document, n + 1 length n, 65535 look under the document's own key
//   key    1, document u64 big-endian
//   value  varint: a length of 65,534 or more

import HornbeamPages
import HornbeamTree

/// Reads field lengths, a chunk of 256 documents at a time.
struct FieldLengths {
    static let chunkCapacity: UInt64 = 256
    static let escape: UInt16 = 65_535

    let transaction: Transaction
    let tree: TreeID
    let index: TextIndex

    /// Writes `length + 1` of each document of the chunk to `target`, 0 where there is no document; 256 places.
    func load(chunk: UInt64, to target: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        target.update(repeating: 0, count: Int(Self.chunkCapacity))
        guard let bytes = try transaction.get(tree, Self.key(chunk: chunk)) else { return }
        guard bytes.count % 2 == 0, bytes.count <= 2 * Int(Self.chunkCapacity) else {
            throw index.corrupt(index.lengthsName, "an entry of field lengths has \(bytes.count) bytes")
        }
        var hasEscapes = false
        for place in 0..<bytes.count / 2 {
            let stored = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 * place, as: UInt16.self))
            hasEscapes = hasEscapes || stored == Self.escape
            target[place] = UInt32(stored)
        }
        guard hasEscapes else { return }
        for place in 0..<Int(Self.chunkCapacity) where target[place] == UInt32(Self.escape) {
            target[place] = try escaped(chunk << 8 | UInt64(place)) + 1
        }
    }

    private func escaped(_ docno: UInt64) throws(StorageError) -> UInt32 {
        if let bytes = try transaction.get(tree, Self.key(escaped: docno)) {
            var reader = ByteReader(bytes)
            if let length = reader.varint32(), reader.isAtEnd, length >= UInt32(Self.escape) - 1, length < .max {
                return length
            }
        }
        throw index.corrupt(index.lengthsName, "the length of document \(docno) is missing or not readable")
    }

    static func key(chunk: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(8)
        key.appendBigEndian(chunk)
        return key
    }

    static func key(escaped docno: UInt64) -> [UInt8] {
        var key: [UInt8] = [1]
        key.appendBigEndian(docno)
        return key
    }
}

extension FieldLengths {
    /// Brings the lengths from what each document is expected to have to what it has now. `changes` ascend by document.
    /// A stored length that isn't the expected one means that index and entities are out of step: `.corrupt`.
    func apply(_ changes: [DocumentChange]) throws(StorageError) {
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: Int(Self.chunkCapacity))
        defer { places.deallocate() }
        var start = 0
        while start < changes.count {
            let chunk = changes[start].docno >> 8
            var end = start + 1
            while end < changes.count, changes[end].docno >> 8 == chunk { end += 1 }
            try load(chunk: chunk, to: places)
            for change in changes[start..<end] {
                let place = Int(change.docno & 255)
                guard Int64(places[place]) - 1 == change.oldLength else {
                    throw index.corrupt(index.lengthsName, Self.outOfStep(change, stored: places[place]))
                }
                try storeEscaped(change)
                places[place] = UInt32(truncatingIfNeeded: change.newLength + 1)
            }
            try store(chunk, places)
            start = end
        }
    }

    private static func outOfStep(_ change: DocumentChange, stored: UInt32) -> String {
        func text(_ length: Int64) -> String { length < 0 ? "no entry" : "\(length) tokens" }
        return "document \(change.docno) has \(text(Int64(stored) - 1)) in the index, but should have "
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

    private func store(_ chunk: UInt64, _ places: UnsafeMutablePointer<UInt32>) throws(StorageError) {
        var count = Int(Self.chunkCapacity)
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
