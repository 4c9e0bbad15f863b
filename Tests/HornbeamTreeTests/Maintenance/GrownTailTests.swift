// SPDX-License-Identifier: Apache-2.0
// A load leaves free space after the last page. Closing the store gives it back, and nothing is lost wherever that is
// cut off.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("The free end of a file")
struct GrownTailTests {
    /// Returns a store that has just freed several megabytes at the end of its file.
    private func grown() throws -> (disk: SimulatedDisk, store: TreeStore, model: SparseStore) {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        try model.fill(store, count: 100)
        var write = try store.beginWrite()
        let tree = try #require(try write.tree("texts", create: true))
        for key in UInt8(1)...60 { try write.put(tree, [255, key], random.bytes(100_000)) }
        try write.commit()
        try store.checkpoint()
        write = try store.beginWrite()
        for key in UInt8(1)...60 { #expect(try write.delete(tree, [255, key])) }
        try write.commit()
        try store.checkpoint()
        return (disk, store, model)
    }

    @Test("is cut off when the store is closed, except for a little, and only once", .seeded)
    func isCut() throws {
        let (disk, store, model) = try grown()
        let before = disk.size()
        let used = store.statistics.usedBytes - store.statistics.journalCapacityBytes
        try store.close()
        let after = disk.size()
        #expect(after < before - (3 << 20))
        #expect(after >= used && after <= used + used / 32 + (3 << 20))

        var again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
        try model.expect(again)
        #expect(try again.check { Issue.record("\($0)") })
        #expect(again.statistics.fileBytes == after)
        let write = try again.beginWrite()
        let tree = try #require(try write.tree("little", create: true))
        try write.put(tree, [1], [1])
        try write.commit()
        try again.close()
        again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
        #expect(again.statistics.fileBytes == after)
    }

    @Test("stays, with the file's whole content, wherever a crash cuts the closing off", .seeded)
    func everyCrash() throws {
        let (first, _, model) = try grown()
        let image = first.killedImage()
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: image)
            let store = try TreeStore.open(file: disk, options: SparseStore.options)
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .crash)
            try? store.close()
            for loss in 0..<3 {
                let left = try SimulatedDisk(image: disk.powerLossImage(seed: UInt64(call * 3 + loss)))
                let again = try TreeStore.open(file: left, options: SparseStore.options)
                try model.expect(again, "power loss \(loss) at call \(call)")
                try again.close()
                #expect(left.size() < first.size() - (3 << 20), "closed after a crash at call \(call)")
            }
            let killed = try SimulatedDisk(image: disk.killedImage())
            try model.expect(
                try TreeStore.open(file: killed, options: SparseStore.options), "killed at call \(call)")
            if !disk.hasCrashed { break }
            call += 1
        }
        #expect(call > 4)
    }

    @Test("stays when a call fails, and the file is whole", .seeded, arguments: [EIO, ENOSPC])
    func everyFault(code: Int32) throws {
        let (first, _, model) = try grown()
        let image = first.killedImage()
        var (call, told) = (1, 0)
        while true {
            let disk = try SimulatedDisk(image: image)
            let store = try TreeStore.open(file: disk, options: SparseStore.options)
            let opened = disk.calls
            disk.plan = SimulatedDisk.Plan(call: opened + call, fault: .error(code))
            var isThrown = false
            do { try store.close() } catch { isThrown = true }
            let isStruck = disk.calls >= opened + call
            // Without enough room the end stays, and a write that is repeated may fail once: neither is reported.
            #expect(isStruck || !isThrown, "call \(call)")
            told += isThrown ? 1 : 0
            let left = try SimulatedDisk(image: disk.powerLossImage(seed: UInt64(call)))
            try model.expect(
                try TreeStore.open(file: left, options: SparseStore.options), "reopened after call \(call)")
            if !isStruck { break }
            call += 1
        }
        #expect(call > 4)
        if code == EIO { #expect(told >= call / 2, "\(told) of \(call) failures") }
    }

    /// Returns a store whose last large transaction has freed ten megabytes, then stored more after them, and finally
    /// freed that.
    private func loaded() throws -> (disk: SimulatedDisk, store: TreeStore, model: SparseStore) {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        try model.fill(store, count: 100)
        let write = try store.beginWrite()
        let aside = try write.makeTree("aside")
        let texts = try #require(try write.tree("texts", create: true))
        func put(_ tree: TreeID, _ key: UInt8) throws {
            let value = [UInt8](repeating: key, count: 100_000)
            let writer = try write.valueWriter(tree, [255, key], size: 100_000)
            try value.withBytes { (bytes) throws(StorageError) in try writer.append(bytes) }
            try writer.finish()
            if tree == texts { model.trees["texts"]?.put([255, key], value) }
        }
        for key in UInt8(1)...120 { try put(aside.tree, key) }
        for key in UInt8(1)...10 { try put(texts, key) }
        #expect(try write.dropTree(aside.name))
        try write.commit()
        return (disk, store, model)
    }

    @Test("grows by the space from a large transaction, once the few pages beyond that have moved", .seeded)
    func isMoved() throws {
        let (disk, store, model) = try loaded()
        let before = disk.size()
        let used = store.statistics.usedBytes
        try store.close()
        let after = disk.size()
        #expect(after < before - (10 << 20), "\(before), \(after), \(used)")
        #expect(after <= used + used / 32 + (2 << 20), "\(before), \(after), \(used)")
        let again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
        try model.expect(again)
    }

    @Test("has lost nothing after a crash or a failing call during the moving", .seeded, arguments: [0, EIO, ENOSPC])
    func everyEndOfMoving(code: Int32) throws {
        var (call, told) = (1, 0)
        while true {
            let (disk, store, model) = try loaded()
            let (before, size) = (disk.calls, disk.size())
            disk.plan = SimulatedDisk.Plan(call: before + call, fault: code == 0 ? .crash : .error(code))
            do { try store.close() } catch { told += 1 }
            let isStruck = code == 0 ? disk.hasCrashed : disk.calls >= before + call
            for image in [disk.powerLossImage(seed: UInt64(call)), disk.killedImage()] {
                let again = try TreeStore.open(file: try SimulatedDisk(image: image), options: SparseStore.options)
                try model.expect(again, "call \(call)")
            }
            if !isStruck {
                // So an earlier fault occurred during the moving too.
                #expect(disk.size() < size - (10 << 20))
                break
            }
            call += 1
        }
        #expect(call > 12, "\(call)")
        if code == EIO { #expect(told > 1, "\(told) of \(call) failures") }
    }

    @Test("stays during a read, and closing reports only that", .seeded)
    func whileRead() throws {
        let (disk, store, model) = try loaded()
        let read = try store.beginRead()
        let (size, calls) = (disk.size(), disk.calls)
        for _ in 0..<3 {
            let error = #expect(throws: StorageError.self) { try store.close() }
            guard case .busy? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(disk.size() == size && disk.calls == calls, "nothing is moved for a closing that can't be")
        read.abort()
        try model.expect(store)
        try store.close()
        #expect(disk.size() < size - (10 << 20))
    }

    @Test("stays during a write, and closing doesn't wait for it", .seeded)
    func whileWritten() throws {
        let (disk, store, model) = try loaded()
        let size = disk.size()
        // A writer begins between two steps, when the compaction has begun.
        let limit = try #require(try store.pages.beginEndCompaction())
        let write = try store.beginWrite()
        store.pages.endCompaction(.no)
        #expect(throws: StorageError.self) { try store.pages.settleCompaction(limit, .no) }
        #expect(throws: StorageError.self) { try store.pages.cutTail(.no) }
        write.abort()
        try model.expect(store)
        // The limit that is left over blocks nothing.
        try store.compact()
        try store.close()
        #expect(disk.size() < size - (10 << 20))
    }

    @Test("stays in a store that has failed, and closing reports only that", .seeded)
    func afterFailure() throws {
        let (disk, store, _) = try loaded()
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("names"))
        try write.put(tree, [1, 2, 3], [4])
        try write.commit()
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), isLasting: true, operations: [.sync])
        #expect(throws: StorageError.self) { try store.checkpoint() }
        #expect(store.pages.hasFailed)
        let failure = #expect(throws: StorageError.self) { try store.close() }
        guard case .failed(.io)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }
}
