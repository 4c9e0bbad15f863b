// SPDX-License-Identifier: Apache-2.0
// A store without a file: the same operations on anonymous memory. Nothing survives the process.

import Glibc
import Synchronization

package final class MemoryFile: StoreFile {
    package let path = "memory"
    package let isDurable = false
    package let memory: Mapping
    package var mapping: Mapping? { memory }
    package var maximumBytes: Int { memory.capacity }
    private let byteCount = Atomic<UInt64>(0)

    package init() throws(StorageError) {
        memory = try Mapping(storeOf: -1, bytes: 0, path: "memory")
        // One fault for 2 MiB instead of 512 faults, and fewer misses of the processor's table of pages. Costs nothing
        // if the kernel has no such pages.
        madvise(memory.base + Self.smallBytes, memory.capacity - Self.smallBytes, MADV_HUGEPAGE)
    }

    /// Up to this size a store is small, and takes no more memory than its pages.
    private static var smallBytes: Int { 2 << 20 }

    package func size() -> UInt64 { byteCount.load(ordering: .relaxed) }

    package func write(_ bytes: Bytes, at offset: UInt64) {
        precondition(offset + UInt64(bytes.count) <= size(), "a write beyond the end")
        guard let source = bytes.baseAddress else { return }
        memcpy(memory.base + Int(offset), source, bytes.count)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) {
        precondition(offset + UInt64(buffer.count) <= size(), "a read beyond the end")
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: memory.base + Int(offset), count: buffer.count))
    }

    package func startWriteBack(at offset: UInt64, count: UInt64) {}

    package func writeThrough(_ bytes: Bytes, at offset: UInt64) { write(bytes, at: offset) }

    package func sync() {}

    package func grow(to size: UInt64) throws(StorageError) {
        guard size <= UInt64(memory.capacity) else { throw .full(path: path) }
        byteCount.store(size, ordering: .relaxed)
    }

    package func shrink(to size: UInt64) throws(StorageError) {
        let former = byteCount.exchange(size, ordering: .relaxed)
        guard size < former else { return }
        // The memory goes back to the system, and reads as zeros if the file grows again.
        madvise(memory.base + Int(size), Int(former - size), MADV_DONTNEED)
    }

    package func giveName() {}

    package func close() {}
}
