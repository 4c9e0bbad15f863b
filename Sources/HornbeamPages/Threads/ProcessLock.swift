// SPDX-License-Identifier: Apache-2.0
// The lock for state that all stores of a process share.

import CHornbeamShims

/// Runs `body` under the process's lock. In a forked child the lock is free, and the guarded state is whole. `body`
/// must be short, and must not call this.
package func withProcessLock<Result>(_ body: () -> Result) -> Result {
    hbs_process_lock()
    defer { hbs_process_unlock() }
    return body()
}
