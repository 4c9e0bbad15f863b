// SPDX-License-Identifier: Apache-2.0
// Committed pages that the file doesn't have yet: the table itself, compared with a dictionary, and its use by a
// store.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("Pages that are not written yet")
struct UnwrittenPagesTests {
    /// Fills a page with bytes that name it.
    private func fill(_ buffer: UnsafeMutableRawPointer, _ number: UInt64, birth: UInt64) {
        PageHeader.write(to: buffer, birth: birth, kind: .branch, level: 1, sectors: 1)
        for offset in stride(from: 24, to: 4096, by: 8) { buffer.set(number &* 31 &+ birth, at: offset) }
    }

    private func isWhole(_ page: UnsafeRawPointer, _ number: UInt64, birth: UInt64) -> Bool {
        stride(from: 24, to: 4096, by: 8).allSatisfy { page.u64($0) == number &* 31 &+ birth }
    }

    @Test(
        "are found as long as they are kept, and stay for earlier readers",
        arguments: 1...8 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let table = try #require(UnwrittenPages(pageSize: 4096, memoryBytes: 64 * 4096))
        var kept: [UInt64: UInt64] = [:]
        var found: [(page: UnsafeRawPointer, number: UInt64, birth: UInt64, until: UInt64)] = []
        var birth: UInt64 = 100
        for _ in 0..<4000 {
            birth += 1
            switch random.below(10) {
            case 0:
                var written: [UInt64] = []
                var looks: [(page: UnsafeRawPointer, number: UInt64, birth: UInt64)] = []
                for (number, birth) in kept {
                    looks.append((try #require(table.find(number, birth: birth)), number, birth))
                }
                let limit = random.oneIn(3) ? random.below(kept.count + 1) : Int.max
                do throws(StorageError) {
                    let part = random.oneIn(2) ? UnwrittenPages.Part.all : .olderHalf
                    try table.write(part, newest: { birth }, cipher: nil) { (number, pages) throws(StorageError) in
                        if written.count >= limit { throw .full(path: "here") }
                        for index in 0..<pages.count / 4096 { written.append(number + UInt64(index)) }
                    }
                    let newest = written.compactMap { kept[$0] }.max() ?? 0
                    for number in written { kept[number] = nil }
                    #expect(kept.values.allSatisfy { $0 >= newest }, "seed \(seed)")
                    if part == .all { #expect(kept.isEmpty && table.isWritten(state: .max - 1)) }
                } catch {
                    for number in written { kept[number] = nil }
                }
                #expect(written == written.sorted())
                found += looks.filter { kept[$0.number] == nil }.map { ($0.page, $0.number, $0.birth, birth) }
            case 1:
                // Readers up to some state have ended.
                let state = birth - UInt64(random.below(40))
                found.removeAll { $0.until < state }
                table.reclaim(before: state)
            case 2, 3:
                guard let number = kept.keys.sorted().randomElement(using: &random) else { continue }
                table.remove([SectorRun(start: number - UInt64(random.below(2)), count: 2)])
                for gone in number - 1...number + 1 where table.find(gone, birth: kept[gone] ?? 0) == nil {
                    kept[gone] = nil
                }
                #expect(kept[number] == nil)
            default:
                let number = 10 + UInt64(random.below(500))
                guard kept[number] == nil, let buffer = table.takeBuffer(within: .max) else { continue }
                fill(buffer, number, birth: birth)
                var isKept = false
                table.keeping(of: birth) { isKept = table.keep(number, buffer) }
                if isKept {
                    kept[number] = birth
                } else {
                    table.giveBack(buffer)
                }
            }
            #expect(table.count == kept.count)
            for (number, birth) in kept {
                let page = try #require(table.find(number, birth: birth), "seed \(seed)")
                #expect(isWhole(page, number, birth: birth), "seed \(seed)")
                #expect(table.find(number, birth: birth + 1) == nil)
            }
            for page in found { #expect(isWhole(page.page, page.number, birth: page.birth), "seed \(seed)") }
        }
    }

    @Test("keep their places while they are being written, and others are added meanwhile")
    func inFlight() throws {
        let table = try #require(UnwrittenPages(pageSize: 4096, memoryBytes: 64 * 4096))
        func keep(_ number: UInt64) throws {
            let buffer = try #require(table.takeBuffer(within: .max))
            fill(buffer, number, birth: number)
            table.keeping(of: number) { #expect(table.keep(number, buffer)) }
        }
        for number: UInt64 in [10, 11, 20] { try keep(number) }
        let isRemoved = Atomic(false)
        let group = DispatchGroup()
        var pieces: [UInt64] = []
        try table.write(.all, newest: { 20 }, cipher: nil) { (number, pages) throws(StorageError) in
            pieces.append(number)
            #expect(pages.count == (number == 10 ? 2 : 1) * 4096)
            guard number == 10 else { return }
            DispatchQueue.global().async(group: group) {
                table.remove([SectorRun(start: 11, count: 1)])
                isRemoved.store(true, ordering: .sequentiallyConsistent)
            }
            #expect(throws: Never.self) { try keep(30) }
            // A page that isn't being written is removed at once and never written.
            table.remove([SectorRun(start: 20, count: 1)])
            usleep(20_000)
            let early = isRemoved.load(ordering: .sequentiallyConsistent)
            #expect(!early)
            #expect(table.find(11, birth: 11) != nil)
        }
        group.wait()
        #expect(pieces == [10])
        #expect(table.count == 1 && table.find(30, birth: 30) != nil)
        #expect(table.isWritten(state: 29) && !table.isWritten(state: 30))
    }

    @Test("need some memory")
    func noMemory() {
        #expect(UnwrittenPages(pageSize: 65536, memoryBytes: 7 * 65536) == nil)
        #expect(UnwrittenPages(pageSize: 65536, memoryBytes: 8 * 65536) != nil)
    }

    private func store() throws -> (SimulatedDisk, PageStore) {
        let disk = try SimulatedDisk()
        return (disk, try Toy.open(disk))
    }

    private func values(_ store: PageStore) throws -> [UInt64] {
        let view = try store.beginRead()
        defer { store.endRead(view) }
        return try Toy.read(view).cells.map(\.value)
    }

    @Test("cost a small commit only the write of its record; a checkpoint writes them once")
    func smallCommits() throws {
        let (disk, store) = try store()
        let before = disk.calls
        for value: UInt64 in 1...20 {
            try Toy.commit(ToyChange(cell: Int(value % 3), value: value), to: store, .process)
            #expect(try values(store)[Int(value % 3)] == value)
        }
        #expect(disk.calls == before + 20)
        #expect(store.statistics.dirtyBytes == UInt64(4 * store.pageSize))
        let calls = disk.calls
        try store.checkpoint()
        // They are adjacent.
        #expect(disk.operations[calls...].prefix(3) == [.write, .write, .write])
        #expect(disk.operations[calls + 3] == .sync)
        #expect(store.statistics.dirtyBytes == 0)
        #expect(try values(Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 1)))) == values(store))
        try Toy.expectSound(store)
    }

    @Test("are found by a snapshot long after they were written and replaced")
    func oldSnapshot() throws {
        let (_, store) = try store()
        for cell in 0..<6 { try Toy.commit(ToyChange(cell: cell, value: 7), to: store, .process) }
        let old = try store.beginRead()
        // Memory that must not be reused for another page while the view is open.
        let root = try old.page(old.root.page, birth: old.root.birth, kind: .branch, level: 1)
        let bytes = Array(UnsafeRawBufferPointer(start: root, count: store.pageSize))
        for round: UInt64 in 0..<6 {
            try store.checkpoint()
            for value: UInt64 in 0..<200 {
                try Toy.commit(ToyChange(cell: Int(value % 12), value: round * 1000 + value), to: store, .process)
            }
            #expect(Array(UnsafeRawBufferPointer(start: root, count: store.pageSize))[8...] == bytes[8...])
            #expect(try Toy.read(old).cells.prefix(6).allSatisfy { $0.value == 7 })
        }
        store.endRead(old)
        try Toy.expectSound(store)
    }

    @Test("may belong to a durable commit: after a power loss they are remade from its record")
    func durableCommit() throws {
        let (disk, store) = try store()
        let before = disk.calls
        try Toy.commit(ToyChange(cell: 0, value: 1), to: store, .process)
        try Toy.commit(ToyChange(cell: 1, value: 2), to: store, .full)
        // One record each, and the witness of the durable commit.
        #expect(disk.calls == before + 3)
        let kept = try #require(store.verification.unwritten?.count)
        #expect(kept > 0 && store.verification.unwritten?.isWritten(state: 2) == false)
        #expect(try values(Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 1)))).prefix(2) == [1, 2])
        // A checkpoint makes sure that the file has them.
        try store.checkpoint()
        #expect(store.verification.unwritten?.count == 0)
        #expect(try values(Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 1)))).prefix(2) == [1, 2])
    }

    @Test("are written while a transaction is open")
    func writtenMeanwhile() throws {
        let (disk, store) = try store()
        for cell in 0..<6 { try Toy.commit(ToyChange(cell: cell, value: 3), to: store) }
        let writer = try store.beginWrite()
        try store.writeUnwritten()
        #expect(store.verification.unwritten?.count == 0)
        #expect(try values(store).prefix(6) == [3, 3, 3, 3, 3, 3])
        writer.abort()
        for cell in 0..<6 { try Toy.commit(ToyChange(cell: cell, value: 4), to: store) }
        #expect(try values(store).prefix(6) == [4, 4, 4, 4, 4, 4])
        try Toy.expectSound(store)
        #expect(try values(Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 2)))) == values(store))
    }

    @Test("stay when they can't be written, and the next try writes them")
    func failedWrite() throws {
        let (disk, store) = try store()
        for cell in 0..<5 { try Toy.commit(ToyChange(cell: cell, value: 9), to: store, .process) }
        for call in 1...3 {
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .error(5))
            #expect(throws: StorageError.self) { try store.checkpoint() }
            disk.plan = nil
            #expect(try values(store).prefix(5) == [9, 9, 9, 9, 9])
        }
        try store.checkpoint()
        #expect(try values(Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 1)))) == values(store))
    }

    @Test("go with their commit if its record can't be written")
    func withdrawn() throws {
        let (disk, store) = try store()
        try Toy.commit(ToyChange(cell: 0, value: 1), to: store, .process)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(5))
        #expect(throws: StorageError.self) {
            try Toy.commit(ToyChange(cell: 0, value: 2), to: store, .process)
        }
        disk.plan = nil
        #expect(try values(store)[0] == 1)
        #expect(store.verification.unwritten?.count == 2)
        try Toy.commit(ToyChange(cell: 1, value: 3), to: store, .process)
        #expect(try values(store).prefix(2) == [1, 3])
        try Toy.expectSound(store)
    }

    // Readers may keep three quarters of the cache's memory. With as much for these pages, both took one and a half.
    @Test("take three quarters of the memory that readers leave")
    func besideReaders() throws {
        let table = try #require(UnwrittenPages(pageSize: 4096, memoryBytes: 64 * 4096))
        let frames = FrameTable(unwritten: table)
        frames.unwrittenBound = 16 * 4096 + 4095
        for number in 0..<UInt64(40) { _ = frames.add(SectorRun(start: 8 + number, count: 1), isNode: true) }
        #expect(table.memoryBytes == 16 * 4096)
        #expect(frames.memoryBytes >= 40 * 4096)

        var options = StoreOptions.withLargeRing
        options.cacheBytes = 8 << 20
        let store = try Toy.open(SimulatedDisk(), options)
        let unwritten = try #require(store.verification.unwritten)
        #expect(unwritten.capacity * store.pageSize == 6 << 20)
        let granted = store.cache.grant(1 << 20, of: 1 << 20)
        try #require(granted == 1 << 20)
        var writer = try store.beginWrite()
        for _ in 0..<(8 << 20) / store.pageSize { _ = try writer.allocate(kind: .branch, level: 1) }
        #expect(unwritten.memoryBytes == (7 << 20) / 4 * 3)
        writer.abort()
        store.cache.giveBack(granted)
        writer = try store.beginWrite()
        for _ in 0..<(8 << 20) / store.pageSize { _ = try writer.allocate(kind: .branch, level: 1) }
        #expect(unwritten.memoryBytes == 6 << 20)
        writer.abort()
        try store.close()
    }

    // The cache had what was left beside all that they had ever taken until the next transaction ended.
    @Test("give the cache its memory back when they give it to the system")
    func lentMemory() throws {
        let store = try Toy.open(SimulatedDisk())
        let writer = try store.beginWrite()
        for _ in 0..<(2 << 20) / store.pageSize { _ = try writer.allocate(kind: .branch, level: 1) }
        writer.abort()
        #expect(store.cache.figures.lentBytes >= 2 << 20)
        _ = store.turn.take()
        store.reclaimUnread(isIdle: true)
        store.turn.give()
        #expect(store.cache.figures.lentBytes == 0)
        try store.close()
    }

    @Test("leave no memory in use when commits pause, and some for the next commits before that")
    func idleMemory() throws {
        let table = try #require(UnwrittenPages(pageSize: 4096, memoryBytes: 1024 * 4096))
        for isIdle in [false, true] {
            for number: UInt64 in 1...1000 {
                let buffer = try #require(table.takeBuffer(within: .max))
                fill(buffer, number, birth: 1)
                table.keeping(of: 1) { #expect(table.keep(number, buffer)) }
            }
            try table.write(.all, newest: { 1 }, cipher: nil) { _, _ in }
            #expect(table.memoryBytes == 1000 * 4096)
            table.reclaim(before: .max, isIdle: isIdle)
            #expect(table.memoryBytes == 0)
        }
        let buffer = try #require(table.takeBuffer(within: .max))
        table.giveBack(buffer)
        table.reclaim(before: .max)
        #expect(table.memoryBytes == 4096)
        table.reclaim(before: .max, isIdle: true)
        #expect(table.memoryBytes == 0)
    }
}
