// SPDX-License-Identifier: Apache-2.0
// Space that is given back automatically: the store's thread does this after a checkpoint, and may be cut off
// anywhere.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Space that is given back automatically")
struct ShrinkingTests {
    private func giveBack(_ store: TreeStore, isIdle: Bool = true) {
        store.writing.giveBack(in: store.pages, isIdle: isIdle)
    }

    /// An eighth to spare, the journal's ring, and the smallest space that is worth the work.
    private func bound(_ store: TreeStore) -> UInt64 {
        let figures = store.statistics
        return (figures.usedBytes + figures.retiredBytes) * 5 / 4 + figures.journalCapacityBytes + (4 << 20)
    }

    @Test("comes back from a file with much free room, and a second time there is nothing to do", .seeded)
    func shrinks() throws {
        let (disk, store, model) = try SparseStore.thinned(count: 3000, kept: 12)
        let before = disk.size()
        giveBack(store)
        #expect(disk.size() == store.statistics.fileBytes)
        #expect(disk.size() < before / 2 && disk.size() <= bound(store))
        try model.expect(store)
        #expect(try store.check { Issue.record("\($0)") })
        let (size, calls) = (disk.size(), disk.calls)
        giveBack(store)
        #expect(disk.size() == size && disk.calls == calls)
        let again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
        try model.expect(again)
    }

    @Test("is the space that recent commits haven't needed, as long as they continue", .seeded)
    func busy() throws {
        var (disk, store, model) = try SparseStore.thinned(count: 3000, kept: 12)
        let size = disk.size()
        giveBack(store, isIdle: false)
        #expect(disk.size() == size)
        for _ in 0..<8 {
            try model.change(store)
            try store.checkpoint()
        }
        giveBack(store, isIdle: false)
        #expect(disk.size() < size)
        try model.expect(store)
    }

    /// A step reads 512 leaves. The leaves of a tree with long values are all read.
    @Test("comes back past many pages that stay where they are", .seeded)
    func longWay() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        func fill(_ name: String, _ count: Int, size: Int) throws {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree(name, create: true))
            for number in 0..<count {
                let key = withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
                try write.put(tree, key, random.bytes(number % 500 == 0 ? 5000 : size))
            }
            try write.commit()
        }
        try fill("stays", 40_000, size: 100)
        try fill("goes", 2000, size: 4500)
        try fill("moves", 2000, size: 100)
        let write = try store.beginWrite()
        #expect(try write.dropTree("goes"))
        try write.commit()
        try store.checkpoint()
        let (size, digest) = (disk.size(), try contents(store))
        giveBack(store)
        #expect(disk.size() < size - (4 << 20) && disk.size() <= bound(store))
        #expect(try contents(store) == digest)
        #expect(try store.check { Issue.record("\($0)") })
    }

    private func contents(_ store: TreeStore) throws -> [ModelTree] {
        let read = try store.beginRead()
        defer { read.abort() }
        return try read.treeNames().map { try read.contents(try #require(try read.tree($0))) }
    }

    @Test("doesn't include pages that a reader sees", .seeded)
    func besideReader() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        try model.fill(store, count: 2000)
        let former = model
        let read = try store.beginRead()
        try model.thin(store, kept: 12)
        try store.checkpoint()
        let size = disk.size()
        giveBack(store)
        try model.expect(store)
        for (name, tree) in former.trees {
            #expect(try read.contents(try #require(try read.tree(name))) == tree)
        }
        read.abort()
        giveBack(store)
        #expect(disk.size() < size / 2)
        try model.expect(store)
    }

    @Test("leaves a whole store wherever a crash cuts it", .seeded)
    func everyCrash() throws {
        let (first, store, model) = try SparseStore.thinned(count: 1000, kept: 12)
        try store.checkpoint()
        let image = first.killedImage()
        let calls = try SimulatedDisk.crashAtEveryCall(of: image) { (disk) -> Void in
            do throws(StorageError) {
                let store = try TreeStore.open(file: disk, options: SparseStore.options)
                giveBack(store)
            } catch {}
        } _: { image, _, place in
            let disk = try SimulatedDisk(image: image)
            let again = try TreeStore.open(file: disk, options: SparseStore.options)
            try model.expect(again, place)
            giveBack(again)
            try model.expect(again, place)
            #expect(disk.size() <= bound(again), place)
        }
        #expect(calls > 8)
    }

    @Test("stays in the file, and nothing is lost, when a call fails", .seeded, arguments: [EIO, ENOSPC])
    func everyFault(code: Int32) throws {
        let (first, store, model) = try SparseStore.thinned(count: 1000, kept: 12)
        try store.checkpoint()
        try SimulatedDisk.failAtEveryCall(of: first.killedImage(), code) { (disk) -> Void in
            do throws(StorageError) {
                let store = try TreeStore.open(file: disk, options: SparseStore.options)
                giveBack(store)
                disk.plan = nil
                // Reads continue; so does another transaction, if the outcome of the call is known.
                #expect(throws: Never.self) { try model.expect(store) }
                if !store.pages.hasFailed { #expect(throws: Never.self) { try store.checkpoint() } }
            } catch {}
        } _: { image, _, place in
            let again = try TreeStore.open(file: try SimulatedDisk(image: image), options: SparseStore.options)
            try model.expect(again, place)
            #expect(try again.check { Issue.record("\($0)") }, place)
        }
    }

    @Test("gives way to a requested compaction", .seeded)
    func compaction() throws {
        let (disk, store, model) = try SparseStore.thinned(count: 3000, kept: 12)
        #expect(try store.pages.beginShrinking(isIdle: true) != nil)
        let thread = Thread {
            while !store.pages.isShrinkingUnwanted { usleep(100) }
            store.pages.endCompaction(.inThread)
        }
        thread.start()
        let size = disk.size()
        #expect(try store.compact().isFinished)
        #expect(disk.size() < size / 2)
        try model.expect(store)
    }

    @Test("is returned by the store's thread, after a while without commits", .seeded)
    func thread() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = SparseStore.options
        options.idleMilliseconds = 20
        let store = try TreeStore.open(at: folder.path("shrinking.hornbeam"), options: options)
        var model = SparseStore()
        try model.fill(store, count: 3000)
        let size = store.statistics.fileBytes
        try model.thin(store, kept: 12)
        eventually("the file did not shrink") { store.statistics.fileBytes <= size / 2 }
        try model.expect(store)
        try store.close()
        let again = try TreeStore.open(at: folder.path("shrinking.hornbeam"), options: options)
        try model.expect(again)
        try again.close()
    }
}
