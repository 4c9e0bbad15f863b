// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during long work: the first asks the command to end cleanly, a second kills the process as usual.

import Glibc
import Synchronization

enum Interruption {
    private static let flag = Atomic<Bool>(false)

    /// Starts catching SIGINT and SIGTERM.
    static func watch() {
        // Initialises the flag before a handler can run: a handler must not initialise anything.
        flag.store(false, ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in Interruption.flag.store(true, ordering: .relaxed) }
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        sigaction(SIGINT, &action, nil)
        sigaction(SIGTERM, &action, nil)
    }

    /// Whether the user wants the work to end.
    static var isRequested: Bool { flag.load(ordering: .relaxed) }
}
