// SPDX-License-Identifier: Apache-2.0
// Searches a damaged file for the journal's records. Each record names its ring, the generation and the record before
// it, so their order is known without a header and without the ring's position. Trusts no byte: a record counts only
// with its checksum.

/// The whole records of a file's present and former journals.
struct JournalSearch {
    /// A whole record, its ring, and its place there.
    private struct Found {
        var record: JournalRecord
        var ring: JournalRing
        var place: UInt64
    }

    /// The end of the known commits, which the next record has to follow.
    private struct End {
        var generation: UInt64
        var previous: UInt64
        var transaction: UInt64
    }

    private let file: any StoreFile
    private let cipher: (any PageCipher)?
    /// Ordered by transaction.
    private var records: [Found] = []
    private var witness: JournalWitness?
    /// The commits that follow the state, oldest first.
    private var commits: [Found] = []

    /// Searches `sectors` of the file, whose checkpoint `header` describes if there is one.
    init(
        _ file: any StoreFile, _ sectors: Range<UInt64>, sectorCount: UInt64, header: HeaderSlot?,
        cipher: (any PageCipher)?
    ) {
        self.file = file
        self.cipher = cipher
        let place = JournalWitness.offset >> FileFormat.sectorShift
        let sector = place < sectorCount ? DamagedFile.read(file, place, 1) : nil
        witness = sector?.withBytes { $0.baseAddress.flatMap { JournalWitness(reading: $0, cipher) } }
        if let header, witness?.generation != header.generation { witness = nil }
        // Complete records don't overlap: together they are no larger than the file, whatever sizes they claim.
        var budget = sectorCount << FileFormat.sectorShift
        var found: [Found] = []
        DamagedFile.scan(file, sectors) { (sector, bytes) in
            for offset in stride(from: 0, to: UInt64(FileFormat.sectorSize), by: Int(JournalRecord.alignment)) {
                guard let record = JournalRecord(reading: bytes + Int(offset)),
                    let place = Self.place(
                        of: record, (sector << FileFormat.sectorShift) + offset, sectorCount, header),
                    record.size <= budget
                else { continue }
                budget -= record.size
                let payload = Self.payload(of: place, file)
                if payload?.withBytes({ record.isWhole(payload: $0) }) == true { found.append(place) }
            }
        }
        records = found.sorted { $0.record.transaction < $1.record.transaction }
    }

    /// Finds the place in its ring of a record at `offset` of the file.
    private static func place(
        of record: JournalRecord, _ offset: UInt64, _ sectorCount: UInt64, _ header: HeaderSlot?
    ) -> Found? {
        let ring = record.generation == header?.generation ? header?.journal ?? record.ring : record.ring
        let sector = offset >> FileFormat.sectorShift
        guard ring.first >= FileFormat.reservedSectors, ring.count <= FileFormat.maximumJournalSectors,
            sector >= ring.first, sector < ring.run.end, ring.run.end <= sectorCount,
            record.size <= UInt64(ring.byteCount)
        else { return nil }
        return Found(record: record, ring: ring, place: offset - (ring.first << FileFormat.sectorShift))
    }

    /// The bytes of the record's payload; nil if they can't be read.
    private static func payload(of found: Found, _ file: any StoreFile) -> [UInt8]? {
        var bytes: [UInt8] = []
        let sectors = JournalRing.sectors(from: found.place, count: found.record.size)
        for piece in found.ring.pieces(from: sectors.place, count: sectors.count) {
            let first = piece.offset >> FileFormat.sectorShift
            guard let part = DamagedFile.read(file, first, piece.count / FileFormat.sectorSize) else { return nil }
            bytes += part
        }
        let payload = Int(found.place - sectors.place) + JournalRecord.headerSize
        return Array(bytes[payload..<payload + found.record.payloadSize])
    }

    // MARK: Following

    /// Number of commits that follow the state.
    var count: Int { commits.count }

    /// Returns the redo of a commit, or nil if it can't be read any more.
    func redo(_ index: Int) -> [UInt8]? {
        let payload = Self.payload(of: commits[index], file)
        guard let cipher else { return payload }
        return payload.flatMap { $0.withBytes { commits[index].record.open($0, with: cipher) } }
    }

    /// Finds the commits that follow the header's state; without a header, those that follow the state with this newest
    /// birth. Returns the newest transaction that is known then.
    mutating func follow(_ header: HeaderSlot?, newestBirth: () -> UInt64) -> UInt64 {
        let base = header?.transaction ?? newestBirth()
        var end = header.map {
            End(generation: $0.generation, previous: $0.journalPrevious, transaction: $0.transaction)
        }
        if end == nil { end = start(after: base) }
        var rest = records[...]
        while let known = end, let place = Self.next(after: known, in: rest) {
            commits.append(rest[place])
            let record = rest[place].record
            rest = rest[(place + 1)...]
            end = End(generation: record.generation, previous: record.checksum, transaction: record.transaction)
        }
        return end?.transaction ?? base
    }

    /// Finds the end that the commits missing from a state of this transaction must follow. Returns nil if there is no
    /// later record, or if a commit between is missing.
    private func start(after transaction: UInt64) -> End? {
        guard let first = records.first(where: { $0.record.transaction > transaction })?.record else { return nil }
        let follows =
            first.transaction == transaction + 1 || first.previous == first.generation
            || records.contains { $0.record.generation == first.generation && $0.record.checksum == first.previous }
        guard follows else { return nil }
        return End(generation: first.generation, previous: first.previous, transaction: transaction)
    }

    /// Returns the record that follows: the next one of the journal, or the first one of another journal if its number
    /// is the next.
    private static func next(after end: End, in rest: ArraySlice<Found>) -> Int? {
        let later = rest.drop { $0.record.transaction <= end.transaction }
        return later.firstIndex { $0.record.generation == end.generation && $0.record.previous == end.previous }
            ?? later.firstIndex {
                $0.record.previous == $0.record.generation && $0.record.transaction == end.transaction + 1
            }
    }

    /// Whether a commit after this transaction was durable once.
    func isDamaged(after transaction: UInt64) -> Bool {
        witness.map { $0.transaction > transaction } ?? false || records.contains { $0.record.durable > transaction }
    }
}
