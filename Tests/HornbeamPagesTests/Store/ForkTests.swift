// SPDX-License-Identifier: Apache-2.0
// A forked child may release inherited objects, and can open files of its own, whatever its parent's other threads
// did at the fork.

import CHornbeamShims
import Dispatch
import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("A forked child")
struct ForkTests {
    /// Runs `body` in a child process, which is ended if it takes too long; returns its status. (Swift hides `fork`.)
    private func inChild(_ body: () -> Int32) throws -> Int32 {
        typealias Fork = @convention(c) () -> pid_t
        let symbol = try #require(dlsym(nil, "fork"))
        let child = unsafeBitCast(symbol, to: Fork.self)()
        if child == 0 { _exit(body()) }
        var status: Int32 = 0
        // Ended by waiting, not by an alarm: the forking thread may block the signal, and the child inherits that.
        for _ in 0..<5_000 {
            if waitpid(child, &status, WNOHANG) != 0 { return status }
            usleep(1000)
        }
        kill(child, SIGKILL)
        waitpid(child, &status, 0)
        return status
    }

    // The child's value asked the transaction, which still looked open, to give its place back: to a store that other
    // threads may have been changing at the time of the fork.
    @Test("releases an unfinished long value without touching the store")
    func longValue() throws {
        let store = try Toy.open(try SimulatedDisk())
        let writer = try store.beginWrite()
        let long = try LongPageWriter(writer, size: 100_000)
        let free = store.side.space.freeSectors
        let status = try inChild {
            long.cancel()
            return store.side.space.freeSectors == free ? 0 : 1
        }
        #expect(status == 0)
        long.cancel()
        #expect(store.side.space.freeSectors > free)
        writer.abort()
    }

    // Waiting would write the parent's records.
    @Test("can't wait for a commit of its parent")
    func pendingCommit() throws {
        let store = try Toy.open(try SimulatedDisk())
        let writer = try store.beginWrite()
        let change = ToyChange(cell: 1, value: 2)
        try Toy.apply(change, writer)
        let commit = try change.redo.withBytes { (bytes) throws(StorageError) in
            try writer.beginCommit(redo: bytes, durability: .full)
        }
        let status = try inChild {
            do throws(StorageError) { try commit.wait() } catch .invalid { return 0 } catch { return 1 }
            return 2
        }
        #expect(status == 0)
        try commit.wait()
        try store.close()
    }

    // Opening takes locks of the whole process. A thread that held one at the fork doesn't exist in the child, and
    // never released it there.
    @Test("opens a file of its own, even if other threads were just opening")
    func opening() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        let thread = DispatchQueue(label: "opens")
        let isHeld = DispatchSemaphore(value: 0)
        thread.async {
            hbs_process_lock()
            isHeld.signal()
            usleep(100_000)
            hbs_process_unlock()
        }
        isHeld.wait()
        let status = try inChild {
            (try? LinuxFile.open(path: path, options: StoreOptions.withLargeRing)) == nil ? 1 : 0
        }
        #expect(status == 0)
        thread.sync {}
        // The parent's file is another one, with a lock of its own.
        let file = try LinuxFile.open(path: path, options: StoreOptions.withLargeRing)
        file.close()
    }
}
