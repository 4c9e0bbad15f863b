// SPDX-License-Identifier: Apache-2.0
// Pages of a store in memory: they are made in place, beside readers that must not see them.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Pages in memory")
struct PlacedPagesTests {
    @Test("are made where readers find them, and not copied there")
    func places() throws {
        let store = try Toy.open(MemoryFile())
        let writer = try store.beginWrite()
        try Toy.apply(ToyChange(cell: 0, value: 1), writer)
        let (page, birth) = (writer.root.page, writer.birth)
        let made = try #require(writer.frame(page))
        try writer.commit(redo: nil, durability: .full)
        let view = try store.beginRead()
        defer { store.endRead(view) }
        #expect(try view.page(page, birth: birth, kind: .branch, level: 1) == UnsafeRawPointer(made))
    }

    /// Random lives, with the cells that each reader must see.
    @Test("show no reader the changes, commits, aborts, rollbacks or spills of a later transaction", .seeded)
    func readers() throws {
        for round in 0..<40 {
            var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(round))
            let store = try Toy.open(MemoryFile())
            var cells = [ToyCell](repeating: ToyCell(), count: Toy.cells)
            var readers: [(view: PageView, cells: [ToyCell])] = []
            for step in 1...60 {
                if Int.random(in: 0..<3, using: &random) == 0 { readers.append((try store.beginRead(), cells)) }
                if !readers.isEmpty, Int.random(in: 0..<4, using: &random) == 0 {
                    store.endRead(readers.remove(at: Int.random(in: 0..<readers.count, using: &random)).view)
                }
                let writer = try store.beginWrite()
                let changed = try Self.change(cells, UInt64(step), writer, &random)
                if Bool.random(using: &random) {
                    try writer.commit(redo: nil, durability: .full)
                    cells = changed
                } else {
                    writer.abort()
                }
                for reader in readers { #expect(try Toy.read(reader.view).cells == reader.cells, "life \(round)") }
                #expect(try Toy.cells(of: store) == cells, "life \(round)")
            }
            for reader in readers { store.endRead(reader.view) }
            try Toy.expectSound(store)
        }
    }

    /// The cells after some changes, of which savepoints take some back.
    private static func change(
        _ cells: [ToyCell], _ value: UInt64, _ writer: PageWriter, _ random: inout SeededGenerator
    ) throws -> [ToyCell] {
        var cells = cells
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let (former, root) = (cells, writer.root)
            let isTakenBack = Int.random(in: 0..<3, using: &random) == 0
            if isTakenBack { try writer.addSavepoint() }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let change = ToyChange(
                    cell: .random(in: 0..<Toy.cells, using: &random), value: value,
                    longSectors: .random(in: 0...4, using: &random))
                try Toy.apply(change, writer)
                cells[change.cell] = ToyCell(value: change.value, longSectors: change.longSectors)
                if Int.random(in: 0..<4, using: &random) == 0 { try writer.spill() }
            }
            guard isTakenBack else { continue }
            writer.rollBack(to: 0)
            writer.releaseSavepoints(from: 0)
            writer.root = root
            cells = former
        }
        return cells
    }

    @Test("are checked for their structure; only long values have a checksum")
    func checks() throws {
        let file = try MemoryFile()
        let store = try Toy.open(file)
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 2), to: store)
        let view = try store.beginRead()
        defer { store.endRead(view) }
        let root = view.root
        func verify() throws {
            try store.verifyWholePage(root.page, birth: root.birth, kind: .branch, level: 1)
        }
        try verify()
        let bytes = file.memory.base + Int(root.page << FileFormat.sectorShift)
        let stamp = bytes.load(fromByteOffset: 24, as: UInt64.self)
        bytes.storeBytes(of: stamp + 1, toByteOffset: 24, as: UInt64.self)
        #expect(throws: StorageError.self) { try verify() }
        bytes.storeBytes(of: stamp, toByteOffset: 24, as: UInt64.self)
        try verify()

        let long = try #require(try Toy.read(view).pages.last)
        let value = file.memory.base + Int(long.page << FileFormat.sectorShift)
        let middle = value.load(fromByteOffset: 4096, as: UInt64.self)
        value.storeBytes(of: middle + 1, toByteOffset: 4096, as: UInt64.self)
        #expect(throws: StorageError.self) {
            try store.verifyWholePage(long.page, birth: root.birth, kind: .longValue, level: 0)
        }
    }
}
