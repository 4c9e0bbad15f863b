// SPDX-License-Identifier: Apache-2.0
// The page layer's part of a compaction in place: it decides how much of a file is needed, moves the store's own pages
// below that limit, and cuts the file. Ordinary transactions of the tree layer move the pages of trees. The only state
// for that is a limit in memory, so there is nothing to clean up after a crash.
//
//   1 begin    the limit is set: all new pages go below it from here on, as long as there is room
//   2 move     transactions copy pages that lie beyond the limit (TreeStore.compact)
//   3 settle   a checkpoint with new places for the journal and space pages that lie beyond it; the former places of
//              moved pages are free after it
//   4 cut      a checkpoint whose header names fewer sectors, through in both slots; only then the file is shortened
//
// A crash in 4 leaves a file that is longer than its header says. Every opening takes the rest as free space.

import Synchronization

/// Figures of a compaction.
package struct CompactionLimit: Sendable, Equatable {
    /// Number of sectors at which the file should end: the space map's limit, and a place for the journal's ring after
    /// it if the ring isn't before it.
    package var sectors: UInt64
    /// Number of sectors of the file now.
    package var fileSectors: UInt64
    /// Number of sectors beyond the limit that the newest state uses.
    package var toMove: UInt64
    /// Maximum number of sectors that the journal's ring should have.
    package var ring: UInt64
}

extension PageStore {
    /// Begins a compaction: sets a limit that leaves room for all sectors in use and some slack. Throws `.busy` if one
    /// is running. Waits for the writer's turn.
    package func beginCompaction() throws(StorageError) -> CompactionLimit {
        while true {
            let limit = try withUsableTurn(.inOrder) { () throws(StorageError) -> CompactionLimit? in
                dropLeftLimit()
                if side.shrinking.isUnderWay { return nil }
                guard side.space.limit == nil else { throw .busy("the store is being compacted already") }
                return setLimit(extra: 0)
            }
            if let limit { return limit }
            // The store's thread stops shrinking after its current step.
            shrinkingIsUnwanted.store(true, ordering: .relaxed)
            Claim.pause(milliseconds: 1)
        }
    }

    /// Begins a compaction of the file's end alone, if there is so much room before it that little must move. Returns
    /// nil if that isn't worthwhile, if there are readers or a writer, if the store has failed, or if it was not
    /// changed.
    package func beginEndCompaction() throws(StorageError) -> CompactionLimit? {
        guard !options.readOnly, file.isDurable, isHere, !turn.isMine, turn.tryTake() else { return nil }
        defer { turn.give() }
        dropLeftLimit()
        guard !isClosed, !hasFailed, side.isChanged, side.space.limit == nil else { return nil }
        guard !side.tip.isRead, !side.older.contains(where: \.isRead) else { return nil }
        // Space that a running checkpoint frees is free after its end.
        try clearWay()
        side.giveLeafRun()
        guard let end = side.space.worthwhileEnd else { return nil }
        side.space.limit = Int(end / FileFormat.extentSectors)
        return CompactionLimit(
            sectors: end, fileSectors: side.space.sectorCount, toMove: side.space.liveSectors(from: end),
            ring: side.quietRing)
    }

    /// Sets a new limit, `extra` sectors beyond the space in use (before its end, if negative).
    package func renewCompaction(extra: Int64) throws(StorageError) -> CompactionLimit {
        try withUsableTurn(.inOrder) { () throws(StorageError) in setLimit(extra: extra) }
    }

    /// Ends a compaction, finished or not. Has no effect if none runs. If it may not or can't wait for a writer, the
    /// limit may stay until the next compaction begins; until then pages go to low places first.
    package func endCompaction(_ wait: TurnWait = .inOrder) {
        guard isHere else { return }
        switch wait {
        case .inOrder, .behindOthers:
            // This thread may have begun a transaction in the compaction's `progress`.
            guard turn.take() else { return leftLimit.store(true, ordering: .relaxed) }
        case .no:
            guard turn.tryTake() else { return leftLimit.store(true, ordering: .relaxed) }
        case .inThread:
            // The store is being closed.
            guard takeThreadsTurn() else { return }
        }
        defer { turn.give() }
        side.space.limit = nil
        side.shrinking.isUnderWay = false
    }

