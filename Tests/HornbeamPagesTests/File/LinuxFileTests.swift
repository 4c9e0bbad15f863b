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

    private func content(of file: LinuxFile, at offset: UInt64) throws -> [UInt8] {
        var found = [UInt8](repeating: 9, count: FileFormat.sectorSize)
        try found.withMutableBytes { (bytes) throws(StorageError) in try file.read(into: bytes, at: offset) }
        return found
    }

    /// A file of 4 MiB.
    private func makeFile(_ access: PageAccess = .mapped) throws -> LinuxFile {
        try open().close()
        var options = StoreOptions.withLargeRing
        options.access = access
        let file = try LinuxFile.open(path: path, options: options)
        try file.grow(to: 4 << 20)
        return file
    }

    /// Writes a sector of ones up to `first` and twos after that, of which `begun` bytes are in the file already.
    private func writeRest(_ file: LinuxFile, _ first: Int, begun: Int, at offset: UInt64) throws {
        let whole = (0..<FileFormat.sectorSize).map { UInt8($0 < first ? 1 : 2) }
        let former = (0..<FileFormat.sectorSize).map { UInt8($0 < begun ? 1 : 3) }
        try former.withBytes { (bytes) throws(StorageError) in try file.write(bytes, at: offset) }
        try whole.withBytes { (bytes) throws(StorageError) in
            try file.writeRest(of: bytes, from: first, at: offset)
        }
        #expect(try content(of: file, at: offset) == whole)
    }

    @Test(
        "gets the rest of a sector, near the last one or far from it, and all of it if it was not begun",
        arguments: [PageAccess.mapped, .read])
    func restOfSector(access: PageAccess) throws {
        let file = try makeFile(access)
        defer { file.close() }
        for (offset, first) in [(1 << 20, 8), (1 << 20, 4000), (1 << 20 + 4096, 1), (4 << 20 - 4096, 4095)] {
            try writeRest(file, first, begun: first, at: UInt64(offset))
            try writeRest(file, first, begun: first - 1, at: UInt64(offset))
        }
        #expect(try file.size() == 4 << 20)
    }

    @Test("is changed through a window, but only after the bytes that are there")
    func window() throws {
        let file = try makeFile()
        defer { file.close() }
        let descriptor = Glibc.open(path, O_RDWR)
        defer { Glibc.close(descriptor) }
        let window = try #require(FileWindow(descriptor, at: 3 << 20 + 8192))
        #expect(window.contains(3 << 20) && window.contains(3 << 20 + 8192) && !window.contains(3 << 20 - 1))
        let sector = [UInt8](repeating: 0, count: 100) + [UInt8](repeating: 5, count: FileFormat.sectorSize - 100)
        #expect(sector.withBytes { window.writeRest(of: $0, from: 100, at: 3 << 20 + 8192) })
        #expect(try content(of: file, at: 3 << 20 + 8192) == sector)
        #expect(!sector.withBytes { window.writeRest(of: $0, from: 101, at: 3 << 20 + 4096) })
        #expect(try content(of: file, at: 3 << 20 + 4096).allSatisfy { $0 == 0 })
        // A sector that is gone would end the process without the guard.
        #expect(truncate(path, 1 << 20) == 0)
        #expect(!sector.withBytes { window.writeRest(of: $0, from: 0, at: 3 << 20 + 8192) })
    }

    @Test("that was cut short meanwhile gets the rest of a sector by a call")
    func restOfCutSector() throws {
        let file = try makeFile()
        defer { file.close() }
        for _ in 0..<2 {
            try writeRest(file, 100, begun: 100, at: 2 << 20)
            #expect(truncate(path, 1 << 20) == 0)
            let whole = [UInt8](repeating: 0, count: 100) + [UInt8](repeating: 5, count: FileFormat.sectorSize - 100)
            try whole.withBytes { (bytes) throws(StorageError) in
                try file.writeRest(of: bytes, from: 100, at: 2 << 20)
            }
            #expect(try content(of: file, at: 2 << 20) == whole)
        }
    }
}
