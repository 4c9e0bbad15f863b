// SPDX-License-Identifier: Apache-2.0
// The page layer's part of giving space back: whether the file is worth shrinking, and to which size. The store's
// thread asks after a checkpoint. The tree layer then moves pages as a compaction does (`TreeWriting.giveBack`).

import Synchronization

/// The need for space lately, and the last failed attempt. They decide whether to shrink the file. In the writer's
/// turn.
struct Shrinking {
    /// Whether the store's thread has set the space map's limit.
    var isUnderWay = false
    /// Sectors in use or held, without the journal's ring, at the end of each of the last checkpoints of commits.
    private var peaks: [UInt64] = []
    /// The file's sizes when an attempt to shrink it failed. The next attempt waits until they have changed.
    private var failure: (occupied: UInt64, sectors: UInt64, isRead: Bool)?

    private static let peaksKept = 8

    /// The largest space that commits have needed lately; nil before enough is known.
    var peak: UInt64? { peaks.count == Self.peaksKept ? peaks.max() : nil }

    /// Notes the space in use when a checkpoint is about to free the former one's pages. Moving pages needs more than
    /// commits do, and doesn't count.
    mutating func note(peak sectors: UInt64) {
        if isUnderWay { return }
        if peaks.count == Self.peaksKept { peaks.removeFirst() }
        peaks.append(sectors)
    }

    /// Forgets the sizes that commits needed, because there are no commits now.
    mutating func forgetPeaks() { peaks.removeAll() }

    /// Notes the end of shrinking and whether it gained space. It gains none because of a reader, of long values
    /// without room, or of an unreadable page, for example. `isRead`: whether there is a snapshot.
    mutating func note(hasGained: Bool, occupied: UInt64, sectors: UInt64, isRead: Bool) {
        failure = hasGained ? nil : (occupied, sectors, isRead)
    }

    /// Whether shrinking the file is worth an attempt. It isn't after a failed one if the file holds nearly as much and
    /// is hardly longer, and no snapshot that may have been an obstacle has ended.
    func isWorthwhile(occupied: UInt64, sectors: UInt64, isRead: Bool) -> Bool {
        guard let failure else { return true }
        if failure.isRead, !isRead { return true }
        return occupied < failure.occupied / 8 * 7 || sectors > failure.sectors / 8 * 9
    }
}

extension WriterSide {
    /// Number of sectors in use or held, without the journal's ring.
    var occupiedSectors: UInt64 { space.sectorCount - UInt64(space.freeSectors) - ringSectors }
}

extension PageStore {
    /// Number of sectors below which a gain isn't worth a checkpoint.
    private static var leastGain: UInt64 { 512 }

    /// In the store's thread: sets a limit for shrinking the file. Returns nil if it isn't worth it. Without commits
    /// the file keeps an eighth more than the space in use, otherwise an eighth more than commits have needed lately.
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

    /// Gives the journal's ring the place and the size that the limit requires. Takes the turn only for moments.
    package func moveRing(for limit: CompactionLimit) {
        replaceRing { side.prepareForRing(limit) }
    }

    /// Whether shrinking should stop, for a requested compaction or for closing.
    package var isShrinkingUnwanted: Bool { shrinkingIsUnwanted.load(ordering: .relaxed) }

    /// Between two steps of shrinking: makes a checkpoint if one is due, room for pages in memory, tells states that
    /// other processes wait for, and leaves a moment for threads that want the turn.
    package func relieveThread() {
        if worker.takeWish() { checkpointInBackground() } else { makeRoom() }
        if isAwaited { catchUp() }
        Claim.pause(milliseconds: 1)
    }

    /// Notes the end of shrinking, with the file's number of sectors then; nil after an error.
    package func noteShrunk(from limit: CompactionLimit, to sectors: UInt64?) {
        inThreadsTurn {
            side.shrinking.note(
                hasGained: sectors.map { $0 + Self.leastGain <= limit.fileSectors } ?? false,
                occupied: side.occupiedSectors, sectors: side.space.sectorCount, isRead: isAnythingRead)
        }
    }
}
