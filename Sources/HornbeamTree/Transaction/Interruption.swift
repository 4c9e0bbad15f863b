// SPDX-License-Identifier: Apache-2.0
// The way in which another thread ends a read early.

import Synchronization

/// Set once, by any thread. The read that has it then throws `.cancelled` soon: see `Transaction.checkGoesOn`.
package final class Interruption: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package var isSet: Bool { flag.load(ordering: .relaxed) }

    package func set() { flag.store(true, ordering: .relaxed) }
}
