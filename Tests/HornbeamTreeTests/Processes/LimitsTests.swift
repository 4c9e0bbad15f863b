// SPDX-License-Identifier: Apache-2.0
// System limits of a process, and a store in a forked child. Each test uses a process of its own.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("A process under limits")
struct LimitsTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("store.hornbeam") }

    init() throws { folder = try TemporaryFolder() }

    @Test("on address space works with a smaller mapping, and reports if there is none")
    func addressSpace() throws {
        let worker = try WorkerProcess(under: "ulimit -v 3000000")
        try worker.ask("write \(path)")
        try worker.ask("fill")
        try worker.ask("transfer 20 full")
        try worker.ask("check")
        try worker.ask("close")
        truncate(path, 8 << 30)
        let reader = try WorkerProcess(under: "ulimit -v 3000000")
        do {
            try reader.ask("read \(path)")
            Issue.record("mapped 8 GiB in 3")
        } catch let error as WorkerProcess.Refused {
            #expect(error.description.contains("address space"))
        }
    }

    @Test("on the size of files gets an error for writes beyond it, and keeps its content")
    func fileSize() throws {
        // In units of 512 bytes: 4 MiB.
        let worker = try WorkerProcess(under: "ulimit -f 8192")
        try worker.ask("write \(path)")
        try worker.ask("fill")
        do {
            try worker.ask("grow 20")
            Issue.record("grew beyond the limit")
        } catch let error as WorkerProcess.Refused {
            #expect(error.description.contains("no space left"))
        }
        try worker.ask("transfer 20 full")
        try worker.ask("check")
        try worker.ask("close")
    }

    @Test("on open files gets an error that says so")
    func openFiles() throws {
        let worker = try WorkerProcess(under: "ulimit -n 64")
        try worker.ask("exhaust")
        do {
            try worker.ask("write \(path)")
            Issue.record("opened without a descriptor")
        } catch let error as WorkerProcess.Refused {
            #expect(error.description.contains("Too many open files"))
        }
    }

    /// The file had got its name, and then the directory could not be opened to make the name durable: the caller was
    /// told that there was no file, and the next attempt was refused because there was one. Now the name is removed.
    @Test("on open files leaves no file after it failed to make one", arguments: 0..<4)
    func creation(descriptors: Int) throws {
        let worker = try WorkerProcess(under: "ulimit -n 64")
        try worker.ask("exhaust \(descriptors)")
        do {
            try worker.ask("write \(path)")
            #expect(descriptors == 3)
        } catch is WorkerProcess.Refused {
            #expect(descriptors < 3)
            #expect(try folder.names().isEmpty)
        }
    }

    /// If /proc is not mounted, for example in a chroot, an unnamed file can be made but can't get a name: no store
    /// could be created. Now the file has a temporary name from the start.
    @Test("without /proc can still create stores", .enabled(if: WorkerProcess.canHideProc))
    func withoutProc() throws {
        let worker = try WorkerProcess(hidesProc: true)
        try worker.ask("write \(path)")
        try worker.ask("fill")
        try worker.ask("transfer 3 full")
        try worker.ask("check")
        try worker.ask("close")
        #expect(try folder.names() == ["store.hornbeam"])
    }

    // The temporary name was left over if the new file could not be locked or mapped.
    @Test("without /proc leaves no temporary file of a store it can't create", .enabled(if: WorkerProcess.canHideProc))
    func temporaryName() throws {
        let worker = try WorkerProcess(under: "ulimit -n 64", hidesProc: true)
        // One descriptor is left for the file, none for its locks.
        try worker.ask("exhaust 1")
        #expect(throws: WorkerProcess.Refused.self) { try worker.ask("write \(path)") }
        #expect(try folder.names().isEmpty)
    }

    /// The guard called the former action if its flag for three arguments was set, even if it was no handler: a
    /// SIGBUS that concerned no store ended the process at address 0, with another signal and a useless core dump.
    @Test("passes a foreign signal on, whether a handler was there before or not")
    func formerHandler() throws {
        let worker = try WorkerProcess()
        try worker.ask("defaultHandler")
        try worker.ask("write \(path)")
        #expect(try worker.ask("signal") == "\(SIGBUS)")
        try worker.ask("close")
    }

    @Test("a forked child is refused every call, and changes nothing for its parent")
    func fork() throws {
        let worker = try WorkerProcess()
        try worker.ask("write \(path)")
        try worker.ask("fill")
        #expect(try worker.ask("fork").isEmpty)
        #expect(throws: StorageError.busy("\(path) is open in another process or another store")) {
            try TreeStore.open(at: path)
        }
        try worker.ask("transfer 20 full")
        try worker.ask("check")
        try worker.ask("close")
    }

    @Test("a forked child that lives on does not keep the file of its dead parent")
    func orphan() throws {
        let worker = try WorkerProcess()
        try worker.ask("write \(path)")
        try worker.ask("fill")
        try worker.ask("transfer 20 full")
        let child = try #require(pid_t(try worker.ask("leave")))
        defer { kill(child, SIGKILL) }
        worker.kill()
        #expect(kill(child, 0) == 0)
        let store = try TreeStore.open(at: path)
        #expect(try store.check { _ in })
        try store.close()
    }
}
