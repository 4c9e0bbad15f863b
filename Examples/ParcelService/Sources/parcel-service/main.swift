// SPDX-License-Identifier: Apache-2.0
// The program: settings from the environment, log on standard error.

import FoundationEssentials
import Glibc
import ParcelService

let health = Health { line in
    let bytes = Array("\(line)\n".utf8)
    // One call, so that lines of several threads don't mix. The service continues if its log can't be written.
    _ = write(STDERR_FILENO, bytes, bytes.count)
}
do {
    try Service.run(Settings(ProcessInfo.processInfo.environment), health)
} catch {
    health.say("ended: \(error)")
    exit(1)
}
