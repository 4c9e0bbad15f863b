// SPDX-License-Identifier: Apache-2.0
// Reads that have ended and wait to begin again: what they have opened is open still. They hold no snapshot. What a
// read is, its owner says: a transaction, or a session with all that it has made.

/// A few of them. Any thread; nobody waits.
///
/// `@unchecked Sendable`: who takes a read is the only one to have it, and who gives it lets go of it.
@usableFromInline
package final class IdleReads<Read: AnyObject>: @unchecked Sendable {
    @usableFromInline let places = IdlePlaces()

    package init() {}

    deinit { places.takeAll { Unmanaged<Read>.fromOpaque($0).release() } }

    @inlinable
    package func take() -> Read? {
        guard let address = places.take() else { return nil }
        return Unmanaged<Read>.fromOpaque(address).takeRetainedValue()
    }

    /// Keeps a read, if there is room.
    @inlinable
    package func give(_ read: consuming Read) {
        let retained = Unmanaged.passRetained(read)
        if !places.give(retained.toOpaque()) { retained.release() }
    }
}
