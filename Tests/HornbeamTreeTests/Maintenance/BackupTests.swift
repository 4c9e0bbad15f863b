// SPDX-License-Identifier: Apache-2.0
// Backups: the copy has exactly the snapshot's content, without gaps, and there is a whole copy or none.

import Foundation
import Glibc
import HornbeamTestSupport
import Synchronization
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

    @Test(
        "has the same content, page size and transaction number, and no gaps", .seeded,
        arguments: [4096, 8192, 32_768, 65_536])
    func content(pageSize: Int) throws {
        let (source, store, model) = try sparse(pageSize: pageSize)
        let target = try SimulatedDisk()
        var last = BackupProgress()
        var isGrowing = true
        let isWhole = try store.backup(to: target) { progress in
            isGrowing = isGrowing && progress.copiedBytes >= last.copiedBytes && progress.totalBytes > 0
            last = progress
            return true
        }
        #expect(isWhole && isGrowing && last.copiedBytes > 0)
        let image = try #require(target.killedImage())
        let copy = try TreeStore.open(file: target)
        try model.expect(copy)
        #expect(copy.statistics.pageSize == pageSize)
        #expect(copy.statistics.transaction == store.statistics.transaction)
        #expect(target.size() < source.size() * 2 / 3)
        #expect(copy.statistics.fileBytes - copy.statistics.usedBytes < 3 << 20)
        // The copy is a store like any other.
        var changed = model
        try changed.change(copy)
        try changed.expect(copy)
        try copy.close()
        // Its pages are where a salvage without headers looks for them.
        let headless = try SimulatedDisk(image: [UInt8](repeating: 0, count: 8192) + image[8192...])
        let salvaged = try SimulatedDisk()
        _ = try Salvage.run(DamagedFile(file: headless), to: salvaged) {}
        try model.expect(TreeStore.open(file: salvaged))
    }

    @Test("of a store without entries, or without trees, is a valid one", arguments: [false, true])
    func empty(hasTree: Bool) throws {
        let store = try TreeStore.inMemory()
        let write = try store.beginWrite()
        if hasTree { _ = try write.tree("empty", create: true) }
        try write.commit()
        let target = try SimulatedDisk()
        #expect(try store.backup(to: target))
        let copy = try TreeStore.open(file: target)
        #expect(try copy.beginRead().treeNames() == (hasTree ? ["empty"] : []))
        #expect(try copy.check { Issue.record("\($0)") })
    }

    @Test("has the state from its beginning, even with commits meanwhile", .seeded)
    func besideWriter() throws {
        var (_, store, model) = try sparse()
        let old = model
        let target = try SimulatedDisk()
        var failure: (any Error)?
        let isWhole = try store.backup(to: target) { _ in
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

    @Test("takes only a free name, and leaves nothing when it is stopped", .seeded)
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
        // If another file takes the name during the copy, the name stays that file's.
        #expect(throws: StorageError.exists(path: folder.path("late"))) {
            try store.backup(to: folder.path("late")) { _ in (try? folder.write("late", "mine")) != nil }
        }
        #expect(try folder.read("late") == "mine")
        #expect(try folder.names() == ["copy", "late", "link"])
        let copy = try TreeStore.open(at: folder.path("copy"))
        try model.expect(copy)
        try copy.close()
    }

    @Test("ends at a damaged page, with an error that names the affected keys", .seeded)
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
                #expect(try store.backup(to: target))
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
                let isDone = (try? store.backup(to: target)) ?? false
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

    // A backup counted the uncompressed bytes of leaves, and reported a loop in the file if these were more than the
    // file's bytes: the better a store was compressed, the likelier the backup failed.
    @Test("of a store with more content than the file's size is whole, and its progress ends at the total")
    func compressed() throws {
        let store = try TreeStore.open(file: try SimulatedDisk(), options: SparseStore.options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: true)))
        let count = 8_000
        for number in 0..<count { try write.append(tree, Self.key(number), Self.text(number)) }
        try write.commit()
        try store.checkpoint()
        #expect(store.statistics.fileBytes < UInt64(count * 1_000 / 2))
        let target = try SimulatedDisk()
        var last = BackupProgress()
        var isWithin = true
        let isWhole = try store.backup(to: target) { progress in
            isWithin = isWithin && progress.copiedBytes <= progress.totalBytes
            last = progress
            return true
        }
        #expect(isWhole && isWithin)
        #expect(last.copiedBytes > 0 && last.copiedBytes <= store.statistics.usedBytes)
        let copy = try TreeStore.open(file: target)
        let read = try copy.beginRead()
        let copied = try #require(try read.tree("t"))
        var cursor = try read.cursor(copied)
        var found = 0
        while try cursor.next() {
            #expect(Array(cursor.value) == Self.text(found))
            found += 1
        }
        #expect(found == count)
        read.abort()
        #expect(try copy.check { Issue.record("\($0)") })
    }

    private static func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) } }
    private static func text(_ number: Int) -> [UInt8] { key(number) + [UInt8](repeating: 7, count: 1_000) }

    // A backup that exceeded the bound on its size was reported as a wrong number of entries, although that number
    // was right.
    @Test("ends with an error where a hostile file leads it to the same pages repeatedly")
    func circles() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t0", create: true))
        for number in 0..<600 { try write.put(tree, Self.key(number), [UInt8](repeating: 1, count: 900)) }
        for number in 1..<40 { _ = try write.tree("t\(number)", create: true) }
        try write.commit()
        try store.close()
        var image = try #require(disk.killedImage())
        let root = try DamagedFile(file: try SimulatedDisk(image: image)).root?.page
        let leaf = Int(try #require(root)) * 4096
        image[leaf..<leaf + 4096].withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            // Every tree has the first one's pages.
            let node = NodeEditor(base, size: 4096)
            let first = Array(node.view.cell(0).valueBytes)
            for index in 1..<node.view.count {
                node.overwriteValue(index) { target in first.withUnsafeBytes { target.copy($0) } }
            }
            PageHeader.seal(bytes, number: UInt64(leaf / 4096))
        }
        let hostile = try TreeStore.open(file: try SimulatedDisk(image: image), options: SparseStore.options)
        #expect {
            let target = try SimulatedDisk()
            _ = try hostile.backup(to: target)
        } throws: { error in
            guard case StorageError.corrupt(let what) = error else { return false }
            return what.reason.contains("more pages than the file")
        }
    }

    // A leaf was decoded and checked when it was read, and again into the given buffer.
    @Test("reads a leaf once, in its stored form", arguments: [true, false])
    func leafOnce(isCompressible: Bool) throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: true)))
        var random = SeededGenerator()
        for number in 0..<30 {
            try write.put(tree, Self.key(number), isCompressible ? Self.text(number) : random.bytes(1_000))
        }
        try write.commit()
        let read = try store.beginRead()
        let leaf = try read.opened(try #require(try read.tree("t"))).pointee.root
        read.abort()
        try store.close()
        let looks = Mutex(0)
        let pages = try PageStore.open(
            file: disk, options: StoreOptions.withLargeRing,
            structure: { page, kind in
                looks.withLock { $0 += 1 }
                return NodeValidation.problem(page, kind: kind)
            }, replay: { (_, _) throws(StorageError) in })
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: PageStore.largestNode, alignment: 16)
        defer { buffer.deallocate() }
        looks.withLock { $0 = 0 }
        let size = try pages.copyWholeLeaf(leaf.page, birth: leaf.birth, into: buffer)
        #expect(looks.withLock { $0 } == 1)
        #expect(NodeView(UnsafeRawPointer(try #require(buffer.baseAddress)), size: size).count == 30)
        #expect((size > Int(PagePointer.sectors(leaf.page)) * FileFormat.sectorSize) == isCompressible)
    }

    // The copied bytes must be the verified ones: bytes in the mapping can change meanwhile, for example to zeros.
    @Test("reads every sector by a call, though it is mapped and was verified", .seeded)
    func byCall() throws {
        var options = SparseStore.options
        options.access = .mapped
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        for isCompressed in [false, true] {
            let tree = try #require(
                try write.tree("\(isCompressed)", create: true, options: TreeOptions(isCompressed: isCompressed)))
            for number in 0..<60 { try write.put(tree, Self.key(number), Self.text(number)) }
            try write.put(tree, Self.key(60), [UInt8](repeating: 3, count: 90_000))
        }
        try write.commit()
        try store.checkpoint()
        #expect(try store.check { Issue.record("\($0)") })
        let own = store.pages.side.ownRuns.reduce(0) { $0 + Int($1.count) }
        let used = Int(store.statistics.usedBytes) / FileFormat.sectorSize
        var unreadable = 0
        for sector in 0..<disk.size() >> FileFormat.sectorShift {
            disk.unreadable = sector..<sector + 1
            do {
                let isWhole = try store.backup(to: try SimulatedDisk())
                #expect(isWhole)
            } catch {
                guard case .io(_, _, EIO) = error else { throw error }
                unreadable += 1
            }
        }
        #expect(unreadable == used - own)
    }
}
