// SPDX-License-Identifier: Apache-2.0
// From the end of a transaction to its commit being visible. A commit enters in the writer's turn and waits without it,
// so that the next transaction runs meanwhile. The thread that waits first writes all records that are there at once.
//
//   pending ──flush succeeds──▶ published ──settle──▶ (pages it freed are retired)
//      └──────flush fails─────▶ withdrawn ──settle──▶ (its pages are free again, pages it freed are in use again)
//
// Invariants 3 and 4: commits are published in the order in which they entered, each together with all before it, and
// not before it is as durable as it asked. When a flush fails, its records are taken back and all pending commits are
// withdrawn, because each builds on the one before. An open transaction builds on them too and can't enter any more. If
// taking back fails, the outcome is unknown and the store has failed. `PageStore.settle` updates the space map later,
// in the writer's turn.

import Synchronization

/// A commit whose record, if it has one, is in the journal.
final class PendingCommit: @unchecked Sendable {
    // Sendable: `outcome` is guarded by the pipeline's lock, `freed` by the writer's turn; the rest is constant.
    let state: PublishedState
    /// The state it was made from.
    let base: PublishedState
    /// Pages of earlier states that the state no longer has.
    @exclusivity(unchecked) var freed: [RetiredPages.Page]
    /// The sectors of its own pages.
    let born: [SectorRun]
    let durability: Durability
    fileprivate var mark = JournalMark(position: 0, previous: 0, transaction: 0)
    fileprivate var outcome: Result<Void, StorageError>?

    init(
        state: PublishedState, base: PublishedState, freed: [RetiredPages.Page], born: [SectorRun],
        durability: Durability
    ) {
        self.state = state
        self.base = base
        self.freed = freed
        self.born = born
        self.durability = durability
    }
}

/// The journal and the commits that are not settled. Any thread may use it; it guards itself.
final class CommitPipeline: @unchecked Sendable {
    // Sendable: everything variable is guarded by `monitor`.
    private let file: any StoreFile
    private let events: StoreEvent.Handler?
    private let monitor = Monitor()
    /// Held during `sync`.
    private let syncing = Mutex(())
    /// Used only by the thread that flushes.
    private let witness: WitnessWriter
    /// The writer of the journal. Nil in memory, in a read-only store and until recovery is done. Also nil while a
    /// checkpoint waits for its second header slot, if the former header there doesn't lead to the checkpoint's state.
    @exclusivity(unchecked) private var journal: JournalWriter?
    @exclusivity(unchecked) private var pending: [PendingCommit] = []
    @exclusivity(unchecked) private var published: [PendingCommit] = []
    @exclusivity(unchecked) private var withdrawn: [PendingCommit] = []
    @exclusivity(unchecked) private var isFlushing = false
    /// The header whose mark of a clean end must be removed before the first records are written.
    @exclusivity(unchecked) private var marked: HeaderSlot?
    /// Number of flushes that have ended.
    @exclusivity(unchecked) private var flushes = 0
    @exclusivity(unchecked) private var failure: StorageError? {
        didSet { failed.store(true, ordering: .sequentiallyConsistent) }
    }
    /// Whether the store has failed or is closed. Needs no lock.
    var hasFailed: Bool { failed.load(ordering: .sequentiallyConsistent) }
    private let failed = Atomic<Bool>(false)
    @exclusivity(unchecked) private var faults = 0
    @exclusivity(unchecked) private var newestFault: StorageError?

    /// Shows the given state, if there is one, as the newest. The second argument says whether the newest state is
    /// durable. Called with the lock held, in commit order.
    typealias Show = (PublishedState?, Bool) -> Void

    init(file: any StoreFile, cipher: (any PageCipher)?, events: StoreEvent.Handler?) {
        self.file = file
        self.events = events
        witness = WitnessWriter(cipher)
    }

    // MARK: Entering: in the writer's turn

    /// Whether a record of this size fits in the rest of the ring. Throws as `checkBase` does.
    func fits(redo: Int) throws(StorageError) -> Bool {
        try monitor.locked { () throws(StorageError) in
            try checkBase()
            return journal?.fits(redo: redo) ?? false
        }
    }

    /// Throws if the store has failed, or if a commit that the open transaction builds on was withdrawn.
    private func checkBase() throws(StorageError) {
        if let failure { throw .failed(cause: failure) }
        if case .failure(let cause)? = withdrawn.first?.outcome { throw cause }
    }

    /// The pending commit that the open transaction builds on; nil if it is published. Throws as `checkBase` does.
    func base() throws(StorageError) -> PendingCommit? {
        try monitor.locked { () throws(StorageError) in
            try checkBase()
            return pending.last
        }
    }

