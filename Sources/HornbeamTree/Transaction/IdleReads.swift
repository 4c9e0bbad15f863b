// SPDX-License-Identifier: Apache-2.0
// Reads that have ended and wait to begin again, so that a short read takes no memory from the system and opens no tree
// anew. They hold no snapshot. What a read is, its owner says: a transaction, or a session with all that it has made.

public import Synchronization

/// A few of them, one for each thread that reads at the same time. Any thread; nobody waits.
///
/// `@unchecked Sendable`: who takes a read is the only one to have it, and who gives it lets go of it.
@usableFromInline
package final class IdleReads<Read: AnyObject>: @unchecked Sendable {
    @usableFromInline static var capacity: Int { 8 }
    /// Bytes from one place to the next. Threads write to them all the time, so none shares a cache line.
    @usableFromInline static var stride: Int { 128 }

    /// `capacity` times the address of a retained read, or 0.
    @usableFromInline let places: UnsafeMutableRawPointer

    package init() {
        places = .allocate(byteCount: Self.capacity * Self.stride, alignment: Self.stride)
        for index in 0..<Self.capacity {
            (places + index * Self.stride).initializeMemory(as: Atomic<UInt>.self, to: Atomic(0))
        }
    }

    deinit {
        while take() != nil {}
        places.deallocate()
    }

    @inlinable @inline(__always)
    func place(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
        (places + index &* Self.stride).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    @inlinable
    package func take() -> Read? {
        for index in 0..<Self.capacity where place(index).pointee.load(ordering: .relaxed) != 0 {
            // Acquiring: partner of the releasing exchange of whoever had it before.
            let found = place(index).pointee.exchange(0, ordering: .acquiring)
            if let address = UnsafeRawPointer(bitPattern: found) {
                return Unmanaged<Read>.fromOpaque(address).takeRetainedValue()
            }
        }
        return nil
    }

    /// Keeps a read, if there is room.
    @inlinable
    package func give(_ read: consuming Read) {
        let retained = Unmanaged.passRetained(read)
        let address = UInt(bitPattern: retained.toOpaque())
        for index in 0..<Self.capacity where place(index).pointee.load(ordering: .relaxed) == 0 {
            let result = place(index).pointee.compareExchange(expected: 0, desired: address, ordering: .releasing)
            if result.exchanged { return }
        }
        retained.release()
    }
}
