// SPDX-License-Identifier: Apache-2.0
// One process writes and others read: they see the right states, keep their snapshots, and no death of one blocks
// another.

import Foundation
import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("Several processes")
struct OtherProcessesTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("store.hornbeam") }
    private static let total = "64000"

    init() throws { folder = try TemporaryFolder() }

    /// Returns a writer with filled accounts.
    private func writer() throws -> WorkerProcess {
        let writer = try WorkerProcess()
        try writer.ask("write \(path)")
        try writer.ask("fill")
        return writer
    }

    private func reader() throws -> WorkerProcess {
        let reader = try WorkerProcess()
        try reader.ask("read \(path)")
        return reader
    }

    @Test("see each durable commit, keep their snapshots, and see only durable states")
    func follow() throws {
        let writer = try writer()
        let reader = try reader()
        let first = try #require(UInt64(try reader.ask("begin")))
        try writer.ask("transfer 3 full")
        #expect(try reader.ask("version") == "\(first)")
        #expect(try reader.ask("begin") == "\(first + 3)")
        try writer.ask("transfer 5 process")
        try writer.ask("transfer 5 none")
        #expect(try reader.ask("begin") == "\(first + 3)")
        try writer.ask("transfer 1 full")
        #expect(try reader.ask("begin") == "\(first + 14)")
        for _ in 0..<4 {
            #expect(try reader.ask("sum") == Self.total)
            try reader.ask("end")
        }
        try writer.ask("transfer 2 process")
        try writer.ask("close")
        // Closing makes everything durable.
        #expect(try reader.ask("begin") == "\(first + 16)")
        #expect(try reader.ask("sum") == Self.total)
    }

    @Test("report the same space in use as the writer that closed the file")
    func used() throws {
        var options = StoreOptions()
        let store = try TreeStore.open(at: path, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        for key in UInt8(0)..<200 { try write.put(tree, [key], [UInt8](repeating: key, count: 5_000)) }
        try write.commit()
        try store.checkpoint()
        let used = store.statistics.usedBytes
        try store.close()
        options.readOnly = true
        let reader = try TreeStore.open(at: path, options: options)
        #expect(used > 1_000_000 && reader.statistics.usedBytes == used)
        try reader.close()
    }

    @Test("report the space in use, the checkpoint and the journal, with a writer and without")
    func figures() throws {
        var options = StoreOptions.withLargeRing
        options.readOnly = true
        let writer = try writer()
        let beside = try TreeStore.open(at: path, options: options)
        #expect(beside.statistics.usedBytes > 20_000)
        try writer.ask("transfer 3 full")
        try beside.beginRead().abort()
        let told = beside.statistics
        #expect(told.journalBytes > 0 && told.checkpoint > 0)
        try beside.close()
        try writer.ask("close")
        // No process writes.
        let alone = try TreeStore.open(at: path, options: options)
        let figures = alone.statistics
        #expect(figures.usedBytes > 20_000 && figures.journalBytes == 0)
        #expect(figures.checkpoint > told.checkpoint)
        // A writer that has announced nothing yet, to an earlier reader and to a later one.
        let next = try WorkerProcess()
        try next.ask("write \(path)")
        try alone.beginRead().abort()
        #expect(alone.statistics.checkpoint == figures.checkpoint)
        #expect(alone.statistics.usedBytes == figures.usedBytes)
        try alone.close()
        let late = try TreeStore.open(at: path, options: options)
        #expect(late.statistics.usedBytes == figures.usedBytes)
        #expect(late.statistics.checkpoint == figures.checkpoint)
        try late.close()
        try next.ask("close")
    }

    @Test("count exactly the pages held by snapshots, here and elsewhere, as held, once each")
    func snapshotBytes() throws {
        let store = try TreeStore.open(at: path, options: StoreOptions.withLargeRing)
        func put(_ value: UInt8) throws {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true))
            try write.put(tree, [1], [value])
            try write.commit()
        }
        // The checkpoint's state is twice among the older ones: as the checkpoint's, and as the formerly newest.
        try put(1)
        try store.checkpoint()
        try put(2)
        let unread = store.statistics
        #expect(unread.snapshotBytes == 0 && unread.checkpointRetiredBytes > 0)
        try store.checkpoint()
        let view = try store.beginRead()
        try put(3)
        let read = store.statistics
        #expect(read.snapshotBytes == read.checkpointRetiredBytes && read.olderSnapshots == 1)
        view.abort()
        try put(4)
        try put(5)
        #expect(store.statistics.snapshotBytes == 0 && store.statistics.olderSnapshots == 0)
        try store.checkpoint()
        let other = try reader()
        try other.ask("begin")
        for value in UInt8(6)..<9 { try put(value) }
        let told = store.statistics
        #expect(told.snapshotBytes > 0 && told.snapshotBytes <= told.retiredBytes && told.olderSnapshots == 0)
        try other.ask("end")
        for value in UInt8(9)..<12 { try put(value) }
        #expect(store.statistics.snapshotBytes == 0)
        try store.close()
    }

    @Test("continue when the writer dies; a new reader or writer recovers the file and is blocked by none of them")
    func deadWriter() throws {
        let writer = try writer()
        let reader = try reader()
        try writer.ask("transfer 20 full")
        let seen = try reader.ask("begin")
        try writer.ask("transfer 20 process")
        writer.kill()
        #expect(try reader.ask("sum") == Self.total)
        #expect(try reader.ask("begin") == seen)
        let second = try self.reader()
        let recovered = try #require(UInt64(try second.ask("begin")))
        #expect(recovered == UInt64(seen).map { $0 + 20 })
        #expect(try reader.ask("begin") == "\(recovered)")
        let next = try WorkerProcess()
        try next.ask("write \(path)")
        try next.ask("transfer 300 full")
        #expect(try reader.ask("begin") == "\(recovered + 300)")
        // The newest state, the recovered one, and twice the dead writer's, none of whose pages may be overwritten.
        for _ in 0..<4 {
            #expect(try reader.ask("sum") == Self.total)
            try reader.ask("end")
        }
        try next.ask("check")
        try next.ask("close")
        try second.ask("end")
        #expect(try second.ask("begin") == "\(recovered + 300)")
        try second.ask("check")
    }

    @Test("a snapshot holds its pages back, and no longer than its process lives")
    func deadReader() throws {
        let store = try TreeStore.open(at: path)
        defer { try? store.close() }
        try Self.rewrite(store, rounds: 2)
        var held: UInt64 = 0
        for round in 0..<5 {
            let reader = try WorkerProcess()
            try reader.ask("read \(path)")
            try reader.ask("begin")
            try Self.rewrite(store, rounds: 3)
            if round == 0 { held = store.statistics.fileBytes }
            reader.kill()
        }
        // Each snapshot held back a copy of the tree.
        #expect(store.statistics.fileBytes == held)
    }

    /// Replaces all values of a tree of 200 values of 4,000 bytes, `rounds` times.
    private static func rewrite(_ store: TreeStore, rounds: Int) throws {
        for round in 0..<rounds {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree("values", create: true))
            for key in 0..<200 {
                try transaction.put(
                    tree, Array("\(key)".utf8), [UInt8](repeating: UInt8((round + key) & 0xFF), count: 4_000))
            }
            try transaction.commit()
        }
    }

    @Test("hammer on one file while readers and writers are killed at any moment", arguments: [1, 2, 3] as [UInt64])
    func killed(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var writer = try writer()
        var readers = try [reader(), reader()]
        for reader in readers { try reader.ask("begin") }
        for _ in 0..<4 {
            writer.send("hammer 60")
            for reader in readers { reader.send("hammer 0.2") }
            usleep(UInt32.random(in: 1_000...150_000, using: &generator))
            if Bool.random(using: &generator) {
                readers[0].kill()
                readers[0] = try reader()
                try readers[0].ask("begin")
                readers[0].send("hammer 0.2")
            }
            usleep(UInt32.random(in: 1_000...100_000, using: &generator))
            writer.kill()
            writer = try WorkerProcess()
            try writer.ask("write \(path)")
            for reader in readers { _ = try reader.answer() }
        }
        try writer.ask("check")
    }

    @Test("a second store of the file in one process is refused, in every mode")
    func oneProcess() throws {
        let store = try TreeStore.open(at: path)
        var reading = StoreOptions.withLargeRing
        reading.readOnly = true
        for options in [StoreOptions.withLargeRing, reading] {
            #expect(throws: StorageError.busy("\(path) is open in another process or another store")) {
                try TreeStore.open(at: path, options: options)
            }
        }
        try store.close()
        let reader = try TreeStore.open(at: path, options: reading)
        #expect(throws: StorageError.self) { try TreeStore.open(at: path) }
        try reader.close()
    }
}
