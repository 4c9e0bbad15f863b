// SPDX-License-Identifier: Apache-2.0
// The page layer's part of giving space back: whether the file is worth shrinking, and down to where. The store's
// thread asks after a checkpoint; the tree layer then moves pages as a compaction does (`TreeWriting.giveBack`).

import Synchronization

/// The need for space lately, and the last failed try: they decide whether to shrink the file. In the writer's turn.
struct Shrinking {
    /// Whether the space map's limit is that of the store's thread.
    var isUnderWay = false
    /// Sectors that were in use or held, but for the journal's ring, when each of the last checkpoints of commits
    /// ended.
    private var peaks: [UInt64] = []
    /// The file's sizes when a try to shrink it failed. It is left alone until they have changed.
    private var failure: (occupied: UInt64, sectors: UInt64, isRead: Bool)?

    private static let peaksKept = 8

    /// The most that commits have needed lately; nil before enough is known.
    var peak: UInt64? { peaks.count == Self.peaksKept ? peaks.max() : nil }

    /// A checkpoint is about to free what the former one held. Moving pages needs more than commits do, and doesn't
    /// count.
    mutating func note(peak sectors: UInt64) {
        if isUnderWay { return }
        if peaks.count == Self.peaksKept { peaks.removeFirst() }
        peaks.append(sectors)
    }

    /// Forgets the sizes that commits needed, since they rest.
    mutating func forgetPeaks() { peaks.removeAll() }

    /// Notes the end of shrinking, with a gain or without one: because of a reader, of long values without room, or of
    /// an unreadable page, for example. `isRead`: there is a snapshot.
    mutating func note(hasGained: Bool, occupied: UInt64, sectors: UInt64, isRead: Bool) {
        failure = hasGained ? nil : (occupied, sectors, isRead)
    }

    /// Whether a file is worth a try: unless one has failed, and it holds nearly as much and is hardly longer still,
    /// and no snapshot that may have been in the way has ended.
    func isWorthwhile(occupied: UInt64, sectors: UInt64, isRead: Bool) -> Bool {
        guard let failure else { return true }
        if failure.isRead, !isRead { return true }
        return occupied < failure.occupied / 8 * 7 || sectors > failure.sectors / 8 * 9
    }
}

extension WriterSide {
    /// Sectors that are in use or held, but for the journal's ring.
    var occupiedSectors: UInt64 { space.sectorCount - UInt64(space.freeSectors) - ringSectors }
}

extension PageStore {
    /// A smaller gain isn't worth a checkpoint.
    private static var leastGain: UInt64 { 512 }

    /// In the store's thread: sets a limit for shrinking the file; nil if it isn't worth it. Commits that rest leave an
    /// eighth more than is in use, others an eighth more than they have needed lately.
    package func beginShrinking(isIdle: Bool) throws(StorageError) -> CompactionLimit? {
        try withUsableTurn(.inThread) { () throws(StorageError) in
            dropLeftLimit()
            guard side.space.limit == nil else { return nil }
            side.collectPins()
            if isIdle { side.shrinking.forgetPeaks() }
            let occupied = side.occupiedSectors
            let former = side.space.sectorCount
            guard let peak = isIdle ? 0 : side.shrinking.peak,
                side.shrinking.isWorthwhile(occupied: occupied, sectors: former, isRead: isAnythingRead)
            else { return nil }
            let needed = Swift.max(occupied, peak)
            let wanted = needed + needed / 8 + side.slack
            let ring = isIdle ? side.quietRing : side.largestRing
            let end = side.ends(for: wanted, ring: ring).end
            guard former > end + Swift.max(Self.leastGain, end / 8) else { return nil }
            shrinkingIsUnwanted.store(false, ordering: .relaxed)
            side.shrinking.isUnderWay = true
            return side.setLimit(wanted, ring: ring)
        }
    }

    /// Gives the journal's ring the place and the size that the limit asks for. Without the turn, but for moments.
    package func moveRing(for limit: CompactionLimit) {
        replaceRing { side.prepareForRing(limit) }
    }

    /// Whether shrinking should end, for a requested compaction or for closing.
    package var isShrinkingUnwanted: Bool { shrinkingIsUnwanted.load(ordering: .relaxed) }

    /// Between two steps of shrinking: a checkpoint if one is due, room for pages in memory, states that other
    /// processes wait for, and a moment for threads that want the turn.
    package func relieveThread() {
        if worker.takeWish() { checkpointInBackground() } else { makeRoom() }
        if isAwaited { catchUp() }
        Claim.pause(milliseconds: 1)
    }

    /// Notes the end of shrinking, with the file's number of sectors; nil after an error.
    package func noteShrunk(from limit: CompactionLimit, to sectors: UInt64?) {
        inThreadsTurn {
            side.shrinking.note(
                hasGained: sectors.map { $0 + Self.leastGain <= limit.fileSectors } ?? false,
                occupied: side.occupiedSectors, sectors: side.space.sectorCount, isRead: isAnythingRead)
        }
    }
}
