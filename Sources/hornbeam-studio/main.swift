// SPDX-License-Identifier: Apache-2.0
// The program `hornbeam-studio`: serves the page of a store until it is ended. `hornbeam studio` runs it.

import Glibc
import HornbeamCommand

StudioProgram.main { options, store in
    // A browser that goes away must not end the program.
    signal(SIGPIPE, SIG_IGN)
    // Ctrl-C must: some parents start their children with signals blocked.
    var ending = sigset_t()
    sigemptyset(&ending)
    for number in [SIGINT, SIGTERM] { sigaddset(&ending, number) }
    sigprocmask(SIG_UNBLOCK, &ending, nil)
    let server = try StudioServer(options, store)
    try options.announce(server.address)
    // The store is open without the right to write, so there is nothing to close when a signal ends the program.
    while true { pause() }
}