    /// Removes the limit of an ended compaction. In the turn.
    func dropLeftLimit() {
        if leftLimit.exchange(false, ordering: .relaxed) { side.space.limit = nil }
    }

    private func setLimit(extra: Int64) -> CompactionLimit {
        let live = UInt64(side.space.liveSectors) - side.ringSectors
        let wanted = UInt64(Swift.max(0, Int64(live + live / 32 + side.slack) + extra))
        return side.setLimit(wanted, ring: side.quietRing)
    }

    /// Makes the moves so far durable, so that the former places are free. The journal and the space pages beyond the
    /// limit get other places.
    package func settleCompaction(_ limit: CompactionLimit, _ wait: TurnWait) throws(StorageError) {
        try withUsableTurn(wait) { () throws(StorageError) in
            guard let extents = side.space.limit else { return }
            try clearWay()
            try settle(limit, beyond: UInt64(extents) * FileFormat.extentSectors)
        }
    }

    private func settle(_ limit: CompactionLimit, beyond end: UInt64) throws(StorageError) {
        for (index, map) in side.spaceMaps.enumerated() where index < side.space.changedMaps.count {
            if map.page + UInt64(side.space.pageSectors) > end { side.space.changedMaps[index] = true }
        }
        // The directory moves with any map page.
        if side.header.directoryRun.end > end { side.space.changedMaps[0] = true }
        let ring = side.prepareForRing(limit)
        try checkpoint(side.tip, journal: ring.map { .new($0) } ?? .keep)
        // Frees pages that only the former checkpoint or its readers reached.
        side.collectPins()
    }

    /// Gives the free space after the last sector in use back to the file system. Returns the file's size then, in
    /// sectors.
    package func cutTail(_ wait: TurnWait = .inOrder) throws(StorageError) -> UInt64 {
        try withUsableTurn(wait) { () throws(StorageError) in
            try clearWay()
            return try cut(to: side.space.usedEnd)
        }
    }

    /// Cuts the file when a store is closed: gives back the space that growing by steps left after the last extent in
    /// use, as a load does. In a large file some extents stay for the next program that opens it. With few commits
    /// there is mostly room before the end, and the space that they free is there too. So a program that opens, writes
    /// a little and closes, again and again, doesn't cut and grow the file each time.
    func cutGrownTail() throws(StorageError) {
        guard side.run == nil, let end = Self.keptEnd(side.space.usedEnd, of: side.space.sectorCount) else { return }
        do throws(StorageError) {
            _ = try cut(to: end)
        } catch .full {
            return
        }
    }

    /// The size to which closing cuts a file of `size` sectors that is used up to `used`, both whole extents or the
    /// size of a smaller file. Nil if the gain is not worth a checkpoint.
    static func keptEnd(_ used: UInt64, of size: UInt64) -> UInt64? {
        let extent = FileFormat.extentSectors
        let kept = used / 128 / extent * extent
        return size > used + Swift.max(extent, 2 * kept) ? used + kept : nil
    }

    /// In the turn, while no checkpoint is running. Returns the file's size then, in sectors.
    private func cut(to wanted: UInt64) throws(StorageError) -> UInt64 {
        let former = side.space.sectorCount
        let end = Swift.max(wanted, FileFormat.extentSectors)
        guard file.isDurable, end < former else { return former }
        side.space.cut(to: end)
        do throws(StorageError) {
            try checkpoint(side.tip)
        } catch {
            // There may be no room for the checkpoint's own pages. The file stays as it is, and readers may use all of
            // it.
            side.space.grow(to: former)
            verification.noteFileSize(sectors: former)
            throw error
        }
        // While slot 1 has the former checkpoint, the file must be as long as that one says.
        if let error = concludeRun() { throw error }
        let sectors = side.space.sectorCount
        verification.noteFileSize(sectors: sectors)
        try file.shrink(to: sectors << FileFormat.sectorShift)
        noteStatistics()
        options.events?(.shrunk(from: former << FileFormat.sectorShift, to: sectors << FileFormat.sectorShift))
        return sectors
    }

