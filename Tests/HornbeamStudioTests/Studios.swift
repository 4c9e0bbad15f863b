// SPDX-License-Identifier: Apache-2.0
// One store and one studio for the tests that change neither.

import Glibc
import Synchronization

enum Studios {
    private static let running = Atomic<Int32>(0)

    private static let made = Result { () throws -> (StudioStore, RunningStudio) in
        let store = try StudioStore()
        let studio = try RunningStudio(store.file)
        // This studio is never released, so the end of the tests must kill it.
        running.store(studio.processIdentifier, ordering: .relaxed)
        atexit { kill(Studios.running.load(ordering: .relaxed), SIGKILL) }
        return (store, studio)
    }

    static func shared() throws -> (StudioStore, RunningStudio) { try made.get() }
}
