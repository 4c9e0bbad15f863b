// SPDX-License-Identifier: Apache-2.0
// The journal's ring grows with the load and shrinks again. A new ring begins a new generation, so the checkpoint that
// takes it keeps the writer's turn throughout. To keep that short, the thread that checkpoints in the background
// prepares the ring first. Meanwhile its sectors are held but belong to no state, and a crash leaves them free.

import Synchronization

/// The change that a checkpoint makes to the journal's ring.
enum RingChange {
    case keep
    /// A ring of this many sectors, if there is room for it. It gets its place and its zeros within the checkpoint.
    case new(UInt64)
    /// A ring whose sectors are zeroed and held.
    case prepared(JournalRing)
}

extension WriterSide {
    /// Number of checkpoints in a row, each after a while without a commit, that must find less than an eighth of the
    /// ring in use before it shrinks.
    private static let quietBound = 8

    /// Number of commits for whose redo the ring was too small before it grows. A single one is not worth the zeros.
    static let oversizedBound = 3

    /// The largest ring that the store may have: a quarter of the space in use, so that a small store stays a small
    /// file.
    var largestRing: UInt64 {
        var sectors = Self.leastLargestRing
        while sectors < FileFormat.maximumJournalSectors, sectors * 8 << FileFormat.sectorShift <= liveBytes {
            sectors *= 2
        }
        return sectors
    }

    private static var leastLargestRing: UInt64 { 1024 }

    /// The size that the ring shrinks to without commits; in a small store a quarter of the space in use.
    var quietRing: UInt64 {
        var sectors = FileFormat.initialJournalSectors
        while sectors < largestRing / 4, sectors * 4 << FileFormat.sectorShift <= liveBytes { sectors *= 2 }
        return sectors
    }

    /// The ring's next size, if it may grow. Grows in large steps, because each size needs a new place; a ring smaller
    /// than `quietRing`, as after a large import, grows to that at once.
    var grownRing: UInt64? {
        let size = min(max(header.journal.count * 4, quietRing), largestRing)
        return size > header.journal.count ? size : nil
    }

    /// Chooses the ring's next size after a checkpoint that found `used` sectors of it in use.
    func noteRingUse(_ used: UInt64) {
        let capacity = header.journal.count
        if used >= capacity / 8 { quietCheckpoints = 0 }
        if capacity > largestRing {
            wantedRing = largestRing
        } else if used >= capacity / 2 {
            wantedRing = grownRing
        }
        if wantedRing == capacity { wantedRing = nil }
    }

    /// Notes a checkpoint that was made after a while without a commit, and found `used` sectors of the ring in use.
    func noteQuiet(_ used: UInt64) {
        guard used < header.journal.count / 8, header.journal.count > quietRing else { return }
        quietCheckpoints += 1
        guard quietCheckpoints >= Self.quietBound else { return }
        quietCheckpoints = 0
        wantedRing = quietRing
    }
}

extension PageStore {
    /// Changes the ring to the wanted size. For the store's thread, without the turn, which it takes briefly. Any
    /// failure leaves the ring as it is, and the next checkpoint tries again. If the thread ends before it is done, the
    /// new ring's sectors stay held as long as the store is open.
    func resizeRing() {
        replaceRing { side.wantedRing == side.header.journal.count ? nil : side.wantedRing }
    }

    /// `size`, called in the turn: the number of sectors of the new ring; nil to keep the present one.
    func replaceRing(_ size: () -> UInt64?) {
        guard case (let ring, let former)?? = inThreadsTurn({ size().flatMap { holdRing(of: $0) } }) else { return }
        let isReady = makeReady(ring)
        inThreadsTurn { adopt(ring, insteadOf: former, isReady: isReady) }
    }

    /// Writes the ring's zeros and the pages of all commits, and makes them durable. Repeats that with the pages of
    /// commits meanwhile, so that little is left for the checkpoint that keeps the turn. Not if commits wait for the
    /// medium, because they would wait for that too. No other checkpoint begins meanwhile, so it stops when the journal
    /// is nearly full.
    private func makeReady(_ ring: JournalRing) -> Bool {
        let faults = pipeline.faultCount
        do throws(StorageError) {
            try CheckpointPlan.zero(ring, file)
            var rounds = 0
            repeat {
                try writeUnwritten()
                try pipeline.sync()
                rounds += 1
            } while rounds < Self.mostRounds && verification.unwritten?.hasStates == true && pipeline.outrunsMedium
                && !pipeline.journalUse.isNearlyFull
        } catch {
            return false
        }
        return pipeline.fault(since: faults) == nil
    }

    private static var mostRounds: Int { 3 }

    /// Runs `body` in the turn, for the store's thread. Returns nil once the thread is to end.
    @discardableResult
    func inThreadsTurn<Result>(_ body: () -> Result) -> Result? {
        guard takeThreadsTurn() else { return nil }
        defer { turn.give() }
        return body()
    }

    /// Takes the turn. Returns false once the store's thread is to end.
    func takeThreadsTurn() -> Bool {
        var isTaken = turn.takeInThread(waiting: Self.briefMilliseconds)
        if isTaken == nil {
            // A transaction may be open for long, and no process must wait for this thread all that time.
            worker.isWaiting.store(true, ordering: .sequentiallyConsistent)
            defer { worker.isWaiting.store(false, ordering: .sequentiallyConsistent) }
            catchUp()
            isTaken = turn.takeInThread()
        }
        return isTaken == true
    }

    /// Longest time that a process that opens the file may wait for the thread to tell it the newest state.
    private static var briefMilliseconds: Int { 20 }

    /// In the turn: takes a place for another ring, if there is one.
    private func holdRing(of count: UInt64) -> (ring: JournalRing, former: JournalRing)? {
        guard (try? checkUsable()) != nil else { return nil }
        // Low, so that the file's end can be cut off.
        guard let first = try? side.takeRun(UInt32(count), .lowest, keeping: .transaction) else { return nil }
        let ring = JournalRing(first: first, count: count)
        side.space.retire(ring.run)
        return (ring, side.header.journal)
    }

    private func adopt(_ ring: JournalRing, insteadOf former: JournalRing, isReady: Bool) {
        guard isReady, (try? checkUsable()) != nil, (try? clearWay()) != nil, side.header.journal == former,
            let run = try? begin(side.tip, journal: .prepared(ring))
        else { return side.release(ring.run) }
        side.wantedRing = nil
        run.write(to: self)
        // If the checkpoint was undone, the ring was released with it.
        _ = concludeRun()
    }
}
