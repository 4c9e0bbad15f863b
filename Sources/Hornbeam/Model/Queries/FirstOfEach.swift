// SPDX-License-Identifier: Apache-2.0
// The first entity of each group: the latest message of each room, the cheapest offer of each product. If an index is
// over the groups and the order, the scan goes from group to group (a loose scan) and skips the entries between.

import HornbeamKeys
import HornbeamPages

extension QueryList {
    /// Keeps only the first entity in the query's order for each combination of values of these properties, in the
    /// order of the groups: `Message.query().sorted(by: \.sentAt.desc).first(ofEach: \.room).resolve(in: context)`
    /// gives the latest message of each room.
    ///
    /// With an index over the properties and then the order, `@Index<Self>(\.room, \.sentAt.desc)`, this takes one
    /// look-up for each group. Otherwise all of the query's entities are read. The result is a list like any other:
    /// later filters, sorts and limits apply to it.
    public func first<each Key: Hashable & Sendable>(
        ofEach keyPaths: repeat KeyPath<Entity, each Key>
    ) -> QueryList<Entity> {
        let keys = GroupProperties<Entity, repeat each Key>(repeat each keyPaths)
        return combined { session, level in try firstRows(keys, session, level) }
    }

    private func firstRows<Keys: GroupKeys>(_ keys: Keys, _ session: TypedTransaction, _ level: NestedLevel?) throws
        -> [RowID]
    where Keys.Entity == Entity {
        let store = try session.store(Entity.self)
        if level == nil, isSelection, let columns = keys.columns,
            let scan = try Planner(coreQuery, store).firstScan(by: columns)
        {
            var rows: [RowID] = []
            if try scan.forEachFirst({ rows.append($0) }) { return rows }
        }
        var firsts: [(key: [UInt8], row: RowID)] = []
        var seen: Set<[UInt8]> = []
        var unordered = UnorderedKeys()
        for rowID in try rows(session, in: level) {
            guard let reader = try store.row(rowID) else { continue }
            var row = AggregatedRow<Entity>(reader, in: session)
            var key = KeyWriter(capacity: 32)
            try keys.append(&row, to: &key, &unordered)
            if seen.insert(key.bytes).inserted { firsts.append((key.bytes, rowID)) }
        }
        return firsts.sorted(byKey: { $1.bytes.append(contentsOf: $0.key) }).map(\.row)
    }
}
