// SPDX-License-Identifier: Apache-2.0
// Power loss and killed processes at every call that changes the file. One life of a workload is run; in the middle of
// each call the files that a crash there could leave are made and opened: all acknowledged commits must be there, no
// part of a commit, in an order that is a prefix, with every page and sector accounted for. Recoveries are cut in the
// same way, and recoveries of those. Some crashes are carried out, and the life continues from there.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

/// Crash states of workloads, one life after the other, until enough states were verified.
package final class CrashProof: @unchecked Sendable {
    // Sendable: all runs in the one thread that drives the workload.

    /// Number of states that were opened and verified, by the interrupted work: 0 the workload, 1 its recovery, 2 a
    /// recovery after an interrupted recovery, and so on.
    package private(set) var states = [0, 0, 0, 0]
    package private(set) var lives = 0
    /// Lost neighbours can't always be survived; the number of times the store reported one.
    package private(set) var refusals = 0
    /// States that were salvaged as well.
    package private(set) var salvages = 0
    package var total: Int { states.reduce(0, +) }

    private let seed: UInt64
    private var random: SeededGenerator
    private var workload: Workload
    private var options: StoreOptions
    private var store: TreeStore?
    private var failure: (any Error)?
    private static let stepsOfALife = 40
    private static let deepest = 3

    package init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        workload = Workload(seed: seed)
        options = Workload.options(seed: seed)
    }

    /// Lives until `wanted` states were verified.
    package func run(states wanted: Int, progress: (CrashProof) -> Void = { _ in }) throws {
        try Workload.lives(
            of: seed, after: lives, while: { total < wanted }, place: { workload.place },
            live: { life in
                lives = life
                try live(until: wanted)
                progress(self)
            })
    }

    private func live(until wanted: Int) throws {
        let own = random.next()
        options = Workload.options(seed: own)
        workload = Workload(seed: own)
        var disk = try SimulatedDisk()
        var store = try watch(disk) { try Workload.open(disk, options) }
        for _ in 0..<Self.stepsOfALife where total < wanted {
            self.store = store
            try watch(disk) { try workload.step(store) }
            if random.oneIn(15) { (disk, store) = try crash(disk) }
        }
        self.store = nil
        try workload.finish()
        try watch(disk) { try store.close() }
        try verify(disk.imageAfterKill(), workload.committed...workload.committed, depth: 0)
    }

    /// Runs `body` on the store on `disk`, and verifies crash states in each call that it makes.
    private func watch<Result>(_ disk: SimulatedDisk, _ body: () throws -> Result) throws -> Result {
        disk.whenCalled = { [self] disk in look(disk) }
        defer { disk.whenCalled = nil }
        let result = try body()
        if let failure { throw failure }
        return result
    }

    /// Verifies crash states during a call of the workload.
    private func look(_ disk: SimulatedDisk) {
        guard failure == nil else { return }
        do {
            let newest = workload.committed
            for hasGarbage in [false, true] {
                let loss = PowerLoss(seed: random.next(), hasGarbage: hasGarbage)
                try verify(disk.image(after: loss), workload.durable...newest, depth: 0)
            }
            if random.oneIn(3) {
                try verify(disk.imageAfterKill(), max(workload.written, workload.durable)...newest, depth: 0)
            }
            if random.oneIn(8) { try loseNeighbour(disk) }
            // Not if commits begin checkpoints by themselves: such a commit would wait for this checkpoint.
            if let store, options.checkpointBytes == 0, random.oneIn(3) { try workload.commitMeanwhile(store) }
        } catch {
            failure = ProofFailure("crash at call \(disk.calls), \(disk.operations.last?.rawValue ?? ""): \(error)")
        }
    }

    /// Opens the file left by a crash, which must have one of the `allowed` states.
    private func verify(_ image: DiskImage?, _ allowed: ClosedRange<Int>, depth: Int) throws {
        states[depth] += 1
        let disk = try SimulatedDisk(image)
        // Some recoveries are themselves interrupted, at each of their calls.
        var cuts: [DiskImage?] = []
        let isCut = depth < Self.deepest && random.oneIn([8, 20, 30][depth])
        let collected = Cuts()
        if isCut { collectCuts(of: disk, in: collected) }
        let store = try Workload.open(disk, options)
        disk.whenCalled = nil
        cuts = collected.images
        let found = try workload.state(of: store, in: allowed)
        try Workload.expectSound(store)
        for cut in cuts { try verify(cut, found...found, depth: depth + 1) }
        if let image, random.oneIn(30) {
            try SalvageProof.run(image, digest: workload.digests[found])
            try SalvageProof.runDamaged(image, states: workload.models, seed: random.next())
            salvages += 1
        }
        if random.oneIn(12) { try expectLife(disk, store) }
    }

    private final class Cuts: @unchecked Sendable {
        // Sendable: used in one thread.
        var images: [DiskImage?] = []
    }

    private func collectCuts(of disk: SimulatedDisk, in cuts: Cuts) {
        let seed = random.next()
        disk.whenCalled = { disk in
            let loss = PowerLoss(seed: seed &+ UInt64(disk.calls), hasGarbage: disk.calls % 2 == 0)
            cuts.images.append(disk.image(after: loss))
            if disk.calls % 3 == 0 { cuts.images.append(disk.imageAfterKill()) }
        }
    }

    /// Checks that the recovered store is usable: it commits, loses power, and has the same state.
    private func expectLife(_ disk: SimulatedDisk, _ store: TreeStore) throws {
        for round in 0..<3 {
            let write = try store.beginWrite()
            for name in Workload.treeNames {
                guard let tree = try write.tree(name, create: true, options: workload.options(of: name)) else {
                    continue
                }
                try write.put(tree, [200, UInt8(round)], random.bytes(random.below(3000)))
            }
            try write.commit()
        }
        let digest = try store.digest()
        if random.oneIn(2) { try store.close() }
        let image = disk.image(after: PowerLoss(seed: random.next()))
        let again = try Workload.open(try SimulatedDisk(image), options)
        try expect(try again.digest() == digest, "commits after a recovery were lost")
        try Workload.expectSound(again)
    }

    /// Destroys a sector next to the one being written: answers must be right, or an error must report the damage. A
    /// store can't know how many records it had: the newest records may be missing without an error.
    private func loseNeighbour(_ disk: SimulatedDisk) throws {
        let image = disk.image(after: PowerLoss(seed: random.next(), losesNeighbour: true))
        states[0] += 1
        do {
            let store = try Workload.open(try SimulatedDisk(image), options)
            let allowed = max(0, min(workload.durable - 1, workload.durableBefore))...workload.committed
            _ = try workload.state(of: store, in: allowed, "a lost neighbour gave a wrong answer in silence: ")
        } catch is StorageError {
            refusals += 1
        }
    }

    /// Lets power fail or kills the process, and continues the workload with the remaining file.
    private func crash(_ disk: SimulatedDisk) throws -> (SimulatedDisk, TreeStore) {
        let isKilled = random.oneIn(3)
        let image =
            isKilled ? disk.imageAfterKill() : disk.image(after: PowerLoss(seed: random.next(), hasGarbage: true))
        let next = try SimulatedDisk(image?.flattened())
        let store = try Workload.open(next, options)
        let least = isKilled ? max(workload.written, workload.durable) : workload.durable
        try workload.resume(at: try workload.state(of: store, in: least...workload.committed), store)
        return (next, store)
    }
}
