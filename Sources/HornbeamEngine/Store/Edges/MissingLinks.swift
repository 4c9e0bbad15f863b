// SPDX-License-Identifier: Apache-2.0
// The links of a side to entities that aren't stored, by their sources. The store knows such targets only by their
// type, so counting a source's list takes a look-up for each of them. Once a read has made as many look-ups as there
// are such targets, it goes through them once and knows the missing links of all lists.

import HornbeamPages
import HornbeamTree

/// The missing links of one side, in one state of the store.
final class MissingLinks {
    let list: LinkList
    /// Number of look-ups that this side has taken so far.
    private var cost = 0
    /// Number of look-ups beyond which the links are gathered; nil before the first attempt.
    private var bound: Int?
    /// The places of each source's links to entities that aren't stored, ascending. It is nil before they are gathered.
    private var places: [RowID: [UInt64]]?

    /// Maximum number of links in memory.
    private static var mostLinks: Int { 1 << 20 }

    init(_ list: LinkList) {
        self.list = list
    }

    /// The places of a source's links to entities that aren't stored. Returns nil if looking up each of them, in `cost`
    /// look-ups, takes less.
    /// - Parameter all: number of entities of the target's type that are linked and not stored.
    func places(
        _ side: EdgeSide, of source: RowID, among all: Int, cost: Int, in edges: EdgeTrees
    ) throws -> [UInt64]? {
        if let places { return places[source] ?? [] }
        self.cost += cost
        guard self.cost > bound ?? all else { return nil }
        // Many sources may lead to each missing entity, so the work is limited to four times the look-ups so far.
        guard try gather(side, atMost: min(4 * self.cost, Self.mostLinks), in: edges) else {
            bound = 4 * self.cost
            return nil
        }
        return places?[source] ?? []
    }

    private func gather(_ side: EdgeSide, atMost most: Int, in edges: EdgeTrees) throws -> Bool {
        guard let other = side.other else { return false }
        let target = try edges.core.store(side.target).type
        var found: [RowID: [UInt64]] = [:]
        var count = 0
        var cursor = try edges.transaction.cursor(target.unsaved)
        while try cursor.next() {
            let row = try target.unsavedRow(cursor.key)
            try edges.forEachLink(other.list, of: row) { link in
                count += 1
                found[link.other.row, default: []].append(link.other.place)
                return count < most
            }
            count += 1
            if count >= most { return false }
        }
        places = found.mapValues { $0.sorted() }
        return true
    }
}

extension EntityType {
    /// The row id in the key of an entity that is linked and not stored.
    func unsavedRow(_ key: Bytes) throws(StorageError) -> RowID {
        guard key.count == 8, let row = RowID(key: key) else {
            throw StorageError.corrupt(Corruption(tree: "n:\(name)", reason: "a key is no row id"))
        }
        return row
    }
}
