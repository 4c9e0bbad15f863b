// SPDX-License-Identifier: Apache-2.0
// The map of the sectors in use: two bits a sector, in memory. It never touches the file; `SpacePersistence` does that.
//
//   live held   state
//    0    0     free: may be allocated
//    1    0     in use by a page of the newest state, or by a page of the open transaction
//    1    1     in use, and no transaction may free it: header, journal, space pages; or freed by the open
//               transaction, which may yet abort
//    0    1     not in the newest state, but some pin (a snapshot, the last durable checkpoint) still reaches it
//
// A checkpoint stores `live`. Each transition is one method below. All of them check bounds by precondition, so callers
// must first validate numbers that come from disk with `isOwned`.

struct SpaceMap {
    struct Word: Equatable {
        var live: UInt64 = 0
        var held: UInt64 = 0
        /// The free sectors, as bits.
        var free: UInt64 { ~(live | held) }
    }

    /// Sectors of a node page.
    let pageSectors: Int
    /// Extents that one space map page covers.
    let extentsPerMap: Int
    /// Number of bytes at the end of space pages that hold no part of the map or the directory.
    private let reserve: Int
    /// A bit at each multiple of `pageSectors`: 0101…, 00010001…, and so on.
    private let alignedBits: UInt64
    /// Number of sectors of the file, which may be smaller than an extent. Sectors of its last extent beyond its end
    /// are held, so that none is allocated.
    private(set) var sectorCount: UInt64 = 0

    /// The bits of 64 sectors each.
    private(set) var words: [Word] = []
    /// Free sectors of each extent, and their sum.
    private(set) var freeInExtent: [UInt16] = []
    private(set) var freeSectors = 0
    /// Free places of node pages: aligned, and wholly free.
    private(set) var freeNodes = 0
    private(set) var liveSectors = 0
    /// Space map pages whose `live` bits changed since they were last stored.
    var changedMaps: [Bool] = []
    /// Number of sectors of the directory of all map pages.
    private(set) var directorySectors = 0
    /// Number of node pages that a checkpoint may need: all map pages, the directory, and one for a directory or a map
    /// that grows.
    private(set) var checkpointNodes = 0

    /// The position from which the search for the next node page continues, and the end of its extent. See Extents.
    var nodeCursor = 0
    var nodeExtentEnd = 0
    /// The position from which the search for the next run continues.
    var runCursor = 0
    /// The position at which `hasRun` found a run.
    var knownRun = 0
    /// While a compaction runs: the number of extents that it wants to keep. Pages are allocated in them as long as
    /// there is room.
    var limit: Int? {
        didSet { floors = LowestRoom() }
    }
    /// The positions at which the search below the limit begins.
    var floors = LowestRoom()

    static var wordsPerExtent: Int { Int(FileFormat.extentSectors) / 64 }

    init(pageSize: Int, reserve: Int = 0) {
        pageSectors = pageSize / FileFormat.sectorSize
        self.reserve = reserve
        extentsPerMap = SpaceMapPage.extents(pageSize: pageSize - reserve)
        // A power of two of at most 16.
        alignedBits = UInt64.max / ((1 << UInt64(pageSectors)) - 1)
    }

    /// Adds free sectors up to `sectors`, which must be a size that a file may have.
    mutating func grow(to sectors: UInt64) {
        guard sectors > sectorCount else { return }
        let former = sectorCount
        let extents = FileFormat.extents(with: sectors)
        addExtents(Int(extents) - freeInExtent.count)
        // `release` and `retire` check against this number, so it must cover the whole last extent for now.
        sectorCount = extents * FileFormat.extentSectors
        if former % FileFormat.extentSectors > 0 { release(Self.restOfExtent(former)) }
        if sectors < sectorCount { retire(Self.restOfExtent(sectors)) }
        sectorCount = sectors
    }

    private static func restOfExtent(_ start: UInt64) -> SectorRun {
        SectorRun(start: start, count: UInt32(FileFormat.extentSectors - start % FileFormat.extentSectors))
    }

    private mutating func addExtents(_ added: Int) {
        guard added > 0 else { return }
        let extents = freeInExtent.count + added
        floors.noteFreed(inExtent: freeInExtent.count)
        words.append(contentsOf: repeatElement(Word(), count: added * Self.wordsPerExtent))
        freeInExtent.append(contentsOf: repeatElement(UInt16(FileFormat.extentSectors), count: added))
        freeSectors += added * Int(FileFormat.extentSectors)
        freeNodes += added * Int(FileFormat.extentSectors) / pageSectors
        let maps = (extents + extentsPerMap - 1) / extentsPerMap
        changedMaps.append(contentsOf: repeatElement(true, count: maps - changedMaps.count))
        noteMaps()
    }

    private mutating func noteMaps() {
        directorySectors = Int(SpaceDirectoryPage.sectors(maps: changedMaps.count, reserve: reserve))
        checkpointNodes = changedMaps.count + (directorySectors + pageSectors - 1) / pageSectors + 1
    }