    /// Adds the commit and its record, which must fit. Writes nothing.
    func enter(_ commit: PendingCommit, redo: Bytes) throws(StorageError) {
        try monitor.locked { () throws(StorageError) in
            try checkBase()
            try journal?.append(redo, transaction: commit.state.transaction)
            if let journal { commit.mark = journal.end }
            pending.append(commit)
        }
    }

    /// Whether any commits were settled since `takeSettled`.
    var hasSettled: Bool { settledCount.load(ordering: .acquiring) > 0 }
    private let settledCount = Atomic<Int>(0)

    /// Moves the commits published and withdrawn since the last call, each in the order in which they entered, to
    /// empty arrays, whose memory the next ones get.
    func takeSettled(published: inout [PendingCommit], withdrawn: inout [PendingCommit]) {
        monitor.locked {
            swap(&published, &self.published)
            swap(&withdrawn, &self.withdrawn)
            settledCount.store(0, ordering: .relaxed)
        }
    }

    // MARK: Waiting: in nobody's turn

    /// Returns once the commit is visible. Throws if it was withdrawn.
    func wait(for commit: PendingCommit, show: Show) throws(StorageError) {
        let outcome = monitor.locked { () -> Result<Void, StorageError> in
            while true {
                if let outcome = commit.outcome { return outcome }
                if isFlushing { monitor.wait() } else { flush(.none, show) }
            }
        }
        try outcome.get()
    }

    /// Waits until no commit is pending. In the writer's turn no other can enter.
    func drain(show: Show) throws(StorageError) {
        try monitor.locked { () throws(StorageError) in
            while isFlushing || !pending.isEmpty && failure == nil {
                if isFlushing { monitor.wait() } else { flush(.none, show) }
            }
            try checkBase()
        }
    }

    /// Makes all earlier commits at least this durable.
    func makeDurable(_ durability: Durability, show: Show) throws(StorageError) {
        try monitor.locked { () throws(StorageError) in
            let goal = journal?.end.position ?? 0
            while let journal, durability != .none {
                if let failure { throw .failed(cause: failure) }
                if durability == .full, journal.isDoubtful, let newestFault { throw newestFault }
                let reached = max(journal.start, durability == .full ? journal.durableEnd : journal.writtenEnd)
                // Commits that were withdrawn meanwhile no longer count.
                if !isFlushing, reached >= min(goal, journal.end.position) { return }
                if isFlushing {
                    monitor.wait()
                } else if let error = flush(durability, show) {
                    throw error
                }
            }
        }
    }

    /// Writes the records that are there. Uses the strongest durability that a pending commit asks for, at least
    /// `least`. Called with the lock, which it gives up while it writes.
    @discardableResult
    private func flush(_ least: Durability, _ show: Show) -> StorageError? {
        isFlushing = true
        let count = pending.count
        let asked = pending.reduce(least) { $0.stronger($1.durability) }
        let isFull = journal?.isFull ?? false
        if asked == .full, journal?.isDoubtful ?? false, let newestFault {
            withdraw(newestFault)
            isFlushing = false
            flushes &+= 1
            monitor.broadcast()
            return newestFault
        }
        var error: StorageError?
        var isDurable = false
        if let ring = journal?.ring, let generation = journal?.generation, let published = journal?.published,
            var batch = journal?.take(isFull ? asked.stronger(.process) : asked)
        {
            var isOpen = false
            isDurable = batch.isThrough
            let marked = marked
            monitor.unlock()
            do throws(StorageError) {
                if let marked { try CleanEnd.remove(marked, from: file) }
                try batch.write(in: ring, to: file)
                if batch.isThrough {
                    let newest = batch.end.transaction
                    witness.note(JournalWitness(generation: generation, transaction: newest), in: file)
                }
            } catch let cause {
                error = cause
                // Compares transactions, not positions, because a closed sector has no record at its end.
                if batch.end.transaction > published.transaction {
                    do throws(StorageError) {
                        try batch.takeBack(from: published.position, in: ring, file: file)
                    } catch {
                        isOpen = true
                    }
                }
            }
            monitor.lock()
            if let error {
                faults += 1
                newestFault = error
                journal?.putBack(&batch)
                journal?.noteFault()
                if isOpen { failLocked(error) } else { withdraw(error) }
            } else {
                self.marked = nil
                journal?.complete(&batch)
            }
        }
        if error == nil { publish(count, isDurable: isDurable, show) }
        isFlushing = false
        flushes &+= 1
        monitor.broadcast()
        return error
    }

