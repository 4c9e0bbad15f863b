// SPDX-License-Identifier: Apache-2.0
// Allocation policy over the space map. Node pages fill the emptiest extent in ascending order, so that the pages of a
// transaction are contiguous runs, and a small transaction finds the recently freed pages of its extent again. Long
// runs are next-fit over the whole file. While a compaction runs, every allocation goes below its limit as long as
// there is room, to the lowest free place.

extension SpaceMap {
    /// Lets a new transaction search from the start of its extent again, because pages there may have been freed since.
    mutating func restartNodeCursor() {
        nodeCursor = nodeExtentStart
    }

    private var nodeExtentStart: Int { max(0, nodeExtentEnd - Int(FileFormat.extentSectors)) }

    /// Runs longer than this would break up the extent that node pages fill.
    private static var shortRun: Int { 32 }

    /// Takes a free node page, aligned to its size, in an extent with at least `minimumFree` free sectors.
    mutating func takeNode(minimumFree: Int) -> UInt64? {
        let place =
            nodeBelowLimit() ?? nodeInCurrentExtent()
            ?? nodeInEmptiestExtent(minimumFree: max(minimumFree, pageSectors))
        guard let sector = place else { return nil }
        nodeCursor = sector + pageSectors
        nodeExtentEnd = (sector / Int(FileFormat.extentSectors) + 1) * Int(FileFormat.extentSectors)
        take(SectorRun(start: UInt64(sector), count: UInt32(pageSectors)))
        return UInt64(sector)
    }

    /// The lowest free node page below the compaction's limit, if one runs.
    private mutating func nodeBelowLimit() -> Int? {
        guard let limit else { return nil }
        let end = min(limit, freeInExtent.count)
        var extent = floors.ofNodes
        while extent < end {
            if Int(freeInExtent[extent]) >= pageSectors, let sector = firstNode(inExtent: extent) {
                floors.raiseNodes(to: extent)
                return sector
            }
            extent += 1
        }
        floors.raiseNodes(to: extent)
        return nil
    }

    private func nodeInCurrentExtent() -> Int? { firstNode(from: nodeCursor, to: nodeExtentEnd) }

    private func nodeInEmptiestExtent(minimumFree: Int) -> Int? {
        var best = -1
        var bestFree = minimumFree - 1
        for (extent, free) in freeInExtent.enumerated() where Int(free) > bestFree {
            best = extent
            bestFree = Int(free)
        }
        guard best >= 0 else { return nil }
        if let sector = firstNode(inExtent: best) { return sector }
        // Long values can leave an extent without an aligned place. Any other extent will do then.
        for extent in freeInExtent.indices where Int(freeInExtent[extent]) >= minimumFree {
            if let sector = firstNode(inExtent: extent) { return sector }
        }
        return nil
    }

    private func firstNode(inExtent extent: Int) -> Int? {
        let first = extent * Int(FileFormat.extentSectors)
        return firstNode(from: first, to: first + Int(FileFormat.extentSectors))
    }

    /// The first free aligned group of `pageSectors` at or after `start` (aligned) and before `end` (an extent's end).
    private func firstNode(from start: Int, to end: Int) -> Int? {
        var sector = start
        while sector < end {
            let word = sector >> 6
            let groups = freeGroups(word) & (~0 << UInt64(sector & 63))
            if groups != 0 { return word << 6 + groups.trailingZeroBitCount }
            sector = (word + 1) << 6
        }
        return nil
    }

    /// Bits at multiples of `pageSectors` where that many free sectors begin.
    func freeGroups(_ word: Int) -> UInt64 { groups(of: freeBits(word)) }

    /// The free sectors among 64 that are in no free place of a node page, as bits.
    private func freeBitsBesideNodes(_ word: Int) -> UInt64 {
        freeBits(word) & ~(freeGroups(word) &* ((1 << UInt64(pageSectors)) - 1))
    }

    /// Whether there are `length` adjacent free sectors. Looks first where it found them before.
    mutating func hasRun(_ length: Int) -> Bool {
        if firstRun(length, from: knownRun, to: min(knownRun + length, Int(sectorCount))) != nil { return true }
        guard let start = firstRun(length, from: 0, to: Int(sectorCount)) else { return false }
        knownRun = start
        return true
    }

    /// The place where a run should go.
    enum RunPlace {
        /// A short run goes beside the transaction's node pages if it fits there.
        case anywhere
        /// The lowest place that has room.
        case lowest
        /// The lowest place that has room and that isn't in a free place of a node page.
        case lowestSparingNodes
    }

