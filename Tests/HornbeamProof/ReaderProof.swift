// SPDX-License-Identifier: Apache-2.0
// Processes that read beside one that writes. Before and during each call of the writer the readers look at the file,
// and the writer commits while a reader chooses a state. A new snapshot must be whole, and of a state that no power
// failure can undo: the newest commit acknowledged as durable, or a later one. A held snapshot must not change,
// through its writer's death, the recovery by a reader or the next writer, and that writer's life.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

/// Lives of a writer and its readers, until enough snapshots were compared.
package final class ReaderProof: @unchecked Sendable {
    // Sendable: all runs in the one thread that drives the workload.

    /// Number of snapshots that were compared, new and held ones.
    package private(set) var snapshots = 0
    package private(set) var heldAgain = 0
    /// Number of writers that died while snapshots of their states were held.
    package private(set) var deaths = 0
    package private(set) var lives = 0

    private final class Reader {
        let process: SimulatedProcess
        let store: TreeStore
        var held: [(read: Transaction, digest: UInt64)] = []
        /// The number of the newest state that it saw.
        var newest = 0

        init(_ disk: SimulatedDisk, _ shared: SimulatedProcess.Shared, _ options: StoreOptions) throws {
            var options = options
            options.readOnly = true
            process = try SimulatedProcess(on: disk, shared, options: options)
            store = try TreeStore.follow(process, options: options, reductions: [Workload.composition])
        }

        func letGo() {
            for snapshot in held { snapshot.read.abort() }
            held.removeAll()
        }
    }

    private let seed: UInt64
    private var random: SeededGenerator
    private var workload: Workload
    private var options: StoreOptions
    private var disk: SimulatedDisk
    private var shared = SimulatedProcess.Shared()
    private var writer: SimulatedProcess?
    private var store: TreeStore?
    private var readers: [Reader] = []
    /// True while a writer opens the file: readers wait for it then, and in a single thread they would wait for ever.
    private var isOpening = false
    private var isLooking = false
    private var isWriting = false
    private var isWriterIdle = false
    /// Number of calls until the writer dies.
    private var callsLeft: Int?
    /// Number of commits that a killed writer had acknowledged as durable.
    private var durableAtDeath: Int?
    private var failure: (any Error)?
    private static let stepsOfALife = 40

    package init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        workload = Workload(seed: seed)
        options = Workload.options(seed: seed)
        disk = try SimulatedDisk()
    }

    /// Lives until `wanted` snapshots were compared.
    package func run(snapshots wanted: Int, progress: (ReaderProof) -> Void = { _ in }) throws {
        try Workload.lives(
            of: seed, after: lives, while: { snapshots + heldAgain < wanted }, place: { workload.place },
            live: { life in
                lives = life
                try live(until: wanted)
                progress(self)
            })
    }

    private func live(until wanted: Int) throws {
        let own = random.next()
        options = Workload.options(seed: own)
        options.lockWaitMilliseconds = 0
        workload = Workload(seed: own)
        disk = try SimulatedDisk()
        shared = SimulatedProcess.Shared()
        try openWriter()
        readers = try (0..<2).map { _ in try newReader() }
        watch()
        for _ in 0..<Self.stepsOfALife where snapshots + heldAgain < wanted {
            if random.oneIn(4) { callsLeft = 1 + random.below(20) }
            try step()
            isWriterIdle = true
            try look(chance: 2)
            isWriterIdle = false
            if let failure { throw failure }
            if random.oneIn(12) { try replaceReader() }
        }
        try end()
    }

    private func step() throws {
        guard let store else { return }
        do {
            try workload.step(store)
        } catch let error as StorageError {
            guard callsLeft == 0 else { throw error }
        }
        if let failure { throw failure }
        guard callsLeft == 0 else {
            callsLeft = nil
            return
        }
        callsLeft = nil
        try succeed()
    }

    /// Ends all snapshots; the file must be sound and keep nothing for former readers.
    private func end() throws {
        for reader in readers { reader.letGo() }
        readers.removeAll()
        try workload.finish()
        if let store {
            for _ in 0..<2 { try workload.putDurably(store) }
            try Workload.expectSound(store)
            try store.close()
        }
        unwatch()
        (store, writer) = (nil, nil)
    }

    // MARK: Watching

    private func watch() {
        shared.beforeCall = { [unowned self] in call(isBefore: true) }
        shared.duringChoice = { [unowned self] in writeMeanwhile() }
        disk.whenCalled = { [unowned self] _ in call(isBefore: false) }
    }

    private func unwatch() {
        shared.beforeCall = nil
        shared.duringChoice = nil
        disk.whenCalled = nil
    }

    /// Lets readers look before or during a call of the writer.
    private func call(isBefore: Bool) {
        guard failure == nil, !isLooking else { return }
        do { try look(chance: 12) } catch {
            failure = ProofFailure(
                "\(isBefore ? "before call \(disk.calls + 1)" : "at call \(disk.calls)"): \(error)")
        }
        if !isBefore, let left = callsLeft, left > 0 {
            callsLeft = left - 1
            if left == 1 { kill() }
        }
    }

    /// Lets the writer continue just when a reader chooses its state and pins it.
    private func writeMeanwhile() {
        guard failure == nil, isWriterIdle, !isWriting, random.oneIn(3), let store else { return }
        isWriting = true
        defer { isWriting = false }
        do { for _ in 0..<1 + random.below(3) { try workload.put(store) } } catch { failure = error }
    }

    // MARK: Looking

    private func look(chance: Int) throws {
        isLooking = true
        defer { isLooking = false }
        for reader in readers {
            if !reader.held.isEmpty, random.oneIn(chance) {
                let snapshot = reader.held[random.below(reader.held.count)]
                try expect(
                    try snapshot.read.digest() == snapshot.digest, "a snapshot of another process changed")
                heldAgain += 1
            }
            if !isOpening, random.oneIn(chance) { try begin(reader) }
        }
    }

    private func begin(_ reader: Reader) throws {
        let least = durableAtDeath ?? workload.durable
        let read = try reader.store.beginRead()
        let digest = try read.digest()
        guard let found = workload.digests.lastIndex(of: digest) else {
            throw ProofFailure("a reader in another process sees a state that is none")
        }
        try expect(found >= least, "a reader in another process sees commit \(found), \(least) was durable before")
        try expect(found >= reader.newest, "a reader goes back from commit \(reader.newest) to \(found)")
        reader.newest = found
        snapshots += 1
        if random.oneIn(4) { try expectDurable(found) }
        if reader.held.count < 3, random.oneIn(3) {
            reader.held.append((read, digest))
        } else {
            read.abort()
            if !reader.held.isEmpty, random.oneIn(3) {
                reader.held.remove(at: random.below(reader.held.count)).read.abort()
            }
        }
    }

    /// Checks that a power failure now can't undo the state that a reader saw.
    private func expectDurable(_ index: Int) throws {
        let image = disk.image(after: PowerLoss(seed: random.next(), hasGarbage: true))
        let recovered = try Workload.open(try SimulatedDisk(image), options)
        let when = "a reader in another process saw commit \(index), which a power failure undid: "
        _ = try workload.state(of: recovered, in: index...workload.committed, when)
    }

    // MARK: Deaths

    /// Kills the writer. Its later results are ignored.
    private func kill() {
        durableAtDeath = workload.durable
        writer?.kill()
    }

    /// Replaces the dead writer. A reader that looks now recovers the file, or the next writer does.
    private func succeed() throws {
        store = nil
        writer = nil
        workload.letGo()
        if readers.contains(where: { !$0.held.isEmpty }) { deaths += 1 }
        // Readers that die with the writer; the others keep their snapshots.
        if random.oneIn(6) { readers.removeAll { _ in random.oneIn(2) } }
        // If no snapshots are held, recovery reuses sectors whose pages readers may have cached.
        if random.oneIn(2) { for reader in readers { reader.letGo() } }
        if let first = readers.first, random.oneIn(2) {
            isOpening = true
            try begin(first)
        }
        try openWriter()
        while readers.count < 2 { readers.append(try newReader()) }
    }

    private func openWriter() throws {
        isOpening = true
        defer { isOpening = false }
        let process = try SimulatedProcess(on: disk, shared, options: options)
        writer = process
        let opened = try Workload.open(process, options)
        if let failure { throw failure }
        store = opened
        let least = max(workload.written, workload.durable)
        let found = try workload.state(of: opened, in: least...workload.committed, "the next writer: ")
        try workload.resume(at: found, opened)
        durableAtDeath = nil
        for reader in readers {
            try expect(reader.newest <= found, "a reader saw commit \(reader.newest), the next writer finds \(found)")
        }
        try Workload.expectSound(opened)
    }

    private func newReader() throws -> Reader { try Reader(disk, shared, options) }

    /// Ends a reader's process, even if it holds snapshots.
    private func replaceReader() throws {
        let old = readers.remove(at: random.below(readers.count))
        old.process.kill()
        readers.append(try newReader())
    }
}
