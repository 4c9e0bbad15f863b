// SPDX-License-Identifier: Apache-2.0
// The journal's ring grows with the load and shrinks again. A new ring begins a new generation, so that the checkpoint
// which takes it keeps the writer's turn throughout. To keep that short, the thread that checkpoints in the background
// makes the ring ready before: while it does, the sectors are held, in no state's use, and a crash leaves them free.

import Synchronization

/// The change that a checkpoint makes to the journal's ring.
enum RingChange {
    case keep
    /// Another of this many sectors, if there is room for it: it gets its place and its zeros within the checkpoint.
    case new(UInt64)
    /// A ring whose sectors are zeroed and held.
    case prepared(JournalRing)
}

extension WriterSide {
    /// Checkpoints in a row, each after a while without a commit, that found less than an eighth of the ring in use,
    /// after which it shrinks.
    private static let quietBound = 8

    /// Commits for whose redo the ring was too small, after which it grows: one alone is not worth its zeros.
    static let oversizedBound = 3

    /// The largest ring that the store may have: a quarter of what is in use, so that a small store stays a small file.
    var largestRing: UInt64 {
        var sectors = Self.leastLargestRing
        while sectors < FileFormat.maximumJournalSectors, sectors * 8 << FileFormat.sectorShift <= liveBytes {
            sectors *= 2
        }
        return sectors
    }

    private static var leastLargestRing: UInt64 { 1024 }

    /// The size that the ring shrinks to once commits rest; of a small store a quarter of what is in use.
    var quietRing: UInt64 {
        var sectors = FileFormat.initialJournalSectors
        while sectors < largestRing / 4, sectors * 4 << FileFormat.sectorShift <= liveBytes { sectors *= 2 }
        return sectors
    }

    /// The ring's next size, if it may grow. In large steps: each is a place of its own.
    var grownRing: UInt64? {
        let size = min(header.journal.count * 4, largestRing)
        return size > header.journal.count ? size : nil
    }

    /// Draws the lesson from a checkpoint that found `used` sectors of the ring in use.
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

    /// Takes note of a checkpoint that came because commits rest, and found `used` sectors of the ring in use.
    func noteQuiet(_ used: UInt64) {
        guard used < header.journal.count / 8, header.journal.count > quietRing else { return }
        quietCheckpoints += 1
        guard quietCheckpoints >= Self.quietBound else { return }
        quietCheckpoints = 0
        wantedRing = quietRing
    }
}

extension PageStore {
    /// Gives the ring the size that it should have. For the store's thread, without the turn, which it takes briefly.
    /// Any failure leaves the ring as it is, and the next checkpoint tries again. If the thread ends meanwhile, the new
    /// ring's sectors stay held as long as the store is open.
    func resizeRing() {
        replaceRing { side.wantedRing == side.header.journal.count ? nil : side.wantedRing }
    }

    /// `size`, in the turn: the sectors of another ring; nil if this one stays.
    func replaceRing(_ size: () -> UInt64?) {
        guard case (let ring, let former)?? = inThreadsTurn({ size().flatMap { holdRing(of: $0) } }) else { return }
        let isReady = makeReady(ring)
        inThreadsTurn { adopt(ring, insteadOf: former, isReady: isReady) }
    }

    /// Zeros that are on the medium.
    private func makeReady(_ ring: JournalRing) -> Bool {
        let faults = pipeline.faultCount
        do throws(StorageError) {
            try CheckpointPlan.zero(ring, file)
            try pipeline.checkUsable()
        } catch {
            return false
        }
        do throws(StorageError) {
            try file.sync()
        } catch {
            _ = pipeline.fail(error)
            return false
        }
        return pipeline.fault(since: faults) == nil
    }

    /// In the turn, for the store's thread; nil once that is to end.
    @discardableResult
    func inThreadsTurn<Result>(_ body: () -> Result) -> Result? {
        guard takeThreadsTurn() else { return nil }
        defer { turn.give() }
        return body()
    }

    /// False once the store's thread is to end.
    func takeThreadsTurn() -> Bool {
        var isTaken = turn.takeInThread(waiting: Self.briefMilliseconds)
        if isTaken == nil {
            // A transaction may be open for long: no process must wait for this thread meanwhile.
            worker.isWaiting.store(true, ordering: .sequentiallyConsistent)
            defer { worker.isWaiting.store(false, ordering: .sequentiallyConsistent) }
            catchUp()
            isTaken = turn.takeInThread()
        }
        return isTaken == true
    }

    /// The time for which a process that opens the file may wait for the thread to tell it the newest state.
    private static var briefMilliseconds: Int { 20 }

    /// In the turn: a place for another ring, if there is one.
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
        // Undoing the plan has released the ring.
        _ = concludeRun()
    }
}
