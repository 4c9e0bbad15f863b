// SPDX-License-Identifier: Apache-2.0
// Fuzz target: operations on a store beside a simple model, with faults and crashes. After each of them the store is
// sound, and equals the model as of the last acknowledged commit, or of one whose outcome is unknown.

import Glibc
import HornbeamPages
import HornbeamProof
import HornbeamTestSupport
import HornbeamTree

/// Reads operations from `input` and runs them.
public func fuzzStore(_ input: UnsafeRawBufferPointer) {
    guard var run = StoreRun(input) else { return }
    do {
        try run.run()
    } catch {
        preconditionFailure("\(error)")
    }
}

private struct StoreRun {
    private var input: UnsafeRawBufferPointer
    private var place = 0
    private var disk: SimulatedDisk
    private var store: TreeStore
    /// The state after the last acknowledged commit.
    private var committed = ModelStore()
    /// Whether a fault was armed since the store was opened.
    private var isFaulty = false
    private static let names = ["a", "b", "c", "d"]

    init?(_ input: UnsafeRawBufferPointer) {
        guard let disk = try? SimulatedDisk(), let store = try? TreeStore.open(file: disk, options: Self.options) else {
            return nil
        }
        self.input = input
        self.disk = disk
        self.store = store
    }

    private static var options: StoreOptions {
        var options = StoreOptions()
        options.pageSize = 4096
        return options
    }

    private mutating func byte() -> UInt8? {
        guard place < input.count else { return nil }
        defer { place += 1 }
        return input[place]
    }

    mutating func run() throws {
        while let operation = byte() {
            switch operation & 7 {
            case 0: try reopen(seed: UInt64(byte() ?? 0), maybe: nil)
            case 1: try tolerate { (store) throws(StorageError) in try store.checkpoint() }
            case 2: arm(.crash)
            case 3: arm(.error([EIO, ENOSPC][Int(operation >> 3) & 1]))
            default: try transaction(Int(operation >> 3) + 1)
            }
        }
        disk.plan = nil
        try reopen(seed: 1, maybe: nil)
    }

    private mutating func arm(_ fault: SimulatedDisk.Fault) {
        isFaulty = true
        disk.plan = .init(call: disk.calls + 1 + Int(byte() ?? 0) % 40, fault: fault)
    }

    /// Every error must have a fault as its cause.
    private func tolerate(_ body: (TreeStore) throws(StorageError) -> Void) throws {
        do throws(StorageError) { try body(store) } catch { try checkCause(of: error) }
    }

    private func checkCause(of error: StorageError) throws {
        guard isFaulty else { throw ProofFailure("an error without a fault: \(error)") }
    }

    // MARK: Transactions

    private mutating func transaction(_ changes: Int) throws {
        var model = committed
        do throws(StorageError) {
            let transaction = try store.beginWrite()
            for _ in 0..<changes { guard try change(transaction, &model) else { break } }
            try transaction.commit()
            committed = model
        } catch {
            try checkCause(of: error)
            if case .failed = error { return try reopen(seed: 2, maybe: model) }
            if disk.hasCrashed { return try reopen(seed: 3, maybe: model) }
            let digest = try store.digest()
            guard digest == committed.digest else { throw ProofFailure("a failed transaction shows") }
        }
    }

    /// Makes a change given by two bytes. Returns false at the input's end.
    private mutating func change(_ transaction: Transaction, _ model: inout ModelStore) throws(StorageError) -> Bool {
        guard let kind = byte(), let number = byte() else { return false }
        let name = Self.names[Int(number >> 6)]
        let key = Self.key(number & 63)
        if kind == 255 {
            let was = try transaction.dropTree(name)
            precondition(was == (model.trees.removeValue(forKey: name) != nil), "dropping a tree")
            return true
        }
        guard let tree = try transaction.tree(name, create: true) else { return false }
        var entries = model.trees[name] ?? [:]
        switch kind & 3 {
        case 0:
            let was = try transaction.delete(tree, key)
            precondition(was == (entries.removeValue(forKey: key) != nil), "deleting a key")
        case 1 where kind > 200:
            let rest = entries.filter { $0.key.lexicographicallyPrecedes(key) }
            let deleted = try transaction.deleteRange(tree, from: key, to: [])
            precondition(deleted == UInt64(entries.count - rest.count), "deleting a range")
            entries = rest
        default:
            let value = [UInt8](repeating: number, count: Int(kind) * Int(kind) / 8)
            try transaction.put(tree, key, value)
            entries[key] = value
        }
        model.trees[name] = entries
        return true
    }

    private static func key(_ number: UInt8) -> [UInt8] {
        number < 32 ? [number] : [UInt8](repeating: 7, count: Int(number) * 5) + [number]
    }

    // MARK: Crashes

    /// Power fails, or the process is killed; the store opens from the remaining file.
    private mutating func reopen(seed: UInt64, maybe: ModelStore?) throws {
        isFaulty = false
        let image =
            seed & 1 == 0
            ? disk.image(after: PowerLoss(seed: seed, hasGarbage: seed & 2 == 0)) : disk.imageAfterKill()
        disk = try SimulatedDisk(image)
        store = try TreeStore.open(file: disk, options: Self.options)
        let found = try store.digest()
        if let maybe, found == maybe.digest { committed = maybe }
        guard found == committed.digest else {
            throw ProofFailure("the store is neither of the states in which it may be")
        }
        guard try store.check(report: { _ in }) else { throw ProofFailure("the check found a problem") }
    }
}
