// SPDX-License-Identifier: Apache-2.0
// The space map against a model with one value a sector.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("The space map")
struct SpaceMapTests {
    private enum State { case free, used, reserved, retired }

    private func model(_ space: SpaceMap) -> [State] {
        (0..<Int(space.sectorCount)).map { sector in
            let bit: UInt64 = 1 << UInt64(sector & 63)
            let word = space.words[sector >> 6]
            switch (word.live & bit != 0, word.held & bit != 0) {
            case (false, false): return .free
            case (true, false): return .used
            case (true, true): return .reserved
            case (false, true): return .retired
            }
        }
    }

    /// A compaction searched a place for each page from the first extent on: the work grew with the square of the
    /// file. Now the search begins at the first extent that can have room.
    @Test("finds the lowest room below a compaction's limit without testing full extents again")
    func lowestRoom() {
        func time(full extents: Int) -> Duration {
            var space = SpaceMap(pageSize: 4096)
            let sectors = UInt64(extents) * 256
            space.grow(to: sectors + 2048)
            // One free sector in each extent: the search for a run of two must look at all extents.
            for extent in 0..<extents { space.take(SectorRun(start: UInt64(extent) * 256 + 1, count: 255)) }
            space.limit = extents + 8
            for _ in 0..<extents { _ = space.takeNode(minimumFree: 1) }
            return ContinuousClock().measure {
                for _ in 0..<500 {
                    _ = space.takeNode(minimumFree: 1)
                    _ = space.takeRun(2)
                }
            }
        }
        // The shortest of several runs, because the machine may be busy.
        let short = (0..<3).map { _ in time(full: 4) }.min() ?? .zero
        let long = (0..<3).map { _ in time(full: 8000) }.min() ?? .zero
        #expect(long < short * 40, "\(short) behind 4 full extents, \(long) behind 8,000")
    }

    /// Returns the worthwhile end of a file of these runs of extents; each run is in use or free.
    private func worthwhileEnd(_ full: [(isFull: Bool, count: Int)]) -> Int? {
        let extent = FileFormat.extentSectors
        var space = SpaceMap(pageSize: 4096)
        space.grow(to: UInt64(full.reduce(0) { $0 + $1.count }) * extent)
        var next: UInt64 = 0
        for (isFull, count) in full {
            for number in next..<next + UInt64(count) where isFull {
                space.take(SectorRun(start: number * extent, count: UInt32(extent)))
            }
            next += UInt64(count)
        }
        return space.worthwhileEnd.map { Int($0 / extent) }
    }

    @Test("finds where the file could end if little moved: whether it is worthwhile, and where there is room")
    func endOfFile() {
        #expect(worthwhileEnd([(true, 100)]) == nil)
        // 20 extents could move into the 180 free ones, but the file must keep twice the room that they need.
        #expect(worthwhileEnd([(true, 100), (false, 180), (true, 20)]) == 140)
        #expect(worthwhileEnd([(true, 100), (false, 39), (true, 20)]) == nil)
        // At most 64 extents move.
        #expect(worthwhileEnd([(true, 10), (false, 400), (true, 64)]) == 138)
        #expect(worthwhileEnd([(true, 10), (false, 400), (true, 65)]) == nil)
        // The cut must save at least eight extents, and at least a 128th of the file.
        #expect(worthwhileEnd([(true, 20), (false, 9), (true, 1)]) == 22)
        #expect(worthwhileEnd([(true, 20), (false, 8), (true, 1)]) == nil)
        #expect(worthwhileEnd([(true, 2000), (false, 18), (true, 1)]) == 2002)
        #expect(worthwhileEnd([(true, 2000), (false, 15), (true, 1)]) == nil)
    }

    @Test("takes the lowest place below a compaction's limit, after any allocations", .seeded)
    func lowestPlace() {
        var random = SeededGenerator()
        for _ in 0..<20 {
            var space = SpaceMap(pageSize: 8192)
            space.grow(to: 2048)
            space.limit = Int.random(in: 3...8, using: &random)
            var runs: [SectorRun] = []
            for _ in 0..<1500 {
                var fresh = space
                fresh.limit = space.limit
                if Int.random(in: 0..<3, using: &random) == 0, let index = runs.indices.randomElement(using: &random) {
                    space.release(runs.remove(at: index))
                } else if Bool.random(using: &random) {
                    let page = space.takeNode(minimumFree: 1)
                    #expect(page == fresh.takeNode(minimumFree: 1))
                    if let page { runs.append(SectorRun(start: page, count: 2)) }
                } else {
                    let count = UInt32.random(in: 1...40, using: &random)
                    let start = space.takeRun(count)
                    #expect(start == fresh.takeRun(count))
                    if let start { runs.append(SectorRun(start: start, count: count)) }
                }
                if Int.random(in: 0..<300, using: &random) == 0 { space.grow(to: space.sectorCount + 256) }
            }
        }
    }

