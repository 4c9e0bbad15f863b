// SPDX-License-Identifier: Apache-2.0
// The page cache's figures, as of the moment they are asked for.

/// Activity and contents of the page cache. Sizes in bytes.
package struct CacheStatistics: Sendable, Equatable {
    /// Memory that the cache may take, its tables included.
    package var budgetBytes: UInt64 = 0
    /// Memory that the cache's pages take, used or free.
    package var residentBytes: UInt64 = 0
    /// Size of the pages in the table, and of those among them that were requested more than once.
    package var pageBytes: UInt64 = 0
    package var hotBytes: UInt64 = 0
    /// Part of the budget that the writer's frames take.
    package var lentBytes: UInt64 = 0
    package var hits: UInt64 = 0
    package var misses: UInt64 = 0
    package var evictions: UInt64 = 0
    /// The holders of pages: read transactions, and the write transaction.
    package var readers = Holders()
    package var writers = Holders()

    /// Transactions of one kind that have used the cache and are open, and what they hold together.
    package struct Holders: Sendable, Equatable {
        package var views = 0
        /// Pages in the cache that can't be evicted.
        package var pinnedBytes: UInt64 = 0
        /// Copies of values that were handed out.
        package var copiedBytes: UInt64 = 0
        /// Long values, and pages for which everything pinned left no room: beside the budget.
        package var privateBytes: UInt64 = 0

        mutating func add(_ use: CacheUse) {
            views += 1
            pinnedBytes += UInt64(Swift.max(0, use.pinnedBytes))
            copiedBytes += UInt64(Swift.max(0, use.copiedBytes))
            privateBytes += UInt64(Swift.max(0, use.privateBytes))
        }
    }

    package init() {}
}
