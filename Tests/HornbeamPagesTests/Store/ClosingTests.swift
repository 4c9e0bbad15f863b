// SPDX-License-Identifier: Apache-2.0
// The end of a store: once `close` has returned, nothing reads or writes the file, whatever was in progress.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("Closing a store")
struct ClosingTests {
    private func file() throws -> (WrappedDisk, PageStore) {
        let file = WrappedDisk(try SimulatedDisk())
        let store = try Toy.open(file)
        for value: UInt64 in 1...3 { try Toy.commit(ToyChange(cell: Int(value), value: value), to: store) }
        return (file, store)
    }

    /// A checkpoint was under way in another thread when the store failed. `close` had nothing to write and did not
    /// wait: the checkpoint continued in a released file, and any other file that had got the descriptor's number could
    /// lose its first sectors to a header. Now `close` waits for its end.
    @Test("that has failed waits for a checkpoint that is under way")
    func failedDuringCheckpoint() throws {
        let (file, store) = try file()
        let begun = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        file.disk.whenCalled = { disk in
            disk.whenCalled = nil
            begun.signal()
            usleep(200_000)
        }
        Thread.detachNewThread {
            try? store.checkpoint()
            ended.signal()
        }
        try #require(begun.wait(timeout: .now() + 10) == .success)
        let cause = StorageError.io(operation: "sync", path: file.path, errno: EIO)
        _ = store.pipeline.fail(cause)
        #expect(throws: StorageError.failed(cause: cause)) { try store.close() }
        try #require(ended.wait(timeout: .now() + 10) == .success)
        #expect(file.lateCalls == 0)
    }

    /// `close` said nothing if a checkpoint of the store's thread had failed since the last commit. So a commit that
    /// was not durable yet counted as durable, and a power loss took it.
    @Test("that has failed says so, releases the file, and leaves durable commits to the next opening")
    func failed() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: store, .full)
        try Toy.commit(ToyChange(cell: 2, value: 2), to: store, .process)
        disk.plan = SimulatedDisk.Plan(call: disk.calls + 1, fault: .error(EIO), operations: [.sync])
        store.checkpointInBackground()
        disk.plan = nil
        let cause = StorageError.io(operation: "sync", path: disk.path, errno: EIO)
        #expect(throws: StorageError.failed(cause: cause)) { try store.close() }
        #expect(store.isClosed)
        try store.close()
        let next = try Toy.open(SimulatedDisk(image: disk.powerLossImage(seed: 1)))
        #expect(try Toy.cells(of: next)[1].value == 1)
        try next.close()
    }

    /// The second `close` announced the newest state, if other processes hadn't been told of it, before it noticed
    /// that the store was closed: others may have written to the file since. Now it does nothing.
    @Test("twice does nothing the second time")
    func twice() throws {
        let (file, store) = try file()
        file.refused.withLock { $0 = [SharedRoot.sector] }
        try Toy.commit(ToyChange(cell: 4, value: 4), to: store)
        try store.close()
        file.refused.withLock { $0 = [] }
        try store.close()
        #expect(file.lateCalls == 0)
    }

    /// A snapshot of a store that follows another process's writer checked that the store was open, and then began:
    /// if `close` ran in between, the snapshot read a released file. Now beginning and closing exclude each other.
    @Test("prevents a snapshot that was about to begin")
    func follower() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var options = StoreOptions.withLargeRing
        let path = folder.path("store.hornbeam")
        let writer = try PageStore.open(path: path, options: options, structure: Toy.structure, replay: Toy.replay)
        try Toy.commit(ToyChange(cell: 1, value: 1), to: writer)
        try writer.close()
        options.readOnly = true
        let store = try PageStore.open(path: path, options: options, structure: Toy.structure, replay: Toy.replay)
        let view = try store.beginRead()
        #expect(throws: StorageError.busy("read transactions are open")) { try store.close() }
        #expect(try Toy.cells(of: store)[1].value == 1)
        store.endRead(view)
        try store.close()
        // The snapshot's state when `close` was called.
        let follower = try #require(store.follower)
        #expect(throws: StorageError.invalid("the store is closed")) { try follower.begin() }
        #expect(throws: StorageError.invalid("the store is closed")) { try store.beginRead() }
    }

    /// The number of a closed descriptor goes to the next file: a late write went there. Now the number stays with
    /// the file as long as anything can write to it.
    @Test("keeps other files from getting the number of its descriptor")
    func descriptor() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let file = try LinuxFile.createNew(path: folder.path("first"))
        try file.grow(to: 4096)
        file.close()
        let others = try (0..<4).map { try LinuxFile.createNew(path: folder.path("other\($0)")) }
        for other in others { try other.grow(to: 4096) }
        let late = [UInt8](repeating: 7, count: 4096)
        try? late.withBytes { (bytes) throws(StorageError) in try file.write(bytes, at: 0) }
        var sector = [UInt8](repeating: 1, count: 4096)
        for other in others {
            try sector.withUnsafeMutableBytes { try other.read(into: $0, at: 0) }
            #expect(sector.allSatisfy { $0 == 0 })
        }
    }
}