    @Test("follows a model through random transitions", arguments: SeededGenerator.seeds(6))
    func transitions(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pageSize = [4096, 8192, 16_384, 65_536][Int.random(in: 0..<4, using: &generator)]
        var space = SpaceMap(pageSize: pageSize)
        space.grow(to: 1024)
        var states = [State](repeating: .free, count: 1024)
        var runs: [(run: SectorRun, state: State)] = []
        for _ in 0..<600 {
            let length = UInt32.random(in: 1...40, using: &generator)
            let taken: SectorRun?
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: taken = space.takeRun(length).map { SectorRun(start: $0, count: length) }
            case 1:
                taken = space.takeNode(minimumFree: 1).map { SectorRun(start: $0, count: UInt32(space.pageSectors)) }
                if let taken { #expect(taken.start % UInt64(space.pageSectors) == 0) }
            case 2 where states.count < 4096:
                space.grow(to: UInt64(states.count) + 256)
                states += [State](repeating: .free, count: 256)
                taken = nil
            default:
                taken = nil
                guard let index = runs.indices.randomElement(using: &generator) else { continue }
                let (run, state) = runs[index]
                let next: State
                switch state {
                case .used: (next, _) = (.reserved, space.reserve(run))
                case .reserved:
                    if Bool.random(using: &generator) {
                        (next, _) = (.used, space.unreserve(run))
                    } else {
                        (next, _) = (.retired, space.retire(run))
                    }
                case .retired:
                    if Bool.random(using: &generator) {
                        (next, _) = (.reserved, space.restore(run))
                    } else {
                        (next, _) = (.free, space.release(run))
                    }
                case .free: continue
                }
                for sector in run.start..<run.end { states[Int(sector)] = next }
                if next == .free { runs.remove(at: index) } else { runs[index].state = next }
            }
            if let taken {
                #expect(states[Int(taken.start)..<Int(taken.end)].allSatisfy { $0 == .free })
                for sector in taken.start..<taken.end { states[Int(sector)] = .used }
                runs.append((taken, .used))
            }
        }
        #expect(model(space) == states, "seed \(seed)")
        #expect(space.freeSectors == states.count { $0 == .free })
        #expect(space.liveSectors == states.count { $0 == .used || $0 == .reserved })
        for extent in space.freeInExtent.indices {
            let sectors = states[extent * 256..<(extent + 1) * 256]
            #expect(Int(space.freeInExtent[extent]) == sectors.count { $0 == .free })
        }
        for (run, state) in runs {
            #expect(space.isOwned(run) == (state == .used))
            #expect(space.isLive(run) == (state == .used || state == .reserved))
        }
    }

    @Test("finds a run or a page whenever there is one", arguments: SeededGenerator.seeds(4))
    func complete(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<150 {
            var space = SpaceMap(pageSize: 8192)
            space.grow(to: 512)
            let density = Double.random(in: 0.05...0.9, using: &generator)
            for sector in 0..<UInt64(512) where Double.random(in: 0..<1, using: &generator) < density {
                space.take(SectorRun(start: sector, count: 1))
            }
            space.runCursor = Int.random(in: 0...512, using: &generator)
            let states = model(space)
            let length = Int.random(in: 1...12, using: &generator)
            let exists = (0...512 - length).contains { start in
                states[start..<start + length].allSatisfy { $0 == .free }
            }
            #expect((space.takeRun(UInt32(length)) != nil) == exists)
            let pages = model(space)
            let hasPage = stride(from: 0, to: 512, by: 2).contains { pages[$0] == .free && pages[$0 + 1] == .free }
            #expect((space.takeNode(minimumFree: 1) != nil) == hasPage)
        }
    }

