// SPDX-License-Identifier: Apache-2.0
// Claims a file for a store. No other store of this process may have the file, and if it is opened for writing, no
// store of another process may be writing it. Waits as long as the options say, but not at all for processes that have
// died.

import Glibc

/// A place in the register of this process, and the locks against other processes.
struct Claim {
    let locks: FileLocks
    /// The place in the register, nil in a second opening by the store that already has it.
    let place: OpenFile?

    /// Longest wait for the gate. A process holds it no longer than it takes to read a journal.
    static var gateMilliseconds: Int { 10_000 }

    /// Waits as `options` say, then throws `.busy`.
    init(_ file: FileIdentity, locks: FileLocks, path: String, options: StoreOptions) throws(StorageError) {
        var taken: OpenFile?
        try Self.wait(path, options) { () throws(StorageError) in
            guard let free = OpenFile(file) else { return false }
            if !options.readOnly, try !Self.takeWriter(locks, path) { return false }
            taken = free
            return true
        }
        self.locks = locks
        place = taken
    }

    /// A second opening by the store that has the place already.
    init(locks: FileLocks, path: String, options: StoreOptions) throws(StorageError) {
        try Self.wait(path, options) { () throws(StorageError) in try Self.takeWriter(locks, path) }
        self.locks = locks
        place = nil
    }

    private static func wait(
        _ path: String, _ options: StoreOptions, _ attempt: () throws(StorageError) -> Bool
    ) throws(StorageError) {
        var waited = 0
        while try !attempt() {
            guard waited < options.lockWaitMilliseconds else {
                let time = waited > 0 ? " (waited \(waited) ms)" : ""
                throw .busy("\(path) is open in another process or another store\(time)")
            }
            let time = Swift.min(10, options.lockWaitMilliseconds - waited)
            pause(milliseconds: time)
            waited += time
        }
    }

    /// Takes the writer's lock, and with it the gate, which stays closed until readers can use the shared root.
    private static func takeWriter(_ locks: FileLocks, _ path: String) throws(StorageError) -> Bool {
        guard try !locks.isWritten() else { return false }
        try closeGate(locks, .exclusive, path)
        do throws(StorageError) {
            if try locks.tryWriter() { return true }
        } catch {
            locks.openGate()
            throw error
        }
        locks.openGate()
        return false
    }

    /// Waits for the gate.
    static func closeGate(_ locks: FileLocks, _ mode: LockCalls.Mode, _ path: String) throws(StorageError) {
        var waited = 0
        while try !locks.tryGate(mode) {
            guard waited < gateMilliseconds else {
                throw .busy("another process has been opening \(path) for \(waited / 1000) s: is it stopped?")
            }
            pause(milliseconds: 1)
            waited += 1
        }
    }

    static func pause(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
}