    /// The number of sectors in use from `start` on, which begins an extent.
    func liveSectors(from start: UInt64) -> UInt64 {
        guard start < sectorCount else { return 0 }
        return words[(Int(start) / 64)...].reduce(0) { $0 + UInt64($1.live.nonzeroBitCount) }
    }

    /// The end of the last extent that is not wholly free, or the end of the file if that comes first. In sectors.
    var usedEnd: UInt64 {
        let last = freeInExtent.lastIndex { $0 < FileFormat.extentSectors }
        return min(UInt64(last.map { $0 + 1 } ?? 0) * FileFormat.extentSectors, sectorCount)
    }

    /// The sector at which the file could end if little moved; nil if moving doesn't pay. It pays under these
    /// conditions:
    /// - at most 64 extents' worth of sectors would move, and at most half of what the file would be shorter by;
    /// - the room before the new end has at least twice as many free sectors;
    /// - the file would be shorter by at least 1/128, and at least eight extents.
    var worthwhileEnd: UInt64? {
        let extent = Int(FileFormat.extentSectors)
        let end = Int(usedEnd) / extent
        var room = freeInExtent.prefix(end).reduce(0) { $0 + Int($1) }
        var (toMove, best) = (0, end)
        for first in (0..<end).reversed() {
            room -= Int(freeInExtent[first])
            toMove += extent - Int(freeInExtent[first])
            guard 2 * toMove <= room, toMove <= 64 * extent else { break }
            if 2 * toMove <= (end - first) * extent { best = first }
        }
        return end - best >= max(8, end / 128) ? UInt64(best * extent) : nil
    }

    /// Removes the extents from `sectors` on (whole extents), all of which must be free.
    mutating func cut(to sectors: UInt64) {
        precondition(sectors >= usedEnd && sectors % FileFormat.extentSectors == 0, "what is in use can't be cut off")
        let extents = Int(sectors / FileFormat.extentSectors)
        let removed = freeInExtent.count - extents
        guard removed > 0 else { return }
        sectorCount = sectors
        words.removeLast(removed * Self.wordsPerExtent)
        freeInExtent.removeLast(removed)
        freeSectors -= removed * Int(FileFormat.extentSectors)
        freeNodes -= removed * Int(FileFormat.extentSectors) / pageSectors
        changedMaps.removeLast(changedMaps.count - (extents + extentsPerMap - 1) / extentsPerMap)
        noteMaps()
        // A cursor beyond the end would look at words that are not there.
        nodeCursor = 0
        nodeExtentEnd = 0
        runCursor = 0
        knownRun = 0
    }

    // MARK: Transitions

    /// free → in use.
    mutating func take(_ run: SectorRun) { set(run, live: true, held: false) }
    /// in use → in use, not to be freed.
    mutating func reserve(_ run: SectorRun) { set(run, live: true, held: true) }
    /// Undoes `reserve` when a transaction that freed the run aborts, even if the run was retired already.
    mutating func unreserve(_ run: SectorRun) { set(run, live: true, held: false) }
    /// reserved → no longer in the newest state, still pinned.
    mutating func retire(_ run: SectorRun) { set(run, live: false, held: true) }
    /// Undoes `retire` when a checkpoint is given up.
    mutating func restore(_ run: SectorRun) { set(run, live: true, held: true) }
    /// any → free.
    mutating func release(_ run: SectorRun) { set(run, live: false, held: false) }

    /// A copy of the map in which these pages are free. The stored map has them as free, so the map pages with their
    /// sectors are marked as changed in this one.
    mutating func withheld(_ runs: [SectorRun]) -> SpaceMap {
        var map = self
        for run in runs {
            map.release(run)
            for extent in run.start / FileFormat.extentSectors...(run.end - 1) / FileFormat.extentSectors {
                changedMaps[Int(extent) / extentsPerMap] = true
            }
        }
        return map
    }

    private mutating func set(_ run: SectorRun, live newLive: Bool, held newHeld: Bool) {
        precondition(run.start <= sectorCount && UInt64(run.count) <= sectorCount - run.start, "a run beyond the file")
        var sector = Int(run.start)
        let end = sector + Int(run.count)
        while sector < end {
            let word = sector >> 6
            let low = sector & 63
            let count = min(64 - low, end - sector)
            setWord(word, low: low, count: count, newLive, newHeld)
            sector += count
        }
    }

