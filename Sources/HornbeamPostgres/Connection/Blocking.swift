// SPDX-License-Identifier: Apache-2.0
// From asynchronous code to work that blocks its thread for long: waiting for a server.

import Dispatch
import HornbeamTree

/// Runs `body` without blocking the caller's thread. The task's cancellation sets the interruption, then calls
/// `interrupted`.
///
/// Each call has a serial queue, and so a thread, of its own: the threads of concurrent queues are as few as the
/// processors, and are shared with all tasks of the program.
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
