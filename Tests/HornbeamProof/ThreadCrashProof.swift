// SPDX-License-Identifier: Apache-2.0
// Power loss while many threads commit. Their commits share write-throughs, and a checkpoint runs beside them; at
// random calls the file that a power failure could leave is kept together with the numbers acknowledged before. Each
// must open with all of them, whole.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Synchronization

/// Images of a store that threads are writing to.
package final class ThreadCrashProof: Sendable {
    private struct Moment {
        var image: DiskImage?
        var acknowledged: [UInt64]
    }

    private struct State {
        var acknowledged: [UInt64]
        var moments: [Moment] = []
        var random: SeededGenerator
    }

    private let seed: UInt64
    private let wanted: Int
    private let state: Mutex<State>
    private static let writers = 4

    package init(seed: UInt64, images wanted: Int) {
        self.seed = seed
        self.wanted = wanted
        state = Mutex(
            State(
                acknowledged: [UInt64](repeating: 0, count: Self.writers), random: SeededGenerator(seed: seed)))
    }

    /// Writes, then opens all images. Returns their number.
    package func run(commitsOfAWriter: Int) throws -> Int {
        var options = StoreOptions()
        options.pageSize = 4096
        options.checkpointBytes = 100 << 10
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: options)
        let proof = try ConcurrencyProof(store, writers: Self.writers, seed: seed, durability: .full) { [self] in
            note($0, $1)
        }
        disk.whenCalled = { [self] disk in look(disk) }
        try proof.run(seconds: 60, readers: 1, limit: commitsOfAWriter)
        disk.whenCalled = nil
        let moments = state.withLock { $0.moments }
        for (index, moment) in moments.enumerated() {
            do {
                try verify(moment)
            } catch {
                throw ProofFailure("seed \(seed), image \(index): \(error)")
            }
        }
        return moments.count
    }

    private func note(_ writer: Int, _ number: UInt64) { state.withLock { $0.acknowledged[writer] = number } }

    private func look(_ disk: SimulatedDisk) {
        // The acknowledged commits are read before the image is made: commits acknowledged in between are in the
        // image too.
        let chosen = state.withLock { state -> (loss: PowerLoss, acknowledged: [UInt64])? in
            guard state.moments.count < wanted, state.random.oneIn(2) else { return nil }
            return (PowerLoss(seed: state.random.next(), hasGarbage: true), state.acknowledged)
        }
        guard let chosen else { return }
        let image = disk.image(after: chosen.loss)
        state.withLock { $0.moments.append(Moment(image: image, acknowledged: chosen.acknowledged)) }
    }

    private func verify(_ moment: Moment) throws {
        let store = try TreeStore.open(file: try SimulatedDisk(moment.image))
        let read = try store.beginRead()
        defer { read.abort() }
        try ConcurrencyProof.checkSum(read)
        var random = SeededGenerator(seed: seed)
        for (writer, least) in moment.acknowledged.enumerated() {
            let found = try ConcurrencyProof.lastNumber(of: writer, in: read)
            try expect(found >= least, "writer \(writer) has \(found), but \(least) was acknowledged")
            try ConcurrencyProof.checkNumbers(of: writer, in: read, sample: 10, &random)
        }
        var problems: [String] = []
        let isSound = try store.check { problems.append($0) }
        try expect(isSound, "check: \(problems.joined(separator: "; "))")
    }
}
