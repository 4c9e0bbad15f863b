// SPDX-License-Identifier: Apache-2.0
// The journal's end. Records are added in commit order whatever their durability, which only decides when they are
// written and synced. A write-through makes durable only the bytes that it writes, so all records since the last one
// are written again with it: from memory, or from the kernel's cache if they are too many to keep. A record since the
// last durable checkpoint must never be overwritten. Guarded by `CommitPipeline`'s lock. The pipeline does the writing,
// one batch in flight at a time.
//
// Positions are running numbers of bytes: the place in the ring is the position modulo the ring's size. Records follow
// one another in a sector until a write-through or a checkpoint closes it: the next record begins in the next sector.
// So durable bytes are never written again, and a checkpoint's position is the start of a sector.
//
//      start ────── durableEnd ────── keptStart ────── published ────── end
//        │   durable    │ the kernel's only │  kept bytes, ends of published and pending commits
//        └ the last durable checkpoint's position

/// A place between two records, and what the next record states about the one before it.
struct JournalMark: Equatable, Sendable {
    var position: UInt64
    /// Checksum of the record before, or the generation if there is none.
    var previous: UInt64
    /// Transaction of the record before, or of the checkpoint if there is none.
    var transaction: UInt64
}

/// Records on their way to the file.
struct JournalBatch {
    /// Whole sectors: the kept bytes from position `start`, and zeros after `end`.
    var bytes: [UInt8]
    var start: UInt64
    /// Position of the sector at which the written part begins.
    var from: UInt64
    /// Bytes from this position up to `start`, which are no longer kept, are read from the file and written through
    /// before the rest.
    var rewrittenFrom: UInt64
    var isThrough: Bool
    /// The mark after the newest record in it.
    var end: JournalMark
}

struct JournalWriter {
    let ring: JournalRing
    let generation: UInt64
    private let cipher: (any PageCipher)?
    private(set) var start: UInt64
    private(set) var end: JournalMark
    /// The end of the records whose commits are published.
    private(set) var published: JournalMark
    /// Newest transaction that is durable.
    private var durable: UInt64
    /// Everything before this position is durable. It is the start of a sector.
    private(set) var durableEnd: UInt64
    /// The bytes from `keptStart` to `end`. `keptStart` is the start of a sector, except while a batch is being
    /// written.
    private var kept: [UInt8] = []
    private var keptStart: UInt64
    /// Everything before this position has been given to the kernel.
    private(set) var writtenEnd: UInt64
    /// Bytes before this position that are not durable may be lost. See `noteFault`.
    private var doubtfulEnd: UInt64 = 0
    /// Size of the newest record.
    private var newestSize: UInt64 = 0

    /// Maximum number of kept bytes. If there are more they are written, whatever their durability, and read from the
    /// file when needed.
    private static let keptBound = 1 << 20

    /// An empty journal, as a checkpoint leaves it.
    init(after header: HeaderSlot, _ cipher: (any PageCipher)?) {
        self.cipher = cipher
        ring = header.journal
        generation = header.generation
        start = header.journalPosition << FileFormat.sectorShift
        end = JournalMark(position: start, previous: header.journalPrevious, transaction: header.transaction)
        published = end
        durable = header.transaction
        durableEnd = start
        keptStart = start
        writtenEnd = start
    }

    /// Number of sectors of the records since the last durable checkpoint.
    var usedSectors: UInt64 { (end.position.ceilSector - start) >> FileFormat.sectorShift }

    /// Whether a checkpoint is due: less than a quarter of the ring is left, or than two records like the newest need.
    /// Each checkpoint writes every page that was changed since the last one, however often, so the fewer the better;
    /// the rest of the ring is for commits meanwhile.
    var isNearlyFull: Bool {
        let size = UInt64(ring.byteCount)
        return size - (end.position.ceilSector - start) < max(size / 4, 2 * newestSize)
    }

    /// The largest redo that one record may have: half of the ring.
    var maximumRedo: Int { JournalRecord.maximumPayload(ringBytes: ring.byteCount) - PageSeal.reserve(cipher) }

