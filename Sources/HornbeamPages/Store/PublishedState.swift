// SPDX-License-Identifier: Apache-2.0
// A committed state that readers may pin, and the one place where the newest of them is found.

import Synchronization

/// A committed state. Constant but for the number of its readers.
final class PublishedState: Sendable {
    let transaction: UInt64
    let root: RootRecord
    /// Views that pin it. A pin counts only if it was taken while the state was the newest: under `Newest`'s lock, or
    /// by counting first and looking second (`PageStore.pin(again:)`). So the count may be higher than that of views
    /// for a moment, which only delays the reuse of pages.
    let readers = Atomic<Int>(0)

    init(transaction: UInt64, root: RootRecord) {
        self.transaction = transaction
        self.root = root
    }

    /// As whoever reuses pages must see it: partner of the releasing subtraction in `PageStore.unpin`, and of the
    /// addition in `PageStore.pin(again:)`, which came before the look at the newest state.
    var readerCount: Int { readers.load(ordering: .sequentiallyConsistent) }
}

/// What threads share of a store, under one short lock.
struct Newest {
    var state: PublishedState
    var isClosed = false
    var statistics = PageStatistics()
}

/// Figures of a store, in bytes where nothing else is said: those of the file as of its last commit or checkpoint,
/// those of dirty pages and of the cache as of the moment they are asked for. All that shows figures takes them from
/// here.
package struct PageStatistics: Sendable, Equatable {
    package var fileBytes: UInt64 = 0
    /// Pages of the newest state and the store's own sectors.
    package var usedBytes: UInt64 = 0
    /// Not in the newest state, but held: by snapshots, by the last checkpoint, or because the next commit or
    /// checkpoint still has to look whether another process reads it.
    package var retiredBytes: UInt64 = 0
    /// The part of it whose newest holder is a snapshot, of this process or, at the last look, of another one. A store
    /// that follows a writer doesn't know it: 0.
    package var snapshotBytes: UInt64 = 0
    /// The part of it whose newest holder is the last checkpoint: the next checkpoint frees it, but for what older
    /// snapshots hold too.
    package var checkpointRetiredBytes: UInt64 = 0
    /// Pages, in memory alone and written, that no durable checkpoint has: the medium may lack them.
    package var dirtyBytes: UInt64 = 0
    /// Memory of the open write transaction's pages, which are not written yet.
    package var writerBytes: UInt64 = 0
    /// Records since the last checkpoint.
    package var journalBytes: UInt64 = 0
    package var journalCapacityBytes: UInt64 = 0
    package var pageSize: Int = 0
    package var transaction: UInt64 = 0
    package var checkpoint: UInt64 = 0
    /// States older than the newest that snapshots still pin.
    package var olderSnapshots: Int = 0
    package var cache = CacheStatistics()

    package init() {}
}
