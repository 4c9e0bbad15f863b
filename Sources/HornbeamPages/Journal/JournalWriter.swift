// SPDX-License-Identifier: Apache-2.0
// Appends redo records. They enter in commit order whatever their durability, which only decides when they are written
// and synced; the bytes of records that are not yet synced are kept, because a write-through makes durable only what it
// writes. Must never overwrite a record since the last checkpoint, nor have two writes in flight.

struct JournalWriter {
    let ring: JournalRing
    let generation: UInt64
    /// Where the chain starts, and the sectors it takes.
    let start: UInt64
    private(set) var usedSectors: UInt64 = 0
    /// Checksum of the newest record.
    private var previous: UInt64
    /// Newest transaction that is durable.
    private var durable: UInt64
    /// Newest transaction in the journal, durable or not.
    private var newest: UInt64
    /// The records that are not synced, in order, and how many of their bytes the kernel has.
    private var unsynced: [UInt8] = []
    private var writtenBytes = 0

    /// An empty journal, as a checkpoint leaves it.
    init(after header: HeaderSlot) {
        ring = header.journal
        generation = header.generation
        start = header.journalPosition
        previous = header.generation
        durable = header.transaction
        newest = header.transaction
    }

    /// The largest payload that one record may have: half of the ring.
    var maximumPayload: Int { ring.byteCount / 2 - JournalRecord.headerSize }

    func fits(payload: Int) -> Bool {
        payload <= maximumPayload && JournalRecord.sectors(payload: payload) <= ring.count - usedSectors
    }

    /// Where the next record will start.
    var end: UInt64 { ring.advance(start, by: usedSectors) }

    /// Adds a record; nothing is written yet. The caller has asked `fits`.
    mutating func append(_ payload: Bytes, transaction: UInt64) {
        precondition(fits(payload: payload.count), "the record must fit in the ring")
        let record = JournalRecord(
            payloadSize: payload.count, generation: generation, transaction: transaction, durable: durable,
            previous: previous)
        previous = record.append(payload: payload, to: &unsynced)
        usedSectors += record.sectors
        newest = transaction
    }

    /// Carries the records as far as `durability` asks. After an error nobody knows what the medium holds.
    mutating func flush(_ durability: Durability, to file: any StoreFile) throws(StorageError) {
        switch durability {
        case .none: return
        case .process:
            try write(from: writtenBytes) { (bytes, offset) throws(StorageError) in try file.write(bytes, at: offset) }
            writtenBytes = unsynced.count
        case .full:
            try write(from: 0) { (bytes, offset) throws(StorageError) in try file.writeThrough(bytes, at: offset) }
            durable = newest
            unsynced.removeAll(keepingCapacity: unsynced.capacity <= 1 << 20)
            writtenBytes = 0
        }
    }

    /// Writes the unsynced bytes from `skip` on, in two pieces where they go over the ring's end.
    private func write(
        from skip: Int, using write: (Bytes, UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        guard skip < unsynced.count else { return }
        let sectors = UInt64((unsynced.count - skip) / FileFormat.sectorSize)
        let position = ring.advance(start, by: usedSectors - sectors)
        try unsynced.withBytes { (bytes) throws(StorageError) in
            var done = skip
            for piece in ring.pieces(from: position, sectors: sectors) {
                try write(Bytes(rebasing: bytes[done..<done + piece.count]), piece.offset)
                done += piece.count
            }
        }
    }
}