    /// Takes `count` free sectors in a row, at any alignment.
    mutating func takeRun(_ count: UInt32, _ place: RunPlace = .anywhere) -> UInt64? {
        let length = Int(count)
        guard length <= freeSectors else { return nil }
        if place != .anywhere {
            let start = firstRun(length, from: 0, to: Int(sectorCount), sparingNodes: place == .lowestSparingNodes)
            if let start { take(SectorRun(start: UInt64(start), count: count)) }
            return start.map { UInt64($0) }
        }
        if let start = runBelowLimit(length) {
            take(SectorRun(start: UInt64(start), count: count))
            return UInt64(start)
        }
        if length <= Self.shortRun, let start = firstRun(length, from: nodeExtentStart, to: nodeExtentEnd) {
            take(SectorRun(start: UInt64(start), count: count))
            return UInt64(start)
        }
        let end = Int(sectorCount)
        guard let start = firstRun(length, from: runCursor, to: end) ?? firstRun(length, from: 0, to: end) else {
            return nil
        }
        runCursor = start + length
        take(SectorRun(start: UInt64(start), count: count))
        return UInt64(start)
    }

    /// The lowest free run of `length` sectors below the compaction's limit, if one runs.
    mutating func runBelowLimit(_ length: Int) -> Int? {
        guard let limit else { return nil }
        let end = min(limit, freeInExtent.count)
        let start = floors.ofRuns(length)
        guard start < end else { return nil }
        let sectors = Int(FileFormat.extentSectors)
        let found = firstRun(length, from: start * sectors, to: end * sectors)
        floors.raiseRuns(length, to: found.map { $0 / sectors } ?? end)
        return found
    }

    /// Counts the node pages, at most `enough`, that can be taken below the compaction's limit.
    func nodesBelowLimit(enough: Int) -> Int {
        guard let limit else { return 0 }
        var nodes = 0
        let end = min(limit, freeInExtent.count)
        for extent in min(floors.ofNodes, end)..<end where Int(freeInExtent[extent]) >= pageSectors {
            for word in extent * Self.wordsPerExtent..<(extent + 1) * Self.wordsPerExtent {
                nodes += freeGroups(word).nonzeroBitCount
            }
            if nodes >= enough { return enough }
        }
        return nodes
    }

    private func firstRun(_ length: Int, from start: Int, to end: Int, sparingNodes: Bool = false) -> Int? {
        var runStart = start
        var sector = start
        while sector < end {
            let word = sector >> 6
            if sector & 255 == 0, freeInExtent[sector >> 8] == 0 {
                sector += 256
                runStart = sector
                continue
            }
            let free = sparingNodes ? freeBitsBesideNodes(word) : freeBits(word)
            let used = ~free >> UInt64(sector & 63)
            let wordEnd = (word + 1) << 6
            let freeHere = min(used.trailingZeroBitCount, wordEnd - sector)
            sector += freeHere
            if sector - runStart >= length { return runStart }
            if sector < wordEnd {
                let usedHere = (~(~free >> UInt64(sector & 63))).trailingZeroBitCount
                sector = min(sector + usedHere, wordEnd)
                runStart = sector
            }
        }
        return nil
    }
}

/// The extents that a search for the lowest free place can skip. A compaction fills the extents one by one, and would
/// otherwise begin at the first for each page. Freed sectors lower these marks as far as they must.
struct LowestRoom {
    /// No free place of a node page is below this extent.
    private(set) var ofNodes = 0
    /// No free run of this many sectors begins below these extents. Runs longer than `longest` are few and have no
    /// mark.
    private var runs = [Int](repeating: 0, count: Self.longest + 1)
    private var highestOfRuns = 0
    private static let longest = 32

    func ofRuns(_ length: Int) -> Int { length <= Self.longest ? runs[length] : 0 }

    mutating func raiseNodes(to extent: Int) { ofNodes = max(ofNodes, extent) }

    mutating func raiseRuns(_ length: Int, to extent: Int) {
        guard length <= Self.longest else { return }
        runs[length] = max(runs[length], extent)
        highestOfRuns = max(highestOfRuns, extent)
    }

    /// Notes that sectors of the extent are free. A run that ends in it may begin in the one before.
    mutating func noteFreed(inExtent extent: Int) {
        ofNodes = min(ofNodes, extent)
        guard highestOfRuns > 0, highestOfRuns >= extent else { return }
        highestOfRuns = max(0, extent - 1)
        for length in runs.indices { runs[length] = min(runs[length], highestOfRuns) }
    }
}
