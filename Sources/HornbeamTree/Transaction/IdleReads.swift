// SPDX-License-Identifier: Apache-2.0
// Read transactions that have ended and wait to begin again, so that a short read takes no memory from the system and
// opens no tree anew. They hold no snapshot.

import Synchronization

/// A few of them, one for each thread that reads at the same time. Any thread; nobody waits.
final class IdleReads: Sendable {
    private let places: [Place]

    /// The address of a retained transaction, or 0. Apart from the others', because threads write to it all the time.
    private final class Place: Sendable {
        let transaction = Atomic<UInt>(0)
    }

    init(capacity: Int = 8) { places = (0..<capacity).map { _ in Place() } }

    deinit { while take() != nil {} }

    func take() -> Transaction? {
        for place in places where place.transaction.load(ordering: .relaxed) != 0 {
            // Acquiring: partner of the releasing exchange of whoever had it before.
            let found = place.transaction.exchange(0, ordering: .acquiring)
            if let address = UnsafeRawPointer(bitPattern: found) {
                return Unmanaged<Transaction>.fromOpaque(address).takeRetainedValue()
            }
        }
        return nil
    }

    /// Keeps a transaction, if there is room.
    func give(_ transaction: Transaction) {
        let retained = Unmanaged.passRetained(transaction)
        let address = UInt(bitPattern: retained.toOpaque())
        for place in places where place.transaction.load(ordering: .relaxed) == 0 {
            let result = place.transaction.compareExchange(expected: 0, desired: address, ordering: .releasing)
            if result.exchanged { return }
        }
        retained.release()
    }
}
