// SPDX-License-Identifier: Apache-2.0
// Read transactions that have ended and wait to begin again: what they have opened is open still. They hold no snapshot.

/// A few of them. Any thread; nobody waits.
final class IdleReads: Sendable {
    private let places = IdlePlaces()

    deinit { while take() != nil {} }

    func take() -> Transaction? {
        places.take().map { Unmanaged<Transaction>.fromOpaque($0).takeRetainedValue() }
    }

    /// Keeps a transaction, if there is room.
    func give(_ transaction: Transaction) {
        let retained = Unmanaged.passRetained(transaction)
        if !places.give(retained.toOpaque()) { retained.release() }
    }
}
