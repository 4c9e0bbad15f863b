// SPDX-License-Identifier: Apache-2.0
// Upkeep of a database's file while it is used: checkpoints, copies, and compaction.

import HornbeamPages
import HornbeamTree

extension Database {
    /// The progress of a backup or a compaction. Sizes are in bytes.
    public struct UpkeepProgress: Sendable, Equatable {
        /// Bytes copied or moved so far.
        public var doneBytes: UInt64
        /// Bytes to copy or move, as far as that is known.
        public var totalBytes: UInt64
    }

    /// A closure that is called from time to time with the progress. It may throw to end the work.
    public typealias UpkeepHandler = (UpkeepProgress) throws -> Void

    /// The result of a compaction. Sizes are in bytes.
    public struct Compaction: Sendable, Equatable {
        /// The size of the file before the compaction.
        public var bytesBefore: UInt64
        /// The size of the file after the compaction.
        public var bytesAfter: UInt64
        /// Bytes moved within the file.
        public var movedBytes: UInt64
    }

    /// Writes all changed pages to their place in the file, and empties the journal.
    public func checkpoint() throws {
        try indexing { try store.checkpoint() }
    }

    /// Copies the newest state to a new file, while reads and writes continue without waiting. The copy is a database
    /// without free space. It gets its name only when it is complete and durable: an error, a crash, or a handler that
    /// throws leaves no file. The handler is called for the last time before that. Every page is verified. Throws
    /// `.corrupt` for a damaged page, and `.invalid` if something exists at `path`.
    ///
    /// O(n) in the size of the stored data. Until the copy is done, the file keeps the former content of all changes.
    public func backup(to path: String, progress: UpkeepHandler? = nil) throws {
        try indexing {
            var failure: (any Error)?
            try store.backup(to: path) { figures in
                Self.isOn(progress, figures.copiedBytes, figures.totalBytes, &failure)
            }
            if let failure { throw failure }
        }
    }

    /// Makes a backup without blocking the caller's thread. If the task is cancelled, it throws a `CancellationError`.
    public func backup(
        to path: String, progress: (@Sendable (UpkeepProgress) throws -> Void)? = nil
    ) async throws {
        try await inBackground { database, isCancelled in
            try database.backup(to: path) { figures in
                if isCancelled() { throw CancellationError() }
                try progress?(figures)
            }
        }
    }

    /// Gives the file's free space back to the file system. The last pages are moved to free places before them, in
    /// short transactions between those of others, which wait for at most one of these. Readers continue; pages that
    /// they still see stay in place for a later compaction. An error, a crash or a handler that throws may end the
    /// compaction at any point: nothing is lost, and the next one continues from there.
    ///
    /// Throws `.busy` while another one runs, `.invalid` inside a write, and `.readOnly` for a file that is open
    /// read-only.
    @discardableResult
    public func compact(progress: UpkeepHandler? = nil) throws -> Compaction {
        try indexing {
            var failure: (any Error)?
            let result = try store.compact { figures in
                Self.isOn(progress, figures.movedBytes, figures.totalBytes, &failure)
            }
            if let failure { throw failure }
            return Compaction(
                bytesBefore: result.bytesBefore, bytesAfter: result.bytesAfter, movedBytes: result.movedBytes)
        }
    }

    /// Compacts without blocking the caller's thread. If the task is cancelled, it throws a `CancellationError`.
    @discardableResult
    public func compact(
        progress: (@Sendable (UpkeepProgress) throws -> Void)? = nil
    ) async throws -> Compaction {
        try await inBackground { database, isCancelled in
            try database.compact { figures in
                if isCancelled() { throw CancellationError() }
                try progress?(figures)
            }
        }
    }

    /// Reports the progress, and returns whether the work continues.
    private static func isOn(
        _ handler: UpkeepHandler?, _ done: UInt64, _ total: UInt64, _ failure: inout (any Error)?
    ) -> Bool {
        do {
            try handler?(UpkeepProgress(doneBytes: done, totalBytes: max(done, total)))
            return true
        } catch {
            failure = error
            return false
        }
    }
}
