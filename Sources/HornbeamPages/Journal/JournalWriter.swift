// SPDX-License-Identifier: Apache-2.0
// The journal's end: records enter in commit order whatever their durability, which only decides when they are written
// and synced. The bytes of records that are not yet durable are kept, because a write-through makes durable only what
// it writes. Must never overwrite a record since the last durable checkpoint. Guarded by `CommitPipeline`'s lock; the
// writing itself is the pipeline's, one batch in flight at a time.
//
// Positions are running numbers of sectors: the place in the ring is the position modulo the ring's size.
//
//      start ────────── published ─────────── end
//        │   records of       │ records of      │
//        │ published commits  │ pending commits │
//        └ the last durable checkpoint's position
//
//   kept bytes: from `keptStart` (what is before is durable) to `end`; the kernel has those before `writtenEnd`

/// A place between two records, and what the next record must say of the one before it.
struct JournalMark: Equatable, Sendable {
    var position: UInt64
    /// Checksum of the record before; of none, the generation.
    var previous: UInt64
    /// Its transaction, or the checkpoint's.
    var transaction: UInt64
}

/// Records on their way to the file.
struct JournalBatch {
    /// Kept bytes, from position `start`.
    var bytes: [UInt8]
    var start: UInt64
    /// What is written of them: from here.
    var from: UInt64
    var isThrough: Bool
    /// The newest record in it.
    var end: JournalMark
}

struct JournalWriter {
    let ring: JournalRing
    let generation: UInt64
    private(set) var start: UInt64
    private(set) var end: JournalMark
    /// The end of the records whose commits are published.
    private(set) var published: JournalMark
    /// Newest transaction that is durable.
    private var durable: UInt64
    private var kept: [UInt8] = []
    private(set) var keptStart: UInt64
    private(set) var writtenEnd: UInt64

    /// More than this should not be kept: the next flush is a write-through, whatever was asked.
    private static let keptBound = 1 << 20

    /// An empty journal, as a checkpoint leaves it.
    init(after header: HeaderSlot) {
        ring = header.journal
        generation = header.generation
        start = header.journalPosition
        end = JournalMark(
            position: header.journalPosition, previous: header.journalPrevious, transaction: header.transaction)
        published = end
        durable = header.transaction
        keptStart = start
        writtenEnd = start
    }

    /// Sectors that the records since the last durable checkpoint take.
    var usedSectors: UInt64 { end.position - start }

    /// The largest payload that one record may have: half of the ring.
    var maximumPayload: Int { JournalRecord.maximumPayload(ringBytes: ring.byteCount) }

    func fits(payload: Int) -> Bool {
        payload <= maximumPayload && JournalRecord.sectors(payload: payload) <= ring.count - usedSectors
    }

    /// Whether so much is kept that it should be written, whatever its durability.
    var isFull: Bool { kept.count > Self.keptBound }

    /// Adds a record; nothing is written yet. The caller has asked `fits`.
    mutating func append(_ payload: Bytes, transaction: UInt64) {
        precondition(fits(payload: payload.count), "the record must fit in the ring")
        let record = JournalRecord(
            payloadSize: payload.count, generation: generation, transaction: transaction, durable: durable,
            previous: end.previous, ring: ring)
        end.previous = record.append(payload: payload, to: &kept)
        end.position += record.sectors
        end.transaction = transaction
    }

    /// The commits up to `mark` are published: their records are never taken back.
    mutating func publish(_ mark: JournalMark) { published = mark }

    /// A durable checkpoint begins at `position`: the records before it are not needed any more.
    mutating func advance(to position: UInt64, transaction: UInt64) {
        start = position
        durable = max(durable, transaction)
    }

    // MARK: Batches

