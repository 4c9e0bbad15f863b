// SPDX-License-Identifier: Apache-2.0
// The ids of linked entities in a level of a nested query, including entities that aren't stored. Integer ids are row
// ids and need no look-up. Any other id is read once, however many links lead to it.

extension TypedTransaction {
    /// Returns the ids of each list's rows.
    /// - Parameter isToMany: whether a list may have more than one row.
    func ids<Target: EntityModelProtocol>(
        of links: LinkLists, isToMany: Bool, _: Target.Type
    ) throws -> LoadedLists<Target.ID> {
        let store = try store(Target.self)
        if store.type.idType == .int64, links.targets.allSatisfy({ $0 < .firstAssigned }),
            let ids = LoadedLists(integers: links, isToMany: isToMany) as? LoadedLists<Target.ID>
        {
            return ids
        }
        var rows = DistinctRows(links.targets)
        let (ids, found): ([Target.ID], [RowID]) = try ids(of: rows.rows, store)
        rows.keep(found)
        if isToMany {
            let (places, ends) = rows.storedPlaces(links.ends)
            return LoadedLists(lists: LinkLists.slices(ends) { places[$0].map { ids[$0] } })
        }
        return LoadedLists(lists: ids.map { [$0] }, places: rows.firstPlaces(links.ends))
    }

    /// Returns the ids of rows, which must ascend, and the rows that have an id.
    private func ids<ID: IndexKey>(of rows: [RowID], _ store: EntityStore) throws -> ([ID], [RowID]) {
        var ids: [ID] = []
        var found: [RowID] = []
        ids.reserveCapacity(rows.count)
        found.reserveCapacity(rows.count)
        func take(_ row: RowID, _ value: Value?) throws {
            guard let value else { return }
            guard let id = ID(columnValue: value) else {
                throw HornbeamError(
                    .undecodable, "the id \(value.text) of \(store.type.name.withArticle) is no \(ID.self)")
            }
            ids.append(id)
            found.append(row)
        }
        if let last = rows.last, last < .firstAssigned {
            for row in rows { try take(row, try store.id(of: row)) }
        } else {
            try store.forEach(rows) { place, reader in
                let row = rows[place]
                try take(row, try reader?.value(0) ?? store.id(of: row))
            }
        }
        return (ids, found)
    }
}

extension LoadedLists<Int> {
    /// Makes lists of integer ids, which are the row ids.
    fileprivate init(integers links: LinkLists, isToMany: Bool) {
        // A few links probably have different targets.
        if isToMany || links.count < 8 {
            lists = LinkLists.slices(links.ends) { links.targets[$0].map { Int(truncatingIfNeeded: $0.rawValue) } }
        } else {
            let rows = DistinctRows(links.targets)
            lists = rows.rows.map { [Int(truncatingIfNeeded: $0.rawValue)] }
            places = rows.firstPlaces(links.ends)
        }
    }
}

extension LinkLists {
    /// Returns the result of `slice` for each list's range.
    fileprivate static func slices<Element>(_ ends: [Int], _ slice: (Range<Int>) -> Element) -> [Element] {
        var start = 0
        return ends.map { end in
            defer { start = end }
            return slice(start..<end)
        }
    }
}
