// SPDX-License-Identifier: Apache-2.0
// The key of a block in the postings tree: number of the list, first document of the block, so that the blocks of a
// list stand together in order and the block that may hold a document is the last one not behind it.

import HornbeamPages

/// A key of the postings tree.
struct PostingKey {
    let list: UInt32
    let first: UInt64

    init(list: UInt32, first: UInt64) {
        self.list = list
        self.first = first
    }

    /// Nil if the bytes aren't a key of list `list`.
    init?(_ key: Bytes, list: UInt32) {
        guard key.count == 12, key.bigEndian(at: 0, as: UInt32.self) == list,
            let first = key.bigEndian(at: 4, as: UInt64.self)
        else { return nil }
        self.init(list: list, first: first)
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(12)
        bytes.appendBigEndian(list)
        bytes.appendBigEndian(first)
        return bytes
    }

    static func unreadable(_ key: PostingKey) -> String {
        "the block of posting list \(key.list) from document \(key.first) on is not readable"
    }
}
