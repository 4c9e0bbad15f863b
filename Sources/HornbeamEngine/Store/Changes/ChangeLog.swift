// SPDX-License-Identifier: Apache-2.0
// The log of changes that consumers have not acknowledged yet. The transactions that make the changes write it to a
// tree in the file. Each consumer has entries of its own, numbered from 1 on. So changes that it doesn't want cost
// nothing, its acknowledged entries are removed without reading those of others, and a consumer that stays away doesn't
// keep the entries of others.
//
//     0 ‖ name               →  the consumer
//     1 ‖ number ‖ sequence  →  a change: its kind, the state that it made, its type, the entity's id
//
// The tree exists while there are consumers. Without it nothing is gathered and nothing is written.

package import HornbeamPages
package import HornbeamTree

/// The trees whose changes a write transaction notes for the log.
package struct LoggedTrees {
    var rows: Set<TreeID> = []
    /// The trees of links.
    var links: Set<TreeID> = []
}

/// The log in one transaction.
package struct ChangeLog {
    static let treeName = "log:changes"
    /// Maximum size of a consumer's name in bytes.
    package static let maximumName = 200
    /// Maximum size of a consumer's note in bytes.
    package static let maximumNote = 500

    let transaction: Transaction
    let tree: TreeID

    /// Opens the log. Returns nil if there is none and `create` is false.
    package init?(in transaction: Transaction, create: Bool = false) throws(StorageError) {
        guard let tree = try transaction.tree(Self.treeName, create: create) else { return nil }
        self.transaction = transaction
        self.tree = tree
    }

    package static func damaged(_ reason: String) -> StorageError {
        .corrupt(Corruption(tree: treeName, reason: reason))
    }

    // MARK: Consumers

    private static func key(_ name: String) -> [UInt8] { [0] + Array(name.utf8) }

    /// Returns the name in a consumer's key, or nil if the key is not a consumer's.
    static func name(_ key: Bytes) -> String? {
        guard key.first == 0 else { return nil }
        return String(validating: key.dropFirst(), as: UTF8.self)
    }

    package func consumer(_ name: String) throws -> StoredConsumer? {
        guard let bytes = try transaction.get(tree, Self.key(name)) else { return nil }
        guard let consumer = StoredConsumer(bytes) else { throw Self.damaged("consumer “\(name)” is not readable") }
        return consumer
    }

    /// All consumers, in the order of their names. Throws `.corrupt` if one isn't readable.
    package func consumers() throws -> [(name: String, stored: StoredConsumer)] {
        var found: [(String, StoredConsumer)] = []
        try forEachConsumer { name, consumer in
            guard let name, let consumer else {
                throw Self.damaged("consumer \(name.map { "“\($0)”" } ?? "without a name") is not readable")
            }
            found.append((name, consumer))
        }
        return found
    }

    /// Calls `body` with each consumer; unreadable names and records are nil.
    private func forEachConsumer(_ body: (String?, StoredConsumer?) throws -> Void) throws {
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.first()
        while isValid, let entry = try cursor.entry(), entry.key.first == 0 {
            try body(Self.name(entry.key), StoredConsumer(entry.value))
            isValid = try cursor.next()
        }
    }

    func put(_ consumer: StoredConsumer, _ name: String) throws(StorageError) {
        try transaction.put(tree, Self.key(name), consumer.bytes)
    }

    /// Returns a number that no consumer has.
    func newNumber() throws -> UInt32 {
        let taken = Set(try consumers().map(\.stored.number))
        return (1...).first { !taken.contains($0) } ?? 0
    }

    /// Removes a consumer, readable or not, and all changes that then belong to no consumer. Returns false if there is
    /// no such consumer.
    package func remove(_ name: String) throws -> Bool {
        guard try transaction.delete(tree, Self.key(name)) else { return false }
        var (count, numbers) = (0, Set<UInt32>())
        try forEachConsumer { _, consumer in
            count += 1
            if let consumer { numbers.insert(consumer.number) }
        }
        guard count > 0 else { return try transaction.dropTree(Self.treeName) }
        for number in try numbersOfChanges() where !numbers.contains(number) { try drop(number, before: .max) }
        return true
    }

    // MARK: Changes

    private static func key(_ number: UInt32, _ sequence: UInt64) -> [UInt8] {
        var key: [UInt8] = [1]
        withUnsafeBytes(of: number.bigEndian) { key.append(contentsOf: $0) }
        withUnsafeBytes(of: sequence.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    /// Returns the consumer's number and the sequence in a change's key, or nil if the key is not a change's.
    static func change(_ key: Bytes) -> (number: UInt32, sequence: UInt64)? {
        guard key.count == 13, key.first == 1 else { return nil }
        return (
            UInt32(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt32.self)),
            UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 5, as: UInt64.self))
        )
    }

    /// The numbers of the consumers that changes are kept for.
    private func numbersOfChanges() throws -> [UInt32] {
        var numbers: [UInt32] = []
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(Self.key(0, 0))
        while isValid, let entry = try cursor.entry(), let (number, _) = Self.change(entry.key) {
            numbers.append(number)
            isValid = try number < .max && cursor.seek(Self.key(number + 1, 0))
        }
        return numbers
    }

    /// Removes a consumer's entries before a sequence number.
    private func drop(_ number: UInt32, before sequence: UInt64) throws(StorageError) {
        _ = try transaction.deleteRange(tree, from: Self.key(number, 0), to: Self.key(number, sequence))
    }

    /// Returns at most `limit` of the changes that are kept for a consumer, in order.
    package func changes(of consumer: StoredConsumer, limit: Int) throws -> [(sequence: UInt64, change: StoredChange)] {
        var found: [(UInt64, StoredChange)] = []
        guard limit > 0 else { return [] }
        try forEachChange(of: consumer, before: consumer.next) { sequence, change in
            found.append((sequence, change))
            return found.count < limit
        }
        return found
    }

    /// Calls `body` with the changes that are kept for a consumer before a sequence, in order, until it returns false.
    package func forEachChange(
        of consumer: StoredConsumer, before end: UInt64, _ body: (UInt64, StoredChange) throws -> Bool
    ) throws {
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(Self.key(consumer.number, consumer.first))
        for sequence in consumer.first..<end {
            guard isValid, let entry = try cursor.entry(), let key = Self.change(entry.key),
                key == (consumer.number, sequence), let change = StoredChange(entry.value, of: consumer)
            else { throw Self.damaged("change \(sequence) of consumer \(consumer.number) is missing or not readable") }
            guard try body(sequence, change) else { return }
            isValid = try cursor.next()
        }
    }

    /// Notes that a consumer has processed all changes through `sequence`, and removes them. Throws `.invalid` if there
    /// is no such change.
    package func acknowledge(_ consumer: StoredConsumer, _ name: String, through sequence: UInt64) throws {
        guard sequence < consumer.next else {
            throw HornbeamError(
                .invalid,
                "consumer “\(name)” can't acknowledge change \(sequence), the newest is \(consumer.next - 1): "
                    + "acknowledge changes that next() returned")
        }
        // An acknowledgement is never taken back.
        guard sequence > consumer.acknowledged else { return }
        var consumer = consumer
        consumer.acknowledged = sequence
        try keep(from: sequence + 1, of: &consumer)
        if !consumer.hasGap {
            for place in consumer.types.indices { consumer.types[place].isMissed = false }
        }
        try put(consumer, name)
    }

    /// Replaces a consumer's note. Throws `.tooLarge` if it is longer than `maximumNote`.
    package func setNote(_ note: [UInt8], of consumer: StoredConsumer, _ name: String) throws {
        guard note.count <= Self.maximumNote else {
            throw HornbeamError(
                .tooLarge, "the note of consumer “\(name)” has \(note.count) bytes: the limit is \(Self.maximumNote)")
        }
        var consumer = consumer
        consumer.note = note
        try put(consumer, name)
    }

    /// Maximum number of removed changes whose types are read. If more are removed, all types count as missed.
    private static let mostLookedAt: UInt64 = 4096

    /// Removes the changes before a sequence number, and notes their types as missed.
    private func miss(before sequence: UInt64, of consumer: inout StoredConsumer) throws {
        if sequence > consumer.first, !consumer.missesAll {
            if sequence - consumer.first > Self.mostLookedAt {
                consumer.missAll()
            } else {
                var missed = consumer
                do {
                    try forEachChange(of: consumer, before: sequence) { _, change in
                        missed.types[change.type].isMissed = true
                        return !missed.missesAll
                    }
                } catch StorageError.corrupt {
                    // The type of the unreadable change is unknown.
                    missed.missAll()
                }
                consumer = missed
            }
        }
        try keep(from: sequence, of: &consumer)
    }

    /// Drops all kept changes, and counts `count` further changes that aren't stored.
    private func skip(_ count: UInt64, of consumer: inout StoredConsumer) throws {
        try miss(before: consumer.next, of: &consumer)
        consumer.next += count
        consumer.first = consumer.next
    }

    /// Removes the changes before a sequence number.
    private func keep(from sequence: UInt64, of consumer: inout StoredConsumer) throws(StorageError) {
        guard sequence > consumer.first else { return }
        consumer.first = sequence
        try drop(consumer.number, before: sequence)
    }

    /// Adds the changes of a transaction for all consumers that want them.
    func append(_ changes: StoreChanges, in core: StoreTransaction) throws {
        if changes.isEmpty { return }
        for (name, stored) in try consumers() {
            var consumer = stored
            // Changes that the bound would remove at once are counted, but not stored.
            var excess: UInt64 = 0
            if stored.limit > 0 {
                var count: UInt64 = 0
                try forEach(of: changes, for: stored, core.schema) { _, _, _, _ in count += 1 }
                excess = count > stored.limit ? count - stored.limit : 0
            }
            if excess > 0 {
                try skip(excess, of: &consumer)
            }
            try forEach(of: changes, for: stored, core.schema) { kind, id, idType, place in
                if excess > 0 {
                    excess -= 1
                    consumer.types[place].isMissed = true
                } else {
                    try append(kind, id, idType, place, to: &consumer)
                }
            }
            if consumer.next > stored.next { try putWithinBound(consumer, name) }
        }
    }

    /// Calls `body` with each change that a consumer wants, in their order.
    private func forEach(
        of changes: StoreChanges, for consumer: StoredConsumer, _ schema: Schema,
        _ body: (ChangeKind, Value, ColumnType, _ place: Int) throws -> Void
    ) throws {
        for (place, type) in consumer.types.enumerated() where type.isWanted {
            guard let idType = schema.types[type.name]?.idType else { continue }
            try changes.forEach(of: type.name) { kind, id in
                if kind != .relinked || type.wantsLinks { try body(kind, id, idType, place) }
            }
        }
    }

    /// The trees whose changes a consumer wants. If a consumer is unreadable, all trees of rows: a write that changes
    /// one then reports the damage.
    package func trees(_ schema: Schema) throws(StorageError) -> LoggedTrees {
        var (trees, isReadable) = (LoggedTrees(), true)
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.first()
        while isValid, let entry = try cursor.entry(), entry.key.first == 0 {
            if let consumer = StoredConsumer(entry.value) {
                for name in consumer.types where name.isWanted {
                    guard let type = schema.types[name.name] else { continue }
                    trees.rows.insert(type.rows)
                    if name.wantsLinks { trees.links.insert(type.links) }
                }
            } else {
                isReadable = false
            }
            isValid = try cursor.next()
        }
        if !isReadable { trees.rows = Set(schema.types.values.map(\.rows)) }
        return trees
    }

    /// Notes a migration's changes of some types as missed, for each consumer that wants one of these types.
    /// - Parameter relinked: types of which only links were changed.
    static func miss(_ types: Set<String>, relinked: Set<String>, in transaction: Transaction) throws {
        guard let log = try ChangeLog(in: transaction) else { return }
        for (name, stored) in try log.consumers() {
            let places = stored.types.indices.filter { place in
                let type = stored.types[place]
                return type.isWanted && (types.contains(type.name) || type.wantsLinks && relinked.contains(type.name))
            }
            if places.isEmpty { continue }
            var consumer = stored
            try log.skip(1, of: &consumer)
            for place in places { consumer.types[place].isMissed = true }
            try log.put(consumer, name)
        }
    }

    /// Registers a consumer, or replaces its wish.
    package func register(_ name: String, _ wish: ChangeWish) throws {
        let stored = try consumer(name) ?? StoredConsumer(number: newNumber())
        var consumer = stored.wanting(wish)
        // Types that the consumer wants again: their changes weren't logged in the meantime.
        let again = stored.types.indices.filter { consumer.types[$0].isWanted && !stored.types[$0].isWanted }
        if !again.isEmpty {
            try skip(1, of: &consumer)
            for place in again { consumer.types[place].isMissed = true }
        }
        try putWithinBound(consumer, name)
    }

    /// Stores a consumer, after removing changes beyond its limit.
    private func putWithinBound(_ consumer: StoredConsumer, _ name: String) throws {
        var consumer = consumer
        if consumer.limit > 0, consumer.next - consumer.first > consumer.limit {
            try miss(before: consumer.next - consumer.limit, of: &consumer)
        }
        try put(consumer, name)
    }

    private func append(
        _ kind: ChangeKind, _ id: Value, _ idType: ColumnType, _ place: Int, to consumer: inout StoredConsumer
    ) throws {
        var bytes: [UInt8] = []
        guard ValueBytes.append(id, as: idType, to: &bytes) else {
            throw Self.damaged("\(id.text) is the id of an entity, but not of its id type")
        }
        let change = StoredChange(kind: kind, version: transaction.number ?? 0, type: place, id: bytes)
        try transaction.put(tree, Self.key(consumer.number, consumer.next), change.bytes)
        consumer.next += 1
    }

    /// Renames a type. If `new` is nil, the type is gone and no longer wanted.
    static func rename(_ type: String, to new: String?, in transaction: Transaction) throws {
        guard let log = try ChangeLog(in: transaction) else { return }
        for (name, stored) in try log.consumers() {
            let places = stored.types.indices.filter { stored.types[$0].name == type }
            if places.isEmpty { continue }
            var consumer = stored
            for place in places {
                if let new { consumer.types[place].name = new } else { consumer.types[place].isWanted = false }
            }
            // Another type of that name may be in the list, wanted as well. It gets no more changes.
            try log.put(consumer.wanting(consumer.wish), name)
        }
    }
}
