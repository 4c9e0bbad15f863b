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
        /// Refuse a write with `.missingRelation` if an entity that it saves, or takes a link from, lacks a required
        /// relation to a stored entity when the write ends. Otherwise a required relation only can't be set to null.
        public var requiresRelations = false
        /// How long deleted entities are kept, each as a `Deleted` of its type. By default they are gone, but for those
        /// of types that say `static let keepsDeleted = true`. What a file has kept stays until it is purged:
        /// `Deleted<Post>.purge(before: nil, from: &context)`.
        public var keepsDeleted = DeletedRetention.never
        /// Checkpoint when the journal holds this much; 0 means half of the journal.
        public var checkpointBytes = 0

        public init() {}

        /// The engine's own; `.invalid` for a number that can't be.
        var engine: StoreOptions {
            get throws(StorageError) {
                for (name, value) in [
                    ("lockWaitMilliseconds", lockWaitMilliseconds), ("checkpointBytes", checkpointBytes),
                ] where value < 0 {
                    throw .invalid("Options.\(name) is \(value): it can't be negative, give 0 or more")
                }
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
    }

    /// Figures of an open database. All sizes in bytes. Those of the file are as of its newest commit or checkpoint,
    /// the others of the moment they were asked for.
    public struct Statistics: Sendable {
        private let engine: PageStatistics

        public var fileBytes: UInt64 { engine.fileBytes }
        /// The part of the file that holds data.
        public var usedBytes: UInt64 { engine.usedBytes }
        /// The part that only older snapshots or the last checkpoint hold: free once they let go.
        public var retiredBytes: UInt64 { engine.retiredBytes }
        /// The part of it that snapshots hold and nothing newer: reads that are under way and long-lived ones, those of
        /// other processes too. A read-only database doesn't know it: 0.
        public var snapshotBytes: UInt64 { engine.snapshotBytes }
        public var journalBytes: UInt64 { engine.journalBytes }
        public var pageSize: Int { engine.pageSize }
        /// Number of the newest committed transaction.
        public var transaction: UInt64 { engine.transaction }
        /// Number of the newest checkpoint.
        public var checkpoint: UInt64 { engine.checkpoint }
        /// Pages that were written and that no checkpoint has: the medium may lack them, and the journal has what is
        /// needed to make them again.
        public var dirtyBytes: UInt64 { engine.dirtyBytes }
        /// Memory of the open write transaction's pages.
        public var writerBytes: UInt64 { engine.writerBytes }
        public var cache: CacheStatistics { CacheStatistics(engine: engine.cache) }

        init(_ engine: PageStatistics) { self.engine = engine }
    }

    /// Figures of a database's page cache, which serves what isn't read through the mapping. All sizes in bytes.
    public struct CacheStatistics: Sendable {
        fileprivate let engine: HornbeamPages.CacheStatistics

        /// What the cache may take of memory, and what it takes.
        public var budgetBytes: UInt64 { engine.budgetBytes }
        public var residentBytes: UInt64 { engine.residentBytes }
        public var hits: UInt64 { engine.hits }
        public var misses: UInt64 { engine.misses }
        public var evictions: UInt64 { engine.evictions }
        /// What open read transactions hold together.
        public var readers: CacheHolders { CacheHolders(engine: engine.readers) }
        /// What the open write transaction holds.
        public var writer: CacheHolders { CacheHolders(engine: engine.writers) }
    }

    /// What open transactions of one kind keep of the page cache. All sizes in bytes.
    public struct CacheHolders: Sendable {
        fileprivate let engine: HornbeamPages.CacheStatistics.Holders

        /// Transactions that have used the cache.
        public var transactions: Int { engine.views }
        /// Pages that can't be evicted.
        public var pinnedBytes: UInt64 { engine.pinnedBytes }
        /// Copies of values that they were handed out.
        public var copiedBytes: UInt64 { engine.copiedBytes }
        /// Memory beside the cache's budget.
        public var privateBytes: UInt64 { engine.privateBytes }
    }
}

// MARK: As text

extension Database.Statistics: CustomStringConvertible {
    /// A report of several lines.
    public var description: String {
        let lines: [(name: String, value: String)] = [
            ("file", "\(Spelling.bytes(fileBytes)), \(Spelling.bytes(usedBytes)) used"),
            (
                "retired",
                Spelling.bytes(retiredBytes)
                    + (snapshotBytes > 0 ? ", \(Spelling.bytes(snapshotBytes)) by snapshots" : "")
            ),
            ("journal", Spelling.bytes(journalBytes)),
            ("page size", "\(Spelling.grouped(pageSize)) bytes"),
            ("transaction", "\(Spelling.grouped(transaction)), checkpoint \(Spelling.grouped(checkpoint))"),
            ("dirty", Spelling.bytes(dirtyBytes)),
            ("open write", Spelling.bytes(writerBytes)),
        ]
        return Spelling.report(lines + cache.lines)
    }
}

extension Database.CacheStatistics: CustomStringConvertible {
    /// A report of several lines.
    public var description: String { Spelling.report(lines) }

    fileprivate var lines: [(name: String, value: String)] {
        let looks = [
            Spelling.counted(hits, "hit"), Spelling.counted(misses, "miss", "misses"),
            Spelling.counted(evictions, "eviction"),
        ]
        return [
            (
                "cache",
                "\(Spelling.bytes(residentBytes)) of \(Spelling.bytes(budgetBytes)), "
                    + looks.joined(separator: ", ")
            ),
            ("readers", readers.description), ("writers", writer.description),
        ]
    }
}

extension Database.CacheHolders: CustomStringConvertible {
    /// A report of one line.
    public var description: String {
        "\(Spelling.counted(transactions, "transaction")): \(Spelling.bytes(pinnedBytes)) pinned, "
            + "\(Spelling.bytes(copiedBytes)) copied, \(Spelling.bytes(privateBytes)) beside the cache"
    }
}
