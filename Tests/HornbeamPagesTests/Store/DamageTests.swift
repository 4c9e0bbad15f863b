// SPDX-License-Identifier: Apache-2.0
// Invariant 6: a byte changed anywhere gives the right answer or a typed error, never a wrong answer or a trap.

import HornbeamPages
import HornbeamTestSupport
import Testing

@Suite("Damage")
struct DamageTests {
    private func image(closing: Bool) throws -> (image: [UInt8], cells: [ToyCell], before: [ToyCell]) {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value in 1...40 {
            try Toy.commit(ToyChange(cell: value % 8, value: UInt64(value), longSectors: UInt32(value % 5)), to: store)
        }
        try store.checkpoint()
        let before = try Toy.cells(of: store)
        try Toy.commit(ToyChange(cell: 9, value: 100, longSectors: 2), to: store)
        let cells = try Toy.cells(of: store)
        if closing { try store.close() }
        return (disk.killedImage() ?? [], cells, before)
    }

    /// Reads everything in two ways: by first touch and by the whole check.
    private func read(_ image: [UInt8]) throws -> [ToyCell] {
        let store = try Toy.open(SimulatedDisk(image: image))
        let cells = try Toy.cells(of: store)
        try Toy.commit(ToyChange(cell: 0, value: 1), to: store)
        try store.close()
        return cells
    }

    @Test("of any sector is found or harmless", .seeded, arguments: [true, false])
    func everySector(closing: Bool) throws {
        let (image, cells, before) = try image(closing: closing)
        var generator = SeededGenerator()
        var found = 0
        for sector in 0..<image.count / 4096 {
            // After its first sectors the ring has only zeros and old records.
            if sector > 256 + 60, sector < 511 { continue }
            for offset in [0, 9, 17, 25, 33, 40, 150, Int.random(in: 0..<4096, using: &generator)] {
                var copy = image
                copy[sector * 4096 + offset] ^= UInt8.random(in: 1...255, using: &generator)
                do {
                    let result = try read(copy)
                    // If the newest record is damaged, it can't be distinguished from a torn write: then the state
                    // before that commit is right.
                    #expect(result == cells || (!closing && result == before), "sector \(sector), offset \(offset)")
                } catch is StorageError {
                    found += 1
                }
            }
        }
        #expect(found > 60)
    }

    @Test("of one header slot loses nothing; damage of both is an error")
    func headers() throws {
        let (image, cells, _) = try image(closing: true)
        for slot in 0..<2 {
            var copy = image
            copy.replaceSubrange(slot * 4096..<slot * 4096 + 4096, with: [UInt8](repeating: 0xFF, count: 4096))
            #expect(try read(copy) == cells)
        }
        var copy = image
        copy[100] ^= 1
        copy[4196] ^= 1
        #expect(throws: StorageError.corrupt(Corruption(reason: "both header slots of simulated disk are damaged"))) {
            try read(copy)
        }
    }

    @Test("of an acknowledged commit in the journal is corruption, never a silent rollback")
    func journal() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value in 1...10 { try Toy.commit(ToyChange(cell: value, value: 7), to: store) }
        let image = disk.killedImage() ?? []
        for record in 0..<10 {
            var copy = image
            copy[(256 + record) * 4096 + 70] ^= 1
            let damaged = try SimulatedDisk(image: copy)
            #expect(throws: StorageError.self) { try Toy.open(damaged) }
            #expect(damaged.calls == 0)
        }
        // Without the witness, which a power failure can leave unwritten, the newest record counts as torn.
        var copy = image
        copy[(256 + 9) * 4096 + 70] ^= 1
        copy.replaceSubrange(3 * 4096..<4 * 4096, with: [UInt8](repeating: 0, count: 4096))
        #expect(try Toy.open(SimulatedDisk(image: copy)).statistics.transaction == 9)
    }

    @Test("of the witness loses nothing")
    func witness() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        for value in 1...3 { try Toy.commit(ToyChange(cell: value, value: 7), to: store) }
        var copy = disk.killedImage() ?? []
        for byte in [0, 8, 16, 24, 25] {
            copy[3 * 4096 + byte] ^= 0x10
            #expect(try Toy.open(SimulatedDisk(image: copy)).statistics.transaction == 3)
        }
    }

    @Test("by truncation is detected by the length")
    func truncation() throws {
        let (image, _, _) = try image(closing: true)
        for count in [4096, 8192, image.count / 2, image.count - 4096] {
            do {
                _ = try read(Array(image[..<count]))
                Issue.record("\(count) bytes")
            } catch let error as StorageError {
                #expect("\(error)".contains("truncated"), "\(error)")
            }
        }
    }

    @Test("by a page from another place, or an older one in its place, is found")
    func misplaced() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        try Toy.commit(ToyChange(cell: 0, value: 1), to: store)
        try Toy.commit(ToyChange(cell: 1, value: 2), to: store)
        try store.close()
        let view = try store0(disk)
        let pages = try Toy.read(view).pages.map { Int($0.page) }
        let image = disk.killedImage() ?? []
        #expect(pages.count == 3)
        for target in pages {
            for source in pages where source != target {
                var copy = image
                copy.replaceSubrange(
                    target * 4096..<(target + 2) * 4096, with: image[source * 4096..<(source + 2) * 4096])
                #expect(throws: StorageError.self) { try read(copy) }
            }
        }
    }

    private func store0(_ disk: SimulatedDisk) throws -> PageView {
        try Toy.open(SimulatedDisk(image: disk.killedImage())).beginRead()
    }
}
