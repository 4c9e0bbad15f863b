// SPDX-License-Identifier: Apache-2.0
// What every engine must do to take part. All of them run the same workloads on the same entries, at the same
// durability: a committed transaction survives power loss.

/// An ordered store under test. One per file; used by one thread.
protocol Engine: AnyObject {
    static var name: String { get }

    /// Creates an empty store in `path` (a file, or a folder where the engine wants one).
    init(path: String) throws

    /// Puts the entries in one durable transaction.
    func write(_ entries: Entries, _ range: Range<Int>) throws

    /// Looks up the keys of `order` in one snapshot; the sum of the first bytes of the values found.
    func read(_ entries: Entries, _ order: [Int]) throws -> Int

    /// Reads all entries in key order; the number of bytes seen.
    func scan() throws -> Int

    /// Reads up to `length` entries from each start key; the number of bytes seen.
    func scan(_ entries: Entries, from starts: [Int], length: Int) throws -> Int

    /// The number of entries in a range of keys.
    func count(from: [UInt8], to: [UInt8]) throws -> Int

    func close() throws
}

struct EngineError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
