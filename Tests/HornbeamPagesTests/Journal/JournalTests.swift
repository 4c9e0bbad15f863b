// SPDX-License-Identifier: Apache-2.0
// Invariant 4: the journal by itself. Written records are read back; a broken record ends the chain; a broken record
// that was durable is damage.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

extension JournalWriter {
    /// Writes the present records as the commit pipeline does.
    mutating func flush(_ durability: Durability, to file: any StoreFile) throws(StorageError) {
        guard var batch = take(durability) else { return }
        try batch.write(in: ring, to: file)
        complete(&batch)
    }
}

@Suite("The journal")
struct JournalTests {
    /// A disk with a ring of `sectors` from sector 4, and a header that begins at `position`.
    private func make(sectors: UInt64 = 16, position: UInt64 = 0) throws -> (SimulatedDisk, HeaderSlot) {
        let disk = try SimulatedDisk(image: [UInt8](repeating: 0, count: Int(sectors + 4) * 4096))
        var header = HeaderSlot(pageSize: 8192, identifierLow: 1, identifierHigh: 2)
        header.journal = JournalRing(first: 4, count: sectors)
        header.journalPosition = position
        header.generation = 0x1234_5678_9ABC_DEF0
        header.journalPrevious = header.generation
        header.transaction = 100
        return (disk, header)
    }

