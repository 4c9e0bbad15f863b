// SPDX-License-Identifier: Apache-2.0
// The page cache's figures, as of the moment they are asked for.

/// What the page cache does and holds. Sizes in bytes.
package struct CacheStatistics: Sendable, Equatable {
    /// What it may take, its tables included.
    package var budgetBytes: UInt64 = 0
    /// What its pages take of memory, used or free.
    package var residentBytes: UInt64 = 0
    /// Pages that can be found, and those of them that were wanted more than once.
    package var pageBytes: UInt64 = 0
    package var hotBytes: UInt64 = 0
    /// What the writer's frames take of the budget.
    package var lentBytes: UInt64 = 0
    package var hits: UInt64 = 0
    package var misses: UInt64 = 0
    package var evictions: UInt64 = 0
    /// Who holds what: read transactions, and the write transaction.
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
