// SPDX-License-Identifier: Apache-2.0
// Runs work that blocks its thread for long, such as waiting for a server, from asynchronous code.

import Dispatch
import HornbeamTree

/// Runs `body` without blocking the caller's thread. The task's cancellation sets the interruption, then calls
/// `interrupted`.
///
/// Each call has a serial queue, and so a thread, of its own. Concurrent queues have only as many threads as there are
/// processors, and share them with all tasks of the program.
func runBlocking<Result: Sendable>(
    _ body: @escaping @Sendable (Interruption) throws -> Result,
    interrupted: @escaping @Sendable () -> Void = {}
) async throws -> Result {
    let interruption = Interruption()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "hornbeam.postgres").async {
                continuation.resume(with: Swift.Result { try body(interruption) })
            }
        }
    } onCancel: {
        interruption.set()
        interrupted()
    }
}
