// SPDX-License-Identifier: Apache-2.0
// Thousands of damaged and forged files, each opened and used. Damage gives right answers or typed errors; a forgery
// gives anything but a trap, a hang, or a read outside the file (the simulated disk has no memory beyond it).

import HornbeamPages
package import HornbeamTestSupport
import HornbeamTree

/// Mutations of store files, by kind.
package struct HostileProof {
    package private(set) var mutations = 0
    package private(set) var refusals = 0
    private let seed: UInt64
    private var random: SeededGenerator
    private var files: [FileParts] = []
    private static let mutationsOfAFile = 400

    package init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
    }

    /// Damages and forges files until there are `wanted` ones. Calls `isNext` before each one, so that a trap can be
    /// traced.
    package mutating func run(mutations wanted: Int, isNext: (Int) -> Void = { _ in }) throws {
        while mutations < wanted {
            if mutations % Self.mutationsOfAFile == 0 {
                let own = random.next()
                files = [try FileParts(seed: own, isClosed: true), try FileParts(seed: own, isClosed: false)]
            }
            isNext(mutations)
            mutations += 1
            let own = random.next()
            do {
                try mutate(seed: own)
            } catch {
                throw ProofFailure("seed \(seed), mutation \(mutations): \(error)")
            }
        }
    }

    private mutating func mutate(seed: UInt64) throws {
        var own = SeededGenerator(seed: seed)
        let file = files[own.below(files.count)]
        if own.oneIn(2) {
            let damage = MediaDamage.allCases[own.below(MediaDamage.allCases.count)]
            let image = file.damaged(by: damage, &own)
            do {
                try expectRightOrRefused(image, file)
            } catch {
                throw ProofFailure("\(damage): \(error)")
            }
        } else {
            let forgery = Forgery.allCases[own.below(Forgery.allCases.count)]
            let image = file.forged(by: forgery, &own)
            do {
                try Self.use(image, &own)
            } catch let error as ProofFailure {
                throw ProofFailure("forged \(forgery): \(error)")
            } catch is StorageError {
                refusals += 1
            }
        }
    }

    // MARK: Damage

    private mutating func expectRightOrRefused(_ image: DiskImage, _ file: FileParts) throws {
        do {
            let disk = try SimulatedDisk(image)
            guard image.sectorCount > 0 else { return }
            let store = try Workload.open(disk)
            let digest = try store.digest()
            try expect(file.digests.contains(digest), "a wrong answer in silence")
            if mutations % 4 == 0 { try expectLife(disk, store) }
        } catch let error as StorageError {
            refusals += 1
            try expect(!error.description.isEmpty, "an error without words")
        }
    }

    /// Checks that readable entries can be changed and read again.
    private func expectLife(_ disk: SimulatedDisk, _ store: TreeStore) throws {
        let write = try store.beginWrite()
        if let tree = try write.tree("short", create: true) { try write.put(tree, [3, 1], [1, 2, 3]) }
        try write.commit()
        let digest = try store.digest()
        try store.close()
        let again = try Workload.open(try SimulatedDisk(disk.imageAfterKill()))
        try expect(try again.digest() == digest, "what was written to a damaged file was lost")
    }

    // MARK: Forgeries

    /// Opens a file and does everything with it that can be done with a store.
    package static func use(_ image: DiskImage, _ random: inout SeededGenerator) throws {
        let disk = try SimulatedDisk(image)
        let store = try Workload.open(disk)
        try tolerate { try readAll(store, &random) }
        try tolerate { _ = try store.check { _ in } }
        for _ in 0..<2 { try tolerate { try change(store, &random) } }
        try tolerate { try store.checkpoint() }
        try tolerate { try readAll(store, &random) }
        try store.close()
        let again = try Workload.open(try SimulatedDisk(disk.imageAfterKill()))
        try tolerate { try readAll(again, &random) }
    }

    /// A forged file should give typed errors.
    private static func tolerate(_ body: () throws -> Void) throws {
        do { try body() } catch is StorageError {}
    }

    private static func readAll(_ store: TreeStore, _ random: inout SeededGenerator) throws {
        let read = try store.beginRead()
        defer { read.abort() }
        for name in try read.treeNames() {
            try tolerate {
                guard let tree = try read.tree(name) else { return }
                try walk(read, tree, &random)
            }
        }
    }

    private static func walk(_ read: Transaction, _ tree: TreeID, _ random: inout SeededGenerator) throws {
        var cursor = try read.cursor(tree)
        // A tree of such a small file has few entries: more entries than this mean a loop.
        var left = 20_000
        var digest = Digest()
        var isOn = try cursor.first()
        while isOn {
            digest.add(cursor.key)
            digest.add(cursor.value)
            left -= 1
            try expect(left > 0, "a walk that does not end")
            if left % 16 == 0, let value = try read.get(tree, Array(cursor.key)) { digest.add(value) }
            isOn = try cursor.next()
        }
        isOn = try cursor.last()
        while isOn, left > 0 {
            left -= 1
            isOn = try cursor.previous()
        }
        let count = try read.count(tree)
        for _ in 0..<4 {
            _ = try cursor.seek(index: random.next() % max(1, count))
            _ = try read.count(tree, from: random.bytes(1), to: random.bytes(2))
            _ = try read.get(tree, random.bytes(1 + random.below(3)))
        }
    }

    private static func change(_ store: TreeStore, _ random: inout SeededGenerator) throws {
        let write = try store.beginWrite()
        defer { write.abort() }
        for name in Workload.treeNames {
            try tolerate {
                guard let tree = try write.tree(name, create: true) else { return }
                for _ in 0..<12 { try change(write, tree, &random) }
                if random.oneIn(5) { _ = try write.dropTree(name) }
            }
        }
        try write.commit()
    }

    private static func change(_ write: Transaction, _ tree: TreeID, _ random: inout SeededGenerator) throws {
        let number = UInt8(random.below(26))
        let key = random.oneIn(2) ? [number] : [UInt8](repeating: number % 3, count: 200) + [number]
        switch random.below(10) {
        case 0: _ = try write.deleteRange(tree, from: [number], to: random.oneIn(2) ? [] : [number &+ 3])
        case 1..<4: _ = try write.delete(tree, key)
        case 4: try write.put(tree, key, random.bytes(random.below(9000)))
        default: try write.put(tree, key, random.bytes(random.below(700)))
        }
    }
}
