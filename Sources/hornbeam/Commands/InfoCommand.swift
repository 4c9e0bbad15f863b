// SPDX-License-Identifier: Apache-2.0
// `hornbeam info`: a store's content and size, without reading its rows: every count comes from the roots.

import Foundation
import Hornbeam
import HornbeamPages
import HornbeamText
import HornbeamTree

enum InfoCommand {
    static let declaration = CommandDeclaration(
        path: ["info"],
        summary: "print what a store holds and its size",
        operands: [.store],
        options: [.flag("json", "j", "as JSON; sizes are bytes")],
        examples: ["hornbeam info packages.hornbeam", "hornbeam info packages.hornbeam --json"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let summary = try StoreSummary.read(arguments.file)
        if arguments.has("json") {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try console.print(String(decoding: try encoder.encode(summary), as: UTF8.self))
        } else {
            try summary.print(to: console)
        }
        return .ok
    }
}

/// The data that `info` prints.
struct StoreSummary: Encodable, Equatable {
    struct Index: Encodable, Equatable {
        var name: String
        var kind: String
        var columns: String
        var entries: UInt64
    }

    struct EntityType: Encodable, Equatable {
        var name: String
        var entities: UInt64
        var indexes: [Index]
    }

    struct Tree: Encodable, Equatable {
        var name: String
        var entries: UInt64
    }

    /// Figures of the page cache for this command's own reading: each process has a cache of its own.
    struct Cache: Encodable, Equatable {
        struct Holders: Encodable, Equatable {
            var transactions: Int
            var pinnedSize: UInt64
            var copiedSize: UInt64
            var privateSize: UInt64

            init(_ holders: CacheStatistics.Holders) {
                transactions = holders.views
                pinnedSize = holders.pinnedBytes
                copiedSize = holders.copiedBytes
                privateSize = holders.privateBytes
            }

            /// Total size of the pages that they hold, in bytes.
            var size: UInt64 { pinnedSize &+ copiedSize &+ privateSize }
        }

        var budgetSize: UInt64
        var residentSize: UInt64
        var hits: UInt64
        var misses: UInt64
        var evictions: UInt64
        var readers: Holders
        var writer: Holders

        init(_ figures: CacheStatistics) {
            budgetSize = figures.budgetBytes
            residentSize = figures.residentBytes
            hits = figures.hits
            misses = figures.misses
            evictions = figures.evictions
            readers = Holders(figures.readers)
            writer = Holders(figures.writers)
        }
    }

    var file: String
    var isEncrypted: Bool
    var pageSize: Int
    var fileSize: UInt64
    var usedSize: UInt64
    /// Size of the pages that are not in the newest state, but in a snapshot's or the last checkpoint's.
    var retiredSize: UInt64
    var freeSize: UInt64
    var journalSize: UInt64
    var transaction: UInt64
    var checkpoint: UInt64
    var dirtySize: UInt64
    var cache: Cache
    var entityTypes: [EntityType]
    var trees: [Tree]

    /// The summary of the store at `path`.
    static func read(_ path: String) throws -> StoreSummary {
        try OpenStore.snapshot(path) { transaction, store in
            try StoreSummary(path, transaction) { store.statistics }
        }
    }

    /// The summary of the store that `transaction` reads. The cache's figures include this reading.
    init(_ path: String, _ transaction: Transaction, figures: () -> PageStatistics) throws {
        let statistics = figures()
        file = path
        isEncrypted = statistics.isEncrypted
        pageSize = statistics.pageSize
        fileSize = statistics.fileBytes
        usedSize = statistics.usedBytes
        retiredSize = statistics.retiredBytes
        // The sizes come from the file: no sum of them may overflow.
        let unused = fileSize - min(fileSize, usedSize)
        freeSize = unused - min(unused, retiredSize)
        journalSize = statistics.journalBytes
        self.transaction = statistics.transaction
        checkpoint = statistics.checkpoint
        dirtySize = statistics.dirtyBytes
        cache = Cache(statistics.cache)
        trees = []
        var counts: [String: UInt64] = [:]
        for name in try transaction.treeNames() {
            guard let tree = try transaction.tree(name) else { continue }
            let count = try transaction.count(tree)
            counts[name] = count
            trees.append(Tree(name: name, entries: count))
        }
        entityTypes = try SchemaCatalogue.load(transaction).descriptions.map { type in
            EntityType(
                name: type.name, entities: counts["e:\(type.name)"] ?? 0,
                indexes: try type.indexes.map { try Self.index($0, of: type.name, counts, transaction) })
        }
        cache = Cache(figures().cache)
    }

