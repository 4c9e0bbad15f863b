// SPDX-License-Identifier: Apache-2.0
// Salvage of a file with any damage: it finds only entries of the file, reports missing ones, and never traps.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Salvage")
struct SalvageTests {
    /// Returns a store most of which was deleted, with deleted entries in its free pages: closed, and with three
    /// commits in its journal.
    private func makeImages() throws -> (closed: [UInt8], open: [UInt8], states: [SparseStore]) {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        for _ in 0..<4 {
            try model.fill(store, count: 80)
            try model.thin(store, kept: 2)
        }
        try store.checkpoint()
        let closed = try #require(disk.killedImage())
        var states = [model]
        for _ in 0..<3 {
            try model.change(store)
            states.append(model)
        }
        return (closed, try #require(disk.killedImage()), states)
    }

    /// Returns the report and the trees salvaged from a damaged image.
    private func salvage(_ image: [UInt8]) throws -> (report: SalvageReport, trees: [String: ModelTree]) {
        let target = try SimulatedDisk()
        let report = try Salvage.run(DamagedFile(file: try SimulatedDisk(image: image)), to: target) {}
        let store = try TreeStore.open(file: target, options: SparseStore.options)
        #expect(try store.check { Issue.record("\($0)") })
        let read = try store.beginRead()
        var trees: [String: ModelTree] = [:]
        for name in try read.treeNames() { trees[name] = try read.contents(try #require(try read.tree(name))) }
        #expect(report.trees.map(\.name).sorted() == trees.keys.sorted())
        for tree in report.trees { #expect(Int(tree.found) == trees[tree.name]?.count) }
        return (report, trees)
    }

    /// Checks that all salvaged entries were in the state, and that missing ones are reported.
    private func isPart(
        _ trees: [String: ModelTree], _ report: SalvageReport, of state: SparseStore, isComplete: Bool
    ) -> Bool {
        for (name, model) in state.trees {
            let found = trees[name] ?? ModelTree()
            for (key, value) in zip(found.keys, found.values) where model.get(key) != value { return false }
            guard isComplete, let tree = report.trees.first(where: { $0.name == name }) else { continue }
            for key in model.keys where found.get(key) == nil {
                let isReported =
                    tree.lost.contains { $0.contains(key) } || tree.lostValues.contains(KeyRange.words(key))
                if !isReported { return false }
            }
        }
        return trees.keys.allSatisfy { state.trees[$0] != nil || $0.hasPrefix("recovered-") }
    }

    @Test("of a whole file finds everything, the journal's commits too", .seeded)
    func whole() throws {
        let (closed, open, states) = try makeImages()
        for (image, state, commits) in [(closed, states[0], 0), (open, states[3], 3)] {
            let (report, trees) = try salvage(image)
            #expect(trees == state.trees)
            #expect(report.isWhole && report.losses.isEmpty && report.commits == commits)
        }
    }

    /// Ways of damaging a file.
    enum Damage: CaseIterable {
        case bits, zeros, garbage, swap, stale, cutOff, manySectors
    }

    private func damaged(
        _ image: [UInt8], _ damage: Damage, older: [UInt8], _ random: inout SeededGenerator
    ) -> [UInt8] {
        var image = image
        let used = (0..<image.count / 4096).filter { sector in
            image[sector * 4096..<sector * 4096 + 4096].contains { $0 != 0 }
        }
        func sector(_ random: inout SeededGenerator) -> Int { used[random.below(used.count)] * 4096 }
        switch damage {
        case .bits: for _ in 0..<4 { image[sector(&random) + random.below(4096)] ^= UInt8(1 << random.below(8)) }
        case .zeros:
            let start = sector(&random)
            for place in start..<min(start + 8 * 4096, image.count) { image[place] = 0 }
        case .garbage:
            let start = sector(&random)
            image.replaceSubrange(start..<start + 4096, with: random.bytes(4096))
        case .swap:
            let (one, two) = (sector(&random), sector(&random))
            let content = Array(image[one..<one + 4096])
            image.replaceSubrange(one..<one + 4096, with: image[two..<two + 4096])
            image.replaceSubrange(two..<two + 4096, with: content)
        case .stale:
            // A write that never reached the medium.
            let start = sector(&random)
            guard start + 4096 <= older.count else { break }
            image.replaceSubrange(start..<start + 4096, with: older[start..<start + 4096])
        case .cutOff: image.removeLast(min(image.count, 1 + random.below(image.count)))
        case .manySectors:
            for _ in 0..<40 {
                let start = sector(&random)
                image.replaceSubrange(start..<start + 4096, with: random.bytes(4096))
            }
        }
        return image
    }

    @Test("gives no invented entries, and reports the missing ones", .seeded, arguments: Damage.allCases)
    func damage(_ damage: Damage) throws {
        let (closed, open, states) = try makeImages()
        var random = SeededGenerator()
        var complete = 0
        for round in 0..<8 {
            let isClosed = round % 2 == 0
            let image = damaged(isClosed ? closed : open, damage, older: closed, &random)
            do {
                let (report, trees) = try salvage(image)
                let possible = isClosed ? Array(states[..<1]) : states
                let note: Comment = "round \(round): \(report.losses)"
                #expect(
                    possible.contains { isPart(trees, report, of: $0, isComplete: report.notes.isEmpty) }, note)
                if report.isWhole {
                    complete += 1
                    #expect(possible.contains { $0.trees == trees }, note)
                }
            } catch StorageError.notAStore {
                // The rest is noise.
                #expect(image.count < 1 << 20)
            }
        }
        if damage == .manySectors { #expect(complete == 0) }
    }

    /// Returns the sectors with whole pages of a kind that the newest state reaches, by the tree named in them.
    private func pages(_ image: [UInt8], kind: PageKind) throws -> [UInt32: [UInt64]] {
        let file = try DamagedFile(file: try SimulatedDisk(image: image))
        var found: [UInt32: [UInt64]] = [:]
        file.scan { (number, found1) in
            guard found1 == kind, file.standing(of: number, sectors: 1) == .current,
                let page = file.page(number, kind: kind, sectors: 1)
            else { return }
            let tree = page.withBytes { $0.baseAddress.map { NodeView($0, size: 4096).stamp.tree } }
            found[tree ?? 0, default: []].append(number)
        }
        return found
    }

    private func without(_ pages: [UInt64], _ image: [UInt8]) -> [UInt8] {
        var image = image
        for page in pages { image[Int(page) * 4096 + 100] ^= 0xFF }
        return image
    }

    @Test("finds every leaf again when all branches are lost", .seeded)
    func branches() throws {
        let (closed, _, states) = try makeImages()
        let branches = try pages(closed, kind: .branch)
        #expect(branches.count == 3)
        let (report, trees) = try salvage(without(branches.values.flatMap { $0 }, closed))
        #expect(trees == states[0].trees)
        #expect(report.isWhole)
    }

    @Test("finds trees again when the catalogue is lost, but not their names", .seeded)
    func catalogue() throws {
        let (closed, _, states) = try makeImages()
        let leaves = try #require(try pages(closed, kind: .leaf)[0])
        let (report, trees) = try salvage(without(leaves, closed))
        #expect(!report.isWhole && trees.keys.allSatisfy { $0.hasPrefix("recovered-") })
        for model in states[0].trees.values { #expect(trees.values.contains(model)) }
    }

    @Test("finds everything when both header slots are lost, the journal's commits too", .seeded)
    func headers() throws {
        let (closed, open, states) = try makeImages()
        for (image, state, commits) in [(closed, states[0], 0), (open, states[3], 3)] {
            let (report, trees) = try salvage([UInt8](repeating: 0, count: 8192) + image[8192...])
            #expect(!report.isWhole && report.losses.count == 2 && report.commits == commits)
            #expect(trees == state.trees)
        }
    }

    /// Returns a journal that has gone round its ring many times, so that a record crosses the ring's end, with
    /// commits without a record; and the number of commits since the last checkpoint.
    private func lappedImage() throws -> (image: [UInt8], model: SparseStore, commits: Int) {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        try model.fill(store, count: 60)
        var commits = 0
        var round = 0
        while round < 70 || commits < 5 {
            round += 1
            let checkpoint = store.statistics.checkpoint
            if round % 20 == 19 { try model.fill(store, count: 1500, longOneIn: 8) } else { try model.change(store) }
            commits = store.statistics.checkpoint == checkpoint ? commits + 1 : 0
        }
        return (try #require(disk.killedImage()), model, commits)
    }

    @Test("follows the journal from record to record without a header, and stops before a missing one", .seeded)
    func chain() throws {
        let (image, model, commits) = try lappedImage()
        let headless = [UInt8](repeating: 0, count: 8192) + image[8192...]
        let whole = try salvage(headless)
        #expect(whole.report.commits == commits && commits > 2)
        #expect(whole.trees == model.trees)
        // The first record after the checkpoint: later records must not be applied without it.
        let file = try DamagedFile(file: try SimulatedDisk(image: image))
        let header = try #require(try HeaderSlot.whole(image))
        let first = Int(header.journal.first + header.journalPosition) * 4096
        var damaged = headless
        damaged[first + 80] ^= 1
        let (report, trees) = try salvage(damaged)
        #expect(file.commitCount == commits && report.commits == 0)
        #expect(report.notes.contains { $0.contains("the journal is damaged") }, "\(report.losses)")
        #expect(trees != model.trees)
    }

    @Test("finds the journal's commits by an older header too, where the newest is lost", .seeded)
    func olderHeader() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        try model.fill(store, count: 40)
        try store.checkpoint()
        let older = try #require(disk.killedImage())
        for _ in 0..<3 { try model.change(store) }
        try store.checkpoint()
        for _ in 0..<2 { try model.change(store) }
        var image = try #require(disk.killedImage())
        // Slot 1 never reached the medium, and slot 0 is damaged.
        image.replaceSubrange(4096..<8192, with: older[4096..<8192])
        image[300] ^= 1
        let (report, trees) = try salvage(image)
        #expect(report.commits == 5)
        #expect(isPart(trees, report, of: model, isComplete: false))
    }

    @Test("follows the journal into a ring that is newer than the header", .seeded)
    func newerRing() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        var model = SparseStore()
        try model.fill(store, count: 40)
        try store.checkpoint()
        let older = try #require(disk.killedImage())
        var commits = 0
        let rings = { disk.operations.count { $0 == .sync } }
        let syncs = rings()
        // The checkpoint of a half-full journal makes a ring of four times the size.
        while rings() == syncs {
            try model.change(store)
            commits += 1
        }
        for _ in 0..<2 { try model.change(store) }
        #expect(store.statistics.journalCapacityBytes == 4 << 20)
        var image = try #require(disk.killedImage())
        image.replaceSubrange(4096..<8192, with: older[4096..<8192])
        image[300] ^= 1
        let (report, trees) = try salvage(image)
        #expect(report.commits == commits + 2)
        #expect(isPart(trees, report, of: model, isComplete: false))
    }

    @Test("keeps built-in reductions, and names the others")
    func reductions() throws {
        let sum = Reduction.sum(of: Int64.self, at: 3)
        let own = Reduction(
            name: "own", identity: [0], map: { _, _, target in target.storeBytes(of: 1, as: UInt8.self) },
            combine: { target, next in
                let both = target.load(as: UInt8.self) | next.load(as: UInt8.self)
                target.storeBytes(of: both, as: UInt8.self)
            })
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options, reductions: [sum, own])
        for name in ["checkpointed", "journal"] {
            let write = try store.beginWrite()
            for (name, reduction) in [(name, sum), ("\(name)-own", own)] {
                let options = TreeOptions(reduction: reduction)
                let tree = try #require(try write.tree(name, create: true, options: options))
                for number in UInt8(0)..<200 { try write.put(tree, [number], [0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0]) }
            }
            try write.commit()
            if name == "checkpointed" { try store.checkpoint() }
        }
        let target = try SimulatedDisk()
        let file = try DamagedFile(file: try SimulatedDisk(image: disk.killedImage()))
        let report = try Salvage.run(file, to: target) {}
        let new = try TreeStore.open(file: target, options: SparseStore.options, reductions: [sum])
        let read = try new.beginRead()
        for name in ["checkpointed", "journal"] {
            let tree = try #require(try read.tree(name))
            let total = try read.reduce(tree).withUnsafeBytes { $0.loadUnaligned(as: Int128.self) }
            #expect(total == 199 * 100)
            #expect(try read.count(try #require(try read.tree("\(name)-own"))) == 200)
        }
        read.abort()
        #expect(!report.isWhole && report.losses.count == 2)
        for (loss, name) in zip(report.losses, ["checkpointed-own", "journal-own"]) {
            #expect(loss == "tree “\(name)”: its reduction “own” is lost, its entries are not")
        }
        #expect(try new.check { Issue.record("\($0)") })
    }

    @Test("keeps possibly outdated entries apart if both space map and branches are lost", .seeded)
    func spaceMap() throws {
        let (closed, _, states) = try makeImages()
        let branches = try pages(closed, kind: .branch)
        var image = without(branches.values.flatMap { $0 }, closed)
        for sector in 4..<image.count / 4096 where image[sector * 4096 + 16] == PageKind.spaceMap.code {
            image[sector * 4096 + 2000] ^= 0xFF
        }
        let (report, trees) = try salvage(image)
        #expect(report.trees.filter(\.isDoubtful).count == 3)
        for (name, model) in states[0].trees {
            #expect(trees[name]?.count == 0)
            #expect(report.trees.first { $0.name == name }?.lostEntries == UInt64(model.count))
        }
        // All lost entries are among the possibly outdated ones.
        for model in states[0].trees.values {
            #expect(trees.values.contains { found in model.keys.allSatisfy { found.get($0) != nil } })
        }
    }

    @Test("finds the leaves of compressed trees, with their branches and without")
    func compressed() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: true)))
        var model = ModelTree()
        for number in 0..<3000 {
            let entry = (key: Array("key-\(number)".utf8), value: Array("a line of text, number \(number)".utf8))
            try write.put(tree, entry.key, entry.value)
            model.put(entry.key, entry.value)
        }
        try write.commit()
        try store.close()
        let image = try #require(disk.killedImage())
        let branches = try pages(image, kind: .branch).values.flatMap { $0 }
        #expect(!branches.isEmpty)
        for image in [image, without(branches, image)] {
            let (report, trees) = try salvage(image)
            #expect(trees == ["t": model] && report.isWhole)
        }
    }

    @Test("finds compressed trees again when the catalogue is lost, compressed as they were")
    func compressedOrphans() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: SparseStore.options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true, options: TreeOptions(isCompressed: true)))
        for number in 0..<3000 { try write.put(tree, Array("key-\(number)".utf8), Array("a line of text".utf8)) }
        try write.commit()
        try store.close()
        let image = try #require(disk.killedImage())
        let catalogue = try #require(try pages(image, kind: .leaf)[0])
        let target = try SimulatedDisk()
        let file = try DamagedFile(file: try SimulatedDisk(image: without(catalogue, image)))
        #expect(try Salvage.run(file, to: target) {}.found == 3000)
        let new = try TreeStore.open(file: target, options: SparseStore.options)
        let read = try new.beginRead()
        let found = try #require(try read.tree("recovered-1"))
        #expect(try read.opened(found).pointee.isCompressed)
    }

    @Test("leaves out journal entries that no store can take, and continues with the rest")
    func refused() throws {
        let (closed, _, _) = try makeImages()
        let file = try DamagedFile(file: try SimulatedDisk(image: closed))
        let store = try TreeStore.open(file: try SimulatedDisk(), options: SparseStore.options)
        var writer = SalvageWriter(file: file, transaction: try store.beginWrite())
        let log = RedoLog()
        log.begin(limit: 1 << 20)
        let (key, huge) = ([UInt8]("k".utf8), [UInt8](repeating: 1, count: 5000))
        [UInt8]("t".utf8).withBytes { log.add(.create, tree: 9, $0) }
        huge.withBytes { log.add(.put, tree: 9, $0) }
        key.withBytes { log.add(.put, tree: 9, $0, $0) }
        var payload = Array(try #require(log.bytes))
        try payload.withBytes { try writer.replay($0) }
        // An operation that the record cuts off.
        payload.removeLast()
        try payload.withBytes { try writer.replay($0) }
        let report = try writer.finish()
        #expect(report.commits == 2 && report.trees.map(\.name) == ["t"] && report.found == 1)
        #expect(report.notes.count == 1 && report.notes[0].hasPrefix("3 changes in the journal can't be applied"))
        #expect(!report.isWhole)
    }

    @Test("finds the gap of a key", .seeded)
    func gaps() {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let bounds = Set((0..<random.below(12)).map { _ in UInt8.random(in: 1...40, using: &random) }).sorted()
            var tree = SalvagedTree(number: 1, name: "t")
            // Some of the ranges between the bounds, of which the first and the last are open.
            let edges: [[UInt8]?] = [nil] + bounds.map { [$0] } + [nil]
            for (low, high) in zip(edges, edges.dropFirst()) where Bool.random(using: &random) {
                tree.gaps.append(SalvagedTree.Gap(keys: KeyRange(low: low, high: high), entries: 3))
            }
            for key in UInt8(0)...41 {
                #expect(tree.gap(of: [key]) == tree.gaps.firstIndex { $0.keys.contains([key]) })
            }
            guard let first = tree.gaps.first else { continue }
            tree.find(2, at: first.keys.low ?? [0])
            #expect(tree.lostEntries == UInt64(3 * tree.gaps.count - 2) && tree.lost.count == tree.gaps.count)
            tree.find(2, at: first.keys.low ?? [0])
            #expect(tree.lost.count == tree.gaps.count - 1)
        }
    }

    @Test("survives pages forged under valid checksums", .seeded)
    func forged() throws {
        let (closed, _, _) = try makeImages()
        let nodes = try [PageKind.leaf, .branch].flatMap { try pages(closed, kind: $0).values.flatMap { $0 } }
        var random = SeededGenerator()
        for _ in 0..<25 {
            var image = closed
            for _ in 0...random.below(3) {
                let page = nodes[random.below(nodes.count)]
                let start = Int(page) * 4096
                for _ in 0...random.below(4) {
                    let place = random.oneIn(2) ? 8 + random.below(60) : 24 + random.below(4072)
                    image[start + place] = UInt8(random.below(256))
                }
                image[start..<start + 4096].withUnsafeMutableBytes { PageHeader.seal($0, number: page) }
            }
            _ = try? salvage(image)
        }
    }

    @Test("refuses a file that isn't a store, or a name already taken, and leaves no file", .seeded)
    func refusals() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        var random = SeededGenerator()
        try folder.write("noise", random.bytes(100_000))
        #expect(throws: StorageError.self) {
            try Salvage.run(from: folder.path("noise"), to: folder.path("new"))
        }
        let (closed, _, states) = try makeImages()
        try folder.write("store", closed)
        #expect(throws: StorageError.exists(path: folder.path("noise"))) {
            try Salvage.run(from: folder.path("store"), to: folder.path("noise"))
        }
        #expect(try folder.names() == ["noise", "store"])
        #expect(try Salvage.run(from: folder.path("store"), to: folder.path("new")).isWhole)
        let store = try TreeStore.open(at: folder.path("new"))
        try states[0].expect(store)
        try store.close()
    }
}

extension HeaderSlot {
    /// Returns the header slot in an image's first sector.
    fileprivate static func whole(_ image: [UInt8]) throws -> HeaderSlot? {
        guard case .valid(let header) = image[..<4096].withUnsafeBytes({ read($0, nil) }) else { return nil }
        return header
    }
}
