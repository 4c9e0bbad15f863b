// SPDX-License-Identifier: Apache-2.0
// A thread with the smallest stack that a thread is likely to have: on Darwin, all threads but the first have it.

import Foundation

func inSmallThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let thread = Thread { continuation.resume(with: Result(catching: body)) }
        thread.stackSize = 512 << 10
        thread.start()
    }
}
