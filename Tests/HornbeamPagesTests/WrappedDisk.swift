// SPDX-License-Identifier: Apache-2.0
// A simulated disk that behaves like a shared file, which other processes could read. Some calls can be refused, and
// calls after the store has released the file are counted.

import Glibc
import HornbeamTestSupport
import Synchronization

@testable import HornbeamPages

/// Passes all calls to `disk`, except writes to `refused` sectors. Any thread may call.
final class WrappedDisk: StoreFile {
    let disk: SimulatedDisk
    /// Writes that begin at one of these sectors fail.
    let refused = Mutex<Set<UInt64>>([])
    /// Called before each write-through, with its sector; if it returns false, the write-through fails.
    let allowsWriteThrough = Mutex<(@Sendable (UInt64) -> Bool)?>(nil)
    /// Called before each sync; if it returns false, the sync fails.
    let allowsSync = Mutex<(@Sendable () -> Bool)?>(nil)
    /// The ranges whose write-back was requested, call by call.
    let writeBack = Mutex<[Range<UInt64>]>([])
    private let closed = Mutex((isClosed: false, late: 0))

    init(_ disk: SimulatedDisk) { self.disk = disk }

    /// Number of calls that changed or synced something after `close`.
    var lateCalls: Int { closed.withLock { $0.late } }

    var path: String { disk.path }
    var isDurable: Bool { true }
    var mapping: Mapping? { disk.mapping }
    var maximumBytes: Int { disk.maximumBytes }
    var neighbours: (any Neighbours)? { Nobody() }

    func size() throws(StorageError) -> UInt64 { disk.size() }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        try disk.read(into: buffer, at: offset)
    }
    func startWriteBack(at offset: UInt64, count: UInt64) {
        writeBack.withLock { $0.append(offset..<offset + count) }
    }
    func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try note(offset)
        try disk.write(bytes, at: offset)
    }
    func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try note(offset)
        let allows = allowsWriteThrough.withLock { $0 }
        if let allows, !allows(offset >> FileFormat.sectorShift) {
            throw .io(operation: "write", path: path, errno: EIO)
        }
        try disk.writeThrough(bytes, at: offset)
    }
    func sync() throws(StorageError) {
        try note(nil)
        if let allows = allowsSync.withLock({ $0 }), !allows() {
            throw .io(operation: "fdatasync", path: path, errno: EIO)
        }
        try disk.sync()
    }
    func grow(to size: UInt64) throws(StorageError) {
        try note(nil)
        try disk.grow(to: size)
    }
    func shrink(to size: UInt64) throws(StorageError) {
        try note(nil)
        try disk.shrink(to: size)
    }
    func giveName() throws(StorageError) { try disk.giveName() }
    func close() { closed.withLock { $0.isClosed = true } }

    private func note(_ offset: UInt64?) throws(StorageError) {
        closed.withLock { if $0.isClosed { $0.late += 1 } }
        if let offset, refused.withLock({ $0.contains(offset >> FileFormat.sectorShift) }) {
            throw .io(operation: "write", path: path, errno: EIO)
        }
    }
}

/// Stands for other processes, of which there are none.
private struct Nobody: Neighbours {
    func begin(life: UInt64) {}
    func pins() -> [Range<UInt64>] { [] }
    func hasBegun() {}
    func attendsAny() -> Bool { false }
    func beginArrears() {}
    func endArrears() {}
}
