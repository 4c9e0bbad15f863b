// SPDX-License-Identifier: Apache-2.0
// The program `hornbeam-studio`: serves the page of a store until it is ended. `hornbeam studio` runs it.

import Glibc
import HornbeamCommand

StudioProgram.main { options, store in
    // A browser that goes away must not end the program.
    signal(SIGPIPE, SIG_IGN)
    let server = try StudioServer(options, store)
    try options.announce(server.address)
    StudioProgram.waitForEnd()
    // No work may use the store from here on, so that it can be closed: otherwise a store that is open for writing
    // would have to be recovered.
    server.end()
}
