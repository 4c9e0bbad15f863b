// SPDX-License-Identifier: Apache-2.0
// Reads the journal at open: the chain of complete records after the header's position, and what the rest of the ring
// says about the chain's end. Trusts no byte: sizes are bounded before use, a record counts only with its checksum.

struct JournalReader {
    let header: HeaderSlot
    let file: FileReader
    private var ring: JournalRing { header.journal }

    /// A complete record in its place.
    struct Entry {
        var position: UInt64
        var record: JournalRecord
    }

    /// What follows the chain's last complete record.
    enum Tail: Equatable {
        /// Nothing of this generation that is newer.
        case clean
        /// Remains of records whose commits were never acknowledged as durable.
        case torn
        /// Proof that a commit after this transaction, which was durable once, is broken now.
        case damaged(after: UInt64)
    }

    /// The complete records, oldest first, each following the one before it.
    func chain() throws(StorageError) -> [Entry] {
        var entries: [Entry] = []
        var used: UInt64 = 0
        var previous = header.journalPrevious
        var transaction = header.transaction
        while used < ring.count {
            let position = ring.advance(header.journalPosition, by: used)
            guard let record = try record(at: position, limit: ring.count - used),
                record.previous == previous, record.transaction > transaction,
                record.transaction < FileFormat.maximumNumber, try isWhole(record, at: position)
            else { break }
            entries.append(Entry(position: position, record: record))
            used += record.sectors
            previous = record.checksum
            transaction = record.transaction
        }
        return entries
    }

    /// Looks through the rest of the ring. Records up to the chain's last transaction are of an earlier time round it.
    /// One journal write is in flight at a time, and each record says which transaction was durable when it was
    /// written: a valid record that knew one after the chain's last as durable proves damage. So does the witness.
    func tail(after chain: [Entry]) throws(StorageError) -> Tail {
        var used = chain.reduce(0) { $0 + $1.record.sectors }
        let newest = chain.last?.record.transaction ?? header.transaction
        if let witness = witness(), witness.transaction > newest { return .damaged(after: newest) }
        // Records don't overlap, so valid ones add up to the ring at most; more is a hostile file's claim.
        var hashBudget = ring.count
        var tail = Tail.clean
        while used < ring.count {
            let position = ring.advance(header.journalPosition, by: used)
            if let record = try record(at: position, limit: ring.count - used), record.transaction > newest {
                tail = .torn
                if record.sectors <= hashBudget, record.durable > newest {
                    hashBudget -= record.sectors
                    if try isWhole(record, at: position) { return .damaged(after: newest) }
                }
            }
            used += 1
        }
        return tail
    }

    /// Which transaction of this generation was durable, as far as the file says so. What can't be read says nothing.
    private func witness() -> JournalWitness? {
        guard let sector = try? file.bytes(at: JournalWitness.offset, count: FileFormat.sectorSize).baseAddress,
            let witness = JournalWitness(reading: sector), witness.generation == header.generation
        else { return nil }
        return witness
    }

    private func record(at position: UInt64, limit: UInt64) throws(StorageError) -> JournalRecord? {
        let offset = (ring.first + position) << FileFormat.sectorShift
        let end = (ring.first + ring.count) << FileFormat.sectorShift
        guard let start = try file.sector(at: offset, upTo: end).baseAddress else { return nil }
        guard let record = JournalRecord(reading: start), record.generation == header.generation,
            record.sectors <= limit
        else { return nil }
        return record
    }

    private func isWhole(_ record: JournalRecord, at position: UInt64) throws(StorageError) -> Bool {
        try withPayload(of: Entry(position: position, record: record)) { (payload) throws(StorageError) in
            record.isWhole(payload: payload)
        }
    }

    /// The record's payload, in place or, where it goes over the ring's end, put together.
    func withPayload<Result>(
        of entry: Entry, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let payload = JournalRecord.headerSize..<JournalRecord.headerSize + entry.record.payloadSize
        let pieces = ring.pieces(from: entry.position, sectors: entry.record.sectors)
        if pieces.count == 1 {
            let bytes = try file.bytes(at: pieces[0].offset, count: pieces[0].count)
            return try body(Bytes(rebasing: bytes[payload]))
        }
        var joined: [UInt8] = []
        for piece in pieces { joined.append(contentsOf: try file.bytes(at: piece.offset, count: piece.count)) }
        return try joined.withBytes { (bytes) throws(StorageError) in try body(Bytes(rebasing: bytes[payload])) }
    }
}
