// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile files: flipped bytes give right answers or typed errors with the position; bytes forged under
// valid checksums may give wrong answers, but nothing worse.

import HornbeamTestSupport
import Testing

@testable import HornbeamPages
@testable import HornbeamTree

@Suite("Damaged files")
struct CorruptionTests {
    private static let names = ["one", "two"]

    /// Returns a file with four commits in its journal, the same file closed, and the trees after the third and
    /// fourth commit.
    private func makeStore() throws -> (open: [UInt8], closed: [UInt8], states: [[ModelTree]]) {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        var models = [ModelTree(), ModelTree()]
        var states: [[ModelTree]] = []
        for _ in 0..<4 {
            let transaction = try store.beginWrite()
            for (place, name) in Self.names.enumerated() {
                let tree = try #require(try transaction.tree(name, create: true))
                for index in 0..<80 {
                    let key = random.bytes(3) + [UInt8](repeating: 1, count: random.below(place == 0 ? 20 : 200))
                    let value = random.bytes(index % 40 == 0 ? 6000 : random.below(60))
                    try transaction.put(tree, key, value)
                    models[place].put(key, value)
                }
            }
            try transaction.commit()
            states.append(models)
        }
        let open = try #require(disk.killedImage())
        try store.close()
        return (open, try #require(disk.killedImage()), Array(states.suffix(2)))
    }

    /// Returns the sectors with any content; flips in other sectors hit free space.
    private func usedSectors(_ image: [UInt8]) -> [Int] {
        (0..<image.count / 4096).filter { sector in
            image[sector * 4096..<sector * 4096 + 4096].contains { $0 != 0 }
        }
    }

    @Test(
        "After one flipped byte, answers are right or the error gives the position", .seeded, arguments: [false, true])
    func flips(isClosed: Bool) throws {
        let (open, closed, states) = try makeStore()
        let image = isClosed ? closed : open
        // A damaged last record of a journal can't be distinguished from one that a crash cut off: then the state
        // before that commit is right.
        let possible = isClosed ? [states[1]] : states
        let sectors = usedSectors(image)
        var random = SeededGenerator()
        var refused = 0
        for round in 0..<250 {
            var damaged = image
            let place = sectors[random.below(sectors.count)] * 4096 + random.below(4096)
            damaged[place] ^= UInt8(1 << random.below(8))
            let note: Comment = "round \(round), byte \(place)"
            do {
                let store = try TreeStore.open(file: try SimulatedDisk(image: damaged))
                let read = try store.beginRead()
                let found = try Self.names.map { try read.contents(try #require(try read.tree($0), note)) }
                #expect(possible.contains(found), note)
            } catch let error as StorageError {
                refused += 1
                guard case .corrupt(let what) = error else {
                    // The header is no longer valid.
                    if case .notAStore = error { continue }
                    Issue.record("\(error), \(note)")
                    continue
                }
                #expect(what.page != nil || what.reason.contains("journal") || what.reason.contains("header"), note)
            }
        }
        #expect(refused > 20)
    }

    @Test("A leaf of another tree in a leaf's place is reported at every read, also at a second reader's")
    func foreignLeaf() throws {
        let (_, image, _) = try makeStore()
        let file = try DamagedFile(file: try SimulatedDisk(image: image))
        let leaves = usedSectors(image).filter { sector in
            image[sector * 4096 + PageLayout.kind] == PageKind.leaf.code && sector > 3
                && file.standing(of: UInt64(sector), sectors: 1) == .current
        }
        func tree(_ leaf: Int) -> UInt8 { image[leaf * 4096 + NodeLayout.stamp] }
        var damaged = image
        // As if two trees of one transaction had used the place after each other, and the second write was lost.
        for leaf in leaves where tree(leaf) == 1 {
            damaged[leaf * 4096 + NodeLayout.stamp] = 2
            damaged[leaf * 4096..<leaf * 4096 + 4096].withUnsafeMutableBytes { page in
                PageHeader.seal(page, number: UInt64(leaf))
            }
        }
        let store = try TreeStore.open(file: try SimulatedDisk(image: damaged))
        for _ in 0..<2 {
            let read = try store.beginRead()
            let tree = try #require(try read.tree(Self.names[0]))
            let words = "it is marked as a node of tree number 2"
            func isTold(_ error: any Error) -> Bool { "\(error)".contains(words) && "\(error)".contains("“one”") }
            #expect(performing: { try read.get(tree, [5, 5, 5]) }, throws: isTold)
            #expect(performing: { try read.valueReader(tree, [5]) }, throws: isTold)
            #expect(performing: { try read.count(tree, from: [5], to: []) }, throws: isTold)
            #expect(performing: { try [UInt8]([5]).withBytes { try read.getMany(tree, [$0]) } }, throws: isTold)
            for move in 0..<4 {
                var cursor = try read.cursor(tree)
                #expect(
                    performing: {
                        switch move {
                        case 0: _ = try cursor.next()
                        case 1: _ = try cursor.seekLast([9])
                        case 2: _ = try cursor.seek(index: 3)
                        default: _ = try cursor.seek([5])
                        }
                    }, throws: isTold)
            }
            #expect(try read.contents(try #require(try read.tree(Self.names[1]))).count > 0)
            read.abort()
        }
    }

    @Test("Pages forged under valid checksums are refused or harmless, to reads, changes and check", .seeded)
    func forged() throws {
        let (_, image, _) = try makeStore()
        let nodes = usedSectors(image).filter { [1, 2].contains(image[$0 * 4096 + PageLayout.kind]) && $0 > 3 }
        #expect(nodes.count > 10)
        var random = SeededGenerator()
        for _ in 0..<250 {
            var damaged = image
            for _ in 0...random.below(2) {
                let sector = nodes[random.below(nodes.count)]
                for _ in 0...random.below(3) {
                    let place = random.oneIn(2) ? 24 + random.below(300) : 24 + random.below(4072)
                    damaged[sector * 4096 + place] = UInt8(random.below(256))
                }
                damaged[sector * 4096..<sector * 4096 + 4096].withUnsafeMutableBytes { page in
                    PageHeader.seal(page, number: UInt64(sector))
                }
            }
            do {
                try exercise(try TreeStore.open(file: try SimulatedDisk(image: damaged)), &random)
            } catch let error as StorageError {
                #expect(!error.description.isEmpty)
            }
        }
    }

    private func exercise(_ store: TreeStore, _ random: inout SeededGenerator) throws {
        _ = try? store.check { _ in }
        let read = try store.beginRead()
        for name in (try? read.treeNames()) ?? [] {
            guard let tree = try? read.tree(name) else { continue }
            _ = try? read.count(tree, from: random.bytes(2), to: random.bytes(2))
            var cursor = try read.cursor(tree)
            for _ in 0..<20 { _ = try? cursor.seek(index: UInt64(random.below(400))) }
            // A hostile tree may claim any size; the cursor must not go round endlessly.
            for _ in 0..<2000 where (try? cursor.previous()) ?? true {}
        }
        read.abort()
        let write = try store.beginWrite()
        for name in Self.names {
            guard let tree = try? write.tree(name, create: true) else { continue }
            for step in 0..<60 {
                let key = random.bytes(1 + random.below(4))
                if step % 20 == 19 {
                    _ = try? write.deleteRange(tree, from: key, to: [])
                } else if random.oneIn(2) {
                    try? write.put(tree, key, random.bytes(random.below(900)))
                } else {
                    _ = try? write.delete(tree, key)
                }
            }
        }
        try write.commit()
    }

    // The order of keys was checked within a node, never across two nodes. Adjacent leaves of a forged parent were
    // joined nevertheless: out of order, and, if the last key of one was the first key of the other, in an endless
    // loop.
    @Test("Forged siblings whose keys overlap are refused when they would be joined, shared out or split")
    func overlappingSiblings() throws {
        var options = StoreOptions.withLargeRing
        options.pageSize = 4096
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        let write = try store.beginWrite()
        let tree = try #require(try write.tree("t", create: true))
        func key(_ number: Int) -> [UInt8] { Array("\(1000 + number)".utf8) }
        for number in 0..<200 { try write.append(tree, key(number), [UInt8](repeating: 1, count: 100)) }
        try write.commit()
        try store.close()
        let image = try #require(disk.killedImage())
        // The leaves in the order of their keys.
        let leaves = (1..<image.count / 4096).filter { image.isLeaf($0) }
            .sorted { image.firstKey($0).lexicographicallyPrecedes(image.firstKey($1)) }
        #expect(leaves.count > 4)
        for target in 1...2 {
            var forged = image
            // The second leaf has the keys of the first, or of the third: below or above its parent's bounds.
            let (from, to) = target == 1 ? (leaves[0], leaves[1]) : (leaves[3], leaves[1])
            forged.replaceSubrange(
                to * 4096 + 24..<(to + 1) * 4096, with: image[from * 4096 + 24..<(from + 1) * 4096])
            forged[to * 4096..<(to + 1) * 4096].withUnsafeMutableBytes { PageHeader.seal($0, number: UInt64(to)) }
            // Deleting from the left, then from the right.
            for isRight in [false, true] {
                let hostile = try TreeStore.open(file: try SimulatedDisk(image: forged))
                let write = try hostile.beginWrite()
                let tree = try #require(try write.tree("t"))
                #expect {
                    for number in 0..<200 { _ = try write.delete(tree, key(isRight ? 199 - number : number)) }
                    for number in 0..<200 { try write.put(tree, key(number) + [0], [UInt8](repeating: 1, count: 100)) }
                } throws: { error in
                    guard case .corrupt(let what)? = error as? StorageError else { return false }
                    return what.reason.contains("of its parent")
                }
                write.abort()
            }
        }
    }
}

extension [UInt8] {
    /// Returns whether the sector has a leaf of a named tree, of 4,096 bytes.
    fileprivate func isLeaf(_ sector: Int) -> Bool {
        self[sector * 4096..<(sector + 1) * 4096].withUnsafeBytes { page in
            guard let start = page.baseAddress else { return false }
            let header = PageHeader(reading: start)
            return header.kind == PageKind.leaf.code
                && header.checksum == PageHeader.checksum(of: page, number: UInt64(sector))
                && NodeView(start, size: 4096).stamp.tree > 0
        }
    }

    /// Returns the first key of a leaf of 4,096 bytes.
    fileprivate func firstKey(_ sector: Int) -> [UInt8] {
        self[sector * 4096..<(sector + 1) * 4096].withUnsafeBytes { page in
            page.baseAddress.map { NodeView($0, size: 4096).keyBytes(0) } ?? []
        }
    }
}
