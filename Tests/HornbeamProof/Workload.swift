// SPDX-License-Identifier: Apache-2.0
// A random but repeatable life of a store, with a model beside it: single puts, batches, appends, long values at once
// and in parts, large transactions, nested savepoints, range deletes, trees made and dropped, aborts, checkpoints,
// compactions with commits between their steps, backups, snapshots held for a while. It keeps the state after each
// commit and the number of acknowledged commits.

import Glibc
import HornbeamCipher
package import HornbeamPages
import HornbeamTestSupport
package import HornbeamTree

/// Runs steps on a store and remembers the acknowledged ones.
package final class Workload: @unchecked Sendable {
    // Sendable: the thread that runs the steps is the one whose calls to the disk are observed.

    /// Digests of the store after commit 0, 1, 2 …, including the commit in progress.
    package private(set) var digests: [UInt64]
    /// The content after each of these commits.
    private(set) var models: [ModelStore]
    /// Number of commits that must survive a power failure; `written` is that of commits that must survive the
    /// process's end.
    package private(set) var durable = 0
    /// The value of `durable` before the journal's newest write-through, whose records may share a sector with
    /// earlier ones.
    package private(set) var durableBefore = 0
    package private(set) var written = 0
    package private(set) var steps = 0
    /// The last step, for messages.
    package private(set) var lastStep = "opening"
    package private(set) var model = ModelStore()
    /// The model if the commit in progress succeeds.
    private var coming = ModelStore()
    /// Whether the leaves of one tree are compressed.
    private let compresses: Bool
    private let reducesDeep: Bool
    private var random: SeededGenerator
    /// The number of the next key to append; a number is never used twice.
    private var appended: UInt32 = 0
    private var held: [(read: Transaction, digest: UInt64)] = []

    static let treeNames = ["deep", "short", "long", "log"]
    private static let counterTree = "counter"

    package init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        compresses = seed / 32 % 2 == 0
        reducesDeep = seed / 64 % 2 == 0
        digests = [model.digest]
        models = [model]
    }

    /// The options of a store with this life: small pages, often early checkpoints; sometimes no mapping, hardly any
    /// memory, or encryption.
    package static func options(seed: UInt64) -> StoreOptions {
        var options = StoreOptions()
        options.pageSize = 4096
        options.checkpointBytes = [0, 24 << 10, 64 << 10, 200 << 10][Int(seed % 4)]
        options.access = seed / 4 % 3 == 0 ? .read : .mapped
        options.cacheBytes = seed / 16 % 2 == 0 ? 128 << 10 : 1 << 20
        if isEncrypted || seed / 128 % 4 == 0 { options.encryption = key }
        return options
    }

    /// The key of encrypted lives.
    package static let key: any StoreEncryption = StoreKey(key: [UInt8](0..<32))
    /// Whether all lives are encrypted, because an environment variable says so, and not only every fourth.
    package static let isEncrypted = getenv("HORNBEAM_PROOF_ENCRYPTED") != nil

    package var committed: Int { digests.count - 1 }

    /// The digest of the last acknowledged commit.
    package var visibleDigest: UInt64 { model.digest }

    /// Forgets the snapshots of an abandoned store.
    package func letGo() { held.removeAll() }

    /// Continues the life after a crash, in a store that was found in state `index`.
    package func resume(at index: Int, _ store: TreeStore) throws {
        held.removeAll()
        digests.removeLast(digests.count - 1 - index)
        models.removeLast(models.count - 1 - index)
        // The model is read back from the store, which was just found equal to the expected state.
        model = try Self.model(of: store)
        try expect(model.digest == digests[index], "a digest of the model differs from that of the store")
        durable = index
        durableBefore = index
        written = index
    }

    /// Ends snapshots.
    package func finish() throws {
        for snapshot in held { try check(snapshot) }
        held.removeAll()
    }

    /// Makes a step. Rethrows the store's errors; a step that threw has no effect, unless its outcome is unknown.
    package func step(_ store: TreeStore) throws {
        steps += 1
        switch random.below(48) {
        case 0..<12: try transaction(store, "put", changes: 1)
        case 12..<22: try transaction(store, "batch", changes: 2 + random.below(12))
        case 22: try transaction(store, "large", changes: 6, isLarge: true)
        case 23..<26: try dropOrRange(store)
        case 26..<31: try nest(store)
        case 31..<34: try append(store)
        case 34: try stream(store)
        case 35..<37:
            lastStep = "abort"
            let transaction = try store.beginWrite()
            defer { transaction.abort() }
            coming = model
            for _ in 0...random.below(10) { try change(transaction) }
        case 37..<39: try checkpoint(store)
        case 39..<42:
            lastStep = "begin a snapshot"
            if held.count < 3 { held.append((try store.beginRead(), model.digest)) }
        case 42..<44:
            lastStep = "end a snapshot"
            if !held.isEmpty { try check(held.remove(at: random.below(held.count))) }
        case 44..<46: try compact(store)
        case 46 where random.oneIn(3):
            lastStep = "back up"
            try BackupProof.run(store, digest: model.digest, seed: random.next())
        default: try transaction(store, "put", changes: 1)
        }
    }

    /// Puts an entry.
    package func put(_ store: TreeStore) throws { try transaction(store, "put", changes: 1) }

    /// Puts an entry durably.
    package func putDurably(_ store: TreeStore) throws {
        try transaction(store, "put", changes: 1, durability: .full)
    }

    // MARK: Checkpoints

    /// Whether a checkpoint is in progress during which others can commit.
    package private(set) var isCheckpointing = false

    private func checkpoint(_ store: TreeStore) throws {
        lastStep = "checkpoint"
        let included = committed
        isCheckpointing = true
        defer { isCheckpointing = false }
        try store.checkpoint()
        durable = max(durable, included)
        durableBefore = durable
        written = max(written, included)
    }

    /// Commits in the middle of a checkpoint's call, as another thread would, unless the commit would have to wait
    /// for the checkpoint: then neither could continue.
    package func commitMeanwhile(_ store: TreeStore) throws {
        let statistics = store.statistics
        guard isCheckpointing, statistics.journalBytes < 128 << 10, try isNobodysTurn(store) else { return }
        isCheckpointing = false
        defer { isCheckpointing = true }
        try transaction(store, "commit beside a checkpoint", changes: 1)
        lastStep = "checkpoint"
    }

    /// Returns whether the writer's turn is free. A checkpoint begins in the writer's turn and may write pages then.
    private func isNobodysTurn(_ store: TreeStore) throws -> Bool {
        do throws(StorageError) {
            try store.beginWrite().abort()
            return true
        } catch .invalid {
            // This thread has the turn, and would wait for itself.
            return false
        }
    }

    private func check(_ snapshot: (read: Transaction, digest: UInt64)) throws {
        defer { snapshot.read.abort() }
        try expect(try snapshot.read.digest() == snapshot.digest, "a snapshot changed while it was held")
    }

    // MARK: Compaction

    /// Compacts the store in steps, between which others commit. Sometimes the compaction is stopped.
    private func compact(_ store: TreeStore) throws {
        lastStep = "compact"
        var failure: (any Error)?
        try store.compact(stepPages: 1 + random.below(6)) { _ in
            guard random.oneIn(2) else { return !random.oneIn(10) }
            do { try transaction(store, "put beside a compaction", changes: 1 + random.below(4)) } catch {
                failure = error
            }
            lastStep = "compact"
            return failure == nil
        }
        if let failure { throw failure }
    }

    // MARK: Transactions

    private func transaction(
        _ store: TreeStore, _ what: String, changes: Int, isLarge: Bool = false, durability: Durability? = nil
    ) throws {
        try write(store, what, durability) { transaction in
            for _ in 0..<changes { try change(transaction, isLarge: isLarge) }
            return true
        }
    }

    /// Commits the changes of `body`, unless it returns false.
    private func write(
        _ store: TreeStore, _ what: String, _ given: Durability? = nil, _ body: (Transaction) throws -> Bool
    ) throws {
        let durability = given ?? [.full, .full, .full, .process, .none][random.below(5)]
        lastStep = "\(what) \(durability)"
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        transaction.durability = durability
        coming = model
        if try body(transaction) { try commit(transaction, store) }
    }

    /// Nests savepoints, which are rolled back or released; pages spill if memory is short.
    private func nest(_ store: TreeStore) throws {
        try write(store, "savepoints") { transaction in
            var stack: [(savepoint: Savepoint, state: ModelStore)] = []
            for _ in 0..<8 + random.below(30) {
                switch random.below(10) {
                case 0...1 where stack.count < 4: stack.append((try transaction.savepoint(), coming))
                case 2 where !stack.isEmpty:
                    let depth = random.below(stack.count)
                    try transaction.rollback(to: stack[depth].savepoint)
                    coming = stack[depth].state
                    stack.removeSubrange((depth + 1)...)
                case 3 where !stack.isEmpty:
                    let depth = random.below(stack.count)
                    try transaction.release(stack[depth].savepoint)
                    stack.removeSubrange(depth...)
                case 4 where random.oneIn(4):
                    let name = Self.treeNames[random.below(Self.treeNames.count)]
                    let was = coming.trees.removeValue(forKey: name) != nil
                    try expect(try transaction.dropTree(name) == was, "dropping a tree")
                default: try change(transaction)
                }
            }
            if random.oneIn(3) {
                try expect(try transaction.digest() == coming.digest, "what a transaction sees of itself")
            }
            return !random.oneIn(5)
        }
    }

    private func append(_ store: TreeStore) throws {
        try write(store, "append") { transaction in
            guard let tree = try transaction.tree("log", create: true, options: options(of: "log")) else {
                return false
            }
            var entries = coming.trees["log"] ?? [:]
            for _ in 0...random.below(60) {
                appended += 1
                let (key, value) = (Self.logKey(appended), value("log", isLarge: false))
                try transaction.append(tree, key, value)
                entries[key] = value
            }
            coming.trees["log"] = entries
            return true
        }
    }

    /// A long value in parts, with other changes between them.
    private func stream(_ store: TreeStore) throws {
        try write(store, "stream a value") { transaction in
            guard let tree = try transaction.tree("long", create: true) else { return false }
            if coming.trees["long"] == nil { coming.trees["long"] = [:] }
            let (key, value) = (key("long"), random.bytes(60_000 + random.below(60_000)))
            let writer = try transaction.valueWriter(tree, key, size: UInt64(value.count))
            let isGivenUp = random.oneIn(5)
            for start in stride(from: 0, to: isGivenUp ? value.count / 2 : value.count, by: 25_000) {
                try value[start..<min(start + 25_000, value.count)].withUnsafeBytes { try writer.append($0) }
                if random.oneIn(2) { try change(transaction, "short") }
            }
            if isGivenUp {
                writer.cancel()
            } else {
                try writer.finish()
                coming.trees["long", default: [:]][key] = value
            }
            return true
        }
    }

    private func dropOrRange(_ store: TreeStore) throws {
        try write(store, "drop or delete a range") { transaction in
            let name = Self.treeNames[random.below(Self.treeNames.count)]
            if random.oneIn(4) {
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
            return true
        }
    }

    private static func isIn(_ key: [UInt8], _ from: [UInt8], _ to: [UInt8]) -> Bool {
        key.withUnsafeBytes { k in
            from.withUnsafeBytes { k.order($0) >= 0 } && to.withUnsafeBytes { k.order($0) < 0 }
        }
    }

    private func commit(_ transaction: Transaction, _ store: TreeStore) throws {
        // Each state differs from all others by this number.
        let number = withUnsafeBytes(of: UInt64(committed + 1).littleEndian) { Array($0) }
        guard let counter = try transaction.tree(Self.counterTree, create: true) else { return }
        try transaction.put(counter, [1], number)
        coming.trees[Self.counterTree] = [[1]: number]
        let durability = transaction.durability
        digests.append(coming.digest)
        models.append(coming)
        do throws(StorageError) {
            try transaction.commit()
        } catch {
            // The outcome of `.failed` is unknown until the store is opened again; any other error means that nothing
            // was changed.
            if case .failed = error {
            } else {
                digests.removeLast()
                models.removeLast()
            }
            throw error
        }
        model = coming
        // A checkpoint with all commits makes them durable, whatever their durability was.
        let isCheckpointed = store.statistics.checkpoint > 0 && store.statistics.journalBytes == 0
        if durability == .full || isCheckpointed {
            durableBefore = isCheckpointed ? committed : durable
            durable = committed
        }
        if durability != .none || isCheckpointed { written = committed }
    }

    private func change(_ transaction: Transaction, _ given: String? = nil, isLarge: Bool = false) throws {
        let name = given ?? (isLarge ? "long" : Self.treeNames[random.below(Self.treeNames.count)])
        guard let tree = try transaction.tree(name, create: true, options: options(of: name)) else { return }
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

    /// The options of the workload's trees.
    func options(of tree: String) -> TreeOptions {
        TreeOptions(
            reduction: tree == "long" || tree == "deep" && !reducesDeep ? nil : Self.composition,
            isCompressed: compresses && tree == "deep")
    }

    private func key(_ tree: String) -> [UInt8] {
        if tree == "log" { return Self.logKey(UInt32(random.below(Int(appended) + 1))) }
        let number = UInt8(random.below(tree == "long" ? 6 : 24))
        return tree == "deep" ? [UInt8](repeating: number % 3, count: 200) + [number] : [number]
    }

    private static func logKey(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private func value(_ tree: String, isLarge: Bool) -> [UInt8] {
        let size: Int
        switch tree {
        case "long" where isLarge: size = 70_000 + random.below(60_000)
        case "long": size = 1500 + random.below(9000)
        case "deep" where compresses: return [UInt8](repeating: UInt8(random.below(256)), count: random.below(900))
        case "deep": size = random.below(600)
        case "log": size = random.below(90)
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
