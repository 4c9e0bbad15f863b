// SPDX-License-Identifier: Apache-2.0
// Processes that have the file on a simulated disk open: one that writes and any number that read. All see the same
// content, as through one kernel. Each has its own locks, which are real ones on a file without content. One process
// can be killed at any call: from then on none of its calls reaches the file, and its locks are released.

import CHornbeamShims
import Glibc
package import HornbeamPages
import Synchronization

/// The file as one process sees it.
package final class SimulatedProcess: SharedFile {
    package let path = "simulated disk"
    package let isDurable = true
    package let mapping: Mapping?
    package let locks: FileLocks
    private let disk: SimulatedDisk
    private let canWrite: Bool
    private let shared: Shared
    private let life = Life()

    /// Whether a process is dead, so that its code takes no more locks.
    fileprivate final class Life: Sendable {
        let isOver = Atomic<Bool>(false)
    }

    /// The common state of all processes.
    package final class Shared: Sendable {
        /// The file on which the locks are.
        fileprivate let descriptor: Int32
        private let hooks = Mutex(Hooks())

        private struct Hooks {
            var beforeCall: (@Sendable () -> Void)?
            var duringChoice: (@Sendable () -> Void)?
        }

        package init() {
            descriptor = hbs_open_unnamed("/tmp", 0o600)
            precondition(descriptor >= 0, "no file for locks")
        }

        deinit { Glibc.close(descriptor) }

        /// Called before each call of a process that changes or syncs something.
        package var beforeCall: (@Sendable () -> Void)? {
            get { hooks.withLock { $0.beforeCall } }
            set { hooks.withLock { $0.beforeCall = newValue } }
        }

        /// Called while a reader chooses a state: before it reads a header slot or the shared root, and before and
        /// after it pins the state.
        package var duringChoice: (@Sendable () -> Void)? {
            get { hooks.withLock { $0.duringChoice } }
            set { hooks.withLock { $0.duringChoice = newValue } }
        }

        fileprivate func lockCalls(of life: Life) -> LockCalls {
            var calls = LockCalls.system
            calls.set = { [self] (descriptor, mode, start, count) in
                if mode != .none, life.isOver.load(ordering: .relaxed) { return EBADF }
                guard mode == .shared, start >= FileLocks.readers else {
                    return LockCalls.system.set(descriptor, mode, start, count)
                }
                duringChoice?()
                defer { duringChoice?() }
                return LockCalls.system.set(descriptor, mode, start, count)
            }
            return calls
        }
    }

    /// Creates a process that opens the disk's file. Throws `.busy` if it is to write and another one does.
    package init(on disk: SimulatedDisk, _ shared: Shared, options: StoreOptions) throws(StorageError) {
        self.disk = disk
        self.shared = shared
        canWrite = !options.readOnly
        mapping = options.access == .mapped ? disk.mapping : nil
        locks = try FileLocks(on: shared.descriptor, path: path, options: options, calls: shared.lockCalls(of: life))
    }

    package func reopenForWriting(_ options: StoreOptions) throws(StorageError) -> any StoreFile {
        try SimulatedProcess(on: disk, shared, options: options)
    }

    /// Ends the process. Other processes may still see its call in progress.
    package func kill() {
        life.isOver.store(true, ordering: .relaxed)
        locks.releaseAll()
    }

    package var neighbours: (any Neighbours)? { canWrite ? locks : nil }
    package var maximumBytes: Int { disk.maximumBytes }
    package func size() -> UInt64 { disk.size() }
    package func startWriteBack(at offset: UInt64, count: UInt64) {}
    package func close() { locks.releaseAll() }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        let isOfHeader = offset < 3 * UInt64(DiskImage.sectorSize)
        if !canWrite, isOfHeader { shared.duringChoice?() }
        try disk.read(into: buffer, at: offset)
    }

    /// Throws for a process that reads, which must not change the file, and for a dead one, which can't.
    private func begin(_ operation: String) throws(StorageError) {
        precondition(canWrite, "a reader changes the file")
        if !life.isOver.load(ordering: .relaxed) { shared.beforeCall?() }
        if life.isOver.load(ordering: .relaxed) { throw .io(operation: operation, path: path, errno: EIO) }
    }

    package func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try begin("write")
        try disk.write(bytes, at: offset)
    }

    package func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try begin("writeThrough")
        try disk.writeThrough(bytes, at: offset)
    }

    package func sync() throws(StorageError) {
        try begin("sync")
        try disk.sync()
    }

    package func grow(to size: UInt64) throws(StorageError) {
        try begin("grow")
        try disk.grow(to: size)
    }

    package func shrink(to size: UInt64) throws(StorageError) {
        try begin("shrink")
        try disk.shrink(to: size)
    }

    package func giveName() throws(StorageError) {
        try begin("giveName")
        try disk.giveName()
    }
}
