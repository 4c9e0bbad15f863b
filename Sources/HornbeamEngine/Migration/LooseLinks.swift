// SPDX-License-Identifier: Apache-2.0
// Links in the form in which a migration changes them: the links of each relation are in trees of their own, which can
// be dropped and rewritten separately. Links are taken apart before relations are removed or change their forms, and
// put together afterwards, in the same transaction. The time grows with the number of links in the store.
//
//     f:Type:relation    source ‖ position → target, or source → target if to-one
//     l:Type:relation    source ‖ target → position    (to-many)
//     b:Type:relation    target ‖ source → nothing     (one-way relations)

import HornbeamPages
import HornbeamTree

enum LooseLinks {
    static func trees(_ type: String, _ relation: String) -> [String] {
        ["f", "l", "b"].map { "\($0):\(type):\(relation)" }
    }

    // MARK: Taking apart

    /// Takes apart the links of all relations in the store. Relations have no numbers afterwards.
    static func unpack(in transaction: Transaction, _ progress: MigrationProgress.Handler?) throws {
        let schema = try SchemaCatalogue.load(transaction)
        for name in schema.typeNames {
            let type = try schema.type(name)
            var loose: [UInt16: LooseList] = [:]
            for side in type.relations { loose[side.list.number] = try LooseList(side, in: transaction) }
            for side in schema.incoming[name] ?? [] {
                if let list = side.other?.list { loose[list.number] = try LooseList(reverseOf: side, in: transaction) }
            }
            let total = Int(clamping: try transaction.count(type.links))
            var reports = StepProgress(.migratingLinks, name, total: total, progress)
            var cursor = try transaction.cursor(type.links)
            while try cursor.next() {
                guard let link = LinkEntry((cursor.key, cursor.value)) else {
                    throw type.damagedLinks("an entry is not readable")
                }
                if let list = loose[link.list] {
                    try list.put(link, in: transaction)
                } else if schema.role(of: link.list, in: type) == nil {
                    // Pairs are made anew, so they need no trees. This link belongs to no list at all.
                    throw type.damagedLinks("there is no list \(link.list)")
                }
                try reports.advance()
            }
            if total > 0 { try reports.finish() }
            _ = try transaction.dropTree("l:\(name)")
        }
        try SchemaCatalogue.forgetNumbers(transaction)
    }

    /// The trees into which a list's entries are put.
    private struct LooseList {
        let forward: TreeID?
        let lookup: TreeID?
        let reverse: TreeID?
        let isToMany: Bool

        init(_ side: EdgeSide, in transaction: Transaction) throws {
            let names = LooseLinks.trees(side.type, side.name)
            forward = try transaction.tree(names[0], create: true)
            lookup = try transaction.tree(names[1], create: true)
            reverse = nil
            isToMany = side.isToMany
        }

        init(reverseOf side: EdgeSide, in transaction: Transaction) throws {
            reverse = try transaction.tree(LooseLinks.trees(side.type, side.name)[2], create: true)
            forward = nil
            lookup = nil
            isToMany = false
        }

        func put(_ link: LinkEntry, in transaction: Transaction) throws {
            let nothing = Bytes(start: nil, count: 0)
            if let reverse { try transaction.put(reverse, RowKey(link.end.row, link.other.row), nothing) }
            guard let forward, let lookup else { return }
            guard isToMany else { return try transaction.put(forward, RowKey(link.end.row), link.other.row) }
            let place = RowID(rawValue: link.end.place)
            try transaction.put(forward, RowKey(link.end.row, place), link.other.row)
            try transaction.put(lookup, RowKey(link.end.row, link.other.row), place)
        }
    }

    // MARK: Putting together

    /// Puts together the links of all relations, which now have their new names and forms.
    static func pack(_ schema: Schema, in transaction: Transaction, _ progress: MigrationProgress.Handler?) throws {
        for name in schema.typeNames {
            for side in try schema.type(name).relations where side.isPacked {
                try pack(side, in: transaction, progress)
            }
        }
        for name in schema.typeNames {
            for side in try schema.type(name).relations {
                for tree in trees(side.type, side.name) { _ = try transaction.dropTree(tree) }
            }
        }
    }

    /// Forgets the ids of entities that aren't stored and to which only removed relations led.
    static func forgetUnlinked(_ schema: Schema, in transaction: Transaction) throws {
        let core = StoreTransaction(transaction, schema: schema)
        for name in schema.typeNames {
            let store = try core.store(name)
            var cursor = try transaction.cursor(store.type.unsaved)
            while try cursor.next() {
                guard let row = RowID(key: cursor.key) else { throw store.corrupt("n:\(name)", "a key is no row id") }
                try store.noteUnlinked(row)
            }
        }
        try core.flush()
    }

    private static func pack(
        _ side: EdgeSide, in transaction: Transaction, _ progress: MigrationProgress.Handler?
    ) throws {
        let names = trees(side.type, side.name)
        guard let other = side.other, let forward = try transaction.tree(names[0]) else { return }
        let lookup = try side.inverse.flatMap { try transaction.tree(trees(side.target, $0)[1]) }
        let total = Int(clamping: try transaction.count(forward))
        var reports = StepProgress(.migratingLinks, side.type, side.name, total: total, progress)
        var cursor = try transaction.cursor(forward)
        while try cursor.next() {
            try reports.advance()
            let position = side.isToMany ? RowID(key: cursor.key, at: 8) : RowID(rawValue: 0)
            guard let source = RowID(key: cursor.key), let target = RowID(stored: cursor.value), let position else {
                throw StorageError.corrupt(Corruption(tree: names[0], reason: "a link is not readable"))
            }
            // The other half of the entries has the same links.
            if side.isOwnInverse, side.isToMany, target < source { continue }
            let from = LinkEnd(source, position.rawValue)
            var to = LinkEnd(target, other.form == .reverse ? source.rawValue : 0)
            // If entities with several links kept their first ones, the links of two entities may disagree. The first
            // entity in row order wins, and no entity is linked twice. If they agree, this is the other half of a link.
            if side.isOwnInverse, !side.isToMany,
                try transaction.link(side.list, from) != nil || transaction.link(side.list, to) != nil
            {
                continue
            }
            if other.form == .many {
                guard let lookup,
                    let found = try transaction.get(lookup, RowKey(target, source)).flatMap({ RowID(stored: $0) })
                else {
                    throw StorageError.corrupt(Corruption(tree: names[0], reason: "the other side lacks a link"))
                }
                to.place = found.rawValue
            }
            try transaction.put(side.list, from, to)
            try transaction.put(other.list, to, from)
            if let pairs = side.pairs {
                let pair = side.pair(from, to)
                try transaction.put(pairs, pair.key, pair.value)
            }
        }
        if total > 0 { try reports.finish() }
    }
}

extension EdgeSide {
    /// Whether the links of both sides are rebuilt from this side: a to-many side, which has positions.
    fileprivate var isPacked: Bool {
        guard let other, let inverse, other.form != .reverse else { return true }
        if isToMany != (other.form == .many) { return isToMany }
        return (type, name) <= (target, inverse)
    }
}
