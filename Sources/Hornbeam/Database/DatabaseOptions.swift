// SPDX-License-Identifier: Apache-2.0
// How a database is opened, and what it tells about itself. Public faces of the engine's own types.

import HornbeamPages
import HornbeamTree

extension Database {
    /// When a write counts as done.
    public enum Durability: Sendable {
        /// Survives power loss.
        case full
        /// Survives a crash of the process; power loss may lose the last writes but never corrupts.
        case process
        /// Lost with the process until a later synced write or checkpoint. Never corrupts.
        case none

        var engine: HornbeamPages.Durability {
            switch self {
            case .full: .full
            case .process: .process
            case .none: .none
            }
        }
    }

    /// How to open a database. All sizes in bytes.
    public struct Options: Sendable {
        /// The default for writes that don't choose.
        public var durability = Durability.full
        /// Size of a node page of a new file: a power of two, 4,096 to 65,536. An existing file keeps its own.
        public var pageSize = 8192
        /// Open without the right to write; the file must exist and fit the models as it is.
        public var isReadOnly = false
        /// Create the file if there is none.
        public var createsIfMissing = true
        /// How long to wait for another process that has the file open.
        public var lockWaitMilliseconds = 0
        /// Checkpoint when the journal holds this much; 0 means half of the journal.
        public var checkpointBytes = 0

        public init() {}

        var engine: StoreOptions {
            var options = StoreOptions()
            options.durability = durability.engine
            options.pageSize = pageSize
            options.readOnly = isReadOnly
            options.createIfMissing = createsIfMissing
            options.lockWaitMilliseconds = lockWaitMilliseconds
            options.checkpointBytes = checkpointBytes
            return options
        }
    }

    /// Figures of an open database. All sizes in bytes.
    public struct Statistics: Sendable {
        public let fileBytes: UInt64
        /// The part of the file that holds data.
        public let usedBytes: UInt64
        public let journalBytes: UInt64
        public let pageSize: Int
        /// Number of the newest committed transaction.
        public let transaction: UInt64
        /// Number of the newest checkpoint.
        public let checkpoint: UInt64

        init(_ engine: StoreStatistics) {
            fileBytes = engine.fileBytes
            usedBytes = engine.usedBytes
            journalBytes = engine.journalBytes
            pageSize = engine.pageSize
            transaction = engine.transaction
            checkpoint = engine.checkpoint
        }
    }
}
