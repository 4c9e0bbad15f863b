// SPDX-License-Identifier: Apache-2.0
// Locks on bytes, with two descriptions of one file as in two processes, and on systems without such locks.

import CHornbeamShims
import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Locks")
struct FileLocksTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("store.hornbeam") }

    init() throws { folder = try TemporaryFolder() }

    /// Returns locks of a new file description each time.
    private func locks(canWrite: Bool = true) throws -> FileLocks {
        let descriptor = open(path, canWrite ? O_RDWR : O_RDONLY)
        defer { close(descriptor) }
        return try FileLocks(of: descriptor, path: path, canWrite: canWrite, calls: .system)
    }

    @Test("let one process write, and go with their holder")
    func writer() throws {
        try folder.write("store.hornbeam", "x")
        let second = try locks()
        do {
            let first = try locks()
            #expect(try first.tryWriter())
            #expect(try second.isWritten())
            #expect(try !second.tryWriter())
            #expect(try second.life() == nil)
            try first.begin(life: 17)
            #expect(try second.life() == 17)
        }
        #expect(try !second.isWritten())
        #expect(try second.life() == nil)
        #expect(try second.tryWriter())
    }

    private static func pinned(_ locks: FileLocks) throws -> [UInt64] {
        try locks.pins().flatMap { Array($0) }.sorted()
    }

    @Test("name every transaction that readers have, and need no write permission for that")
    func pins() throws {
        try folder.write("store.hornbeam", "x")
        let writer = try locks()
        let readers = try (0..<3).map { _ in try locks(canWrite: false) }
        let numbers: [[UInt64]] = [[0, 5, 6, 7], [6, 900], [(1 << 62) - 1]]
        for (reader, numbers) in zip(readers, numbers) { for number in numbers { try reader.pin(number) } }
        #expect(try Self.pinned(writer) == [0, 5, 6, 7, 900, (1 << 62) - 1])
        readers[0].unpin(6)
        readers[1].unpin(6)
        #expect(try Self.pinned(writer) == [0, 5, 7, 900, (1 << 62) - 1])
        for reader in readers { reader.releaseAll() }
        #expect(try writer.pins().isEmpty)
    }

    @Test(
        "that a file system lacks make opening fail with a remedy", arguments: [ENOLCK, EOPNOTSUPP, EINVAL])
    func unsupported(code: Int32) throws {
        let none = LockCalls(set: { _, _, _, _ in code }, find: { _, _ in (code, 0, 0) })
        for readOnly in [false, true] {
            var options = StoreOptions.withLargeRing
            options.readOnly = readOnly
            let path = path
            do {
                let file = try LinuxFile.open(path: path, options: options, locks: none)
                // Reading asks for no lock before its first look.
                let locks = try #require(readOnly ? file.locks : nil)
                _ = try locks.tryGate(.shared)
                Issue.record("opened without locks")
            } catch let error as StorageError {
                guard case .unsupported(let words) = error else { throw error }
                #expect(words.contains("file locks") && words.contains(path))
            }
            try folder.write("store.hornbeam", "x")
        }
    }

    @Test("are requested again if a signal interrupts the call")
    func interrupted() throws {
        try folder.write("store.hornbeam", "x")
        let first = InterruptedOnce()
        let calls = LockCalls(
            set: { first.strikes() ? EINTR : LockCalls.system.set($0, $1, $2, $3) }, find: LockCalls.system.find)
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        #expect(try FileLocks(of: descriptor, path: path, canWrite: true, calls: calls).tryWriter())
    }
}

private final class InterruptedOnce: @unchecked Sendable {
    // Sendable: one test on one thread.
    private var isOver = false

    func strikes() -> Bool {
        defer { isOver = true }
        return !isOver
    }

    /// A forked child closed the descriptors in a table with room for 1,024; a failure to add one wasn't noticed. A
    /// child forked beside more stores kept the locks of the rest as long as it lived. Now the table grows.
    @Test("are released in a forked child however many there are")
    func manyDescriptors() {
        // Numbers that belong to no file.
        let numbers = (0..<3000).map { Int32(1_000_000 + $0) }
        for number in numbers { #expect(hbs_fork_close(number) == 0) }
        for number in numbers { hbs_fork_forget(number) }
    }
}
