// SPDX-License-Identifier: Apache-2.0
// Opening a file with unreadable sectors. CrashTests covers recovery without them.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Recovery")
struct RecoveryTests {
    /// The image that a killed process left: six commits in the journal.
    private func image() throws -> [UInt8] {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value: UInt64 in 1...6 { try Toy.commit(ToyChange(cell: Int(value), value: value), to: store, .process) }
        return try #require(disk.killedImage())
    }

    /// Returns a disk like a mapped file with a bad sector: a call gives an error, the mapping gives the guard's
    /// zeros.
    private func disk(_ image: [UInt8], without sector: UInt64) throws -> SimulatedDisk {
        let disk = try SimulatedDisk(image: image)
        let mapping = try #require(disk.mapping)
        memset(mapping.base + Int(sector) * 4096, 0, 4096)
        disk.unreadable = sector..<sector + 1
        return disk
    }

    /// The journal was read through the mapping: an unreadable sector read as zeros, which looks like the journal's
    /// end. Recovery then made a checkpoint, and the commits after that sector were lost for good, although the next
    /// attempt might have read it. Now it is an error, and nothing is written.
    @Test("of a journal with a sector that can't be read is an error, and leaves the file as it is")
    func unreadableJournal() throws {
        let image = try image()
        for record: UInt64 in 0..<6 {
            let disk = try disk(image, without: FileFormat.extentSectors + record)
            #expect(throws: StorageError.io(operation: "read", path: disk.path, errno: EIO)) { try Toy.open(disk) }
            #expect(disk.calls == 0)
        }
        #expect(try Toy.open(SimulatedDisk(image: image)).statistics.transaction == 6)
    }

    /// An unreadable header slot was read as zeros, and in the mapping of a real file it made all mapped bytes count
    /// as lost. Now it is a damaged slot: the other slot is used, and the damaged one is written anew.
    @Test("of a file with one unreadable header slot uses the other one and renews it")
    func unreadableSlot() throws {
        let image = try image()
        for slot: UInt64 in 0..<2 {
            let disk = try disk(image, without: slot)
            let store = try Toy.open(disk)
            #expect(store.statistics.transaction == 6)
            disk.unreadable = nil
            #expect(try Toy.cells(of: store)[6].value == 6)
            try Toy.expectSound(store)
        }
        let disk = try SimulatedDisk(image: image)
        disk.unreadable = 0..<2
        #expect(throws: StorageError.io(operation: "read", path: disk.path, errno: EIO)) { try Toy.open(disk) }
        #expect(disk.calls == 0)
    }

    @Test("works without a readable witness")
    func unreadableWitness() throws {
        let disk = try disk(image(), without: 3)
        #expect(try Toy.open(disk).statistics.transaction == 6)
    }
}
