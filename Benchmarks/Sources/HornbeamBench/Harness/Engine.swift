// SPDX-License-Identifier: Apache-2.0
// What every engine must do to take part. All of them run the same workloads on the same entries, at the same
// durability. An engine is one file; threads use it through sessions of their own.

/// How safe a committed transaction is.
enum Durability: String, Sendable {
    /// It survives power loss.
    case full
    /// It survives the end of the process.
    case process
}

/// What a store is opened for.
struct StoreSettings: Sendable {
    var durability = Durability.full
    var isCompressed = false
    /// Values of a kilobyte and more: an engine may have another form of table for them.
    var hasLongValues = false
}

/// What an engine has, where not all of them have it.
enum Feature: Sendable {
    case getMany, counts, compression
    /// Its entities or rows are measured by hornbeam-bench-typed.
    case typed
    /// A query that is told of changes.
    case live
    /// Its form of an entity is measured beside Foundation's coders, by hornbeam-bench-typed too.
    case coding
    /// A mirror in PostgreSQL.
    case mirror
    /// Measured in turns with what the machine itself does.
    case machine
}

/// An ordered store under test.
protocol Engine: AnyObject, Sendable {
    static var name: String { get }
    static var features: Set<Feature> { get }
    /// Whether it takes part unless the options name engines.
    static var isDefault: Bool { get }

    /// Opens the store at `path`, or creates it (a file, or a folder where the engine wants one).
    init(path: String, settings: StoreSettings) throws

    /// For one thread, until the engine is closed.
    func session() throws -> any Session

    /// Leaves a store that opens at once. All sessions have been let go.
    func close() throws
}

extension Engine {
    static var isDefault: Bool { true }
}

/// A thread's access to a store. Entries are named by their numbers in `entries`; the sums that reading gives only keep
/// the compiler from leaving the reading out, and show that all engines read the same.
protocol Session: AnyObject {
    /// Puts the entries in one transaction.
    func put(_ entries: Entries, _ order: ArraySlice<Int>) throws

    /// Like `put`, for keys behind all others, ascending.
    func append(_ entries: Entries, _ order: ArraySlice<Int>) throws

    /// Deletes the entries in one transaction.
    func delete(_ entries: Entries, _ order: ArraySlice<Int>) throws

    /// Looks up the keys in one snapshot; the sum of the first bytes of the values.
    func get(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int

    /// The same, a transaction for each.
    func getEach(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int

    /// The same in one snapshot, `batch` keys at once.
    func getMany(_ entries: Entries, _ order: ArraySlice<Int>, batch: Int) throws -> Int

    /// Copies the values out, as a program that keeps them would; the sum of their last bytes.
    func copy(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int

    /// Reads all entries; the number of bytes seen.
    func scan(isReverse: Bool) throws -> Int

    /// Reads up to `length` entries from each start; the number of bytes seen.
    func scan(_ entries: Entries, from starts: ArraySlice<Int>, length: Int) throws -> Int

    /// The number of entries from one key up to, and without, another.
    func count(from: [UInt8], to: [UInt8]) throws -> Int

    /// The size of the key of the entry with so many before it.
    func entry(at index: Int) throws -> Int
}

extension Session {
    func append(_ entries: Entries, _ order: ArraySlice<Int>) throws { try put(entries, order) }

    func getMany(_ entries: Entries, _ order: ArraySlice<Int>, batch: Int) throws -> Int { try get(entries, order) }
}