    func fits(redo: Int) -> Bool {
        !isDoubtful && redo <= maximumRedo
            && JournalRecord.size(payload: redo + PageSeal.reserve(cipher)) <= UInt64(ring.byteCount)
                - (end.position - start)
    }

    /// Whether so many bytes are kept that they should be written, whatever their durability.
    var isFull: Bool { kept.count > Self.keptBound }

    /// Adds a record, without writing it. The caller must have asked `fits`.
    mutating func append(_ redo: Bytes, transaction: UInt64) throws(StorageError) {
        precondition(fits(redo: redo.count), "the record must fit in the ring")
        let record = JournalRecord(
            payloadSize: redo.count + PageSeal.reserve(cipher), generation: generation, transaction: transaction,
            durable: durable,
            previous: end.previous, ring: ring)
        if let cipher {
            end.previous = try record.sealed(redo, with: cipher).withBytes { record.append(payload: $0, to: &kept) }
        } else {
            end.previous = record.append(payload: redo, to: &kept)
        }
        end.position += record.size
        newestSize = record.size
        end.transaction = transaction
    }

    /// Notes that the commits up to `mark` are published, so that their records are never taken back.
    mutating func publish(_ mark: JournalMark) { published = mark }

    /// Makes the next record begin in a new sector.
    mutating func closeSector() {
        let closed = end.position.ceilSector
        kept.appendZeros(Int(closed - end.position))
        end.position = closed
        if published.transaction == end.transaction { published.position = closed }
    }

    /// Notes that the medium has lost a write. If it was a write of records that are not kept, the kernel may have
    /// forgotten them, and a read returns the former content.
    mutating func noteFault() {
        if durableEnd < keptStart { doubtfulEnd = max(doubtfulEnd, keptStart) }
    }

    /// Whether these records can't be made durable any more. A checkpoint, which doesn't need them, must come first.
    var isDoubtful: Bool { max(durableEnd, start) < doubtfulEnd }

    /// Notes a durable checkpoint at `position`, the start of a sector. The records before it are not needed any more.
    mutating func advance(to position: UInt64, transaction: UInt64) {
        start = position
        durable = max(durable, transaction)
    }

    // MARK: Batches

    /// Takes the bytes that must be written for `durability`; nil if there are none. The batch goes back through
    /// `complete` or `putBack` before the next one is taken.
    mutating func take(_ durability: Durability) -> JournalBatch? {
        forget(before: start)
        let isThrough = durability == .full
        guard durability != .none, (isThrough ? durableEnd : writtenEnd) < end.position else { return nil }
        if isThrough { closeSector() }
        var batch = JournalBatch(
            bytes: [], start: keptStart, from: isThrough ? keptStart : writtenEnd.floorSector,
            rewrittenFrom: isThrough ? durableEnd : keptStart, isThrough: isThrough, end: end)
        swap(&batch.bytes, &kept)
        batch.bytes.appendZeros(Int(end.position.ceilSector - end.position))
        keptStart = end.position
        return batch
    }

    /// Takes back a batch that was written: it is durable, or the kernel has it.
    mutating func complete(_ batch: inout JournalBatch) {
        writtenEnd = batch.end.position
        guard batch.isThrough else {
            giveBack(&batch)
            if kept.count > Self.keptBound { forgetKept(before: writtenEnd.floorSector) }
            return
        }
        durableEnd = batch.end.position
        durable = max(durable, batch.end.transaction)
        guard kept.isEmpty, batch.bytes.capacity <= 2 * Self.keptBound else { return }
        swap(&kept, &batch.bytes)
        kept.removeAll(keepingCapacity: true)
    }

    /// Takes back a batch that may be written only in part. All of it is kept, to be written again.
    mutating func putBack(_ batch: inout JournalBatch) {
        writtenEnd = batch.start
        giveBack(&batch)
    }

    /// Exchanges the two arrays, so that up to a megabyte is not copied with each commit of `process` durability.
    private mutating func giveBack(_ batch: inout JournalBatch) {
        batch.bytes.removeLast(batch.bytes.count - Int(batch.end.position - batch.start))
        keptStart = batch.start
        swap(&kept, &batch.bytes)
        kept.append(contentsOf: batch.bytes)
    }

