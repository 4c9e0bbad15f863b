// SPDX-License-Identifier: Apache-2.0
// Fuzz target: operations on a store beside a simple model, with faults and crashes. The workload's invariant: after
// reopening, the store is the model as of the last acknowledged commit, or of the one under way.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

/// Reads operations from `input` and runs them.
public func fuzzStore(_ input: UnsafeRawBufferPointer) {
    guard var run = StoreRun(input) else { return }
    run.run()
}

private struct StoreRun {
    private var input: UnsafeRawBufferPointer
    private var place = 0
    private var disk: SimulatedDisk
    private var store: TreeStore
    /// What the last acknowledged commit left.
    private var committed: [[UInt8]: [UInt8]] = [:]

    init?(_ input: UnsafeRawBufferPointer) {
        guard let disk = try? SimulatedDisk(), let store = try? TreeStore.open(file: disk) else { return nil }
        self.input = input
        self.disk = disk
        self.store = store
    }

    private mutating func byte() -> UInt8? {
        guard place < input.count else { return nil }
        defer { place += 1 }
        return input[place]
    }

    mutating func run() {
        while let operation = byte() {
            switch operation & 7 {
            case 0: crash(seed: UInt64(byte() ?? 0))
            case 1: try? store.checkpoint()
            case 2: disk.plan = .init(call: disk.calls + 1 + Int(byte() ?? 0) % 40, fault: .crash)
            case 3: disk.plan = .init(call: disk.calls + 1 + Int(byte() ?? 0) % 40, fault: .error(EIO))
            default: transaction(Int(operation >> 3) + 1)
            }
        }
        disk.plan = nil
        crash(seed: 1)
    }

    private mutating func transaction(_ changes: Int) {
        var model = committed
        do throws(StorageError) {
            let transaction = try store.beginWrite()
            guard let tree = try transaction.tree("fuzz", create: true) else { return }
            for _ in 0..<changes {
                guard let kind = byte(), let number = byte() else { break }
                let key = Array("key \(number & 63)".utf8)
                if kind & 3 == 0 {
                    let was = try transaction.delete(tree, key)
                    precondition(was == (model.removeValue(forKey: key) != nil), "delete")
                } else {
                    let value = [UInt8](repeating: number, count: Int(kind) * Int(kind) / 8)
                    try transaction.put(tree, key, value)
                    model[key] = value
                }
            }
            try transaction.commit()
            committed = model
        } catch {
            // Unknown outcome: reopening must give the state before or after.
            reopen(seed: 2, maybe: model)
        }
    }

    private mutating func crash(seed: UInt64) {
        reopen(seed: seed, maybe: nil)
    }

    /// Power fails; the store opens from what the medium may hold.
    private mutating func reopen(seed: UInt64, maybe: [[UInt8]: [UInt8]]?) {
        disk.plan = nil
        let image = seed & 1 == 0 ? disk.powerLossImage(seed: seed) : disk.killedImage()
        do throws(StorageError) {
            disk = try SimulatedDisk(image: image)
            store = try TreeStore.open(file: disk)
            let found = try content()
            precondition(found == committed || found == maybe, "the store is neither of the states it may be in")
            committed = found
            let isSound = try store.check { _ in }
            precondition(isSound, "the check found a problem")
        } catch {
            preconditionFailure("reopening failed: \(error)")
        }
    }

    private func content() throws(StorageError) -> [[UInt8]: [UInt8]] {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        guard let tree = try transaction.tree("fuzz") else { return [:] }
        var found: [[UInt8]: [UInt8]] = [:]
        var cursor = try transaction.cursor(tree)
        while try cursor.next() { found[Array(cursor.key)] = Array(cursor.value) }
        return found
    }
}
