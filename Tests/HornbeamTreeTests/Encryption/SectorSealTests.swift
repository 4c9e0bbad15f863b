// SPDX-License-Identifier: Apache-2.0
// The plain sectors of an encrypted store, which can't be written without the key.

import HornbeamCipher
import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Plain sectors of an encrypted store")
struct SectorSealTests {
    private static let key = StoreKey(key: [UInt8](0..<32))

    /// Returns a store that was closed after a commit and an announcement.
    private func closed() throws -> (disk: SimulatedDisk, cipher: any PageCipher) {
        let disk = try SimulatedDisk()
        var options = StoreOptions()
        options.encryption = Self.key
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        _ = try write.tree("t", create: true)
        try write.commit()
        try store.close()
        return (disk, try #require(try StoreKeys(disk, Self.key)).cipher)
    }

    /// Checks that `isRead` is true of the sector, and false if any of its `bytes` has another value.
    private func expectSealed(_ sector: [UInt8], _ bytes: Range<Int>, _ isRead: (UnsafeRawPointer) -> Bool) throws {
        var sector = sector
        func found() throws -> Bool { try sector.withUnsafeBytes { isRead(try #require($0.baseAddress)) } }
        #expect(try found())
        for place in bytes {
            sector[place] ^= 1
            #expect(try !found(), "byte \(place)")
            sector[place] ^= 1
        }
    }

    private func sector(_ body: (UnsafeMutableRawPointer) throws -> Void) rethrows -> [UInt8] {
        var sector = [UInt8](repeating: 0, count: FileFormat.sectorSize)
        try sector.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { try body(start) }
        }
        return sector
    }

    @Test("are read only as they were sealed with the store's key")
    func contents() throws {
        let cipher = try closed().cipher
        let witness = JournalWitness(generation: 7, transaction: 9)
        var root = SharedRoot(identity: SharedRoot.Identity(life: 5, sequence: 6))
        root.fileSectors = 100
        for sealing in [cipher, nil] {
            let noted = try sector { start in
                witness.write(to: start)
                try SectorSeal.seal(start, with: sealing)
            }
            let told = try sector { start in
                root.write(to: start)
                try SectorSeal.seal(start, with: sealing)
            }
            guard sealing != nil else {
                // Checksums can be computed without the key.
                noted.withUnsafeBytes { bytes in
                    guard let start = bytes.baseAddress else { return }
                    #expect(JournalWitness(reading: start, nil) == witness)
                    #expect(JournalWitness(reading: start, cipher) == nil)
                }
                told.withUnsafeBytes { bytes in
                    guard let start = bytes.baseAddress else { return }
                    #expect(SharedRoot(reading: start, nil) == root)
                    #expect(SharedRoot(reading: start, cipher) == nil)
                }
                continue
            }
            try expectSealed(noted, 0..<164) { JournalWitness(reading: $0, cipher) == witness }
            try expectSealed(told, 0..<164) { SharedRoot(reading: $0, cipher) == root }
        }
    }

    @Test("mark a clean end only if the store was closed with its key")
    func cleanEnd() throws {
        let (disk, cipher) = try closed()
        let header = try PageStore.readHeader(disk, cipher)
        func isMarked() -> Bool { CleanEnd.isThere(header, FileReader(disk, mapping: nil), cipher) }
        #expect(isMarked())
        CleanEnd.write(header, to: disk, nil)
        #expect(!isMarked())
        CleanEnd.write(header, to: disk, cipher)
        #expect(isMarked())
    }
}
