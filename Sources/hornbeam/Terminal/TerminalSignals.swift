// SPDX-License-Identifier: Apache-2.0
// Signals that a terminal sends to a program that reads from it: it has another size, or the program is in the
// foreground again. They end the read that waits, and are kept until it looks at them.

import Glibc
import Synchronization

enum TerminalSignals {
    private static let hasResized = Atomic<Bool>(false)
    private static let hasContinued = Atomic<Bool>(false)

    /// Starts catching them.
    static func watch() {
        // Initialises the flags before a handler can run.
        hasResized.store(false, ordering: .relaxed)
        hasContinued.store(false, ordering: .relaxed)
        // Without SA_RESTART: the read returns.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in TerminalSignals.hasResized.store(true, ordering: .relaxed) }
        sigaction(SIGWINCH, &action, nil)
        action.__sigaction_handler.sa_handler = { _ in TerminalSignals.hasContinued.store(true, ordering: .relaxed) }
        sigaction(SIGCONT, &action, nil)
    }

    static func takeResize() -> Bool { hasResized.exchange(false, ordering: .relaxed) }
    static func takeContinuation() -> Bool { hasContinued.exchange(false, ordering: .relaxed) }
}
