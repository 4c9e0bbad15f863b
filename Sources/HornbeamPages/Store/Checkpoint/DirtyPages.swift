// SPDX-License-Identifier: Apache-2.0
// The amount of pages in use that the last durable checkpoint doesn't have, from counts alone: the pages in use now,
// less those of the checkpoint's state, plus those of it that went out of use since. Likewise for a running checkpoint.
// The journal's ring doesn't count.

/// In the writer's turn.
struct DirtyPages {
    /// A checkpoint's state: its pages in use when it began, and the part of them that later states don't have.
    private struct Base {
        var transaction: UInt64
        var inUse: Int
        var lost = 0

        mutating func note(_ page: RetiredPages.Page) {
            if page.birth <= transaction { lost += Int(page.run.count) }
        }

        /// The sectors that a later state has and this one has not.
        func newer(inUse: Int) -> Int { Swift.max(0, inUse - self.inUse + lost) }
    }

    private var durable = Base(transaction: 0, inUse: 0)
    private var running: Base?
    /// Number of sectors of pages that the last durable checkpoint doesn't have.
    private(set) var sectors = 0
    /// Number of those sectors that a running checkpoint doesn't have either.
    private(set) var newSectors = 0

    /// Notes the state of the checkpoint that the file was opened with.
    mutating func open(_ transaction: UInt64, inUse sectors: Int) {
        durable = Base(transaction: transaction, inUse: sectors)
    }

    /// Notes a page that left the newest state.
    mutating func note(_ page: RetiredPages.Page) {
        durable.note(page)
        running?.note(page)
    }

    /// Notes that a checkpoint begins. `sectors`: number of those in its space map.
    mutating func begin(_ transaction: UInt64, inUse sectors: Int) {
        count(inUse: sectors)
        running = Base(transaction: transaction, inUse: sectors)
        newSectors = 0
    }

    mutating func end(isDurable: Bool) {
        if isDurable, let running { durable = running }
        running = nil
    }

    /// Counts anew. Pages of an open transaction count too, until it ends. `sectors`: number of those in use.
    mutating func count(inUse sectors: Int) {
        self.sectors = durable.newer(inUse: sectors)
        newSectors = running?.newer(inUse: sectors) ?? self.sectors
    }
}
