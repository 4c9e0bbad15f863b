// SPDX-License-Identifier: Apache-2.0
// Opening without blocking the thread: a file that must be brought up to new models takes its time.

import Dispatch
import Synchronization

extension Database {
    /// Opens as `init(at:models:)` does, without blocking the caller's thread. Cancelling the task cancels the opening
    /// as a `progress` that throws does: the error is a `CancellationError`.
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
                // A queue of its own: opening waits for the disk and for other programs, which must not hold up a
                // thread that tasks share.
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
