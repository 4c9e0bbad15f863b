// SPDX-License-Identifier: Apache-2.0
// The requirements of an engine. All engines run the same workloads on the same entries, at the same durability. An
// engine is one file; each thread uses it through its own session.

/// The events that a committed transaction survives.
enum Durability: String, Sendable {
    /// Power loss.
    case full
    /// The end of the process.
    case process
}

/// The settings of a store.
struct StoreSettings: Sendable {
    var durability = Durability.full
    var isCompressed = false
    /// Values have a kilobyte or more: an engine may use another form of table for them.
    var hasLongValues = false
}

/// A feature that not all engines have.
enum Feature: Sendable {
    case getMany, counts, compression
    /// Entities or rows, measured by hornbeam-bench-typed.
    case typed
    /// Queries that are notified of changes.
    case live
    /// The encoding of an entity, measured beside Foundation's coders, by hornbeam-bench-typed too.
    case coding
    /// A mirror in PostgreSQL.
    case mirror
    /// Measurements alternating with the machine's own work.
    case machine
}

/// An ordered store under test.
protocol Engine: AnyObject, Sendable {
    static var name: String { get }
    static var features: Set<Feature> { get }
    /// Whether the engine takes part if the options name no engines.
    static var isDefault: Bool { get }

    /// Opens or creates the store at `path`, a file or a folder, depending on the engine.
    init(path: String, settings: StoreSettings) throws

    /// Returns a session for one thread, which is valid until the engine is closed.
    func session() throws -> any Session

    /// Closes the store so that it opens quickly. All sessions have been released.
    func close() throws
}

extension Engine {
    static var isDefault: Bool { true }
}

/// A thread's access to a store. Entries are named by their numbers in `entries`. The sums returned by reads only
/// prevent the compiler from removing the reads, and show that all engines read the same.
protocol Session: AnyObject {
    /// Puts the entries in one transaction.
    func put(_ entries: Entries, _ order: ArraySlice<Int>) throws

    /// Like `put`, for ascending keys after all others.
    func append(_ entries: Entries, _ order: ArraySlice<Int>) throws

    /// Deletes the entries in one transaction.
    func delete(_ entries: Entries, _ order: ArraySlice<Int>) throws

    /// Looks up the keys in one snapshot. Returns the sum of the values' first bytes.
    func get(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int

    /// Like `get`, with a transaction for each key.
    func getEach(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int

    /// Like `get`, `batch` keys at once.
    func getMany(_ entries: Entries, _ order: ArraySlice<Int>, batch: Int) throws -> Int

    /// Copies the values, like a program that keeps them. Returns the sum of their last bytes.
    func copy(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int

    /// Reads all entries. Returns the number of bytes.
    func scan(isReverse: Bool) throws -> Int

    /// Reads up to `length` entries from each start. Returns the number of bytes.
    func scan(_ entries: Entries, from starts: ArraySlice<Int>, length: Int) throws -> Int

    /// Returns the number of entries from one key up to another, without the latter.
    func count(from: [UInt8], to: [UInt8]) throws -> Int

    /// Returns the size of the key of the entry at `index` in the order of keys.
    func entry(at index: Int) throws -> Int
}

extension Session {
    func append(_ entries: Entries, _ order: ArraySlice<Int>) throws { try put(entries, order) }

    func getMany(_ entries: Entries, _ order: ArraySlice<Int>, batch: Int) throws -> Int { try get(entries, order) }
}
