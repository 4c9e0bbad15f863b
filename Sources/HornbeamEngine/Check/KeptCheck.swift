// SPDX-License-Identifier: Apache-2.0
// Checks a hand-kept index: its two trees must agree, and its entities must be stored.

import HornbeamPages
import HornbeamTree

struct KeptCheck {
    let index: StoredIndex
    let core: StoreTransaction

    private var name: String { "index “\(index.name)” of \(index.record.entity)" }

    func run(_ problem: (String) -> Void) throws {
        guard let kind = index.handKept else { return }
        let trees: KeptTrees
        do {
            trees = try KeptTrees(index, in: core.transaction)
        } catch StorageError.corrupt(let corruption) {
            return problem("\(name): \(corruption)")
        }
        let groups = try index.group.map { group -> EntityStore? in
            guard core.schema.types[group] != nil else { return nil }
            return try core.store(group)
        }
        if let groups, groups == nil { return problem("\(name): the store has no entity type of its groups") }
        let members = try core.store(index.record.entity)
        let transaction = core.transaction
        var cursor = try transaction.cursor(trees.entries)
        while try cursor.next() {
            let key = Array(cursor.key)
            guard let row = kind == .set ? RowID(key: cursor.key) : RowID(stored: cursor.value) else {
                problem("\(name): an entry names no row")
                continue
            }
            if try !members.isSaved(row) { problem("\(name): an entry for \(row), which is not stored") }
            if let groups = groups ?? nil {
                let group = key.withUnsafeBytes { RowID(key: $0) }
                if try group.map({ try !groups.isSaved($0) }) ?? true {
                    problem("\(name): an entry for \(row) in a group that is not stored")
                }
            }
            if !index.isReadable(key) { problem("\(name): the key of an entry for \(row) is not readable") }
            if let places = trees.places, try transaction.get(places, row.key + key) == nil {
                problem("\(name): an entry for \(row) is not among its places")
            }
        }
        guard let places = trees.places else { return }
        // Each entry has a record in the tree of places. If the counts are equal, each record has an entry.
        let counts = (try transaction.count(trees.entries), try transaction.count(places))
        if counts.0 != counts.1 { problem("\(name) has \(counts.0) entries, and \(counts.1) places of rows") }
    }
}

extension StoredIndex {
    /// Whether a key is one of a hand-kept index's entries.
    package func isReadable(_ key: [UInt8]) -> Bool {
        guard let kind = handKept else { return false }
        let place = kind.isOrdered ? 8 : 0
        guard key.count >= place else { return false }
        if kind.isOrdered, key[key.count - 8] >= 0x40 { return false }
        let section = key.dropLast(place)
        switch kind {
        case .orderedIDs: return section.isEmpty
        case .groupsByEntity, .set: return section.count == 8
        case .groupsByKey, .hash:
            guard let type = record.settings[HandKeptKind.keySetting].flatMap({ ColumnType($0) }) else { return false }
            return Array(section).withUnsafeBytes { KeptKey.value($0, type) != nil }
        }
    }
}
