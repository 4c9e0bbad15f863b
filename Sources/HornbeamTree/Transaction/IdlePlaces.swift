// SPDX-License-Identifier: Apache-2.0
// Places in which objects of an ended read wait for the next one, so that a short read takes no memory from the system.

import HornbeamPages
import Synchronization

/// A few slots for addresses, for each thread that reads at the same time. Any thread may use it; none waits.
///
/// A thread gives to its own slots (`Stripes`) and takes from them first. From other threads' slots it takes all except
/// the first: these are a surplus, which arises if reads end in other threads than they begin in. If it took the first
/// too, a few reads would circulate among many threads, and each would write memory that another had in its cache a
/// moment ago.
@usableFromInline
package final class IdlePlaces: Sendable {
    /// Number of places of a thread, which are side by side.
    private static var depth: Int { 4 }

    /// For each stripe, `depth` atomic words, each an address or 0.
    nonisolated(unsafe) private let places: UnsafeMutableRawPointer

    package init() {
        places = .allocate(byteCount: Stripes.count * Stripes.distance, alignment: Stripes.distance)
        for stripe in 0..<Stripes.count {
            for depth in 0..<Self.depth { Self.place(places, stripe, depth).initialize(to: Atomic(0)) }
        }
    }

    deinit { places.deallocate() }

    @inline(__always)
    private static func place(
        _ places: UnsafeMutableRawPointer, _ stripe: Int, _ depth: Int
    ) -> UnsafeMutablePointer<Atomic<UInt>> {
        (places + stripe &* Stripes.distance).assumingMemoryBound(to: Atomic<UInt>.self) + depth
    }

    /// Returns an address that was given, now for the caller alone. Returns nil if there is none.
    @usableFromInline
    package func take() -> UnsafeMutableRawPointer? {
        let mine = Stripes.mine
        for depth in 0..<Self.depth {
            if let address = take(mine, depth) { return address }
        }
        return takeSpare()
    }

    @inline(never)
    private func takeSpare() -> UnsafeMutableRawPointer? {
        for stripe in 0..<Stripes.count {
            for depth in 1..<Self.depth {
                if let address = take(stripe, depth) { return address }
            }
        }
        return nil
    }

    /// Takes all addresses and passes them to `body`.
    package func takeAll(_ body: (UnsafeMutableRawPointer) -> Void) {
        for stripe in 0..<Stripes.count {
            for depth in 0..<Self.depth {
                if let address = take(stripe, depth) { body(address) }
            }
        }
    }

    @inline(__always)
    private func take(_ stripe: Int, _ depth: Int) -> UnsafeMutableRawPointer? {
        let place = Self.place(places, stripe, depth)
        guard place.pointee.load(ordering: .relaxed) != 0 else { return nil }
        // Acquiring: pairs with the releasing exchange of the former holder.
        return UnsafeMutableRawPointer(bitPattern: place.pointee.exchange(0, ordering: .acquiring))
    }

    /// Keeps an address, which no longer belongs to the caller then. Returns false if the thread's places are taken.
    @usableFromInline
    package func give(_ address: UnsafeMutableRawPointer) -> Bool {
        let mine = Stripes.mine
        for depth in 0..<Self.depth {
            let place = Self.place(places, mine, depth)
            guard place.pointee.load(ordering: .relaxed) == 0 else { continue }
            let result = place.pointee.compareExchange(
                expected: 0, desired: UInt(bitPattern: address), ordering: .releasing)
            if result.exchanged { return true }
        }
        return false
    }
}
