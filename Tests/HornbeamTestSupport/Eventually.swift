// SPDX-License-Identifier: Apache-2.0
// Waiting for another thread's work.

import Glibc
package import Testing

/// Waits until the condition holds, at most ten seconds. If it doesn't, records an issue.
package func eventually(_ what: Comment, _ condition: () -> Bool) {
    for _ in 0..<10_000 {
        if condition() { return }
        usleep(1000)
    }
    Issue.record(what)
}
