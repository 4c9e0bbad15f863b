// SPDX-License-Identifier: Apache-2.0
// Compaction in place: the file becomes short and keeps its content, while others read and write; an interruption
// leaves a whole store that can be compacted again.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamTree

@Suite("Compaction")
struct CompactionTests {
    /// Checks that the file is little longer than the pages in use.
    private func expectShort(_ disk: SimulatedDisk, _ store: TreeStore, _ place: Comment? = nil) {
        let used = store.statistics.usedBytes
        #expect(disk.size() == store.statistics.fileBytes, place)
        #expect(disk.size() <= used + used / 16 + (2 << 20), place)
    }

    @Test("leaves a file little larger than the pages in use, with the same content", .seeded)
    func shrinks() throws {
        let (disk, store, model) = try SparseStore.thinned(count: 3000, kept: 12)
        let before = disk.size()
        let result = try store.compact()
        #expect(result.isFinished && result.bytesBefore == before && result.bytesAfter == disk.size())
        #expect(disk.size() < before / 3)
        expectShort(disk, store)
        try model.expect(store)
        try store.close()
        let again = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
        try model.expect(again)
    }

    @Test("of a compact file does nothing", .seeded)
    func idempotent() throws {
        let (disk, store, model) = try SparseStore.thinned()
        try store.compact()
        let size = disk.size()
        let calls = disk.calls
        let result = try store.compact()
        #expect(result.movedBytes == 0 && result.bytesAfter == size && disk.calls == calls)
        try model.expect(store)
    }

    @Test("a second time does nothing, with the journal's ring at any place", .seeded)
    func secondTime() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        for round in 0..<3 {
            for _ in 0..<200 {
                let write = try store.beginWrite()
                let tree = try #require(try write.tree("t", create: true))
                for _ in 0..<40 {
                    let key = withUnsafeBytes(of: UInt16(random.below(5000)).bigEndian) { Array($0) }
                    try write.put(tree, key, random.bytes(1000))
                }
                write.durability = .process
                try write.commit()
            }
            #expect(round > 0 || store.statistics.journalCapacityBytes > 1 << 20)
            let (first, second) = (try store.compact(), try store.compact())
            #expect(first.bytesAfter == second.bytesAfter && second.movedBytes == 0, "round \(round)")
            expectShort(disk, store, "round \(round)")
        }
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("works while others commit, and keeps their changes", .seeded)
    func besideWriter() throws {
        var (disk, store, model) = try SparseStore.thinned()
        var steps = 0
        var failure: (any Error)?
        let before = disk.size()
        try store.compact(stepPages: 16) { progress in
            steps += 1
            #expect(progress.fileBytes <= before)
            do { try model.change(store) } catch { failure = failure ?? error }
            return true
        }
        if let failure { throw failure }
        #expect(steps > 3)
        try model.expect(store)
        try store.compact()
        expectShort(disk, store)
        try model.expect(store)
    }

