// SPDX-License-Identifier: Apache-2.0
// The page layer's part of `check`: whole pages, and the account of every sector.

import Synchronization

extension PageStore {
    /// Checks a page as on its first touch, though it may have been verified before.
    package func verifyWholePage(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8, sectors: UInt32? = nil
    ) throws(StorageError) {
        let stored = PagePointer.sectors(number)
        let expected = Verification.Expectation(
            number: PagePointer.number(number), birth: birth, kind: kind, level: level,
            sectors: sectors ?? (stored > 0 ? stored : UInt32(pageSize / FileFormat.sectorSize)),
            isCompressible: kind == .leaf && stored > 0 && stored <= CompressedPage.maximumSectors)
        try verification.withWhole(expected) { (_) throws(StorageError) in }
    }

    /// The page's bytes for the length of `body`, checked as on its first touch.
    package func withWholePage<Result>(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8, sectors: UInt32? = nil,
        _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try verification.withWhole(
            Verification.Expectation(
                number: number, birth: birth, kind: kind, level: level,
                sectors: sectors ?? UInt32(pageSize / FileFormat.sectorSize)), body)
    }

    /// Bytes of the largest node.
    package static var largestNode: Int { FileFormat.maximumPageSize }

    /// Copies a leaf of a compressed tree to `buffer`, which has room for the largest node, as the tree sees it: raw.
    /// Checked as on its first touch. Its size.
    package func copyWholeLeaf(
        _ pointer: UInt64, birth: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Int {
        let sectors = PagePointer.sectors(pointer)
        let expected = Verification.Expectation(
            number: PagePointer.number(pointer), birth: birth, kind: .leaf, level: 0, sectors: sectors,
            isCompressible: sectors <= CompressedPage.maximumSectors)
        return try verification.withWhole(expected) { (stored) throws(StorageError) in
            guard let start = stored.baseAddress, PageHeader(reading: start).flags == PageLayout.compressed else {
                guard stored.count <= buffer.count else {
                    throw .corrupt(Corruption(page: expected.number, reason: "it is larger than any node"))
                }
                buffer.copyMemory(from: stored)
                return stored.count
            }
            let size = CompressedPage.rawSize(of: stored) ?? 0
            guard size <= buffer.count else {
                throw .corrupt(Corruption(page: expected.number, reason: "it is larger than any node"))
            }
            try verification.decode(stored, expected, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]))
            return size
        }
    }

    /// Checks that every sector in use belongs to exactly one page of `reachable` (all that the state `transaction`
    /// reaches) or to the store itself, and reports what does not. Throws `.busy` if a commit has come between; nil
    /// means that the caller knows there was none. Waits for the writer's turn.
    package func checkSpace(
        reachable: [(page: UInt64, sectors: UInt32)], transaction: UInt64? = nil, report: (String) -> Void
    ) throws(StorageError) -> Bool {
        // Beside a writer in another process the space map isn't known.
        if let follower, !follower.describes(side.header) { return true }
        try takeTurn()
        defer { turn.give() }
        // The map may name places of a checkpoint whose outcome is unknown.
        do throws(StorageError) { try clearWay() } catch { return true }
        if let transaction, newest.withLock({ $0.state.transaction }) != transaction {
            throw .busy("the store was written to during the check")
        }
        var account = SpaceAccount(space: side.space)
        var isRight = true
        for run in side.ownRuns where file.isDurable || run.start == 0 && run.count > 0 {
            isRight = account.add(run, "the store's own", report) && isRight
        }
        for page in reachable {
            let run = SectorRun(start: page.page, count: page.sectors)
            isRight = account.add(run, "page \(page.page)", report) && isRight
        }
        return account.finish(report) && isRight
    }
}

/// Ticks off sectors against the space map.
private struct SpaceAccount {
    let space: SpaceMap
    private var seen: [UInt64]

    init(space: SpaceMap) {
        self.space = space
        seen = [UInt64](repeating: 0, count: space.live.count)
    }

    mutating func add(_ run: SectorRun, _ what: String, _ report: (String) -> Void) -> Bool {
        guard space.isLive(run) else {
            report("\(what): sectors \(run.start) + \(run.count) are not marked as in use")
            return false
        }
        var isRight = true
        for sector in run.start..<run.end {
            let bit: UInt64 = 1 << (sector & 63)
            if seen[Int(sector >> 6)] & bit != 0 {
                report("\(what): sector \(sector) belongs to another page too")
                isRight = false
            }
            seen[Int(sector >> 6)] |= bit
        }
        return isRight
    }

    func finish(_ report: (String) -> Void) -> Bool {
        var isRight = true
        for word in seen.indices where space.live[word] & ~seen[word] != 0 {
            let leaked = space.live[word] & ~seen[word]
            report("\(leaked.nonzeroBitCount) sectors from \(word << 6) on are marked as in use, but nothing is there")
            isRight = false
        }
        return isRight
    }
}