    /// Runs `body` with the writer's turn, if the store can be written. Throws `.busy` if it may not wait for another
    /// writer.
    func withUsableTurn<Result>(
        _ wait: TurnWait, _ body: () throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        guard !options.readOnly else { throw .readOnly("\(file.path) is open read-only: open it for writing") }
        try takeTurn(wait)
        defer { turn.give() }
        try checkUsable()
        try checkNumbers(transaction: side.usedNumber, checkpoint: side.nextCheckpoint + 1)
        return try body()
    }
}

extension WriterSide {
    /// Number of sectors of the journal's ring.
    var ringSectors: UInt64 { isDurable ? header.journal.count : 0 }

    /// Sets the space map's limit for `wanted` sectors besides the ring, which may follow the limit.
    func setLimit(_ wanted: UInt64, ring: UInt64) -> CompactionLimit {
        giveLeafRun()
        let (limit, end) = ends(for: wanted, ring: ring)
        space.limit = Int(limit / FileFormat.extentSectors)
        return CompactionLimit(
            sectors: end, fileSectors: space.sectorCount, toMove: space.liveSectors(from: limit), ring: ring)
    }

    /// Returns the space map's limit for `wanted` sectors besides a ring of at most `ring` sectors, and the file's end.
    /// A ring that is no larger, and is in a permitted place, counts among the sectors before the limit.
    func ends(for wanted: UInt64, ring: UInt64) -> (limit: UInt64, end: UInt64) {
        let withRing = Self.extents(of: wanted + ringSectors)
        if ringSectors <= ring, header.journal.run.end <= withRing { return (withRing, withRing) }
        let limit = Self.extents(of: wanted)
        return (limit, limit + min(ringSectors, ring))
    }

    /// The number of sectors of whole extents that have at least `sectors` sectors; at least one extent.
    private static func extents(of sectors: UInt64) -> UInt64 {
        max(FileFormat.extents(with: sectors), 1) * FileFormat.extentSectors
    }

    /// The size of the ring if it must get another place or size, otherwise nil. Before the space map's limit there may
    /// be room enough only in pieces; then the ring goes just after the limit.
    func prepareForRing(_ limit: CompactionLimit) -> UInt64? {
        let journal = header.journal
        guard journal.run.end > limit.sectors || journal.count > limit.ring, let extents = space.limit else {
            return nil
        }
        let count = min(journal.count, limit.ring)
        if space.runBelowLimit(Int(count)) == nil { space.runCursor = extents * Int(FileFormat.extentSectors) }
        return count
    }
}

extension PageWriter {
    /// Whether a compaction wants the page moved.
    package func shouldMove(_ page: UInt64, sectors: UInt32) -> Bool {
        guard let limit = store.side.space.limit else { return false }
        return page + UInt64(sectors) > UInt64(limit) * FileFormat.extentSectors
    }

    /// Number of node pages that may be taken before the file grows.
    package var spareNodes: Int { store.side.spareNodes }

    /// Counts the node pages, at most `enough`, that can be moved below the compaction's limit.
    package func nodesBelowLimit(enough: Int) -> Int { store.side.space.nodesBelowLimit(enough: enough) }

    /// Whether a run of `sectors` can be moved below the compaction's limit.
    package func hasRoomBelowLimit(sectors: UInt32) -> Bool { store.side.space.runBelowLimit(Int(sectors)) != nil }
}
