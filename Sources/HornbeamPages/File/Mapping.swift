// SPDX-License-Identifier: Apache-2.0
// A large range of addresses over a file (read-only) or over nothing (anonymous memory). It is mapped once, so readers
// never move. Addresses beyond the file's end must not be touched.

import CHornbeamShims
import Glibc
import Synchronization

/// Owns an address range until the last reference goes. The base address never changes.
package final class Mapping: @unchecked Sendable {
    // Sendable: all properties are constant; users of the memory guard its content by their own rules.
    package let base: UnsafeMutableRawPointer
    /// Size of the range in bytes.
    package let capacity: Int

    private let path: String
    private let descriptor: Int32
    /// 1 once a trusted page could not be read any more. See `checkIsWhole`.
    let lost: UnsafeMutablePointer<Atomic<UInt32>>
    /// The guard of a file's mapping against SIGBUS; negative if there is none.
    private let faultGuard: Int32
    /// Whether it counts among `ofStores`.
    private let isStores: Bool

    /// Maps `descriptor` read-only and shared, or anonymous writable memory if it is negative. Under a limit on address
    /// space (`ulimit -v`) takes half of the largest possible range, so that the program keeps the rest, but never less
    /// than `minimum`.
    package convenience init(descriptor: Int32, wanted: Int, minimum: Int, path: String) throws(StorageError) {
        try self.init(descriptor: descriptor, wanted: wanted, minimum: minimum, path: path, isStores: false)
    }

    private init(
        descriptor: Int32, wanted: Int, minimum: Int, path: String, isStores: Bool
    ) throws(StorageError) {
        var length = Swift.max(wanted, minimum)
        var mapped = hbs_map(descriptor, length)
        while mapped == nil {
            let code = errno
            guard length / 2 >= minimum else { throw Self.refusal(code, minimum, path) }
            length /= 2
            mapped = hbs_map(descriptor, length)
        }
        guard var base = mapped else { throw Self.refusal(ENOMEM, minimum, path) }
        if length < wanted, length / 2 >= minimum {
            munmap(base, length)
            length /= 2
            guard let half = hbs_map(descriptor, length) else { throw Self.refusal(errno, minimum, path) }
            base = half
        }
        self.base = base
        self.isStores = isStores
        self.path = path
        self.descriptor = descriptor
        capacity = length
        lost = .allocate(capacity: 1)
        lost.initialize(to: Atomic(0))
        let flag = UnsafeMutableRawPointer(lost).assumingMemoryBound(to: UInt32.self)
        faultGuard = descriptor < 0 ? -1 : hbs_guard_add(base, length, flag)
    }

    /// Maps the store in `descriptor`, or in memory if that is negative, with room to grow. The first few stores of a
    /// process have room for the largest possible file. There are not enough addresses for thousands of such ranges.
    package convenience init(storeOf descriptor: Int32, bytes: Int, path: String) throws(StorageError) {
        let isOneOfFew = Self.ofStores.add(1, ordering: .relaxed).newValue <= Self.few
        let wanted = isOneOfFew ? Int.max : Swift.max(Self.leastRoom, 16 * bytes)
        do throws(StorageError) {
            try self.init(
                descriptor: descriptor, wanted: Swift.min(wanted, FileFormat.maximumFileBytes),
                minimum: Swift.max(1 << 26, bytes), path: path, isStores: true)
        } catch {
            Self.ofStores.subtract(1, ordering: .relaxed)
            throw error
        }
    }

    /// Number of mappings of stores that this process has now.
    private static let ofStores = Atomic<Int>(0)
    private static let few = 16
    private static let leastRoom = 16 << 30

    private static func refusal(_ code: Int32, _ minimum: Int, _ path: String) -> StorageError {
        guard code == ENOMEM else { return .io(operation: "mmap", path: path, errno: code) }
        return .unsupported(
            "mapping \(path) needs \(minimum >> 20) MiB of address space, which this process can't get: raise the "
                + "limit (ulimit -v), or free some")
    }

    deinit {
        if isStores { Self.ofStores.subtract(1, ordering: .relaxed) }
        hbs_guard_remove(faultGuard)
        munmap(base, capacity)
        lost.deinitialize(count: 1)
        lost.deallocate()
    }

    /// Has the system provide the first bytes of anonymous memory, before they are touched. A hint.
    func provide(_ count: Int) { hbs_provide(base, count) }

    /// Bytes of the mapping. The caller must check that they are in the file.
    func bytes(at offset: UInt64, count: Int) -> Bytes {
        Bytes(start: UnsafeRawPointer(base) + Int(offset), count: count)
    }
}

// MARK: Faults

// Touching a page that can't be read (the file was truncated from outside, the medium failed) raises SIGBUS. The guard
// puts zeros there instead. A caller that reads bytes which are not trusted yet asks `endWatch` whether that happened;
// others are not affected. If it happened to trusted bytes, some may have been read as zeros, so the mapping is lost
// for good: no page counts as verified any more, and the next access to any page goes through `checkIsWhole`.
extension Mapping {
    /// Gives the guard the bits of verified pages. Nil before these bits go.
    func setVerifiedBits(_ bits: Mapping?) {
        hbs_guard_set_bits(faultGuard, bits?.base, bits?.capacity ?? 0)
    }

    /// Begins to read bytes that are not trusted yet; `endWatch` must follow in the same thread.
    func watch(_ bytes: Bytes) { hbs_guard_watch(bytes.baseAddress, bytes.count) }

    /// Throws if some of the bytes could not be read. The next look reads the file again, and not the zeros.
    func endWatch(_ bytes: Bytes) throws(StorageError) {
        guard hbs_guard_unwatch() != 0 else { return }
        if let start = bytes.baseAddress {
            hbs_map_again(descriptor, base, start - UnsafeRawPointer(base), bytes.count)
        }
        throw unreadable
    }

    /// Throws if trusted bytes could not be read: then all that was read since is void.
    @inline(__always)
    func checkIsWhole() throws(StorageError) {
        if lost.pointee.load(ordering: .relaxed) != 0 { throw unreadable }
    }

    private var unreadable: StorageError {
        .io(operation: "reading the mapped file (was it cut short?)", path: path, errno: EIO)
    }
}