    @Test("fills the emptiest extent in ascending order")
    func emptiestFirst() {
        var space = SpaceMap(pageSize: 8192)
        space.grow(to: 1024)
        space.take(SectorRun(start: 0, count: 200))
        space.take(SectorRun(start: 256, count: 10))
        space.take(SectorRun(start: 512, count: 2))
        space.take(SectorRun(start: 768, count: 30))
        #expect((0..<127).map { _ in space.takeNode(minimumFree: 16) } == (0..<127).map { 514 + UInt64($0) * 2 })
        #expect(space.takeNode(minimumFree: 16) == 266)
    }

    @Test("has nothing beyond the file, with the largest numbers too")
    func bounds() {
        var space = SpaceMap(pageSize: 8192)
        space.grow(to: 256)
        space.take(SectorRun(start: 0, count: 256))
        #expect(space.isOwned(SectorRun(start: 0, count: 256)))
        #expect(!space.isOwned(SectorRun(start: 0, count: 257)))
        #expect(!space.isOwned(SectorRun(start: 255, count: 2)))
        #expect(!space.isOwned(SectorRun(start: 256, count: 1)))
        #expect(!space.isOwned(SectorRun(start: .max, count: .max)))
        #expect(!space.isOwned(SectorRun(start: 10, count: 0)))
    }

    @Test("survives being stored in its pages", .seeded, arguments: [4096, 8192, 65_536])
    func pages(pageSize: Int) {
        var generator = SeededGenerator()
        var space = SpaceMap(pageSize: pageSize)
        space.grow(to: 256 * 300)
        for _ in 0..<3000 {
            let start = UInt64.random(in: 0..<space.sectorCount - 40, using: &generator)
            space.take(SectorRun(start: start, count: UInt32.random(in: 1...40, using: &generator)))
        }
        var copy = SpaceMap(pageSize: pageSize)
        copy.grow(to: 256 * 300)
        let count = SpaceMapPage.count(fileSectors: space.sectorCount, extentsPerMap: space.extentsPerMap)
        #expect(space.changedMaps.count == count)
        let page = UnsafeMutableRawPointer.allocate(byteCount: pageSize, alignment: 8)
        defer { page.deallocate() }
        for index in 0..<count {
            SpaceMapPage.write(space, index: index, to: page)
            let bytes = UnsafeRawPointer(page)
            copy.load(map: index) { bytes.u64(SpaceMapPage.contentOffset + 8 * $0) }
        }
        #expect(copy.words.map(\.live) == space.words.map(\.live))
        #expect(copy.freeInExtent == space.freeInExtent)
        #expect(copy.freeSectors == space.freeSectors && copy.liveSectors == space.liveSectors)
        #expect(copy.freeNodes == space.freeNodes)
        #expect(copy.changedMaps.allSatisfy { !$0 })
    }

    @Test("of a file smaller than an extent gives no place after its end, and grows in steps", .seeded)
    func smallFile() {
        var random = SeededGenerator()
        for _ in 0..<20 {
            var space = SpaceMap(pageSize: 8192)
            var taken: Set<UInt64> = []
            var size: UInt64 = 32
            space.grow(to: size)
            while size < 1024 {
                let count = UInt32(1 + random.below(5))
                let isNode = random.oneIn(2)
                let place = isNode ? space.takeNode(minimumFree: 2) : space.takeRun(count)
                if let place {
                    let sectors = place..<place + UInt64(isNode ? 2 : count)
                    #expect(sectors.upperBound <= size && taken.isDisjoint(with: sectors))
                    taken.formUnion(sectors)
                    #expect(space.liveSectors == taken.count)
                } else {
                    #expect(space.sectorCount == size)
                    size = FileFormat.fileSectors(with: size + 1 + UInt64(random.below(60)))
                    space.grow(to: size)
                }
                #expect(space.liveSectors + space.freeSectors == Int(size))
                #expect(space.usedEnd <= size && space.sectorCount == size)
                if random.oneIn(4), let sector = taken.randomElement(using: &random) {
                    taken.remove(sector)
                    space.release(SectorRun(start: sector, count: 1))
                }
                #if HORNBEAM_CHECKS
                    space.checkInvariants()
                #endif
            }
        }
    }

    @Test("ignores the places after the end in a stored map")
    func behindEnd() {
        var space = SpaceMap(pageSize: 8192)
        space.grow(to: 48)
        space.load(map: 0) { (_) in .max }
        #expect(space.freeSectors == 0 && space.liveSectors == 48)
        space.grow(to: 64)
        #expect(space.freeSectors == 16 && space.takeRun(16) == 48)
    }
}
