// SPDX-License-Identifier: Apache-2.0
// The store as a whole: types, counts, sizes of the file, indexes; and each tree's size and places in the file.

import Hornbeam
import HornbeamCommand
import HornbeamPages
import HornbeamTree

struct StoreAnswer {
    let reads: StoreReads

    init(_ reads: StoreReads) { self.reads = reads }

    /// Returns the output of `hornbeam info` and `hornbeam schema`, and the keywords, which names in statements can't
    /// equal without backquotes.
    func reply() throws -> Reply {
        try reads.read { core in
            let transaction = core.transaction
            let keywords = JSONNode.array(QueryLanguage.keywords.map { .string($0) })
            // Both are JSON already.
            let info = try reads.options.summary(transaction) { reads.store.statistics }
            let schema = try reads.options.schema(transaction)
            return .json(
                """
                {"transaction":\(transaction.version),"isWritable":\(reads.options.isWritable),\
                "keywords":\(keywords.text),"info":\(info),"schema":\(schema)}
                """)
        }
    }
}

/// The sizes of trees. Reads the branches of all trees, but no leaf.
struct SizesAnswer {
    let reads: StoreReads
    /// Maximum number of parts into which the file is divided.
    private static let parts = 1_024

    init(_ reads: StoreReads) { self.reads = reads }

    /// Returns the size of each tree's nodes, and for each part of the file the bytes of each tree in it.
    func node() throws -> JSONNode {
        try reads.read { core in
            let transaction = core.transaction
            let statistics = reads.store.statistics
            let extent = max(1, statistics.fileBytes / UInt64(Self.parts) + 1)
            let names = try transaction.treeNames()
            var sizes: [JSONNode] = []
            var parts: [[Int: UInt64]] = []
            for (number, name) in names.enumerated() {
                guard let tree = try transaction.tree(name) else { continue }
                var bytes: UInt64 = 0
                try transaction.forEachNode(tree) { position, size in
                    bytes += size
                    let part = Int(min(position / extent, UInt64(Self.parts)))
                    while parts.count <= part { parts.append([:]) }
                    parts[part][number, default: 0] += size
                }
                sizes.append(
                    .object([
                        ("name", .string(name)), ("number", .count(number)), ("size", .count(bytes)),
                        ("entries", .count(try transaction.count(tree))),
                    ]))
            }
            return .object([
                ("transaction", .count(transaction.version)), ("fileSize", .count(statistics.fileBytes)),
                ("usedSize", .count(statistics.usedBytes)), ("partSize", .count(extent)), ("trees", .array(sizes)),
                ("parts", .array(parts.map(Self.part))),
            ])
        }
    }

    /// Pairs of a tree's number and its bytes.
    private static func part(_ sizes: [Int: UInt64]) -> JSONNode {
        .array(sizes.sorted { $0.key < $1.key }.map { .array([.count($0.key), .count($0.value)]) })
    }
}
