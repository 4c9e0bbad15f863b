// SPDX-License-Identifier: Apache-2.0
// How another thread has a read end before its result is there.

import Synchronization

/// Set once, by any thread. The read that has it throws `.cancelled` soon: see `Transaction.checkGoesOn`.
package final class Interruption: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .relaxed) }

    package func set() { flag.store(true, ordering: .relaxed) }
}
