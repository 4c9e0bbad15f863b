// SPDX-License-Identifier: Apache-2.0
// Walks a tree and a long list of wanted keys together. The next key is searched for in the same leaf if it is near,
// otherwise from the root. No entries are counted before.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// The entries of a tree whose keys begin with any of `points`.
struct PointScan {
    let tree: TreeID
    /// The wanted beginnings of keys, ascending; none begins with another.
    let points: [[UInt8]]
    let transaction: Transaction

    /// The entries of a match's wanted values; none if it has ranges.
    init(_ match: IndexMatch, _ store: EntityStore) throws {
        let matcher = IndexMatcher(type: store.type, transaction: store.transaction, conjuncts: [])
        self.init(tree: match.index.tree, points: try matcher.points(match), store.transaction)
    }

    init(tree: TreeID, points: [[UInt8]], _ transaction: Transaction) {
        self.tree = tree
        self.points = points
        self.transaction = transaction
    }

    /// Calls `body` with each entry, ascending, until it returns false.
    func run(_ body: (_ key: Bytes, _ value: Bytes) throws -> Bool) throws {
        guard let first = points.first else { return }
        var cursor = try transaction.cursor(tree)
        var isThere = try cursor.seek(first)
        for point in points {
            let key = cursor.key
            if isThere, point.withUnsafeBytes({ key.order($0) < 0 }) { isThere = try cursor.seekNear(point) }
            while isThere, let entry = try cursor.entry(), entry.key.starts(with: point) {
                guard try body(entry.key, entry.value) else { return }
                isThere = try cursor.next()
            }
            guard isThere else { return }
        }
    }
}

extension IndexMatch {
    /// Calls `body` with the rows of the wanted values and the entries' keys, until it returns false. Finds nothing if
    /// the match has ranges.
    func forEachEntry(in store: EntityStore, _ body: (RowID, Bytes?) throws -> Bool) throws {
        try PointScan(self, store).run { key, value in
            guard let rowID = index.rowID(key: key, value: value) else {
                throw store.corrupt("index \(index.description.name)", "an entry names no row")
            }
            return try body(rowID, key)
        }
    }
}

extension EntityStore {
    /// The row ids of many ids, in any order. Ids without a row id are left out.
    func rowIDs(ofAny ids: [Value]) throws -> [RowID] {
        if ids.count < 64 || type.hasIntegerIDs { return try ids.compactMap { try rowID(ofAny: $0) } }
        var found: [RowID] = []
        var keys: Set<[UInt8]> = []
        for id in ids {
            if let rowID = RowID(integerID: id) {
                found.append(rowID)
            } else if let key = try key(ofAny: id) {
                keys.insert(key)
            }
        }
        let points = keys.sorted { $0.lexicographicallyPrecedes($1) }
        try PointScan(tree: type.ids, points: points, transaction).run { _, value in
            guard let rowID = RowID(stored: value) else { throw corrupt("i:\(type.name)", "an entry holds no row id") }
            found.append(rowID)
            return true
        }
        return found
    }

    /// The key of an id. Returns nil if the value is too long for an id.
    private func key(ofAny id: Value) throws -> [UInt8]? {
        do {
            return try idKey(id)
        } catch StorageError.tooLarge {
            return nil
        }
    }
}
