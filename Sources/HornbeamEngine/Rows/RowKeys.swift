// SPDX-License-Identifier: Apache-2.0
// Row ids as the bytes of keys and values, without an array for each: a save of an entity with a link puts and looks up
// a dozen of them, and arrays took a seventh of its instructions.

import HornbeamPages
import HornbeamTree

/// The key of an entry: one row id, or two row ids in succession.
struct RowKey {
    /// Big-endian.
    private let numbers: (UInt64, UInt64)
    private let size: Int

    @inline(__always)
    init(_ rowID: RowID) {
        numbers = (rowID.rawValue.bigEndian, 0)
        size = 8
    }

    @inline(__always)
    init(_ first: RowID, _ second: RowID) {
        numbers = (first.rawValue.bigEndian, second.rawValue.bigEndian)
        size = 16
    }

    @inline(__always)
    func withBytes<Result>(_ body: (Bytes) throws(StorageError) -> Result) throws(StorageError) -> Result {
        try withUnsafeBytes(of: numbers) { (bytes) throws(StorageError) in
            try body(Bytes(start: bytes.baseAddress, count: size))
        }
    }
}

extension RowID {
    /// Calls `body` with the form in values: eight bytes, little-endian.
    @inline(__always)
    func withStored<Result>(_ body: (Bytes) throws(StorageError) -> Result) throws(StorageError) -> Result {
        try withUnsafeBytes(of: rawValue.littleEndian) { (bytes) throws(StorageError) in try body(bytes) }
    }
}

extension Transaction {
    @inline(__always)
    func get(_ tree: TreeID, _ rowID: RowID) throws(StorageError) -> Bytes? {
        try get(tree, number: rowID.rawValue)
    }

    @inline(__always)
    func get(_ tree: TreeID, _ key: RowKey) throws(StorageError) -> Bytes? {
        try key.withBytes { (key) throws(StorageError) in try get(tree, key) }
    }

    @inline(__always)
    func put(_ tree: TreeID, _ key: RowKey, _ value: Bytes) throws(StorageError) {
        try key.withBytes { (key) throws(StorageError) in try put(tree, key, value) }
    }

    /// Stores a row id, or a number in the form of a row id.
    @inline(__always)
    func put(_ tree: TreeID, _ key: RowKey, _ value: RowID) throws(StorageError) {
        try value.withStored { (value) throws(StorageError) in try put(tree, key, value) }
    }

    /// Stores a row id unless the key has an entry. Returns whether it did.
    @inline(__always)
    func insert(_ tree: TreeID, _ key: RowKey, _ value: RowID) throws(StorageError) -> Bool {
        try key.withBytes { (key) throws(StorageError) in
            try value.withStored { (value) throws(StorageError) in try insert(tree, key, value) }
        }
    }

    /// Removes all entries whose keys begin with a row id.
    func deleteAll(_ tree: TreeID, of rowID: RowID) throws(StorageError) {
        _ = try RowKey(rowID).withBytes { (from) throws(StorageError) in
            guard let next = rowID.next else {
                return try deleteRange(tree, from: from, to: Bytes(start: nil, count: 0))
            }
            return try RowKey(next).withBytes { (to) throws(StorageError) in
                try deleteRange(tree, from: from, to: to)
            }
        }
    }

    @inline(__always)
    func delete(_ tree: TreeID, _ key: RowKey) throws(StorageError) -> Bool {
        try key.withBytes { (key) throws(StorageError) in try delete(tree, key) }
    }
}

extension Int {
    /// A number of entries, at most 2^46. The number may be damaged; the bound lets sums and small multiples of it fit.
    package init(entries count: UInt64) {
        self = Int(Swift.min(count, 1 << 46))
    }
}
