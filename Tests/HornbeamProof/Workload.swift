// SPDX-License-Identifier: Apache-2.0
// A random but repeatable life of a store, with a model beside it: single puts, batches, long values, large
// transactions, range deletes, trees made and dropped, aborts, checkpoints, snapshots held for a while. It keeps what
// each commit made and how far commits were acknowledged.

package import HornbeamPages
import HornbeamTestSupport
package import HornbeamTree

/// Runs steps against a store and remembers what was acknowledged.
package final class Workload: @unchecked Sendable {
    // Sendable: the thread that runs the steps is the one whose calls to the disk are looked at.

    /// Digest of the store after commit 0, 1, 2 …, the one under way included.
    package private(set) var digests: [UInt64]
    /// Commits that must survive a power failure, and those that must survive the end of the process.
    package private(set) var durable = 0
    package private(set) var written = 0
    package private(set) var steps = 0
    /// What was done last, for messages.
    package private(set) var lastStep = "opening"
    package private(set) var model = ModelStore()
    /// The model if the commit under way succeeds.
    private var coming = ModelStore()
    private var random: SeededGenerator
    private var held: [(read: Transaction, digest: UInt64)] = []

    static let treeNames = ["deep", "short", "long"]
    private static let counterTree = "counter"

    package init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        digests = [model.digest]
    }

    /// How a store is opened whose life this is: small pages, often checkpoints soon, sometimes without a mapping and
    /// with hardly any memory.
    package static func options(seed: UInt64) -> StoreOptions {
        var options = StoreOptions()
        options.pageSize = 4096
        options.checkpointBytes = [0, 24 << 10, 64 << 10, 200 << 10][Int(seed % 4)]
        options.access = seed / 4 % 3 == 0 ? .read : .mapped
        options.cacheBytes = seed / 16 % 2 == 0 ? 128 << 10 : 1 << 20
        return options
    }

    package var committed: Int { digests.count - 1 }

    /// Of the last acknowledged commit.
    package var visibleDigest: UInt64 { model.digest }

    /// Forgets the snapshots of a store that is given up.
    package func letGo() { held.removeAll() }

    /// The life goes on after a crash in a store that was found in state `index`.
    package func resume(at index: Int, _ store: TreeStore) throws {
        held.removeAll()
        digests.removeLast(digests.count - 1 - index)
        // The model of an earlier state is read back: it was just found equal to what it should be.
        model = try Self.model(of: store)
        try expect(model.digest == digests[index], "a digest of the model differs from that of the store")
        durable = index
        written = index
    }

    /// Lets go of snapshots.
    package func finish() throws {
        for snapshot in held { try check(snapshot) }
        held.removeAll()
    }

    /// One step. Throws what the store throws; then nothing of the step counts unless the outcome is unknown.
    package func step(_ store: TreeStore) throws {
        steps += 1
        switch random.below(40) {
        case 0..<12: try transaction(store, "put", changes: 1)
        case 12..<23: try transaction(store, "batch", changes: 2 + random.below(12))
        case 23: try transaction(store, "large", changes: 6, isLarge: true)
        case 24..<27: try dropOrRange(store)
        case 27..<29:
            lastStep = "abort"
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            coming = model
            for _ in 0...random.below(10) { try change(transaction) }
        case 29..<31:
            try checkpoint(store)
        case 31..<34:
            lastStep = "begin a snapshot"
            if held.count < 3 { held.append((try store.beginRead(), model.digest)) }
        case 34..<36:
            lastStep = "end a snapshot"
            if !held.isEmpty { try check(held.remove(at: random.below(held.count))) }
        case 36:
            lastStep = "compact"
            try store.compact(stepPages: 4)
        default: try transaction(store, "put", changes: 1)
        }
    }

    /// One put that is durable.
    package func putDurably(_ store: TreeStore) throws {
        try transaction(store, "put", changes: 1, durability: .full)
    }

    // MARK: Checkpoints

    /// Whether a checkpoint is writing that doesn't keep others from committing.
    package private(set) var isCheckpointing = false

    private func checkpoint(_ store: TreeStore) throws {
        lastStep = "checkpoint"
        let included = committed
        isCheckpointing = true
        defer { isCheckpointing = false }
        try store.checkpoint()
        durable = max(durable, included)
        written = max(written, included)
    }

    /// In the middle of a checkpoint's call: a commit, as another thread would make it. Not where that commit would
    /// have to wait for the checkpoint, which goes on only after it.
    package func commitMeanwhile(_ store: TreeStore) throws {
        let statistics = store.statistics
        guard isCheckpointing, statistics.journalBytes < 128 << 10 else { return }
        isCheckpointing = false
        defer { isCheckpointing = true }
        try transaction(store, "commit beside a checkpoint", changes: 1)
        lastStep = "checkpoint"
    }

    private func check(_ snapshot: (read: Transaction, digest: UInt64)) throws {
        defer { snapshot.read.abort() }
        try expect(try snapshot.read.digest() == snapshot.digest, "a snapshot changed while it was held")
    }

    // MARK: Transactions

    private func transaction(
        _ store: TreeStore, _ what: String, changes: Int, isLarge: Bool = false, durability given: Durability? = nil
    ) throws {
        let durability = given ?? [.full, .full, .full, .process, .none][random.below(5)]
        lastStep = "\(what) \(durability)"
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        transaction.durability = durability
        coming = model
        for _ in 0..<changes { try change(transaction, isLarge: isLarge) }
        try commit(transaction, store)
    }

    private func dropOrRange(_ store: TreeStore) throws {
        lastStep = "drop or delete a range"
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        coming = model
        let name = Self.treeNames[random.below(Self.treeNames.count)]
        if random.oneIn(3) {
            let was = coming.trees.removeValue(forKey: name) != nil
            try expect(try transaction.dropTree(name) == was, "dropping a tree")
        } else if let tree = try transaction.tree(name) {
            let (from, to) = (key(name), key(name))
            let all = coming.trees[name] ?? [:]
            let rest = all.filter { !Self.isIn($0.key, from, to) }
            coming.trees[name] = rest
            let deleted = try transaction.deleteRange(tree, from: from, to: to)
            try expect(deleted == UInt64(all.count - rest.count), "the number of entries in a range")
        }
        try commit(transaction, store)
    }

    private static func isIn(_ key: [UInt8], _ from: [UInt8], _ to: [UInt8]) -> Bool {
        key.withUnsafeBytes { k in
            from.withUnsafeBytes { k.order($0) >= 0 } && to.withUnsafeBytes { k.order($0) < 0 }
        }
    }

    private func commit(_ transaction: Transaction, _ store: TreeStore) throws {
        // Makes every state differ from all others.
        let number = withUnsafeBytes(of: UInt64(committed + 1).littleEndian) { Array($0) }
        guard let counter = try transaction.tree(Self.counterTree, create: true) else { return }
        try transaction.put(counter, [1], number)
        coming.trees[Self.counterTree] = [[1]: number]
        let durability = transaction.durability
        digests.append(coming.digest)
        do throws(StorageError) {
            try transaction.commit()
        } catch {
            // The outcome of `.failed` is open until the store was opened again; any other error leaves no trace.
            if case .failed = error {} else { digests.removeLast() }
            throw error
        }
        model = coming
        if durability == .full { durable = committed }
        if durability != .none { written = committed }
    }

    private func change(_ transaction: Transaction, isLarge: Bool = false) throws {
        let name = Self.treeNames[isLarge ? 2 : random.below(Self.treeNames.count)]
        guard let tree = try transaction.tree(name, create: true) else { return }
        var entries = coming.trees[name] ?? [:]
        let key = key(name)
        if !isLarge, random.oneIn(4) {
            try expect(
                try transaction.delete(tree, key) == (entries.removeValue(forKey: key) != nil), "deleting a key")
        } else {
            let value = value(name, isLarge: isLarge)
            try transaction.put(tree, key, value)
            entries[key] = value
        }
        coming.trees[name] = entries
    }

    private func key(_ tree: String) -> [UInt8] {
        let number = UInt8(random.below(tree == "long" ? 6 : 24))
        return tree == "deep" ? [UInt8](repeating: number % 3, count: 200) + [number] : [number]
    }

    private func value(_ tree: String, isLarge: Bool) -> [UInt8] {
        let size: Int
        switch tree {
        case "long" where isLarge: size = 70_000 + random.below(60_000)
        case "long": size = 1500 + random.below(9000)
        case "deep": size = random.below(600)
        default: size = random.below(30)
        }
        return random.bytes(size)
    }

    static func model(of store: TreeStore) throws -> ModelStore {
        let read = try store.beginRead()
        defer { read.abort() }
        var model = ModelStore()
        for name in try read.treeNames() {
            guard let tree = try read.tree(name) else { continue }
            var entries: [[UInt8]: [UInt8]] = [:]
            var cursor = try read.cursor(tree)
            while try cursor.next() { entries[Array(cursor.key)] = Array(cursor.value) }
            model.trees[name] = entries
        }
        return model
    }
}
