// SPDX-License-Identifier: Apache-2.0
// Signals to a program that reads from a terminal: the terminal's size has changed (SIGWINCH), or the program runs
// again after a stop (SIGCONT). A signal ends a wait for input, and a flag keeps it until the reader looks.

import Glibc
import Synchronization

enum TerminalSignals {
    private static let hasResized = Atomic<Bool>(false)
    private static let hasContinued = Atomic<Bool>(false)

    /// Starts catching these signals.
    static func watch() {
        // Initialises the flags before a handler can run.
        hasResized.store(false, ordering: .relaxed)
        hasContinued.store(false, ordering: .relaxed)
        // Without SA_RESTART, so that a signal ends a read.
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in TerminalSignals.hasResized.store(true, ordering: .relaxed) }
        sigaction(SIGWINCH, &action, nil)
        action.__sigaction_handler.sa_handler = { _ in TerminalSignals.hasContinued.store(true, ordering: .relaxed) }
        sigaction(SIGCONT, &action, nil)
    }

    /// Waits until standard input has something to read, or its end, and calls `look` after each signal. Returns false
    /// if the person wants the work to end. Signals are blocked except during the wait: one between `look` and the wait
    /// would be noticed only at the next key.
    static func waitForInput(_ look: () -> Void) -> Bool {
        var (held, former) = (sigset_t(), sigset_t())
        sigemptyset(&held)
        for number in Interruption.signals + [SIGWINCH, SIGCONT] { sigaddset(&held, number) }
        pthread_sigmask(SIG_BLOCK, &held, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        while true {
            if Interruption.isRequested { return false }
            look()
            var input = fd_set()
            // The first bit is that of standard input.
            input.__fds_bits.0 = 1
            if pselect(STDIN_FILENO + 1, &input, nil, nil, nil, &former) >= 0 || errno != EINTR { return true }
        }
    }

    static func takeResize() -> Bool { hasResized.exchange(false, ordering: .relaxed) }
    static func takeContinuation() -> Bool { hasContinued.exchange(false, ordering: .relaxed) }
}
