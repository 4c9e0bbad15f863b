// SPDX-License-Identifier: Apache-2.0
// Calls that fail. A life of a workload continues while calls to the file fail with one error number or another, once
// or for a while, in the workload, in recovery and at the close. After a failed write the same handle continues; after
// a failed sync it refuses writes until it is reopened. In every case all acknowledged commits are there, and nothing
// of the failed ones.

import Glibc
import HornbeamPages
package import HornbeamTestSupport
import HornbeamTree

/// Faults injected into random lives.
package final class FaultProof {
    /// Number of faults, by the failed operation.
    package private(set) var struck: [SimulatedDisk.Operation: Int] = [:]
    /// Number of stores that refused writes afterwards, by the failed operation.
    package private(set) var failed: [SimulatedDisk.Operation: Int] = [:]
    package private(set) var lives = 0
    package var total: Int { struck.values.reduce(0, +) }

    private let seed: UInt64
    private var random: SeededGenerator
    private var workload: Workload
    private var options: StoreOptions
    private var disk: SimulatedDisk
    private var store: TreeStore?
    /// The fault that may have occurred since the last `settle`.
    private var armed: SimulatedDisk.Plan?

    package static let codes = [EIO, ENOSPC, EINTR, EDQUOT, EROFS, EFBIG, EAGAIN, ENOMEM]
    private static let stepsOfALife = 60

    package init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        workload = Workload(seed: seed)
        options = Workload.options(seed: seed)
        disk = try SimulatedDisk()
    }

    /// Lives until `wanted` faults struck.
    package func run(faults wanted: Int, progress: (FaultProof) -> Void = { _ in }) throws {
        try Workload.lives(
            of: seed, after: lives, while: { total < wanted }, place: { "\(workload.place), \(fault)" },
            live: { life in
                lives = life
                try live(until: wanted)
                progress(self)
            })
    }

    private var fault: String {
        armed.map { "\($0.fault) at call \($0.call) of \(disk.calls)\($0.isLasting ? " on" : "")" } ?? "no fault"
    }

    private func live(until wanted: Int) throws {
        let own = random.next()
        options = Workload.options(seed: own)
        workload = Workload(seed: own)
        disk = try SimulatedDisk()
        store = try Workload.open(disk, options)
        for _ in 0..<Self.stepsOfALife where total < wanted {
            if armed == nil, random.oneIn(2) { arm() }
            try step()
            try settle()
        }
        try workload.finish()
        try end()
    }

    // MARK: Faults

    private func arm() {
        let operations: [Set<SimulatedDisk.Operation>?] = [nil, [.write], [.writeThrough], [.sync], [.grow]]
        armed = SimulatedDisk.Plan(
            call: disk.calls + 1 + random.below(6), fault: .error(Self.codes[random.below(Self.codes.count)]),
            isLasting: random.oneIn(4), operations: operations[random.below(operations.count)],
            part: [0, 0.5, 1][random.below(3)])
        disk.plan = armed
    }

    private func step() throws {
        guard let store else { return }
        do {
            try workload.step(store)
        } catch let error as StorageError {
            try expect(!disk.struck.isEmpty, "an error without a fault: \(error)")
            if case .corrupt = error { throw error }
        }
    }

    /// Removes a fault that has occurred, and checks that the store keeps its promises.
    private func settle() throws {
        let struck = disk.struck
        guard let first = struck.first, let plan = armed else { return }
        if plan.isLasting, !random.oneIn(3) { return }
        self.struck[first, default: 0] += 1
        disk.plan = nil
        guard let store else { return }
        try expect(
            try store.digest() == workload.visibleDigest, "the visible state isn't that of the last acknowledged commit"
        )
        if try isFailed(store) {
            failed[first, default: 0] += 1
            // A failed write leaves no doubt once it is repeated or undone.
            try expect(plan.isLasting || first == .sync, "a single failed \(first) made the store refuse writes")
            try reopen()
        } else if struck.contains(.sync) {
            try expect(false, "a failed sync, and the store goes on")
        } else {
            try Workload.expectSound(store)
        }
        if random.oneIn(4) { try verifyImages() }
        armed = nil
    }

    /// Returns whether the store refuses writes. In this state it must not call the file.
    private func isFailed(_ store: TreeStore) throws -> Bool {
        let calls = disk.calls
        do {
            try store.beginWrite().abort()
            return false
        } catch StorageError.failed {
            do {
                try store.checkpoint()
                throw ProofFailure("a failed store makes checkpoints")
            } catch StorageError.failed {}
            try expect(disk.calls == calls, "a failed store still calls the file")
            return true
        }
    }

    // MARK: Afterwards

    /// Verifies the images that a power failure or a kill would leave right now.
    private func verifyImages() throws {
        let newest = workload.committed
        let images: [(DiskImage?, Int)] = [
            (disk.image(after: PowerLoss(seed: random.next(), hasGarbage: true)), workload.durable),
            (disk.imageAfterKill(), max(workload.durable, workload.written)),
        ]
        for (image, least) in images {
            let again = try Workload.open(try SimulatedDisk(image), options)
            _ = try workload.state(of: again, in: least...newest, "after a crash: ")
            try Workload.expectSound(again)
        }
    }

    /// Abandons the store and opens the file again. Sometimes the first attempt fails.
    private func reopen() throws {
        let isLost = random.oneIn(2)
        let image = isLost ? disk.image(after: PowerLoss(seed: random.next())) : disk.imageAfterKill()
        let least = isLost ? workload.durable : max(workload.durable, workload.written)
        store = nil
        workload.letGo()
        disk = try SimulatedDisk(image?.flattened())
        while store == nil {
            let code = Self.codes[random.below(Self.codes.count)]
            let plan = SimulatedDisk.Plan(call: disk.calls + 1 + random.below(12), fault: .error(code))
            disk.plan = random.oneIn(3) ? plan : nil
            do throws(StorageError) {
                store = try Workload.open(disk, options)
            } catch {
                try expect(!disk.struck.isEmpty, "an opening failed without a fault: \(error)")
                if case .failed = error { throw ProofFailure("an opening that fails with .failed: \(error)") }
                disk = try SimulatedDisk(disk.imageAfterKill()?.flattened())
            }
        }
        disk.plan = nil
        guard let store else { return }
        let found = try workload.state(of: store, in: least...workload.committed, "after reopening: ")
        try workload.resume(at: found, store)
        try Workload.expectSound(store)
    }

    /// Closes the store, which may fail; all commits must be in the file.
    private func end() throws {
        guard let store else { return }
        if random.oneIn(2), armed == nil { arm() }
        let digest = try store.digest()
        var isClosed = true
        do { try store.close() } catch { isClosed = false }
        // A store known to have failed closes without an error.
        if !disk.struck.isEmpty { isClosed = false }
        let again = try Workload.open(try SimulatedDisk(disk.imageAfterKill()), options)
        let least = max(workload.durable, workload.written)
        if isClosed {
            try expect(try again.digest() == digest, "after closing: another state")
        } else {
            _ = try workload.state(of: again, in: least...workload.committed, "after closing failed: ")
        }
        try Workload.expectSound(again)
        armed = nil
    }
}
