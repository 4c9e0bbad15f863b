// SPDX-License-Identifier: Apache-2.0
// Transactions over pages without faults: the states that readers see, and the space that comes back.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A page store")
struct PageStoreTests {
    /// All kinds of files, on which a store behaves alike.
    static func files() throws -> [any StoreFile] { [try MemoryFile(), try SimulatedDisk()] }

    @Test("shows a commit to later readers only, and the old state to earlier ones")
    func snapshots() throws {
        for file in try Self.files() {
            let store = try Toy.open(file)
            try Toy.commit(ToyChange(cell: 1, value: 10, longSectors: 3), to: store)
            let before = try store.beginRead()
            for value in 11...60 {
                try Toy.commit(ToyChange(cell: 1, value: UInt64(value), longSectors: 2), to: store)
            }
            #expect(try Toy.read(before).cells[1] == ToyCell(value: 10, longSectors: 3))
            #expect(try Toy.cells(of: store)[1] == ToyCell(value: 60, longSectors: 2))
            #expect(before.transaction == 1)
            store.endRead(before)
            try Toy.expectSound(store)
            try store.close()
        }
    }

    @Test("keeps nothing of an aborted transaction, and gives its space back")
    func abort() throws {
        for file in try Self.files() {
            let store = try Toy.open(file)
            try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 2), to: store)
            let used = store.statistics.usedBytes
            let writer = try store.beginWrite()
            try Toy.apply(ToyChange(cell: 0, value: 2, longSectors: 9), writer)
            try Toy.apply(ToyChange(cell: 3, value: 2), writer)
            #expect(writer.dirtyBytes > 0)
            writer.abort()
            try Toy.expectSound(store)
            try Toy.commit(ToyChange(cell: 0, value: 3, longSectors: 2), to: store)
            #expect(try Toy.cells(of: store)[3] == ToyCell())
            #expect(store.statistics.usedBytes == used)
        }
    }

    @Test("writes nothing for a transaction without changes")
    func noChanges() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        let calls = disk.calls
        try store.beginWrite().commit(redo: nil, durability: .full)
        let writer = try store.beginWrite()
        let page = try writer.allocate(kind: .leaf, level: 0)
        try writer.free(page.number, birth: writer.birth, sectors: nil)
        try writer.commit(redo: nil, durability: .full)
        #expect(disk.calls == calls)
        #expect(store.statistics.transaction == 0)
        try Toy.expectSound(store)
    }

    @Test("reuses hot pages instead of growing, in memory and on disk")
    func reuse() throws {
        for file in try Self.files() {
            let store = try Toy.open(file)
            for value in 1...400 {
                try Toy.commit(
                    ToyChange(cell: value % Toy.cells, value: UInt64(value), longSectors: UInt32(value % 4)),
                    to: store, .none)
            }
            // 400 commits free some 9 MB of pages; all but the checkpoint's pages are reused.
            let statistics = store.statistics
            #expect(statistics.usedBytes + statistics.retiredBytes - statistics.journalCapacityBytes <= 1 << 20)
            try Toy.expectSound(store)
        }
    }

    @Test("lets a long reader hold back only the pages it can see")
    func longReader() throws {
        let store = try Toy.open(MemoryFile())
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 10), to: store)
        let view = try store.beginRead()
        for value in 2...300 { try Toy.commit(ToyChange(cell: 0, value: UInt64(value), longSectors: 10), to: store) }
        let statistics = store.statistics
        #expect(statistics.olderSnapshots == 1)
        // The root, one leaf and one long value of the snapshot.
        #expect(statistics.retiredBytes == UInt64(2 * 8192 + 10 * 4096))
        store.endRead(view)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store)
        #expect(store.statistics.olderSnapshots == 0)
    }

    @Test("works with every page size", arguments: [4096, 8192, 16_384, 32_768, 65_536])
    func pageSizes(size: Int) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = size
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk, options)
        for value in 1...60 {
            try Toy.commit(ToyChange(cell: value % 5, value: UInt64(value), longSectors: UInt32(value % 7)), to: store)
        }
        let cells = try Toy.cells(of: store)
        try Toy.expectSound(store)
        try store.close()
        let again = try Toy.open(SimulatedDisk(image: disk.killedImage()))
        #expect(again.pageSize == size)
        #expect(try Toy.cells(of: again) == cells)
        try Toy.expectSound(again)
    }

    @Test("refuses invalid page sizes", arguments: [0, 1024, 5000, 131_072])
    func wrongPageSize(size: Int) throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = size
        #expect(throws: StorageError.self) { try Toy.open(MemoryFile(), options) }
    }

    @Test("finds its state again after closing, without replay, and otherwise by replay")
    func reopen() throws {
        for closes in [true, false] {
            let disk = try SimulatedDisk()
            let store = try Toy.open(disk)
            for value in 1...20 { try Toy.commit(ToyChange(cell: value % 4, value: UInt64(value)), to: store) }
            let cells = try Toy.cells(of: store)
            if closes { try store.close() }
            var options = StoreOptions.withLargeRing
            options.readOnly = true
            let copy = try SimulatedDisk(image: disk.powerLossImage(seed: 1))
            if closes {
                let reader = try Toy.open(copy, options)
                #expect(try Toy.cells(of: reader) == cells)
                #expect(throws: StorageError.self) { try reader.beginWrite() }
                #expect(throws: StorageError.self) { try reader.checkpoint() }
                try reader.close()
                #expect(copy.calls == 0)
            } else {
                #expect(throws: StorageError.self) { try Toy.open(copy, options) }
            }
            let again = try Toy.open(copy)
            #expect(try Toy.cells(of: again) == cells)
            #expect(again.statistics.transaction == 20)
        }
    }

    @Test("is busy to close while transactions are open, and closes once they have ended")
    func busy() throws {
        let store = try Toy.open(SimulatedDisk())
        let view = try store.beginRead()
        #expect(throws: StorageError.busy("read transactions are open")) { try store.close() }
        store.endRead(view)
        let writer = try store.beginWrite()
        #expect(throws: StorageError.busy("a write transaction is open")) { try store.close() }
        #expect(throws: StorageError.busy("another write transaction is open")) {
            try store.beginWrite(.no)
        }
        writer.abort()
        try store.close()
        try store.close()
        #expect(throws: StorageError.invalid("the store is closed")) { try store.beginRead() }
        #expect(throws: StorageError.invalid("the store is closed")) { try store.beginWrite() }
    }

    @Test("frees only pages that are a tree's and in use")
    func wrongFree() throws {
        let store = try Toy.open(SimulatedDisk())
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 4), to: store)
        let writer = try store.beginWrite()
        let root = writer.root
        for number: UInt64 in [0, 2, 256, 300, 511, 400_000, .max, .max - 1] {
            #expect(throws: StorageError.self) { try writer.free(number, birth: 1, sectors: nil) }
        }
        try writer.free(root.page, birth: root.birth, sectors: nil)
        #expect(throws: StorageError.self) { try writer.free(root.page, birth: root.birth, sectors: nil) }
        #expect(throws: StorageError.self) { try writer.free(root.page, birth: 99, sectors: nil) }
        writer.abort()
        try Toy.expectSound(store)
    }

    @Test("refuses a page whose parent names the wrong birth, kind, level, size or place")
    func wrongIdentity() throws {
        let store = try Toy.open(SimulatedDisk())
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 4), to: store)
        let view = try store.beginRead()
        let root = view.root
        _ = try view.page(root.page, birth: root.birth, kind: .branch, level: 1)
        #expect(throws: StorageError.self) { try view.page(root.page, birth: 7, kind: .branch, level: 1) }
        #expect(throws: StorageError.self) { try view.page(root.page, birth: root.birth, kind: .leaf, level: 1) }
        #expect(throws: StorageError.self) { try view.page(root.page, birth: root.birth, kind: .branch, level: 2) }
        #expect(throws: StorageError.self) { try view.longPage(root.page, birth: root.birth, sectors: 2) }
        for number in [0, 3, root.page + 1, 511, 512, 1 << 40, UInt64.max] {
            #expect(throws: StorageError.self) { try view.page(number, birth: root.birth, kind: .branch, level: 1) }
            #expect(throws: StorageError.self) { try view.longPage(number, birth: .max, sectors: .max) }
        }
    }

    @Test("serves readers on many threads beside a writer")
    func threads() async throws {
        let store = try Toy.open(MemoryFile())
        try Toy.commit(ToyChange(cell: 0, value: 1, longSectors: 2), to: store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var last: UInt64 = 0
                    for _ in 0..<400 {
                        let view = try store.beginRead()
                        let cells = try Toy.read(view).cells
                        store.endRead(view)
                        #expect(cells[0].value == cells[1].value || view.transaction == 1)
                        #expect(view.transaction >= last)
                        last = view.transaction
                    }
                }
            }
            group.addTask {
                for value: UInt64 in 2...300 {
                    let writer = try store.beginWrite()
                    try Toy.apply(ToyChange(cell: 0, value: value, longSectors: 2), writer)
                    try Toy.apply(ToyChange(cell: 1, value: value), writer)
                    try writer.commit(redo: nil, durability: .none)
                }
            }
            try await group.waitForAll()
        }
        try Toy.expectSound(store)
    }

    @Test("refuses a page that is newer than the snapshot, on its first touch", arguments: [PageAccess.mapped, .read])
    func newerPage(access: PageAccess) throws {
        var options = StoreOptions.withLargeRing
        options.access = access
        let store = try Toy.open(try SimulatedDisk(), options)
        try Toy.commit(ToyChange(cell: 1, value: 5), to: store)
        let old = try store.beginRead()
        try Toy.commit(ToyChange(cell: 2, value: 6), to: store)
        let new = try store.beginRead()
        let root = new.root
        try store.writeUnwritten()
        let sectors = UInt32(store.pageSize / FileFormat.sectorSize)
        store.verification.clear(SectorRun(start: root.page, count: sectors))
        #expect {
            _ = try old.page(root.page, birth: root.birth, kind: .branch, level: 1)
        } throws: { error in
            guard case StorageError.corrupt(let what) = error else { return false }
            return what.reason.contains("after its snapshot")
        }
        _ = try new.page(root.page, birth: root.birth, kind: .branch, level: 1)
        store.endRead(old)
        store.endRead(new)
    }

    /// Ways to end a transaction that made a node page and freed it again.
    enum End: CaseIterable { case commit, large, abort, recovery }

    @Test(
        "gives back the place of a node page that was made and freed, however the transaction ends",
        arguments: End.allCases)
    func unusedPlaces(end: End) throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        let writer = try store.beginWrite()
        let change = ToyChange(cell: 1, value: 5)
        try Self.applyWasting(change, writer)
        switch end {
        case .abort: writer.abort()
        case .large: try writer.commit(redo: nil, durability: .full)
        case .commit, .recovery: try change.redo.withBytes { try writer.commit(redo: $0, durability: .full) }
        }
        try Toy.expectSound(store)
        let again = try PageStore.open(
            file: try SimulatedDisk(image: disk.killedImage()), options: StoreOptions.withLargeRing,
            structure: Toy.structure,
            replay: { (redo, writer) throws(StorageError) in
                let change = try ToyChange(redo: redo)
                if end == .recovery { try Self.applyWasting(change, writer) } else { try Toy.apply(change, writer) }
            })
        try Toy.expectSound(again)
        #expect(try Toy.cells(of: again)[1].value == (end == .abort ? 0 : 5))
    }

    private static func applyWasting(_ change: ToyChange, _ writer: PageWriter) throws(StorageError) {
        try Toy.apply(change, writer)
        for page in try [writer.allocate(kind: .leaf, level: 0), writer.allocate(kind: .leaf, level: 0)] {
            try writer.free(page.number, birth: writer.birth, sectors: nil)
        }
    }
}
