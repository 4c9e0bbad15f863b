// SPDX-License-Identifier: Apache-2.0
// A large range of addresses over a file (read-only) or over nothing (anonymous memory). Mapped once, so readers never
// move; what lies beyond the file's end must not be touched.

import CHornbeamShims
import Glibc

/// Owns an address range until the last reference goes. The base never changes.
package final class Mapping: @unchecked Sendable {
    // Sendable: both properties are constant; what the memory holds is guarded by its users' rules.
    package let base: UnsafeMutableRawPointer
    /// Bytes.
    package let capacity: Int

    /// Maps `descriptor` read-only and shared, or anonymous writable memory if it is negative. Under a limit on
    /// address space takes half as often as needed, but never less than `minimum`.
    package init(descriptor: Int32, wanted: Int, minimum: Int, path: String) throws(StorageError) {
        var length = wanted
        while true {
            if let base = hbs_map(descriptor, length) {
                self.base = base
                capacity = length
                return
            }
            let code = errno
            guard length / 2 >= minimum else { throw .io(operation: "mmap", path: path, errno: code) }
            length /= 2
        }
    }

    deinit { munmap(base, capacity) }

    /// Bytes of the mapping; the caller has checked that they lie in the file.
    func bytes(at offset: UInt64, count: Int) -> Bytes {
        Bytes(start: UnsafeRawPointer(base) + Int(offset), count: count)
    }
}
