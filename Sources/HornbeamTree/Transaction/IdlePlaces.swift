// SPDX-License-Identifier: Apache-2.0
// Places where what an ended read has made waits for the next one, so that a short read takes no memory from the
// system.

import HornbeamPages
import Synchronization

/// A few slots for addresses for each thread that reads at the same time. Any thread may use it; none waits.
///
/// A thread gives to its own slots (`Stripes`) and takes from them first. Of other threads' slots it takes all except
/// the first: if reads end in other threads than they begin in, there is a surplus. If it took the first too, a few
/// reads would circulate among many threads, each of which writes memory that another had in its cache a moment ago.
@usableFromInline
package final class IdlePlaces: Sendable {
    /// Places of a thread, side by side.
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

    /// An address that was given, for the caller alone; nil if there is none.
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

    /// Takes all addresses.
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

    /// Keeps an address, which is the caller's no more; false if the thread's places are taken.
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
