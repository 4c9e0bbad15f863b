// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during long work, or the loss of the terminal: the first signal asks the command to end cleanly, a second one
// kills the process as usual. A second SIGHUP is ignored: kernel and shell both send one when the terminal is lost.

import Dispatch
import Glibc
import HornbeamTree
import Synchronization

enum Interruption {
    /// The signal that was caught; 0 for none.
    private static let caught = Atomic<Int32>(0)

    static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// Starts catching these signals, unless the parent wants them ignored (`nohup`, `&` in a script). Forgets a Ctrl-C
    /// during earlier work, but not a signal that ends the process.
    static func watch() {
        // Also initialises `caught` before a handler can run: a handler must not initialise anything.
        _ = caught.compareExchange(expected: SIGINT, desired: 0, ordering: .relaxed)
        if isTermination { return }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        for number in signals {
            var former = sigaction()
            // SIG_IGN is the handler with the address 1.
            let isIgnored =
                sigaction(number, nil, &former) == 0
                && unsafeBitCast(former.__sigaction_handler.sa_handler, to: Int.self) == 1
            if isIgnored { continue }
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                // Ctrl-C doesn't replace a signal that ends the process.
                if number == SIGINT {
                    _ = Interruption.caught.compareExchange(expected: 0, desired: number, ordering: .relaxed)
                } else {
                    Interruption.caught.store(number, ordering: .relaxed)
                }
            }
            action.sa_flags = number == SIGHUP ? 0 : Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(number, &action, nil)
            sigaddset(&unblocked, number)
        }
        // Some parents start their children with signals blocked.
        sigprocmask(SIG_UNBLOCK, &unblocked, nil)
    }

    /// Whether the user wants the work to end.
    static var isRequested: Bool { caught.load(ordering: .relaxed) != 0 }

    /// Runs `body`; Ctrl-C ends its work in `transaction` within a twentieth of a second, with `.cancelled`.
    static func ending<Result>(_ transaction: Transaction, _ body: () throws -> Result) rethrows -> Result {
        let interruption = HornbeamTree.Interruption()
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now() + .milliseconds(50), repeating: .milliseconds(50))
        timer.setEventHandler { if isRequested { interruption.set() } }
        timer.resume()
        defer { timer.cancel() }
        transaction.interruption = interruption
        defer { transaction.interruption = nil }
        return try body()
    }

    /// Whether another program wants the process to end, or the terminal is gone.
    static var isTermination: Bool { [SIGTERM, SIGHUP].contains(caught.load(ordering: .relaxed)) }
}
