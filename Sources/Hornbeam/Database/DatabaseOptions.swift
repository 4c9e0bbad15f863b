// SPDX-License-Identifier: Apache-2.0
// The options and statistics of a database, as public wrappers of the engine's types.

import HornbeamPages
import HornbeamTree

extension Database {
    /// The time at which a write counts as done.
    public enum Durability: Sendable {
        /// Survives power loss.
        case full
        /// Survives a crash of the process. Power loss may lose the last writes, but never corrupts the file.
        case process
        /// Lost if the process crashes before a later synced write or checkpoint. Never corrupts the file.
        case none

        var engine: HornbeamPages.Durability {
            switch self {
            case .full: .full
            case .process: .process
            case .none: .none
            }
        }
    }

    /// The options for opening a database. All sizes in bytes.
    public struct Options: Sendable {
        /// The durability of writes that don't choose one.
        public var durability = Durability.full
        /// Size of a node page of a new file: a power of two, 4,096 to 65,536. An existing file keeps its own.
        public var pageSize = 8192
        /// Opens the file only for reading. The file must exist and fit the models.
        public var isReadOnly = false
        /// Creates the file if there is none.
        public var createsIfMissing = true
        /// Time to wait for another process that has the file open.
        public var lockWaitMilliseconds = 0
        /// Makes a write throw `.missingRelation` if an entity that it saved, or that lost a link, has no link to a
        /// stored entity in a required relation when the write ends. Without this option the only rule is that a
        /// required relation can't be set to null.
        public var requiresRelations = false
        /// The time for which deleted entities are kept, each as a `Deleted` of its type. By default none are kept,
        /// except entities of types with `static let keepsDeleted = true`. Deleted entities in a file stay until they
        /// are purged: `Deleted<Post>.purge(before: nil, from: &context)`.
        public var keepsDeleted = DeletedRetention.never
        /// A checkpoint begins when the journal has this number of bytes. 0 means three quarters of the journal.
        public var checkpointBytes = 0
        /// The key of an encrypted file: a new file is encrypted with it, and an existing one must be. Nil for a file
        /// that isn't encrypted. Has no effect in memory.
        public var encryption: Encryption?
        /// The log that gets the events of the database. Nil for no log.
        public var log: Log?
        /// The handler that gets the beginnings and ends of transactions and queries. Nil for none.
        public var spans: SpanHandler?

        /// Makes options with the default values.
        public init() {}

        /// The engine's options. Throws `.invalid` for a negative number.
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
                options.encryption = encryption?.engine
                return options
            }
        }
    }

    /// Statistics of an open database. All sizes are in bytes. Values about the file are from its newest commit or
    /// checkpoint; other values are current when `statistics` is read.
    public struct Statistics: Sendable {
        private let engine: PageStatistics

        /// The size of the file.
        public var fileBytes: UInt64 { engine.fileBytes }
        /// The part of the file that contains data.
        public var usedBytes: UInt64 { engine.usedBytes }
        /// The part of the file that only older snapshots or the last checkpoint need. It becomes free when they end.
        public var retiredBytes: UInt64 { engine.retiredBytes }
        /// The part of `retiredBytes` that only snapshots need: running and long-lived reads, also of other processes.
        /// Always 0 for a read-only database, which doesn't know it.
        public var snapshotBytes: UInt64 { engine.snapshotBytes }
        /// Number of states before the newest one that reads of this process use, including long-lived ones.
        public var olderStates: Int { engine.olderSnapshots }
        /// The part of the journal that was written since the last checkpoint. A recovery reads it.
        public var journalBytes: UInt64 { engine.journalBytes }
        /// The size of the journal. A checkpoint is due when three quarters of it are used.
        public var journalCapacityBytes: UInt64 { engine.journalCapacityBytes }
        /// The size of a node page.
        public var pageSize: Int { engine.pageSize }
        /// Number of the newest committed transaction.
        public var transaction: UInt64 { engine.transaction }
        /// Number of the newest checkpoint.
        public var checkpoint: UInt64 { engine.checkpoint }
        /// Size of the newest pages that the last checkpoint doesn't have. The medium may not have them yet, but the
        /// journal can restore them.
        public var dirtyBytes: UInt64 { engine.dirtyBytes }
        /// Memory for the pages of the open write transaction.
        public var writerBytes: UInt64 { engine.writerBytes }
        /// Statistics of the page cache.
        public var cache: CacheStatistics { CacheStatistics(engine: engine.cache) }

        init(_ engine: PageStatistics) { self.engine = engine }
    }

    /// Statistics of a database's page cache, for pages that aren't read through the mapping. All sizes are in bytes.
    public struct CacheStatistics: Sendable {
        fileprivate let engine: HornbeamPages.CacheStatistics

        /// The memory that the cache may use.
        public var budgetBytes: UInt64 { engine.budgetBytes }
        /// The memory that the cache uses.
        public var residentBytes: UInt64 { engine.residentBytes }
        /// Number of pages that were found in the cache since the database was opened.
        public var hits: UInt64 { engine.hits }
        /// Number of pages that were read into it.
        public var misses: UInt64 { engine.misses }
        /// Number of pages that were removed to make room for others.
        public var evictions: UInt64 { engine.evictions }
        /// The part of the cache that open read transactions use.
        public var readers: CacheHolders { CacheHolders(engine: engine.readers) }
        /// The part of the cache that the open write transaction uses.
        public var writer: CacheHolders { CacheHolders(engine: engine.writers) }
    }

    /// The part of the page cache that open transactions of one kind use. All sizes are in bytes.
    public struct CacheHolders: Sendable {
        fileprivate let engine: HornbeamPages.CacheStatistics.Holders

        /// Number of open transactions that have used the cache.
        public var transactions: Int { engine.views }
        /// Size of the pages that can't be evicted.
        public var pinnedBytes: UInt64 { engine.pinnedBytes }
        /// Size of the copies of values that they got.
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
