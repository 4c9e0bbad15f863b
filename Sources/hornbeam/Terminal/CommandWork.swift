// SPDX-License-Identifier: Apache-2.0
// Asynchronous work that a command waits for. The command's thread shows its progress and notices Ctrl-C.

import Glibc
import Hornbeam
import Synchronization

final class CommandWork<State: Sendable, Result: Sendable>: Sendable {
    private struct Shared {
        var states: [State] = []
        var done: Swift.Result<Result, any Error>?
    }

    private let shared = Mutex(Shared())
    private let task: Mutex<Task<Void, Never>?> = Mutex(nil)

    /// - Parameter body: the work. It reports its states through its argument.
    init(_ body: @escaping @Sendable (_ tell: @escaping @Sendable (State) -> Void) async throws -> Result) {
        task.withLock { task in
            task = Task {
                let done: Swift.Result<Result, any Error>
                do {
                    done = .success(try await body { state in self.shared.withLock { $0.states.append(state) } })
                } catch {
                    done = .failure(error)
                }
                self.shared.withLock { $0.done = done }
            }
        }
    }

    /// Waits for the end of the work, and shows its states meanwhile. Returns nil if a signal has ended the work.
    func finish(_ show: (State) -> Void) throws -> Result? {
        while true {
            let (states, done) = shared.withLock { shared in
                defer { shared.states = [] }
                return (shared.states, shared.done)
            }
            for state in states { show(state) }
            if Interruption.isRequested { task.withLock { $0?.cancel() } }
            switch done {
            case nil: usleep(20_000)
            case .success(let result)?: return result
            case .failure(let error)?:
                let isCancelled = error is CancellationError || (error as? HornbeamError)?.code == .cancelled
                if Interruption.isRequested, isCancelled { return nil }
                throw error
            }
        }
    }
}
