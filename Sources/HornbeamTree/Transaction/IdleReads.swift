// SPDX-License-Identifier: Apache-2.0
// Reads that have ended and wait to begin again, with their opened trees. They hold no snapshot. The owner defines a
// read: a transaction, or a session with all its objects.

/// A few idle reads. Any thread may use it; none waits.
///
/// `@unchecked Sendable`: a thread that takes a read is the only holder of it, and a thread that gives one releases it.
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