    private static func index(
        _ index: IndexDescription, of type: String, _ counts: [String: UInt64], _ transaction: Transaction
    ) throws -> Index {
        let entries =
            switch index.kind {
            case .value, .hash: counts["x:\(type):\(index.name)"] ?? 0
            case .unique: counts["u:\(type):\(index.name)"] ?? 0
            case .text:
                try TextIndex(prefix: "t:\(type):\(index.name):").documentCount(in: transaction)
            }
        return Index(
            name: index.name, kind: index.kind.rawValue, columns: SchemaText.components(index), entries: entries)
    }

    /// Prints the summary for people.
    func print(to console: Console) throws {
        let entries = trees.reduce(0) { $0 &+ $1.entries }
        for (name, value) in [
            ("file", file + (isEncrypted ? ", encrypted" : "")),
            (
                "size",
                "\(Spelling.bytes(fileSize)): \(Spelling.bytes(usedSize)) used, "
                    + (retiredSize > 0 ? "\(Spelling.bytes(retiredSize)) of older states, " : "")
                    + "\(Spelling.bytes(freeSize)) free"
            ),
            ("journal", Spelling.bytes(journalSize)),
            ("page size", Spelling.grouped(pageSize)),
            ("transaction", "\(Spelling.grouped(transaction)), checkpoint \(Spelling.grouped(checkpoint))"),
            (
                "cache",
                "\(Spelling.bytes(cache.residentSize)) of \(Spelling.bytes(cache.budgetSize)), "
                    + "\(Spelling.counted(cache.hits, "hit")), \(Spelling.counted(cache.misses, "miss", "misses")), "
                    + Spelling.counted(cache.evictions, "eviction")
            ),
            (
                "pinned",
                "\(Spelling.bytes(cache.readers.size)) by \(Spelling.counted(cache.readers.transactions, "reader")), "
                    + "\(Spelling.bytes(cache.writer.size)) by the writer"
            ),
            ("trees", "\(trees.count), with \(Spelling.counted(entries, "entry", "entries")) in all"),
        ] {
            try console.print(name + String(repeating: " ", count: 13 - name.count) + DisplayWidth.printable(value))
        }
        if entityTypes.isEmpty { return }
        try console.print("")
        var table = console.table([
            TableColumn(title: "entity type / index"), TableColumn(title: "kind"),
            TableColumn(title: "entries", alignment: .right), TableColumn(title: "columns"),
        ])
        for type in entityTypes {
            try table.add([type.name, "entities", Spelling.grouped(type.entities), ""])
            for index in type.indexes {
                try table.add(["  " + index.name, index.kind, Spelling.grouped(index.entries), index.columns])
            }
        }
        try table.finish()
        if let deletedRemark { try console.print("\n" + DisplayWidth.printable(deletedRemark)) }
    }

    /// A remark on the number of deleted entities and their purging; nil if there are none.
    var deletedRemark: String? {
        let kept = entityTypes.filter { EntityDescription.isTombstone($0.name) && $0.entities > 0 }
        guard let first = kept.first else { return nil }
        let count = Spelling.counted(kept.reduce(0) { $0 &+ $1.entities }, "deleted entity", "deleted entities")
        return "\(count) kept, until the program purges them: try \(first.name).purge(before: nil, from: &context)"
    }
}
