// SPDX-License-Identifier: Apache-2.0
// The key of a run in the trees of postings and positions: number of the list, first document of the run. So the runs
// of a list are neighbours, in order. The run that may hold a document is the last one whose first document is not
// above it.

import HornbeamPages

/// A key of the postings and positions trees.
struct PostingKey {
    static let size = 8

    let list: UInt32
    let first: UInt32

    init(list: UInt32, first: UInt32) {
        self.list = list
        self.first = first
    }

    /// Returns nil if the bytes aren't a key of list `list`.
    @inline(__always)
    init?(_ key: Bytes, list: UInt32) {
        guard key.count == Self.size, let whole = key.bigEndian(at: 0, as: UInt64.self), whole >> 32 == UInt64(list)
        else { return nil }
        self.init(list: list, first: UInt32(truncatingIfNeeded: whole))
    }

    /// Calls `body` with the key's bytes, which are valid during the call.
    @inline(__always)
    func withBytes<Result>(_ body: (Bytes) throws(StorageError) -> Result) throws(StorageError) -> Result {
        var whole = (UInt64(list) << 32 | UInt64(first)).bigEndian
        return try withUnsafePointer(to: &whole) { (pointer) throws(StorageError) in
            try body(Bytes(start: pointer, count: Self.size))
        }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        bytes.appendBigEndian(list)
        bytes.appendBigEndian(first)
        return bytes
    }

    static func unreadable(_ key: PostingKey) -> String {
        "the run of posting list \(key.list) from document \(key.first) on is not readable"
    }
}
