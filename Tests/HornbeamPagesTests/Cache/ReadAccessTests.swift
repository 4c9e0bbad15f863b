// SPDX-License-Identifier: Apache-2.0
// Stores that read pages by system calls: the same answers as through a mapping, errors in place of signals, and memory
// within the budget.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A store without a mapping")
struct ReadAccessTests {
    private static func options(cacheBytes: Int) -> StoreOptions {
        var options = StoreOptions.withLargeRing
        options.access = .read
        options.cacheBytes = cacheBytes
        return options
    }

    @Test("shows written pages, to early and late readers, with much memory and with none", arguments: [0, 1 << 20])
    func answers(cacheBytes: Int) throws {
        let disk = try SimulatedDisk()
        var expected: [UInt64] = []
        do {
            let store = try Toy.open(disk, Self.options(cacheBytes: cacheBytes))
            let before = try store.beginRead()
            for value in 1...60 {
                let cell = value % Toy.cells
                try Toy.commit(ToyChange(cell: cell, value: UInt64(value), longSectors: UInt32(value % 5)), to: store)
            }
            #expect(try Toy.read(before).cells == [ToyCell](repeating: ToyCell(), count: Toy.cells))
            store.endRead(before)
            expected = try Toy.cells(of: store).map(\.value)
            try Toy.expectSound(store)
            try store.close()
        }
        #expect(expected == [60, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59])
        let again = try Toy.open(disk, Self.options(cacheBytes: cacheBytes))
        #expect(try Toy.cells(of: again).map(\.value) == expected)
        try Toy.expectSound(again)
    }

    @Test("maps nothing of its file")
    func noMapping() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = folder.path("store")
        let store = try PageStore.open(
            path: path, options: Self.options(cacheBytes: 1 << 20), structure: Toy.structure, replay: Toy.replay)
        try Toy.commit(ToyChange(cell: 1, value: 5, longSectors: 3), to: store)
        #expect(try Toy.cells(of: store)[1] == ToyCell(value: 5, longSectors: 3))
        let maps = try String(decoding: Self.contents(of: "/proc/self/maps"), as: UTF8.self)
        #expect(!maps.contains(path))
        try store.close()
    }

    private static func contents(of path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw StorageError.invalid(path) }
        defer { fclose(file) }
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { all += piece[..<count] }
        return all
    }

    @Test("reports a sector that can't be read as an error, and reads the rest")
    func readError() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, Self.options(cacheBytes: 0))
        try Toy.commit(ToyChange(cell: 1, value: 5), to: store)
        try Toy.commit(ToyChange(cell: 2, value: 6), to: store)
        let view = try store.beginRead()
        let root = view.root
        let first = try view.page(root.page, birth: root.birth, kind: .branch, level: 1)
        #expect(first.load(fromByteOffset: 8, as: UInt64.self) == root.birth)
        view.letGo()
        disk.unreadable = root.page..<root.page + 1
        #expect { try view.page(root.page, birth: root.birth, kind: .branch, level: 1) } throws: { error in
            if case .io? = error as? StorageError { true } else { false }
        }
        disk.unreadable = nil
        _ = try view.page(root.page, birth: root.birth, kind: .branch, level: 1)
        store.endRead(view)
        #expect(try Toy.cells(of: store)[2].value == 6)
    }

    @Test("reports the holders of the cache, and none once all have ended")
    func figures() throws {
        let store = try Toy.open(MemoryFile(), Self.options(cacheBytes: 1 << 20))
        try Toy.commit(ToyChange(cell: 1, value: 5, longSectors: 3), to: store)
        let view = try store.beginRead()
        _ = try Toy.read(view)
        let figures = store.statistics.cache
        #expect(figures.readers.views == 1 && figures.writers.views == 0)
        // The root and one leaf; the long value is outside the budget.
        #expect(figures.readers.pinnedBytes == UInt64(2 * store.pageSize))
        #expect(figures.readers.privateBytes == 3 * 4096)
        #expect(figures.misses > 0 && figures.residentBytes > 0)
        let misses = figures.misses
        view.letGo()
        #expect(store.statistics.cache.readers.pinnedBytes == 0)
        _ = try Toy.read(view)
        #expect(store.statistics.cache.hits >= 2)
        #expect(store.statistics.cache.misses == misses + 1)
        store.endRead(view)
        #expect(store.statistics.cache.readers == CacheStatistics.Holders())
        #expect(store.statistics.cache.misses == misses + 1)
    }

    @Test("reads a page again once its sectors were free")
    func reusedPlaces() throws {
        let store = try Toy.open(MemoryFile(), Self.options(cacheBytes: 1 << 20))
        for value in 1...500 {
            try Toy.commit(ToyChange(cell: value % 3, value: UInt64(value), longSectors: 1), to: store, .none)
            #expect(try Toy.cells(of: store)[value % 3].value == UInt64(value))
        }
    }
}