    // `compact` waited at its end for a transaction that its caller had begun in `progress`, and so for itself. Now it
    // fails, and the next one works.
    @Test("fails if its progress leaves a transaction open", .seeded)
    func openTransaction() throws {
        let (disk, store, model) = try SparseStore.thinned()
        var write: Transaction?
        let error = #expect(throws: StorageError.self) {
            try store.compact(stepPages: 16) { _ in
                write = try? store.beginWrite()
                return true
            }
        }
        if case .invalid? = error {} else { Issue.record("\(error as Any)") }
        write?.abort()
        try store.compact()
        expectShort(disk, store)
        try model.expect(store)
    }

    @Test("leaves pages that a reader sees, and finishes once it has ended", .seeded)
    func besideReader() throws {
        var (disk, store, model) = try SparseStore.thinned()
        let old = model
        let read = try store.beginRead()
        try model.thin(store, kept: 3)
        let before = disk.size()
        try store.compact()
        for (name, content) in old.trees {
            let tree = try #require(try read.tree(name))
            #expect(try read.contents(tree) == content)
        }
        try model.expect(store)
        read.abort()
        try store.compact()
        #expect(disk.size() < before)
        expectShort(disk, store)
        try model.expect(store)
    }

    @Test("can be stopped after any step and begun again", .seeded)
    func stopped() throws {
        let (disk, store, model) = try SparseStore.thinned()
        for steps in 1... {
            var left = steps
            let result = try store.compact(stepPages: 40) { _ in
                left -= 1
                return left > 0
            }
            try model.expect(store, "stopped after \(steps) steps")
            #expect(disk.size() == result.bytesAfter)
            if result.isFinished { break }
        }
        expectShort(disk, store)
    }

    @Test(
        "finds room for a long value larger than any gap; on a full disk for the rest",
        arguments: [false, true])
    func longValue(isFull: Bool) throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        let fill = try store.beginWrite()
        let tree = try #require(try fill.tree("t", create: true))
        let short = [UInt8](repeating: 1, count: 1900)
        for key in 0..<1500 { try fill.put(tree, [UInt8(key >> 8), UInt8(key & 255)], short) }
        let long = [UInt8](repeating: 7, count: 2 << 20)
        try fill.put(tree, [255], long)
        try fill.commit()
        try store.checkpoint()
        let thin = try store.beginWrite()
        // Every other group of entries is deleted, which leaves gaps, none of them large.
        for key in 0..<1500 where key % 4 < 2 { _ = try thin.delete(tree, [UInt8(key >> 8), UInt8(key & 255)]) }
        try thin.commit()
        let before = disk.size()
        if isFull {
            disk.plan = SimulatedDisk.Plan(call: 1, fault: .error(ENOSPC), isLasting: true, operations: [.grow])
        }
        let used = store.statistics.usedBytes
        let result = try store.compact()
        disk.plan = nil
        #expect(result.isFinished)
        // The gaps were as large as the value.
        let gain = isFull ? 1 << 20 : UInt64(long.count)
        #expect(disk.size() <= before - gain && disk.size() <= used + (3 << 20))
        #expect(try store.beginRead().value(tree, [255]) == long)
        #expect(try store.check { Issue.record("\($0)") })
    }

    @Test("runs once at a time, refuses a read-only store, and has nothing to do in memory", .seeded)
    func refusals() throws {
        let (disk, store, _) = try SparseStore.thinned(count: 300)
        try store.compact { _ in
            #expect(throws: StorageError.busy("the store is being compacted already")) { try store.compact() }
            return true
        }
        try store.close()
        var options = SparseStore.options
        options.readOnly = true
        let reading = try TreeStore.open(file: try SimulatedDisk(image: disk.killedImage()), options: options)
        #expect(throws: StorageError.readOnly("simulated disk is open read-only: open it for writing")) {
            try reading.compact()
        }
        let memory = try TreeStore.inMemory()
        #expect(try memory.compact().isFinished)
    }

    @Test("leaves a whole store wherever a crash cuts it", .seeded)
    func everyCall() throws {
        let (first, store, model) = try SparseStore.thinned(count: 250, kept: 5)
        try store.close()
        let image = first.killedImage()
        var call = 1
        var longest: UInt64 = 0
        while true {
            let disk = try SimulatedDisk(image: image)
            let store = try TreeStore.open(file: disk, options: SparseStore.options)
            disk.plan = SimulatedDisk.Plan(call: disk.calls + call, fault: .crash)
            _ = try? store.compact(stepPages: 40)
            for loss in 0..<3 {
                let left = try SimulatedDisk(image: disk.powerLossImage(seed: UInt64(call * 3 + loss)))
                let again = try TreeStore.open(file: left, options: SparseStore.options)
                try model.expect(again, "power loss \(loss) at call \(call)")
                longest = max(longest, left.size())
                if loss == 0 {
                    try again.compact()
                    expectShort(left, again, "after a crash at call \(call)")
                    try model.expect(again, "compacted after call \(call)")
                }
            }
            let again = try TreeStore.open(
                file: try SimulatedDisk(image: disk.killedImage()), options: SparseStore.options)
            try model.expect(again, "killed at call \(call)")
            if !disk.hasCrashed { break }
            call += 1
        }
        #expect(call > 8)
        #expect(longest <= first.size() + (4 << 20))
    }

    @Test("fails with a typed error and changes no content when a call fails", .seeded, arguments: [EIO, ENOSPC])
    func everyFault(code: Int32) throws {
        let (first, store, model) = try SparseStore.thinned(count: 250, kept: 5)
        try store.close()
        let image = first.killedImage()
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: image)
            let store = try TreeStore.open(file: disk, options: SparseStore.options)
            let opened = disk.calls
            disk.plan = SimulatedDisk.Plan(call: opened + call, fault: .error(code))
            do throws(StorageError) { try store.compact(stepPages: 40) } catch {}
            let isStruck = disk.calls >= opened + call
            disk.plan = nil
            try model.expect(store, "call \(call)")
            let again = try TreeStore.open(
                file: try SimulatedDisk(image: disk.powerLossImage(seed: UInt64(call))), options: SparseStore.options)
            try model.expect(again, "reopened after call \(call)")
            if !isStruck { break }
            call += 1
        }
    }

    @Test("cuts off no page that a header slot still names, after a failed write of the other slot", .seeded)
    func halfCut() throws {
        let (first, store, model) = try SparseStore.thinned(count: 250, kept: 5)
        try store.close()
        let image = first.killedImage()
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: image)
            let store = try TreeStore.open(file: disk, options: SparseStore.options)
            let opened = disk.calls
            disk.plan = SimulatedDisk.Plan(
                call: opened + call, fault: .error(EIO), isLasting: true, operations: [.writeThrough])
            do throws(StorageError) { try store.compact(stepPages: 40) } catch {}
            for slot in 0..<2 {
                var left = try #require(disk.killedImage())
                left[slot * 4096 + 60] ^= 1
                let again = try TreeStore.open(file: try SimulatedDisk(image: left), options: SparseStore.options)
                try model.expect(again, "call \(call), without slot \(slot)")
            }
            if disk.calls < opened + call { break }
            call += 1
        }
        #expect(call > 8)
    }

    // A long value was moved through a page in memory: a value of 4 GiB took as much memory, and ended the process.
    @Test("moves a large value through little memory, and a crash leaves it whole", .seeded)
    func largeValue() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        let value = random.bytes(6_000_000)
        var write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in UInt8(1)...200 { try write.put(tree, [key], random.bytes(80_000)) }
        try write.put(tree, [250], value)
        try write.commit()
        write = try store.beginWrite()
        for key in UInt8(1)...200 { #expect(try write.delete(tree, [key])) }
        try write.commit()
        try store.checkpoint()
        let before = disk.size()

        let peak = Mutex<UInt64>(0)
        disk.whenCalled = { _ in
            let taken = store.statistics.writerBytes
            peak.withLock { $0 = max($0, taken) }
        }
        try store.compact { _ in
            // The file that a crash would leave here: the last checkpoint's state, or the compacted one.
            let image = disk.powerLossImage(seed: 1)
            let again = image.flatMap { try? TreeStore.open(file: try SimulatedDisk(image: $0)) }
            let read = try? again?.beginRead()
            let same = try? read?.tree("t")
            let found = same.flatMap { try? read?.value($0, [250]) }
            let isWhole = found == value
            #expect(isWhole)
            return true
        }
        disk.whenCalled = nil
        #expect(disk.size() < before / 2)
        #expect(peak.withLock { $0 } < 3_000_000)
        let read = try store.beginRead()
        let isRight = try read.value(tree, [250]) == value
        #expect(isRight)
        read.abort()
        #expect(try store.check { Issue.record("\($0)") })
    }
}
