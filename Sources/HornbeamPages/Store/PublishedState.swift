// SPDX-License-Identifier: Apache-2.0
// A committed state that readers may pin, and the one place that has the newest of them.

import Synchronization

/// A committed state. Constant, except for its counts of users.
final class PublishedState: Sendable {
    let transaction: UInt64
    let root: RootRecord
    /// The views that pin it. A pin counts only if it was taken while the state was the newest: under `Newest`'s lock,
    /// or by counting first and checking second (`PageStore.pin(again:)`). So the count may exceed the number of views
    /// for a moment, which only delays the reuse of pages. A thread that reuses pages sees each pin that counts: the
    /// mark of `StripedCount` is, here, that another state is the newest.
    let readers = StripedCount()
    /// Number of holds for other processes that read the state or may begin to: see `Announcer`. A hold is taken while
    /// the state is the newest, under `Newest`'s lock, or in the writer's turn.
    private let holds = Atomic<Int>(0)

    init(transaction: UInt64, root: RootRecord) {
        self.transaction = transaction
        self.root = root
    }

    deinit { readers.deallocate() }

    /// Counts a view as a reader.
    func pin() -> PinnedState {
        let stripe = readers.mine
        stripe.enter()
        return PinnedState(state: self, stripe: stripe)
    }

    /// Whether a view of this process has the state. New readers may pin the newest state at any moment; for that,
    /// false means that all readers that there were at the beginning of this call have ended.
    var isRead: Bool { readers.total != 0 }

    /// Whether neither this process nor another one needs its pages.
    var isForgotten: Bool { holds.load(ordering: .sequentiallyConsistent) == 0 && !isRead }

    func hold() { holds.add(1, ordering: .sequentiallyConsistent) }

    func letGo() { holds.subtract(1, ordering: .releasing) }
}

/// A state, and the stripe that counts its newest reader.
struct PinnedState {
    let state: PublishedState
    let stripe: StripedCount.Stripe
}

/// The part of a store that its threads share, under one short lock.
struct Newest {
    var state: PublishedState
    var isClosed = false
    var statistics = PageStatistics()
}

/// Figures of a store, in bytes unless stated otherwise. Figures of the file are as of its last commit or checkpoint;
/// those of memory are current. All displays of figures use these.
package struct PageStatistics: Sendable, Equatable {
    package var fileBytes: UInt64 = 0
    /// Pages of the newest state and the store's own sectors.
    package var usedBytes: UInt64 = 0
    /// Sectors that are not in the newest state, but held: by snapshots, by the last checkpoint, until the next commit
    /// or checkpoint looks whether another process reads them, or for leaves of compressed trees in a full file.
    package var retiredBytes: UInt64 = 0
    /// The part of `retiredBytes` whose newest holder is a snapshot, of this process or, at the last look, of another
    /// one. 0 in a store that follows a writer, which doesn't know it.
    package var snapshotBytes: UInt64 = 0
    /// The part of `retiredBytes` whose newest holder is the last checkpoint. The next checkpoint frees it, except for
    /// pages that older snapshots hold too.
    package var checkpointRetiredBytes: UInt64 = 0
    /// Pages of the newest state, in memory or written, that no durable checkpoint has. The medium may not have them.
    package var dirtyBytes: UInt64 = 0
    /// Memory of the open write transaction's pages that are not written yet.
    package var writerBytes: UInt64 = 0
    /// The journal's records since the last checkpoint.
    package var journalBytes: UInt64 = 0
    package var journalCapacityBytes: UInt64 = 0
    package var pageSize: Int = 0
    package var isEncrypted = false
    package var transaction: UInt64 = 0
    package var checkpoint: UInt64 = 0
    /// Number of states older than the newest that snapshots still pin.
    package var olderSnapshots: Int = 0
    package var cache = CacheStatistics()

    package init() {}
}
