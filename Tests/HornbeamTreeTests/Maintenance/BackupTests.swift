// SPDX-License-Identifier: Apache-2.0
// Backups: the copy has exactly what the snapshot had, without gaps, and there is a whole copy or none.

import Foundation
import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Backup")
struct BackupTests {
    private func sparse(
        count: Int = 900, pageSize: Int = 4096
    ) throws -> (disk: SimulatedDisk, store: TreeStore, model: SparseStore) {
        var options = SparseStore.options
        options.pageSize = pageSize
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        var model = SparseStore()
        try model.fill(store, count: count)
        try model.thin(store, kept: 3)
        return (disk, store, model)
    }

    private func builder(_ disk: SimulatedDisk, _ pageSize: Int = 4096) throws -> StoreBuilder {
        try StoreBuilder(file: disk, pageSize: pageSize)
    }

    @Test(
        "has the same content, page size and transaction number, and no gaps", .seeded, arguments: [4096, 8192, 65536])
    func content(pageSize: Int) throws {
        let (source, store, model) = try sparse(pageSize: pageSize)
        let target = try SimulatedDisk()
        var last = BackupProgress()
        var isGrowing = true
        let isWhole = try store.backup(to: builder(target, pageSize)) { progress in
            isGrowing = isGrowing && progress.copiedBytes >= last.copiedBytes && progress.totalBytes > 0
            last = progress
            return true
        }
        #expect(isWhole && isGrowing && last.copiedBytes > 0)
        let copy = try TreeStore.open(file: target)
        try model.expect(copy)
        #expect(copy.statistics.pageSize == pageSize)
        #expect(copy.statistics.transaction == store.statistics.transaction)
        #expect(target.size() < source.size() * 2 / 3)
        #expect(copy.statistics.fileBytes - copy.statistics.usedBytes < 3 << 20)
        // It is a store like any other.
        var changed = model
        try changed.change(copy)
        try changed.expect(copy)
        try copy.close()
    }

    @Test("of a store without entries, or without trees, is one", arguments: [false, true])
    func empty(hasTree: Bool) throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        if hasTree { _ = try write.tree("empty", create: true) }
        try write.commit()
        let target = try SimulatedDisk()
        #expect(try store.backup(to: builder(target, 8192)))
        let copy = try TreeStore.open(file: target)
        #expect(try copy.beginRead().treeNames() == (hasTree ? ["empty"] : []))
        #expect(try copy.check { Issue.record("\($0)") })
    }

    @Test("is that of the moment it began, whatever is committed beside it", .seeded)
    func besideWriter() throws {
        var (_, store, model) = try sparse()
        let old = model
        let target = try SimulatedDisk()
        var failure: (any Error)?
        let isWhole = try store.backup(to: builder(target)) { _ in
            do {
                try model.change(store)
                try model.thin(store, kept: 9)
                try store.checkpoint()
            } catch { failure = failure ?? error }
            return true
        }
        if let failure { throw failure }
        #expect(isWhole)
        try old.expect(try TreeStore.open(file: target))
        try model.expect(store)
    }

    @Test("takes a free name alone, and leaves nothing when it is stopped", .seeded)
    func names() throws {
        let (_, store, model) = try sparse()
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        #expect(try !store.backup(to: folder.path("stopped")) { _ in false })
        #expect(try folder.names().isEmpty)
        #expect(try store.backup(to: folder.path("copy")))
        #expect(throws: StorageError.exists(path: folder.path("copy"))) { try store.backup(to: folder.path("copy")) }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"), withDestinationPath: folder.path("nothing"))
        #expect(throws: StorageError.exists(path: folder.path("link"))) { try store.backup(to: folder.path("link")) }
        #expect(throws: StorageError.self) { try store.backup(to: folder.path("no/such/folder")) }
        // A name that is taken while the copy is made stays the other's.
        #expect(throws: StorageError.exists(path: folder.path("late"))) {
            try store.backup(to: folder.path("late")) { _ in (try? folder.write("late", "mine")) != nil }
        }
        #expect(try folder.read("late") == "mine")
        #expect(try folder.names() == ["copy", "late", "link"])
        let copy = try TreeStore.open(at: folder.path("copy"))
        try model.expect(copy)
        try copy.close()
    }

    @Test("ends at a damaged page, and says which keys are concerned", .seeded)
    func damage() throws {
        let (disk, store, model) = try sparse()
        try store.close()
        let image = try #require(disk.killedImage())
        let sectors = (4..<image.count / 4096).filter { sector in
            let header = image[sector * 4096..<sector * 4096 + 24]
            return [1, 3].contains(header[header.startIndex + 16]) && header[header.startIndex + 20] > 0
        }
        var random = SeededGenerator()
        var named = 0
        for _ in 0..<60 {
            var damaged = image
            let sector = sectors[random.below(sectors.count)]
            damaged[sector * 4096 + 24 + random.below(200)] ^= 4
            let store = try TreeStore.open(file: try SimulatedDisk(image: damaged), options: SparseStore.options)
            let target = try SimulatedDisk()
            do {
                #expect(try store.backup(to: builder(target)))
                // The damage is in free space.
                try model.expect(try TreeStore.open(file: target))
            } catch StorageError.corrupt(let what) {
                #expect(target.killedImage() == nil)
                #expect(what.page == UInt64(sector) && what.tree != nil && what.keys != nil)
                named += 1
            }
        }
        #expect(named > 10)
    }

    @Test("is whole or has no name, wherever a crash or a failing call cuts it", .seeded)
    func everyCall() throws {
        let (_, store, model) = try sparse(count: 120)
        for fault in [SimulatedDisk.Fault.crash, .error(EIO), .error(ENOSPC)] {
            var call = 1
            while true {
                let target = try SimulatedDisk()
                target.plan = SimulatedDisk.Plan(call: call, fault: fault)
                let isDone = (try? store.backup(to: builder(target))) ?? false
                for seed in 0..<4 {
                    guard let image = target.powerLossImage(seed: UInt64(seed)) else {
                        #expect(!isDone)
                        continue
                    }
                    try model.expect(try TreeStore.open(file: try SimulatedDisk(image: image)), "\(fault) at \(call)")
                }
                if target.calls < call { break }
                call += 1
            }
            #expect(call > 6)
        }
    }
}
