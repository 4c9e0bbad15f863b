// SPDX-License-Identifier: Apache-2.0
// `hornbeam info`: what a store holds and how big it is, without reading its rows: every count comes from the roots.

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
        examples: ["info packages.hornbeam", "info packages.hornbeam --json"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let summary = try OpenStore.reading(arguments.file) { store in
            try store.reading { try StoreSummary(arguments.file, store.statistics, $0) }
        }
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

/// What `info` prints.
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

    var file: String
    var pageSize: Int
    var fileSize: UInt64
    var usedSize: UInt64
    var freeSize: UInt64
    var journalSize: UInt64
    var transaction: UInt64
    var checkpoint: UInt64
    var entityTypes: [EntityType]
    var trees: [Tree]

    init(_ path: String, _ statistics: StoreStatistics, _ transaction: Transaction) throws {
        file = path
        pageSize = statistics.pageSize
        fileSize = statistics.fileBytes
        usedSize = statistics.usedBytes
        freeSize = statistics.fileBytes - min(statistics.fileBytes, statistics.usedBytes)
        journalSize = statistics.journalBytes
        self.transaction = statistics.transaction
        checkpoint = statistics.checkpoint
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
    }

    private static func index(
        _ index: IndexDescription, of type: String, _ counts: [String: UInt64], _ transaction: Transaction
    ) throws -> Index {
        let entries =
            switch index.kind {
            case .value: counts["x:\(type):\(index.name)"] ?? 0
            case .unique: counts["u:\(type):\(index.name)"] ?? 0
            case .text:
                try TextSearcher(TextIndex(prefix: "t:\(type):\(index.name):"), in: transaction).statistics
                    .documentCount
            }
        return Index(
            name: index.name, kind: index.kind.rawValue, columns: SchemaText.components(index), entries: entries)
    }

    /// The form for people.
    func print(to console: Console) throws {
        let entries = trees.reduce(0) { $0 &+ $1.entries }
        for (name, value) in [
            ("file", file),
            ("size", "\(Spelling.bytes(fileSize)): \(Spelling.bytes(usedSize)) used, \(Spelling.bytes(freeSize)) free"),
            ("journal", Spelling.bytes(journalSize)),
            ("page size", Spelling.grouped(pageSize)),
            ("transaction", "\(Spelling.grouped(transaction)), checkpoint \(Spelling.grouped(checkpoint))"),
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
    }
}