    /// In local values, because each access to an array is checked, and each page of a commit passes here three times.
    /// Usually a whole node page changes; then no bits are counted.
    private mutating func setWord(_ word: Int, low: Int, count: Int, _ isLive: Bool, _ isHeld: Bool) {
        let mask = Self.mask(low: low, count: count)
        let before = words[word]
        let after = Word(
            live: isLive ? before.live | mask : before.live & ~mask,
            held: isHeld ? before.held | mask : before.held & ~mask)
        words[word] = after
        let extent = word / Self.wordsPerExtent
        let changed = after.free ^ before.free
        if changed != 0 {
            // All bits of the mask become alike, so all that change do so in one direction.
            let sign = isLive || isHeld ? -1 : 1
            let isNode = changed == mask && count == pageSectors && low & (pageSectors - 1) == 0
            let freed = sign * (isNode ? count : changed.nonzeroBitCount)
            freeInExtent[extent] = UInt16(Int(freeInExtent[extent]) + freed)
            freeSectors += freed
            freeNodes += sign * (isNode ? 1 : (groups(of: after.free) ^ groups(of: before.free)).nonzeroBitCount)
            if freed > 0 { floors.noteFreed(inExtent: extent) }
        }
        let moved = after.live ^ before.live
        guard moved != 0 else { return }
        liveSectors += (isLive ? 1 : -1) * (moved == mask ? count : moved.nonzeroBitCount)
        let map = extent / extentsPerMap
        if !changedMaps[map] { changedMaps[map] = true }
    }

    /// `count` bits from bit `low` of a word.
    static func mask(low: Int, count: Int) -> UInt64 {
        let bits: UInt64 = count == 64 ? .max : (1 << UInt64(count)) - 1
        return bits << UInt64(low)
    }

    // MARK: Questions

    /// Whether every sector of the run exists and is in use by a page that a transaction may free.
    func isOwned(_ run: SectorRun) -> Bool { all(run) { $0.live & ~$0.held } }

    /// Whether every sector of the run exists and is in use.
    func isLive(_ run: SectorRun) -> Bool { all(run) { $0.live } }

    private func all(_ run: SectorRun, _ bits: (Word) -> UInt64) -> Bool {
        guard run.count > 0, run.start < sectorCount, UInt64(run.count) <= sectorCount - run.start else { return false }
        var sector = Int(run.start)
        let end = sector + Int(run.count)
        while sector < end {
            let word = sector >> 6
            let low = sector & 63
            let count = min(64 - low, end - sector)
            let mask = Self.mask(low: low, count: count)
            if bits(words[word]) & mask != mask { return false }
            sector += count
        }
        return true
    }

    /// The bits at multiples of `pageSectors` at which that many free sectors begin, given the free sectors among 64.
    @inline(__always)
    func groups(of freeBits: UInt64) -> UInt64 {
        var free = freeBits
        var span: UInt64 = 1
        while span < UInt64(pageSectors) {
            free &= free &>> span
            span &*= 2
        }
        return free & alignedBits
    }

    /// The free sectors among 64, as bits.
    func freeBits(_ word: Int) -> UInt64 { words[word].free }

    // MARK: Loading

    /// Sets the `live` words of one space map page, as read from the file, in a map that is still empty there.
    mutating func load(map index: Int, stored: (Int) -> UInt64) {
        let first = index * extentsPerMap
        let extents = first..<max(first, min(first + extentsPerMap, freeInExtent.count))
        // Sums in local values: each word of a large file passes here when the file is opened.
        var (allUsed, nodes) = (0, 0)
        for extent in extents {
            var used = 0
            for word in extent * Self.wordsPerExtent..<(extent + 1) * Self.wordsPerExtent {
                // Nothing behind the file's end is in use, even if a damaged map says so. (No other sector is held
                // yet.)
                let room = ~words[word].held
                let taken = stored(word - first * Self.wordsPerExtent) & room
                guard taken != 0 else { continue }
                words[word].live = taken
                used += taken.nonzeroBitCount
                let places = room == .max ? alignedBits : groups(of: room)
                nodes += (places ^ groups(of: room & ~taken)).nonzeroBitCount
            }
            guard used > 0 else { continue }
            freeInExtent[extent] -= UInt16(used)
            allUsed += used
        }
        freeNodes -= nodes
        freeSectors -= allUsed
        liveSectors += allUsed
        if index < changedMaps.count { changedMaps[index] = false }
    }

    #if HORNBEAM_CHECKS
        /// Recounts the totals that are kept incrementally.
        func checkInvariants() {
            var free = 0
            for extent in freeInExtent.indices {
                let places = extent * Self.wordsPerExtent..<(extent + 1) * Self.wordsPerExtent
                let count = places.reduce(0) { $0 + freeBits($1).nonzeroBitCount }
                precondition(count == Int(freeInExtent[extent]), "free sectors of extent \(extent)")
                free += count
            }
            precondition(free == freeSectors, "free sectors")
            let nodes = words.indices.reduce(0) { $0 + freeGroups($1).nonzeroBitCount }
            precondition(nodes == freeNodes, "free places of node pages")
            precondition(liveSectors == words.reduce(0) { $0 + $1.live.nonzeroBitCount }, "live sectors")
            var copy = self
            copy.noteMaps()
            precondition(directorySectors == copy.directorySectors, "sectors of the directory")
            precondition(checkpointNodes == copy.checkpointNodes, "node pages that a checkpoint may need")
        }
    #endif
}
