// SPDX-License-Identifier: Apache-2.0
// The page cache's figures at one moment.

/// Activity and contents of the page cache. Sizes in bytes.
package struct CacheStatistics: Sendable, Equatable {
    /// Memory that the cache may take, its tables included.
    package var budgetBytes: UInt64 = 0
    /// Memory of the cache's pages, used or free.
    package var residentBytes: UInt64 = 0
    /// Size of the pages in the table, and of those that were requested more than once.
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

    /// Open transactions of one kind that have used the cache, and their holds together.
    package struct Holders: Sendable, Equatable {
        package var views = 0
        /// Pages in the cache that can't be evicted.
        package var pinnedBytes: UInt64 = 0
        /// Copies of values that were handed out.
        package var copiedBytes: UInt64 = 0
        /// Long values, and pages that found no room because everything was pinned. Not part of the budget.
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
