// SPDX-License-Identifier: Apache-2.0
// The progress of folding pending records into the stored postings: a part of the index's statistics. Records before
// `start` are completely folded. They are deleted a few with each commit, and nothing reads the remaining ones. A batch
// is folded in two phases, each of which takes as many commits as it needs:
//
//   1. The data stored for documents besides their postings is changed, in the order of the documents.
//   2. The terms are changed in byte order, up to the watermark.
//
// The records of the batch stay pending until the last term is done, so every state of the index can be read: the state
// of a document in a record is valid whether or not the document was folded, and its changes of a term are valid only
// for terms behind the watermark.
//
//   varint  start: the first sequence that isn't folded
//   u64     identity of the record before, little-endian
//   varint  weight of all records before
//   varint  number of records before that aren't deleted yet
//   0/…     while a batch is folded: varint its end; u64 identity of its last record; varint weight of all records
//           before its end; varint the first document that may not be folded + 1, 0 if all are; the watermark, to the
//           end: no bytes before the first term
//
// No bytes: nothing was ever pending.

import HornbeamPages

/// The progress of folding.
struct FoldState: Equatable, Sendable {
    /// A position in the sequence of all records ever written.
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
        /// Documents below this one are folded. Nil once all are; no term is folded before that.
        var documents: UInt32?
        /// The last folded term. Empty before the first.
        var watermark: [UInt8] = []
    }

    var start = Mark()
    /// Number of records before `start` that aren't deleted yet.
    var leftover: UInt64 = 0
    var batch: Batch?

    /// Upper bound of the number of an index's changes.
    static let sequenceLimit: UInt64 = 1 << 62

    init() {}

    /// Returns nil if the bytes are not such a state. No bytes mean that nothing was ever pending.
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
