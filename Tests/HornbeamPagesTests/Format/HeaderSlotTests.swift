// SPDX-License-Identifier: Apache-2.0
// The header slots: written headers are read back, and altered ones are detected.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A header slot")
struct HeaderSlotTests {
    private var slot: HeaderSlot {
        var slot = HeaderSlot(
            pageSize: 8192, identifierLow: 3, identifierHigh: 4, checkpoint: 5, transaction: 6,
            root: RootRecord(page: 300, birth: 6, count: 8, level: 2, nextTree: 9),
            directory: PageReference(page: 20, birth: 5), directorySectors: 1, journalPosition: 17, generation: 18)
        slot.takeFirstRing(256)
        return slot
    }

    private func read(_ bytes: [UInt8]) -> HeaderSlot.Reading { bytes.withBytes { HeaderSlot.read($0, nil) } }

    /// The bytes with a field changed and the checksum made right again.
    private func forged<Value>(_ value: Value, at offset: Int) -> [UInt8] {
        var bytes = slot.encoded()
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
        let checksum = bytes.withBytes { Checksum.of(Bytes(rebasing: $0[16...]), seed: 0) }
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: checksum, toByteOffset: 8, as: UInt64.self) }
        return bytes
    }

    @Test("gives back the written fields, at the offsets that the format names")
    func roundTrip() {
        #expect(read(slot.encoded()) == .valid(slot))
        #expect(Array(slot.encoded()[..<8]) == Array("HORNBEAM".utf8))
        slot.encoded().withBytes { bytes in
            #expect(bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == 1)
            #expect(bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self) == 8192)
            #expect(bytes.loadUnaligned(fromByteOffset: 48, as: UInt64.self) == 5)
            #expect(bytes.loadUnaligned(fromByteOffset: 64, as: UInt64.self) == 300)
            #expect(bytes.loadUnaligned(fromByteOffset: 168, as: UInt64.self) == 512)
        }
    }

    @Test("is damaged or absent with any byte changed")
    func flips() {
        let bytes = slot.encoded()
        for index in bytes.indices {
            var copy = bytes
            copy[index] ^= 0x40
            #expect(read(copy) == (index < 8 ? .absent : .damaged))
        }
    }

    @Test("of a newer format, or with unknown features, reports that")
    func foreign() throws {
        #expect(read(forged(UInt32(2), at: 16)) == .newer(version: 2))
        #expect(read(forged(UInt64(0b110), at: 24)) == .unknownFeatures(["feature bit 1", "feature bit 2"]))
        #expect(throws: StorageError.newerFormat(path: "p", version: 2, supported: 1)) {
            try HeaderSlot.choose([.newer(version: 2), .valid(slot)], path: "p", fileBytes: 1 << 21)
        }
        #expect(throws: StorageError.unknownFeatures(path: "p", names: ["feature bit 3"])) {
            try HeaderSlot.choose([.unknownFeatures(["feature bit 3"])], path: "p", fileBytes: 1 << 21)
        }
    }

    @Test("is chosen if it is valid and the newest")
    func choice() throws {
        var newer = slot
        newer.checkpoint = 6
        let pairs: [[HeaderSlot.Reading]] = [
            [.valid(slot), .valid(newer)], [.valid(newer), .valid(slot)], [.damaged, .valid(newer)],
            [.valid(newer), .absent],
        ]
        for slots in pairs {
            #expect(try HeaderSlot.choose(slots, path: "p", fileBytes: 1 << 21) == newer)
        }
        #expect(throws: StorageError.self) { try HeaderSlot.choose([.damaged, .absent], path: "p", fileBytes: 9) }
        #expect(throws: StorageError.notAStore(path: "p", reason: "the file is empty")) {
            try HeaderSlot.choose([.absent, .absent], path: "p", fileBytes: 0)
        }
    }

    @Test("allows a file of whole extents, or steps of a part of one")
    func sizes() {
        for sectors: UInt64 in 0...1100 {
            var slot = slot
            slot.takeFirstRing(16)
            slot.root.page = 24
            slot.journalPosition = 3
            slot.fileSectors = sectors
            let isAllowed = sectors >= 32 && sectors % (sectors < 256 ? 16 : 256) == 0
            #expect((slot.problem(fileBytes: 2000 * 4096) == nil) == isAllowed, "\(sectors)")
            #expect(
                FileFormat.fileSectors(within: sectors) <= sectors && FileFormat.fileSectors(with: sectors) >= sectors)
            let isSize = FileFormat.fileSectors(within: sectors) == sectors
            #expect(isSize == (FileFormat.fileSectors(with: sectors) == sectors), "\(sectors)")
        }
    }

    @Test("with a field out of bounds is a problem with a name, never a trap")
    func bounds() {
        #expect(slot.problem(fileBytes: 512 * 4096) == nil)
        #expect(slot.problem(fileBytes: 512 * 4096 - 1)?.contains("truncated") == true)
        let extremes: [UInt64] = [0, 1, 511, 512, 1 << 40, 1 << 62, .max - 1, .max]
        for offset in [48, 56, 64, 112, 136, 144, 152, 168] {
            for value in extremes {
                guard case .valid(let changed) = read(forged(value, at: offset)) else {
                    Issue.record("offset \(offset)")
                    continue
                }
                // Counters may be large, positions may not.
                if value > 1 << (offset < 64 ? 61 : 39) {
                    #expect(changed.problem(fileBytes: .max) != nil, "\(value) at \(offset)")
                }
                _ = changed.problem(fileBytes: 512 * 4096)
            }
        }
        for size: UInt32 in [0, 1, 4095, 12_288, 131_072, .max] {
            guard case .valid(let changed) = read(forged(size, at: 20)) else { continue }
            #expect(changed.problem(fileBytes: 1 << 21) != nil)
        }
    }

    /// A store with one commit, whose header slots are then given other numbers.
    private func store(transaction: UInt64?, checkpoint: UInt64?) throws -> (PageStore, SimulatedDisk) {
        let disk = try SimulatedDisk()
        let first = try Toy.open(disk)
        try Toy.commit(ToyChange(cell: 1, value: 10), to: first)
        try first.close()
        let sector = try #require(disk.mapping).bytes(at: 0, count: FileFormat.sectorSize)
        guard case .valid(var slot) = HeaderSlot.read(sector, nil) else { throw StorageError.invalid("no header") }
        slot.transaction = transaction ?? slot.transaction
        slot.checkpoint = checkpoint ?? slot.checkpoint
        try slot.encoded().withBytes { (bytes) throws(StorageError) in
            for number in 0..<FileFormat.headerSlotCount {
                try disk.writeThrough(bytes, at: number << FileFormat.sectorShift)
            }
        }
        return (try Toy.open(disk), disk)
    }

    @Test("at the last transaction number is read, and refuses the write that could not be opened again")
    func lastTransaction() throws {
        var (store, disk) = try store(transaction: FileFormat.maximumNumber - 2, checkpoint: nil)
        try Toy.commit(ToyChange(cell: 1, value: 11), to: store)
        #expect(throws: StorageError.self) { try store.beginWrite() }
        try store.close()
        store = try Toy.open(disk)
        #expect(try Toy.cells(of: store)[1].value == 11)
        let refusal = #expect(throws: StorageError.self) { try store.beginWrite() }
        guard case .unsupported? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        try store.close()
    }

    @Test("near the last checkpoint number is read, and refuses writes that could not be opened again")
    func lastCheckpoint() throws {
        var (store, disk) = try store(transaction: nil, checkpoint: FileFormat.maximumNumber - 6)
        try Toy.commit(ToyChange(cell: 1, value: 11), to: store)
        try store.checkpoint()
        #expect(throws: StorageError.self) { try store.beginWrite() }
        try store.close()
        store = try Toy.open(disk)
        #expect(try Toy.cells(of: store)[1].value == 11)
        try store.close()
        (store, disk) = try self.store(transaction: nil, checkpoint: FileFormat.maximumNumber - 1)
        #expect(throws: StorageError.self) { try store.checkpoint() }
        #expect(throws: StorageError.self) { try store.beginWrite() }
        try store.close()
        #expect(try Toy.cells(of: Toy.open(disk))[1].value == 10)
    }
}

extension HeaderSlot {
    /// The slot of a store without encryption.
    fileprivate func encoded() -> [UInt8] { (try? encoded(nil)) ?? [] }
}
