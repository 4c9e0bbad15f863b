// SPDX-License-Identifier: Apache-2.0
// Opening without blocking the thread, because adapting a file to new models may take long.

import Dispatch
import Synchronization

extension Database {
    /// Opens a database like `init(at:models:)`, without blocking the caller's thread. If the task is cancelled, the
    /// file stays as it was, and the error is a `CancellationError`.
    public static func open(
        at path: String, models: any EntityModelProtocol.Type..., options: Options = Options(),
        migrations: [Migration] = [], indexes: [any RegisteredIndex] = [],
        progress: (@Sendable (MigrationProgress) throws -> Void)? = nil
    ) async throws -> Database {
        try await open(
            at: path, models: models, options: options, migrations: migrations, indexes: indexes, progress: progress)
    }

    /// Opens a database without blocking the caller's thread, with a list of models.
    public static func open(
        at path: String, models: [any EntityModelProtocol.Type], options: Options = Options(),
        migrations: [Migration] = [], indexes: [any RegisteredIndex] = [],
        progress: (@Sendable (MigrationProgress) throws -> Void)? = nil
    ) async throws -> Database {
        let isCancelled = Atomic(false)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A queue of its own: opening waits for the disk and for other processes, and must not block a thread
                // that tasks share.
                DispatchQueue(label: "hornbeam.opening").async {
                    let report = { (step: MigrationProgress) throws in
                        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
                        try progress?(step)
                    }
                    continuation.resume(
                        with: Result {
                            if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
                            return try Database(
                                at: path, models: models, options: options, migrations: migrations, indexes: indexes,
                                progress: report)
                        })
                }
            }
        } onCancel: {
            isCancelled.store(true, ordering: .relaxed)
        }
    }
}
