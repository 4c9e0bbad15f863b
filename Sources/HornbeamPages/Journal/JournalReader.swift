// SPDX-License-Identifier: Apache-2.0
// Reads the journal at open: the chain of complete records after the header's position, and from the rest of the ring
// whether the chain was cut or damaged. Trusts no byte: sizes are bounded before use, and a record counts only with its
// checksum.

struct JournalReader {
    let header: HeaderSlot
    let file: FileReader
    /// The cipher of an encrypted store.
    var cipher: (any PageCipher)?
    private var ring: JournalRing { header.journal }

    /// A complete record, and its place in bytes from the ring's start.
    struct Entry {
        var place: UInt64
        var record: JournalRecord
    }

    /// The state of the journal after the chain's last complete record.
    enum Tail: Equatable {
        /// No newer record of this generation.
        case clean
        /// Remains of records whose commits were never acknowledged as durable.
        case torn
        /// Proof that a commit after this transaction was durable once and is broken now.
        case damaged(after: UInt64)
    }

    /// Returns the complete records, the state of the journal after them, and whether a mark says that there are none.
    func read() throws(StorageError) -> (chain: [Entry], tail: Tail, isMarked: Bool) {
        if CleanEnd.isThere(header, file, cipher), witness().map({ $0.transaction <= header.transaction }) ?? true {
            return ([], .clean, true)
        }
        // The whole ring will be read, which takes half of the time of opening a store that is in no cache.
        file.startRead(at: ring.run.byteOffset, count: size)
        let chain = try chain()
        return (chain, try tail(after: chain), false)
    }

    /// The complete records, oldest first, each following the one before it.
    func chain() throws(StorageError) -> [Entry] {
        var entries: [Entry] = []
        var used: UInt64 = 0
        var last = JournalMark(
            position: 0, previous: header.journalPrevious, transaction: header.transaction)
        while true {
            // A record begins right after the one before it, or in the next sector if that one closed its sector.
            var next = try record(after: last, at: used)
            if next == nil, used != used.ceilSector {
                used = used.ceilSector
                next = try record(after: last, at: used)
            }
            guard let next else { return entries }
            entries.append(next)
            used += next.record.size
            last.previous = next.record.checksum
            last.transaction = next.record.transaction
        }
    }

    /// Returns the complete record that follows `last`, `used` bytes after the header's position; nil if there is none.
    private func record(after last: JournalMark, at used: UInt64) throws(StorageError) -> Entry? {
        guard used < size, let entry = try entry(at: used), entry.record.previous == last.previous,
            entry.record.transaction > last.transaction, try isWhole(entry)
        else { return nil }
        return entry
    }

    /// Searches the rest of the ring. Records up to the chain's last transaction are from an earlier turn around the
    /// ring. One journal write is in flight at a time, and each record names the transaction that was durable when it
    /// was written. So a valid record that names a transaction after the chain's last as durable proves damage. The
    /// witness proves it too.
    func tail(after chain: [Entry]) throws(StorageError) -> Tail {
        let newest = chain.last?.record.transaction ?? header.transaction
        if let witness = witness(), witness.transaction > newest { return .damaged(after: newest) }
        // Valid records don't overlap, so they add up to the ring at most. Only a hostile file claims more.
        var hashBudget = size
        var tail = Tail.clean
        var used: UInt64 = 0
        if let last = chain.last { used = (last.place + size - start + last.record.size) % size }
        // A chain that fills the ring to the last byte leaves no rest.
        if used == 0, !chain.isEmpty { return .clean }
        while let entry = try nextEntry(from: &used) {
            guard entry.record.transaction > newest else { continue }
            tail = .torn
            guard entry.record.size <= hashBudget, entry.record.durable > newest else { continue }
            hashBudget -= entry.record.size
            if try isWhole(entry) { return .damaged(after: newest) }
        }
        return tail
    }

    /// Returns the next entry that looks like a record; `used` is after its start then.
    private func nextEntry(from used: inout UInt64) throws(StorageError) -> Entry? {
        while used < size {
            let bytes = try sector(at: used)
            var offset = Int(used - used.floorSector)
            used = used.floorSector + UInt64(bytes.count)
            while offset < bytes.count {
                defer { offset += Int(JournalRecord.alignment) }
                guard let start = bytes.baseAddress, (start + offset).u32(0) == JournalRecord.magic else { continue }
                let place = used - UInt64(bytes.count - offset)
                guard let entry = try entry(at: place) else { continue }
                used = place + JournalRecord.alignment
                return entry
            }
        }
        return nil
    }

    /// Size of the ring, and the header's position in it, in bytes.
    private var size: UInt64 { UInt64(ring.byteCount) }
    private var start: UInt64 { header.journalPosition << FileFormat.sectorShift }

    /// Returns the witness of this generation. Returns nil if its sector can't be read or is of another generation.
    private func witness() -> JournalWitness? {
        guard let sector = try? file.bytes(at: JournalWitness.offset, count: FileFormat.sectorSize).baseAddress,
            let witness = JournalWitness(reading: sector, cipher), witness.generation == header.generation
        else { return nil }
        return witness
    }

    /// Returns the entry `used` bytes after the header's position, if it looks like a record of this generation and
    /// fits in the rest of the ring. Returns nil otherwise.
    private func entry(at used: UInt64) throws(StorageError) -> Entry? {
        guard let bytes = try sector(at: used).baseAddress,
            let record = JournalRecord(reading: bytes + Int(used - used.floorSector)),
            record.generation == header.generation, record.size <= size - used
        else { return nil }
        return Entry(place: ring.place(of: start + used), record: record)
    }

    /// The sector with the byte `used` bytes after the header's position.
    private func sector(at used: UInt64) throws(StorageError) -> Bytes {
        let first = ring.first << FileFormat.sectorShift
        return try file.sector(at: first + ring.place(of: start + used.floorSector), upTo: first + size)
    }

    private func isWhole(_ entry: Entry) throws(StorageError) -> Bool {
        try withPayload(of: entry) { (payload) throws(StorageError) in entry.record.isWhole(payload: payload) }
    }

    /// Passes the record's redo to `body`: its payload, decrypted in an encrypted store.
    func withRedo<Result>(
        of entry: Entry, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try withPayload(of: entry) { (payload) throws(StorageError) in
            guard let cipher else { return try body(payload) }
            guard let redo = entry.record.open(payload, with: cipher) else {
                throw .corrupt(
                    Corruption(
                        reason: "the journal's record of transaction \(entry.record.transaction): \(PageSeal.forged)"))
            }
            return try redo.withBytes(body)
        }
    }

    /// Passes the record's payload to `body`: in place, or joined if it goes over the ring's end.
    func withPayload<Result>(
        of entry: Entry, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let sectors = JournalRing.sectors(from: entry.place, count: entry.record.size)
        let skipped = Int(entry.place - sectors.place) + JournalRecord.headerSize
        let payload = skipped..<skipped + entry.record.payloadSize
        let pieces = ring.pieces(from: sectors.place, count: sectors.count)
        if let piece = pieces.only {
            let bytes = try file.bytes(at: piece.offset, count: piece.count)
            return try body(Bytes(rebasing: bytes[payload]))
        }
        var joined: [UInt8] = []
        for piece in pieces { joined.append(contentsOf: try file.bytes(at: piece.offset, count: piece.count)) }
        return try joined.withBytes { (bytes) throws(StorageError) in try body(Bytes(rebasing: bytes[payload])) }
    }
}
