// SPDX-License-Identifier: Apache-2.0
// The mark that spares an opening the search of the ring: it is there only if it is right, and nothing depends on it.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("The mark of a clean end")
struct CleanEndTests {
    /// A store that was closed after some commits.
    private func closed(_ disk: SimulatedDisk) throws {
        let store = try Toy.open(disk)
        for value: UInt64 in 1...5 { try Toy.commit(ToyChange(cell: 0, value: value), to: store) }
        try store.close()
    }

    private func isMarked(_ disk: SimulatedDisk) throws -> Bool {
        CleanEnd.isThere(try PageStore.readHeader(disk, nil), FileReader(disk, mapping: nil), nil)
    }

    private func value(_ image: [UInt8]?) throws -> UInt64 {
        let store = try Toy.open(SimulatedDisk(image: image))
        try Toy.expectSound(store)
        return try Toy.cells(of: store)[0].value
    }

    @Test("is written by closing, and removed by the first record")
    func life() throws {
        let disk = try SimulatedDisk()
        try closed(disk)
        #expect(try isMarked(disk))
        let store = try Toy.open(disk)
        // Opening alone leaves the file as it is.
        #expect(try isMarked(disk))
        try Toy.commit(ToyChange(cell: 0, value: 6), to: store)
        #expect(try !isMarked(disk))
        for seed: UInt64 in 1...5 {
            let found = try value(disk.powerLossImage(seed: seed))
            #expect(found == 6)
        }
        #expect(try value(disk.killedImage()) == 6)
        try store.close()
        #expect(try isMarked(disk))
    }

    @Test("is removed before the first records are written, so that a crash during these leaves no mark")
    func takenBackFirst() throws {
        let disk = try SimulatedDisk()
        try closed(disk)
        let image = disk.killedImage()
        try SimulatedDisk.crashAtEveryCall(of: image) { (disk) -> Bool in
            let store = try Toy.open(disk)
            do {
                // A record of several sectors.
                try Toy.commit(ToyChange(cell: 0, value: 6, longSectors: 3, padding: 9000), to: store)
                return true
            } catch is StorageError {
                return false
            }
        } _: { image, isCommitted, place in
            let again = try SimulatedDisk(image: image)
            let isMarked = try isMarked(again)
            let found = try value(image)
            #expect(found == (isCommitted ? 6 : found) && (found == 5 || found == 6), place)
            #expect(!isMarked || found == 5, place)
            // Nothing is newer than the mark: the search would have found the same.
            let reader = JournalReader(
                header: try PageStore.readHeader(again, nil), file: FileReader(again, mapping: nil))
            if isMarked { #expect(try reader.tail(after: []) == .clean, place) }
        }
    }

    @Test("is not written over the remains of a failed commit")
    func fallen() throws {
        let disk = try SimulatedDisk()
        try closed(disk)
        let store = try Toy.open(disk)
        try Toy.commit(ToyChange(cell: 0, value: 6), to: store)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(5), operations: [.writeThrough])
        #expect(throws: StorageError.self) {
            try Toy.commit(ToyChange(cell: 0, value: 7, padding: 20_000), to: store)
        }
        disk.plan = nil
        try store.close()
        #expect(try !isMarked(disk))
        #expect(try value(disk.killedImage()) == 6)
    }

    @Test("is not written by closing an unchanged store")
    func unchanged() throws {
        let disk = try SimulatedDisk()
        try closed(disk)
        let calls = disk.calls
        try Toy.open(disk).close()
        #expect(disk.calls == calls)
    }

    @Test("is invalid for another checkpoint's header, and with a different byte")
    func others() throws {
        let first = try SimulatedDisk()
        try closed(first)
        let header = try PageStore.readHeader(first, nil)
        var others = [header, header, header]
        others[0].checkpoint += 1
        others[1].generation ^= 1
        others[2].transaction += 1
        for other in others { #expect(!CleanEnd.isThere(other, FileReader(first, mapping: nil), nil)) }
        let image = try #require(first.killedImage())
        let place = Int(header.journal.first + header.journalPosition) * FileFormat.sectorSize
        for byte in 0..<48 {
            var damaged = image
            damaged[place + byte] ^= 0x10
            let disk = try SimulatedDisk(image: damaged)
            #expect(try !isMarked(disk), "byte \(byte)")
            #expect(try value(damaged) == 5)
        }
    }

    @Test("may be lost with a closing that is cut off at any call")
    func everyCrash() throws {
        let first = try SimulatedDisk()
        let store = try Toy.open(first)
        for value: UInt64 in 1...5 { try Toy.commit(ToyChange(cell: 0, value: value), to: store) }
        try SimulatedDisk.crashAtEveryCall(of: first.killedImage()) { (disk) -> Void in
            _ = try? Toy.open(disk).close()
        } _: { image, _, place in
            let found = try value(image)
            #expect(found == 5, place)
        }
    }

    @Test("does not hide the witness's transaction")
    func witness() throws {
        let disk = try SimulatedDisk()
        try closed(disk)
        let header = try PageStore.readHeader(disk, nil)
        let later = JournalWitness(generation: header.generation, transaction: header.transaction + 1)
        WitnessWriter(nil).note(later, in: disk)
        #expect(throws: StorageError.self) { _ = try Toy.open(disk) }
    }
}
