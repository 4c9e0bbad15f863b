// SPDX-License-Identifier: Apache-2.0
// The lock on what all stores of a process share.

import CHornbeamShims

/// Runs `body` under the process's lock. A forked child finds the lock free, and what it guards whole. `body` must be
/// short, and must not come here again.
package func withProcessLock<Result>(_ body: () -> Result) -> Result {
    hbs_process_lock()
    defer { hbs_process_unlock() }
    return body()
}