    /// Takes what has to be written for `durability`; nil if nothing has. The batch goes back by `complete` or
    /// `putBack` before the next one is taken.
    mutating func take(_ durability: Durability) -> JournalBatch? {
        forget(before: start)
        let isThrough = durability == .full
        let from = isThrough ? keptStart : writtenEnd
        guard durability != .none, from < end.position else { return nil }
        let batch = JournalBatch(bytes: kept, start: keptStart, from: from, isThrough: isThrough, end: end)
        kept = []
        keptStart = end.position
        return batch
    }

    /// The batch is written: durable, or the kernel's.
    mutating func complete(_ batch: inout JournalBatch) {
        writtenEnd = batch.end.position
        guard batch.isThrough else { return giveBack(&batch) }
        durable = max(durable, batch.end.transaction)
        guard kept.isEmpty, batch.bytes.capacity <= 2 * Self.keptBound else { return }
        swap(&kept, &batch.bytes)
        kept.removeAll(keepingCapacity: true)
    }

    /// The batch may be written in part or not at all: all of it is kept, to be written anew.
    mutating func putBack(_ batch: inout JournalBatch) {
        writtenEnd = batch.start
        giveBack(&batch)
    }

    /// Exchanges the two arrays, so that what may be a megabyte is not copied with each commit of `process` durability.
    private mutating func giveBack(_ batch: inout JournalBatch) {
        keptStart = batch.start
        swap(&kept, &batch.bytes)
        kept.append(contentsOf: batch.bytes)
    }

    /// Takes back the records of all pending commits.
    mutating func withdraw() {
        kept.removeLast(Int(end.position - published.position) * FileFormat.sectorSize)
        end = published
        writtenEnd = min(writtenEnd, end.position)
    }

    private mutating func forget(before position: UInt64) {
        guard position > keptStart else { return }
        kept.removeFirst(Int(position - keptStart) * FileFormat.sectorSize)
        keptStart = position
        writtenEnd = max(writtenEnd, position)
    }
}

extension JournalBatch {
    /// The bytes to write, with their places in the file: two pieces where they go over the ring's end.
    func write(in ring: JournalRing, to file: any StoreFile) throws(StorageError) {
        let sectors = end.position - from
        try bytes.withBytes { (bytes) throws(StorageError) in
            var done = Int(from - start) * FileFormat.sectorSize
            for piece in ring.pieces(from: ring.place(of: from), sectors: sectors) {
                let part = Bytes(rebasing: bytes[done..<done + piece.count])
                if isThrough {
                    try file.writeThrough(part, at: piece.offset)
                } else {
                    try file.write(part, at: piece.offset)
                }
                done += piece.count
            }
        }
    }

    /// After a failed write: makes sure that the record at `position`, and with it all behind it, is not found in the
    /// file, now or later. The medium gets what the kernel's cache had, and nothing else: a record that is not whole
    /// there never was. One that is, or may be, loses its first sector for good.
    func takeBack(from position: UInt64, in ring: JournalRing, file: any StoreFile) throws(StorageError) {
        let offset = (ring.first + ring.place(of: position)) << FileFormat.sectorShift
        let skipped = Int(position - start) * FileFormat.sectorSize
        guard bytes.withUnsafeBytes({ Self.isThere(Bytes(rebasing: $0[skipped...]), at: offset, file) }) else { return }
        let zeros = [UInt8](repeating: 0, count: FileFormat.sectorSize)
        try zeros.withBytes { (bytes) throws(StorageError) in try file.writeThrough(bytes, at: offset) }
    }

    /// Whether the file's first sector at `offset` can be that of the record that `bytes` begin with. What is behind
    /// the record's end in its sector has no part in it.
    private static func isThere(_ bytes: Bytes, at offset: UInt64, _ file: any StoreFile) -> Bool {
        guard let record = bytes.baseAddress else { return true }
        let size = JournalRecord.headerSize + Int(truncatingIfNeeded: record.u64(8))
        let compared = Swift.min(size, FileFormat.sectorSize)
        return file.has(Bytes(rebasing: bytes[..<compared]), at: offset) ?? true
    }
}