    private func payload(_ transaction: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(transaction)) }
    }

    private func read(
        _ disk: SimulatedDisk, _ header: HeaderSlot
    ) throws -> (payloads: [[UInt8]], tail: JournalReader.Tail) {
        let reader = JournalReader(header: header, file: FileReader(disk, mapping: disk.mapping))
        let chain = try reader.chain()
        return (try chain.map { try reader.withPayload(of: $0) { Array($0) } }, try reader.tail(after: chain))
    }

    @Test("gives back written records, at every start in the ring and of every size around a sector")
    func roundTrip() throws {
        for position in UInt64(0)..<16 {
            for size in [0, 1, 4031, 4032, 4033, 8128, 20_000] {
                let (disk, header) = try make(position: position)
                var journal = JournalWriter(after: header, nil)
                var written: [[UInt8]] = []
                while journal.fits(redo: size), written.count < 4 {
                    let transaction = UInt64(101 + written.count)
                    written.append(payload(transaction, size))
                    try written[written.count - 1].withBytes { try journal.append($0, transaction: transaction) }
                    try journal.flush(.full, to: disk)
                }
                let (payloads, tail) = try read(disk, header)
                #expect(payloads == written)
                #expect(tail == .clean)
                let sectors = JournalRecord.size(payload: size).ceilSector / 4096
                #expect(journal.usedSectors == UInt64(written.count) * sectors)
            }
        }
    }

    @Test("refuses records that don't fit: more than half the ring, or more than is left")
    func fits() throws {
        let (_, header) = try make()
        var journal = JournalWriter(after: header, nil)
        #expect(journal.maximumRedo == 8 * 4096 - 64)
        #expect(journal.fits(redo: journal.maximumRedo))
        #expect(!journal.fits(redo: journal.maximumRedo + 1))
        for transaction: UInt64 in 101...115 {
            try payload(transaction, 10).withBytes { try journal.append($0, transaction: transaction) }
            journal.closeSector()
        }
        #expect(journal.fits(redo: 4032))
        #expect(!journal.fits(redo: 4033))
    }

    @Test("makes earlier commits durable with a later full one, and only then")
    func durability() throws {
        let (disk, header) = try make()
        var journal = JournalWriter(after: header, nil)
        func append(_ transaction: UInt64, _ durability: Durability) throws {
            try payload(transaction, 5000).withBytes { try journal.append($0, transaction: transaction) }
            try journal.flush(durability, to: disk)
        }
        try append(101, .none)
        #expect(disk.calls == 0)
        try append(102, .process)
        #expect(try read(disk, header).payloads.count == 2)
        let lost = try (1...40).map { seed in
            try read(try SimulatedDisk(image: disk.powerLossImage(seed: seed)), header).payloads.count
        }
        #expect(lost.contains(0) && lost.contains { $0 > 0 })
        try append(103, .full)
        try append(104, .none)
        for seed: UInt64 in 1...10 {
            let after = try SimulatedDisk(image: disk.powerLossImage(seed: seed))
            #expect(try read(after, header).payloads == (101...103).map { payload($0, 5000) })
        }
    }

    @Test("ends the chain at any flipped bit of a record, and calls it damage if the record was durable")
    func flippedBits() throws {
        let (disk, header) = try make(position: 13)
        var journal = JournalWriter(after: header, nil)
        for transaction: UInt64 in 101...103 {
            try payload(transaction, 5000).withBytes { try journal.append($0, transaction: transaction) }
            try journal.flush(.full, to: disk)
        }
        guard let image = disk.killedImage() else { return }
        for record in 0..<3 {
            let first = Int(4 + (13 + UInt64(record) * 2) % 16) * 4096
            let second = Int(4 + (14 + UInt64(record) * 2) % 16) * 4096
            let bits = (0..<64 * 8).map { first * 8 + $0 } + [first * 8 + 900, (second + 900) * 8, (second + 967) * 8]
            for bit in bits {
                var copy = image
                copy[bit / 8] ^= 1 << UInt8(bit % 8)
                let (payloads, tail) = try read(try SimulatedDisk(image: copy), header)
                #expect(payloads == (0..<record).map { payload(UInt64(101 + $0), 5000) }, "bit \(bit)")
                if record < 2 {
                    #expect(tail == .damaged(after: UInt64(100 + record)), "bit \(bit)")
                } else if case .damaged = tail {
                    Issue.record("the last record can't be told from a torn one: bit \(bit)")
                }
            }
        }
    }

    @Test("ends the chain where a sector, or a part of one, is missing")
    func truncated() throws {
        for size in [100, 3000] {
            let (disk, header) = try make(sectors: 64)
            var journal = JournalWriter(after: header, nil)
            var ends: [Int] = []
            var used = 0
            for transaction: UInt64 in 101...106 {
                let size = Int(transaction - 100) * size
                try payload(transaction, size).withBytes { try journal.append($0, transaction: transaction) }
                // The end of the payload, without the padding zeros.
                ends.append(used + 64 + size)
                used += Int(JournalRecord.size(payload: size))
            }
            try journal.flush(.full, to: disk)
            guard let image = disk.killedImage() else { return }
            for kept in stride(from: 0, through: used, by: size == 100 ? 1 : 512) {
                var copy = image
                let cut = 4 * 4096 + kept
                copy.replaceSubrange(cut..<copy.count, with: [UInt8](repeating: 0, count: copy.count - cut))
                let (payloads, tail) = try read(try SimulatedDisk(image: copy), header)
                // If a payload's last byte is zero, its loss isn't visible.
                let whole = ends.count { $0 <= kept }
                let last = payload(UInt64(101 + whole), (whole + 1) * size).last
                let zero = ends.contains(kept + 1) && last == 0
                #expect(payloads.count == whole + (zero ? 1 : 0), "\(kept) bytes of \(used)")
                if case .damaged = tail { Issue.record("one write cut short is no damage") }
            }
        }
    }

    @Test("puts records after one another until they are durable, and the next one in a sector of its own")
    func sharedSectors() throws {
        let (disk, header) = try make(position: 15)
        var journal = JournalWriter(after: header, nil)
        var transaction: UInt64 = 100
        func append(_ count: Int, _ durability: Durability) throws {
            for _ in 0..<count {
                transaction += 1
                try payload(transaction, 100).withBytes { try journal.append($0, transaction: transaction) }
                try journal.flush(durability, to: disk)
                journal.publish(journal.end)
            }
        }
        // 21 records of 192 bytes fit in a sector.
        try append(21, .process)
        #expect(journal.usedSectors == 1)
        try append(2, .process)
        #expect(journal.usedSectors == 2)
        try append(2, .full)
        #expect(journal.usedSectors == 3)
        try append(1, .process)
        #expect(journal.usedSectors == 4)
        journal.closeSector()
        try append(1, .process)
        #expect(journal.usedSectors == 5)
        let (payloads, tail) = try read(disk, header)
        #expect(payloads == (101...transaction).map { payload($0, 100) })
        #expect(tail == .clean)
        // Durable records stay, with any outcome for the later ones.
        for seed: UInt64 in 1...40 {
            let after = try SimulatedDisk(image: disk.powerLossImage(seed: seed))
            let count = try read(after, header).payloads.count
            #expect((25...27).contains(count), "seed \(seed)")
        }
    }

    @Test("recognises the remains of a record after a broken one in the same sector")
    func tornSector() throws {
        let (disk, header) = try make()
        var journal = JournalWriter(after: header, nil)
        for transaction: UInt64 in 101...102 {
            try payload(transaction, 100).withBytes { try journal.append($0, transaction: transaction) }
        }
        try journal.flush(.process, to: disk)
        guard var image = disk.killedImage() else { return }
        image[4 * 4096 + 70] ^= 1
        let (payloads, tail) = try read(try SimulatedDisk(image: image), header)
        #expect(payloads.isEmpty)
        #expect(tail == .torn)
    }

    @Test("removes a record that shares its sector with a published one, and nothing else")
    func takingBack() throws {
        let (disk, header) = try make()
        var journal = JournalWriter(after: header, nil)
        try payload(101, 100).withBytes { try journal.append($0, transaction: 101) }
        try journal.flush(.process, to: disk)
        journal.publish(journal.end)
        try payload(102, 100).withBytes { try journal.append($0, transaction: 102) }
        guard var batch = journal.take(.full) else { return }
        // As if the write had reached the file before it failed.
        try batch.write(in: journal.ring, to: disk)
        try batch.takeBack(from: journal.published.position, in: journal.ring, file: disk)
        journal.putBack(&batch)
        journal.withdraw()
        #expect(try read(disk, header).payloads == [payload(101, 100)])
        #expect(try read(disk, header).tail == .clean)
        try payload(103, 200).withBytes { try journal.append($0, transaction: 103) }
        try journal.flush(.full, to: disk)
        #expect(try read(disk, header).payloads == [payload(101, 100), payload(103, 200)])
    }

    @Test("can make more bytes durable than it keeps in memory")
    func rewritten() throws {
        let (disk, header) = try make(sectors: 1024, position: 1000)
        var journal = JournalWriter(after: header, nil)
        var written: [[UInt8]] = []
        func append(_ size: Int, _ durability: Durability) throws {
            written.append(payload(UInt64(101 + written.count), size))
            try written[written.count - 1].withBytes {
                try journal.append($0, transaction: UInt64(100 + written.count))
            }
            try journal.flush(durability, to: disk)
            journal.publish(journal.end)
        }
        for _ in 0..<15 { try append(200_000, .process) }
        #expect(try read(try SimulatedDisk(image: disk.powerLossImage(seed: 3)), header).payloads.count < 15)
        try append(10, .full)
        for seed: UInt64 in 1...10 {
            let after = try SimulatedDisk(image: disk.powerLossImage(seed: seed))
            #expect(try read(after, header).payloads == written)
        }
    }

    @Test("accepts no record of another generation, nor one imitated by a user's value")
    func otherGenerations() throws {
        let (disk, header) = try make()
        var other = header
        other.generation = 77
        other.journalPrevious = 77
        var forged = JournalWriter(after: other, nil)
        try payload(101, 100).withBytes { try forged.append($0, transaction: 101) }
        try forged.flush(.full, to: disk)
        #expect(try read(disk, header).payloads.isEmpty)
        #expect(try read(disk, header).tail == .clean)
    }

    @Test("makes nothing durable that the medium may have lost, until a checkpoint")
    func doubtful() throws {
        let (disk, header) = try make(sectors: 1024)
        var journal = JournalWriter(after: header, nil)
        func append(_ transaction: UInt64, _ size: Int) throws {
            try payload(transaction, size).withBytes { try journal.append($0, transaction: transaction) }
            try journal.flush(.process, to: disk)
            journal.publish(journal.end)
        }
        try append(101, 100)
        journal.noteFault()
        // All records are still in memory: the next write-through writes them all.
        #expect(!journal.isDoubtful && journal.fits(redo: 10))
        for transaction: UInt64 in 102...110 { try append(transaction, 200_000) }
        journal.noteFault()
        #expect(journal.isDoubtful && !journal.fits(redo: 10))
        journal.closeSector()
        journal.advance(to: journal.end.position, transaction: 110)
        #expect(!journal.isDoubtful && journal.fits(redo: 10))
    }
}