    /// Takes back the records of all pending commits.
    mutating func withdraw() {
        // A sector that was closed stays closed.
        let position = max(published.position, durableEnd)
        kept.removeLast(Int(end.position - position))
        end = published
        end.position = position
        writtenEnd = min(writtenEnd, position)
    }

    private mutating func forget(before position: UInt64) {
        durableEnd = max(durableEnd, position)
        writtenEnd = max(writtenEnd, position)
        forgetKept(before: position)
    }

    private mutating func forgetKept(before position: UInt64) {
        guard position > keptStart else { return }
        kept.removeFirst(Int(position - keptStart))
        keptStart = position
    }
}

extension JournalBatch {
    /// Maximum number of bytes to read at once of those that are no longer kept.
    private static var piece: UInt64 { 1 << 20 }

    /// Writes the bytes to their places in the file, in two pieces if they go over the ring's end.
    func write(in ring: JournalRing, to file: any StoreFile) throws(StorageError) {
        try rewrite(in: ring, file)
        try bytes.withBytes { (bytes) throws(StorageError) in
            let part = Bytes(rebasing: bytes[Int(from - start)...])
            try write(part, at: from, in: ring, to: file)
        }
    }

    private func write(
        _ bytes: Bytes, at position: UInt64, in ring: JournalRing, to file: any StoreFile
    ) throws(StorageError) {
        var done = 0
        for piece in ring.pieces(from: ring.place(of: position), count: UInt64(bytes.count)) {
            let part = Bytes(rebasing: bytes[done..<done + piece.count])
            if isThrough {
                try file.writeThrough(part, at: piece.offset)
            } else {
                try file.write(part, at: piece.offset)
            }
            done += piece.count
        }
    }

    /// Rewrites the part that only the kernel has: reads it and writes it through.
    private func rewrite(in ring: JournalRing, _ file: any StoreFile) throws(StorageError) {
        var position = rewrittenFrom
        while position < start {
            let count = Swift.min(Self.piece, start - position)
            var bytes = [UInt8](repeating: 0, count: Int(count))
            var done = 0
            for piece in ring.pieces(from: ring.place(of: position), count: count) {
                try bytes.withMutableBytes { (buffer) throws(StorageError) in
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + piece.count])
                    try file.read(into: part, at: piece.offset)
                }
                done += piece.count
            }
            try bytes.withBytes { (bytes) throws(StorageError) in
                try write(bytes, at: position, in: ring, to: file)
            }
            position += count
        }
    }

    /// After a failed write, makes sure that the record at `position`, and so all records after it, can't be found in
    /// the file now or later. The medium only gets bytes that the kernel's cache had, so an incomplete record there was
    /// never valid. A record that is, or may be, complete is overwritten with zeros, up to the end of its first sector.
    func takeBack(from position: UInt64, in ring: JournalRing, file: any StoreFile) throws(StorageError) {
        let position = Swift.max(position, start)
        let offset = (ring.first << FileFormat.sectorShift) + ring.place(of: position.floorSector)
        let first = Int(position.floorSector - start)
        // Records of published commits may come before it in its sector.
        let known = Int(position - position.floorSector)
        var sector = Array(bytes[first..<first + FileFormat.sectorSize])
        guard sector.withBytes({ Self.isThere($0, known, at: offset, file) }) else { return }
        for index in known..<sector.count { sector[index] = 0 }
        try sector.withBytes { (bytes) throws(StorageError) in try file.writeThrough(bytes, at: offset) }
    }

    /// Whether the file's sector at `offset` may be the one in which the record at `place` of `bytes` begins. Bytes of
    /// the sector after the record's end don't count.
    private static func isThere(_ bytes: Bytes, _ place: Int, at offset: UInt64, _ file: any StoreFile) -> Bool {
        guard let record = bytes.baseAddress.map({ $0 + place }) else { return true }
        let size = JournalRecord.headerSize + Int(truncatingIfNeeded: record.u64(8))
        let compared = Swift.min(place + size, FileFormat.sectorSize)
        return file.has(Bytes(rebasing: bytes[..<compared]), at: offset) ?? true
    }
}
