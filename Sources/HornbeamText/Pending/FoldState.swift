// SPDX-License-Identifier: Apache-2.0
// How far pending records are folded into the stored postings: a part of the index's statistics. Records before `start`
// are folded as a whole; they go a few with each commit, and nobody reads those that are still there. A batch is folded
// in two phases, each of as many commits as it takes. First what is stored of documents beside their postings gets it,
// in the order of the documents; then the terms get it, in the order of their bytes, up to the watermark. The records
// of the batch count until the last term is done, so every state of the index can be read: what they say of a document
// is true whether the document has it or not, and what they say of a term counts behind the watermark.
//
//   varint  start: the first sequence that isn't folded
//   u64     identity of the record before, little-endian
//   varint  weight of all records before
//   varint  how many of the records before are still there
//   0/…     while a batch is folded: varint its end; u64 identity of its last record; varint weight of all records
//           before its end; varint the first document + 1 that may not have the batch, 0 if all have it; the
//           watermark, to the end: no byte before the first term
//
// No byte at all: nothing was ever pending.

import HornbeamPages

/// What is folded, and how far.
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
        /// Documents below have the batch; nil once all have it. No term has it before that.
        var documents: UInt32?
        /// The last term that has the batch; empty before the first.
        var watermark: [UInt8] = []
    }

    var start = Mark()
    /// Number of records before `start` that are still there.
    var leftover: UInt64 = 0
    var batch: Batch?

    /// Upper bound of an index's changes.
    static let sequenceLimit: UInt64 = 1 << 62

    init() {}

    /// Returns nil if the bytes are not such a state. No bytes are the state before anything was pending.
    init?(_ bytes: [UInt8]) {
        if bytes.isEmpty { return }
        let read: (Mark, UInt64, Batch?)? = bytes.withBytes { bytes in
            var reader = ByteReader(bytes)
            guard let start = Self.mark(&reader), let leftover = reader.varint(), leftover <= start.sequence else {
                return nil
            }
            if reader.isAtEnd { return (start, leftover, nil) }
            guard let end = Self.mark(&reader), end.sequence > start.sequence, end.weight >= start.weight,
                let documents = reader.varint32(), documents == 0 || reader.isAtEnd
            else { return nil }
            let batch = Batch(
                end: end, documents: documents == 0 ? nil : documents - 1, watermark: [UInt8](reader.rest))
            return (start, leftover, batch)
        }
        guard let read else { return nil }
        (start, leftover, batch) = read
    }

    private static func mark(_ reader: inout ByteReader) -> Mark? {
        guard let sequence = reader.varint(), sequence < sequenceLimit, let identity = reader.fixed(UInt64.self),
            let weight = reader.varint(), weight < PendingHeader.Totals.weightLimit
        else { return nil }
        return Mark(sequence: sequence, identity: identity, weight: weight)
    }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        Self.append(start, to: &bytes)
        bytes.appendVarint(leftover)
        guard let batch else { return bytes }
        Self.append(batch.end, to: &bytes)
        bytes.appendVarint(batch.documents.map { UInt64($0) + 1 } ?? 0)
        return bytes + batch.watermark
    }

    private static func append(_ mark: Mark, to bytes: inout [UInt8]) {
        bytes.appendVarint(mark.sequence)
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: mark.identity >> shift)) }
        bytes.appendVarint(mark.weight)
    }
}
