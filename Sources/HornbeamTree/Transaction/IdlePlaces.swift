// SPDX-License-Identifier: Apache-2.0
// Places where what an ended read has made waits for the next one, so that a short read takes no memory from the
// system.

import Glibc
import Synchronization

/// A few places for addresses, one for each thread that reads at the same time. Any thread; nobody waits. A thread
/// looks first where it gave, so that a few threads that read all the time don't write to the same memory.
@usableFromInline
package final class IdlePlaces: Sendable {
    private static var count: Int { 8 }
    /// Apart by two cache lines (the processor fetches them in pairs).
    private static var stride: Int { 128 }

    /// `count` atomic words, each an address or 0.
    nonisolated(unsafe) private let places: UnsafeMutableRawPointer

    package init() {
        places = .allocate(byteCount: Self.count * Self.stride, alignment: Self.stride)
        for index in 0..<Self.count {
            (places + index * Self.stride).initializeMemory(as: Atomic<UInt>.self, to: Atomic(0))
        }
    }

    deinit { places.deallocate() }

    @inline(__always)
    private func place(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
        (places + (index & (Self.count - 1)) * Self.stride).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    /// Where the calling thread begins to look. A thread's number is an address: its low bits are the same for all.
    @inline(__always)
    private var home: Int { Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 56) }

    /// An address that was given, for the caller alone; nil if there is none.
    @usableFromInline
    package func take() -> UnsafeMutableRawPointer? {
        let home = home
        for index in home..<home + Self.count where place(index).pointee.load(ordering: .relaxed) != 0 {
            // Acquiring: partner of the releasing exchange of whoever had it before.
            let found = place(index).pointee.exchange(0, ordering: .acquiring)
            if let address = UnsafeMutableRawPointer(bitPattern: found) { return address }
        }
        return nil
    }

    /// Keeps an address, which is the caller's no more; false if all places are taken.
    @usableFromInline
    package func give(_ address: UnsafeMutableRawPointer) -> Bool {
        let home = home
        for index in home..<home + Self.count where place(index).pointee.load(ordering: .relaxed) == 0 {
            let result = place(index).pointee.compareExchange(
                expected: 0, desired: UInt(bitPattern: address), ordering: .releasing)
            if result.exchanged { return true }
        }
        return false
    }
}
