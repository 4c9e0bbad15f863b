// SPDX-License-Identifier: Apache-2.0
// Opening files of the file system: each obstacle gives an error of its own.

import Foundation
import Glibc
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("A file of the file system")
struct LinuxFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("store.hornbeam") }

    init() throws { folder = try TemporaryFolder() }

    private func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws(StorageError) -> PageStore {
        var options = StoreOptions.withLargeRing
        change(&options)
        return try PageStore.open(path: path, options: options, structure: Toy.structure, replay: Toy.replay)
    }

    @Test("lies in the folder before its last slash, whatever accents follow that")
    func directory() {
        #expect(LinuxFile.directory(of: "store") == ".")
        #expect(LinuxFile.directory(of: "/store") == "/")
        #expect(LinuxFile.directory(of: "a/b/store") == "a/b")
        #expect(LinuxFile.directory(of: "a/b/\u{301}x") == "a/b")
    }

    @Test("is created, holds the committed data, and is alone in its folder")
    func life() throws {
        let store = try open()
        #expect(try folder.names() == ["store.hornbeam"])
        for value in 1...300 {
            let durability: Durability = value % 10 == 0 ? .full : .process
            try Toy.commit(
                ToyChange(
                    cell: value % 9, value: UInt64(value), longSectors: UInt32(value % 6), padding: value % 2 * 9000),
                to: store, durability, large: value % 50 == 0)
        }
        let cells = try Toy.cells(of: store)
        try Toy.expectSound(store)
        try store.close()
        let again = try open()
        #expect(try Toy.cells(of: again) == cells)
        try Toy.expectSound(again)
        #expect(try folder.names() == ["store.hornbeam"])
    }

    @Test("is recovered after its store went away without closing")
    func dropped() throws {
        do {
            let store = try open()
            for value in 1...20 {
                try Toy.commit(ToyChange(cell: value % 9, value: UInt64(value)), to: store, .process)
            }
            store.endThread()
        }
        let again = try open()
        #expect(again.statistics.transaction == 20)
        #expect(try Toy.cells(of: again)[2].value == 20)
    }

    @Test("is busy while another store has it, in this process too; a waiting store gets it")
    func lock() throws {
        let store = try open()
        for readOnly in [true, false] {
            #expect(throws: StorageError.busy("\(path) is open in another process or another store")) {
                try open { $0.readOnly = readOnly }
            }
        }
        let path = path
        // In a separate thread, because tasks wait for the tests that run beside this one.
        let waiting = Mutex<Result<PageStore, any Error>?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let opened = Result {
                var options = StoreOptions.withLargeRing
                options.lockWaitMilliseconds = 5000
                return try PageStore.open(
                    path: path, options: options, structure: Toy.structure, replay: Toy.replay)
            }
            waiting.withLock { $0 = opened }
            isDone.signal()
        }
        Thread.sleep(forTimeInterval: 0.05)
        try store.close()
        isDone.wait()
        try waiting.withLock { try $0?.get().close() }
        let reader = try open { $0.readOnly = true }
        for readOnly in [true, false] {
            #expect(throws: StorageError.busy("\(path) is open in another process or another store (waited 30 ms)")) {
                try open {
                    $0.readOnly = readOnly
                    $0.lockWaitMilliseconds = 30
                }
            }
        }
        try reader.close()
        try open().close()
    }

    @Test("that is no store is refused and left unchanged")
    func foreign() throws {
        try folder.write("store.hornbeam", "")
        #expect(
            throws: StorageError.notAStore(path: path, reason: "the file is empty; remove it to create a store there")
        ) {
            try open()
        }
        let text = Array(String(repeating: "plain text\n", count: 1000).utf8)
        for bytes in [Array("HORN".utf8), text, [UInt8](repeating: 0, count: 1 << 20)] {
            try folder.write("store.hornbeam", bytes)
            do {
                _ = try open()
                Issue.record("opened \(bytes.count) bytes")
            } catch {
                guard case .notAStore = error else { throw error }
            }
        }
        #expect(throws: StorageError.notAStore(path: folder.path, reason: "it is a directory")) {
            try PageStore.open(
                path: folder.path, options: StoreOptions.withLargeRing, structure: Toy.structure, replay: Toy.replay)
        }
        #expect(throws: StorageError.notAStore(path: "/dev/null", reason: "it is not a regular file")) {
            try PageStore.open(
                path: "/dev/null", options: StoreOptions.withLargeRing, structure: Toy.structure, replay: Toy.replay)
        }
    }

    @Test("that is missing is created only if requested, and only in an existing folder")
    func missing() throws {
        for change: (inout StoreOptions) -> Void in [{ $0.readOnly = true }, { $0.createIfMissing = false }] {
            #expect(throws: StorageError.io(operation: "open", path: path, errno: ENOENT)) { try open(change) }
        }
        #expect(try folder.names() == [])
        let lost = folder.path("none/store")
        #expect(throws: StorageError.io(operation: "create", path: lost, errno: ENOENT)) {
            try PageStore.open(
                path: lost, options: StoreOptions.withLargeRing, structure: Toy.structure, replay: Toy.replay)
        }
    }

    @Test("that was shortened is recognised by its length")
    func truncated() throws {
        try open().close()
        truncate(path, 1 << 20)
        do {
            _ = try open()
            Issue.record("opened a truncated file")
        } catch {
            #expect("\(error)".contains("truncated"))
        }
    }

    /// Root may do anything; Linux lets a thread give up this right for its own file operations.
    private func asNobody(_ body: () throws -> Void) throws {
        guard geteuid() == 0 else { return try body() }
        typealias SetUser = @convention(c) (UInt32) -> Int32
        let symbol = try #require(dlsym(nil, "setfsuid"))
        let setUser = unsafeBitCast(symbol, to: SetUser.self)
        _ = setUser(65_534)
        defer { _ = setUser(0) }
        try body()
    }

    @Test("without write permission opens for reading alone")
    func permission() throws {
        try open().close()
        chmod(folder.path, 0o755)
        chmod(path, 0o444)
        try asNobody(expectReadOnly)
    }

    private func expectReadOnly() throws {
        #expect(throws: StorageError.io(operation: "open", path: path, errno: EACCES)) { try open() }
        try open { $0.readOnly = true }.close()
    }

    @Test("gets zeros in the requested range, to the byte", arguments: [4096, 16 << 10, 100 << 10, 1 << 20])
    func zeros(count: Int) throws {
        let file = try LinuxFile.createNew(path: path)
        let size = 2 << 20
        try file.grow(to: UInt64(size))
        let ones = [UInt8](repeating: 1, count: size)
        try ones.withBytes { (bytes) throws(StorageError) in try file.write(bytes, at: 0) }
        let start = 12 << 10
        try file.writeZeros(at: UInt64(start), count: UInt64(count))
        var found = [UInt8](repeating: 2, count: size)
        try found.withMutableBytes { (bytes) throws(StorageError) in try file.read(into: bytes, at: 0) }
        #expect(found[start..<start + count].allSatisfy { $0 == 0 })
        #expect(found[..<start].allSatisfy { $0 == 1 } && found[(start + count)...].allSatisfy { $0 == 1 })
        file.close()
    }
}
