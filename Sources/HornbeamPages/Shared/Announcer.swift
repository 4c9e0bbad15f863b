// SPDX-License-Identifier: Apache-2.0
// The writer's side of reading in other processes. It tells them the newest durable state, and keeps the pages of the
// states that they have snapshots of.
//
//   writer                                  reader (Follower)
//   1 tells the new state                   1 reads which state is told
//   2 asks for all pins                     2 pins it
//   3 lets go of states without a pin       3 looks again: the same state, or let go and begin anew
//
// If the reader's second look (3) still sees the former state, the writer had not finished 1; so its 2 comes after the
// pin, and finds it. A pin that is found late, or of a dead reader that the kernel has not cleared away yet, only
// delays the reuse of pages. The beginning of a writer's life counts as telling: the state is the checkpoint's then,
// and nothing is written (opening and closing a store leaves its file as it was), except where it must be recovered.
//
// A writer that opens a file may find readers of the life before. What they see can lie anywhere in what its space map
// calls free, for the former writer told states that no checkpoint had reached. So nothing that was free then is used
// until all of them have let go; meanwhile the file grows.

/// Tells states and keeps them. Nil where nobody else can have the file open. Guarded by the writer's turn.
final class Announcer {
    private let file: any StoreFile
    private let neighbours: any Neighbours
    private let sector: UnsafeMutableRawPointer
    private var newest: SharedRoot
    /// The newest state that others know of; nil before they know any of this life.
    private var told: UInt64?
    /// Former told states, each pinned once, until no reader has it.
    private var former: [UInt64] = []
    /// Nobody knows which of the told states others see: all stay pinned.
    private var isUncertain = false
    private var inheritance: Inheritance?
    private var hasBegun = false

    /// Pins that were there before this life, and what is kept for them.
    private struct Inheritance {
        var pins: [Range<UInt64>]
        /// The checkpoint that this life began with.
        var checkpoint: UInt64
        var sectors: [SectorRun]
    }

    init?(file: any StoreFile) {
        guard let neighbours = file.neighbours else { return nil }
        self.file = file
        self.neighbours = neighbours
        let life = UInt64.random(in: 1..<FileLocks.lives)
        newest = SharedRoot(identity: SharedRoot.Identity(life: life, sequence: 0))
        sector = .allocate(byteCount: FileFormat.sectorSize, alignment: 8)
    }

    deinit { sector.deallocate() }

    /// States that readers in other processes may have, besides the newest.
    var olderStates: Int { former.count + (inheritance == nil ? 0 : 1) }

    /// Begins this life of the file: from here on nobody goes by what an earlier writer told. Nothing of the file may
    /// have been changed before; the space map and the last checkpoint's pin are in place. `isWhole`: the checkpoint
    /// has the newest state, the journal none.
    func begin(_ side: WriterSide, isWhole: Bool) throws(StorageError) {
        if !isWhole { try write(newest) }
        try neighbours.begin(life: newest.identity.life)
        let pins = try neighbours.pins()
        let checkpoint = side.header.transaction
        if !pins.isEmpty {
            let sectors = side.space.freeRuns()
            for run in sectors { side.space.retire(run) }
            side.retired.pin(checkpoint)
            inheritance = Inheritance(pins: pins, checkpoint: checkpoint, sectors: sectors)
        }
        if isWhole {
            side.retired.pin(checkpoint)
            told = checkpoint
        }
        hasBegun = true
        neighbours.hasBegun()
    }

    /// Tells a state that is durable: the newest, or one that is pinned. It stays pinned until another one is told and
    /// no reader has it. A failure is no failure of the commit: others see an older state a little longer.
    func tell(_ transaction: UInt64, _ root: RootRecord, _ side: WriterSide) {
        guard hasBegun, told.map({ $0 < transaction }) ?? true else { return }
        side.retired.pin(transaction)
        if let told { former.append(told) }
        told = transaction
        newest.transaction = transaction
        newest.root = root
        newest.fileSectors = side.space.sectorCount
        newest.usedSectors = UInt64(side.space.liveSectors)
        repeatNewest()
    }

    private func repeatNewest() {
        newest.identity.sequence += 1
        do throws(StorageError) {
            try write(newest)
            isUncertain = false
        } catch {
            isUncertain = true
        }
    }

    private func write(_ root: SharedRoot) throws(StorageError) {
        root.write(to: sector)
        try file.write(Bytes(start: sector, count: FileFormat.sectorSize), at: SharedRoot.offset)
    }

    /// Lets go of what no reader in another process has any more.
    func collect(_ side: WriterSide) {
        if isUncertain { repeatNewest() }
        guard !isUncertain, !former.isEmpty || inheritance != nil, let pins = try? neighbours.pins() else { return }
        former.removeAll { state in
            if pins.contains(where: { $0.contains(state) }) { return false }
            side.unpin(state)
            return true
        }
        guard let inheritance, !pins.contains(where: { pin in inheritance.pins.contains { $0.overlaps(pin) } }) else {
            return
        }
        self.inheritance = nil
        for run in inheritance.sectors { side.release(run) }
        side.unpin(inheritance.checkpoint)
    }
}

extension SpaceMap {
    /// All free sectors, in order.
    func freeRuns() -> [SectorRun] {
        var runs: [SectorRun] = []
        for word in live.indices where freeBits(word) != 0 {
            var free = freeBits(word)
            while free != 0 {
                let low = free.trailingZeroBitCount
                let count = (~(free >> UInt64(low))).trailingZeroBitCount
                let start = UInt64(word << 6 + low)
                if let last = runs.last, last.end == start {
                    runs[runs.count - 1].count += UInt32(count)
                } else {
                    runs.append(SectorRun(start: start, count: UInt32(count)))
                }
                free &= ~SpaceMap.mask(low: low, count: count)
            }
        }
        return runs
    }
}
