// SPDX-License-Identifier: Apache-2.0
// How far pending records are folded into the stored postings: a part of the index's statistics. Records before `start`
// are folded as a whole and gone. While a batch is being folded, what is stored of documents beside their postings has
// all of the batch, and so have the terms up to the watermark; the records of the batch stay until the last term is
// done, so every state of the index can be read: for terms behind the watermark from the records.
//
//   varint  start: the first sequence that isn't folded
//   u64     identity of the record before, little-endian
//   varint  weight of all records before
//   0/…     while a batch is folded: varint its end; u64 identity of its last record; varint weight of all records
//           before its end; the watermark, to the end: no byte before the first term
//
// No byte at all: nothing was ever pending.

import HornbeamPages

struct FoldState: Equatable, Sendable {
    /// A place in the sequence of all records ever.
    struct Mark: Equatable, Sendable {
        /// The sequence of the next record.
        var sequence: UInt64 = 0
        /// Identity of the record before.
        var identity: UInt64 = 0
        /// Weight of all records before.
        var weight: UInt64 = 0
    }

    /// A batch that is being folded.
    struct Batch: Equatable, Sendable {
        var end: Mark
        /// The last term that has the batch; empty before the first.
        var watermark: [UInt8]
    }

    var start = Mark()
    var batch: Batch?

    /// No index gets as many changes.
    static let sequenceLimit: UInt64 = 1 << 62

    init() {}

    /// Nil if the bytes are none.
    init?(_ bytes: [UInt8]) {
        if bytes.isEmpty { return }
        let read: (Mark, Batch?)? = bytes.withBytes { bytes in
            var reader = ByteReader(bytes)
            guard let start = Self.mark(&reader) else { return nil }
            if reader.isAtEnd { return (start, nil) }
            guard let end = Self.mark(&reader), end.sequence > start.sequence, end.weight >= start.weight else {
                return nil
            }
            return (start, Batch(end: end, watermark: [UInt8](reader.rest)))
        }
        guard let read else { return nil }
        (start, batch) = read
    }

    private static func mark(_ reader: inout ByteReader) -> Mark? {
        guard let sequence = reader.varint(), sequence < sequenceLimit, let identity = reader.slice(8),
            let weight = reader.varint(), weight < PendingHeader.Totals.weightLimit
        else {
            return nil
        }
        return Mark(
            sequence: sequence, identity: UInt64(littleEndian: identity.loadUnaligned(as: UInt64.self)),
            weight: weight)
    }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        Self.append(start, to: &bytes)
        guard let batch else { return bytes }
        Self.append(batch.end, to: &bytes)
        return bytes + batch.watermark
    }

    private static func append(_ mark: Mark, to bytes: inout [UInt8]) {
        bytes.appendVarint(mark.sequence)
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: mark.identity >> shift)) }
        bytes.appendVarint(mark.weight)
    }
}
