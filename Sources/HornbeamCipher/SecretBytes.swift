// SPDX-License-Identifier: Apache-2.0
// Memory for keys: locked if the system allows it, excluded from core dumps, and zeroed before it is given back.

import Glibc

/// A few secret bytes in pages of their own. Any thread may read them.
///
/// Locking uses a little of the process's limit (`ulimit -l`). If that isn't possible, the bytes may get into the swap
/// file.
final class SecretBytes: @unchecked Sendable {
    // Sendable: nothing changes after `init`.
    let count: Int
    private let memory: UnsafeMutableRawPointer
    private let mapped: Int
    /// Whether it has pages of its own. If not, it is in ordinary memory.
    private let isMapped: Bool

    /// Makes the memory. `fill` gets `count` bytes, all zero.
    init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        self.count = count
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        mapped = (max(count, 1) + page - 1) / page * page
        let address = mmap(nil, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if let address, address != MAP_FAILED {
            (memory, isMapped) = (address, true)
            mlock(memory, mapped)
            madvise(memory, mapped, Int32(MADV_DONTDUMP))
        } else {
            (memory, isMapped) = (.allocate(byteCount: mapped, alignment: 16), false)
        }
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: mapped)
        try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
    }

    deinit {
        explicit_bzero(memory, mapped)
        if isMapped { munmap(memory, mapped) } else { memory.deallocate() }
    }

    /// Copies bytes. The caller must wipe the original.
    convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: memory, count: count))
    }
}