    private func publish(_ flushed: Int, isDurable: Bool, _ show: Show) {
        // If the store has failed meanwhile, no commit is pending any more.
        let count = min(flushed, pending.count)
        guard count > 0 else { return show(nil, isDurable) }
        let last = pending[count - 1]
        journal?.publish(last.mark)
        show(last.state, isDurable)
        for commit in pending[..<count] { commit.outcome = .success(()) }
        if published.isEmpty, count == pending.count {
            swap(&published, &pending)
        } else {
            published.append(contentsOf: pending[..<count])
            pending.removeFirst(count)
        }
        settledCount.add(count, ordering: .releasing)
    }

    private func withdraw(_ cause: StorageError) {
        guard !pending.isEmpty else { return }
        for commit in pending { commit.outcome = .failure(cause) }
        withdrawn.append(contentsOf: pending)
        settledCount.add(pending.count, ordering: .releasing)
        pending.removeAll()
        journal?.withdraw()
    }

    // MARK: Failing

    /// Remembers the first failure after which the store refuses writes. Returns the error to throw.
    func fail(_ cause: StorageError) -> StorageError {
        monitor.locked {
            failLocked(cause)
            monitor.broadcast()
            return .failed(cause: failure ?? cause)
        }
    }

    private func failLocked(_ cause: StorageError, isClosing: Bool = false) {
        if failure == nil {
            failure = cause
            if !isClosing { events?(.failed(cause)) }
        }
        for commit in pending { commit.outcome = .failure(.failed(cause: failure ?? cause)) }
        pending.removeAll()
    }

    func checkUsable() throws(StorageError) {
        if hasFailed, let failure = monitor.locked({ failure }) { throw .failed(cause: failure) }
    }

    /// Refuses all writes from here on.
    func close() {
        monitor.locked {
            while isFlushing { monitor.wait() }
            failLocked(.invalid("the store is closed"), isClosing: true)
        }
    }

    /// Makes all that was written durable. After an error the store has failed. One thread at a time: the kernel
    /// reports an error of writing back once, to the first caller that asks, and no other may take silence for success.
    func sync() throws(StorageError) {
        try syncing.withLock { (_) throws(StorageError) in
            try checkUsable()
            do throws(StorageError) { try file.sync() } catch { throw fail(error) }
        }
    }

    /// Number of failed write-throughs. The kernel reports an error of writing back once, to the first caller that
    /// asks. So after one of these, pages that were written before may be lost without any sync reporting it.
    var faultCount: Int { monitor.locked { faults } }

    func noteFault(_ error: StorageError) {
        monitor.locked {
            faults += 1
            newestFault = error
            journal?.noteFault()
        }
    }

    /// Returns the newest failure if there was one since the count was `former`. Waits for the flush in flight, which
    /// may have received an error that the caller's own sync then did not.
    func fault(since former: Int) -> StorageError? {
        monitor.locked {
            let flush = flushes
            while isFlushing, flushes == flush { monitor.wait() }
            return faults == former ? nil : newestFault
        }
    }

    // MARK: The journal, for the checkpoint: in the writer's turn

    /// Notes that the mark of a clean end was found when the file was opened. Before any other code knows the store.
    func takeMarkBack(of header: HeaderSlot) { monitor.locked { marked = header } }

    var hasJournal: Bool { monitor.locked { journal != nil } }

    /// Begins a new journal, once nothing is on its way to the former one. Nil means that there is none for now, and
    /// that no record fits; no commit may be pending then.
    func setJournal(_ journal: JournalWriter?) {
        monitor.locked {
            while isFlushing { monitor.wait() }
            self.journal = journal
            // The sectors of a former ring may have another use by now.
            marked = nil
        }
    }

    /// Closes the journal's sector. Returns the position at which the records of the newest state end. Later records
    /// will begin in the next sector.
    func closeJournalSector() -> JournalMark? {
        monitor.locked {
            journal?.closeSector()
            return journal?.published
        }
    }

    func advanceJournal(to position: UInt64, transaction: UInt64) {
        monitor.locked { journal?.advance(to: position, transaction: transaction) }
    }

    /// The newest transaction in the journal, which changes with every commit.
    var newestNumber: UInt64 { monitor.locked { journal?.end.transaction ?? 0 } }

    /// Whether there are records that the medium need not have, so that commits don't wait for it.
    var outrunsMedium: Bool { monitor.locked { journal.map { $0.durableEnd < $0.writtenEnd } ?? false } }

    /// Number of sectors of the ring that are in use, and of the whole ring, and whether that makes a checkpoint due.
    var journalUse: (used: UInt64, capacity: UInt64, isNearlyFull: Bool) {
        monitor.locked { (journal?.usedSectors ?? 0, journal?.ring.count ?? 0, journal?.isNearlyFull ?? false) }
    }
}
