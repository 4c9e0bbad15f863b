// SPDX-License-Identifier: Apache-2.0
// Aggregates of queries of a secondary index, as a whole or by groups. The least and the greatest value are read at the
// ends of their column's order. If an index over the columns has all needed values, each different value is read once,
// with its number of rows from the tree. Otherwise the rows are read, but never the entities.

import HornbeamKeys
import HornbeamPages

/// Rows with the same values in some columns, and their aggregates.
public struct IndexGroup: Sendable, Hashable {
    /// The values of the grouping columns.
    public let keys: [Value]
    /// The aggregates in the order of the request.
    public let values: [Value]
}

extension SecondaryQuery {
    /// Returns aggregates, in the order of the request, of the rows within the query's limit and offset. Throws
    /// `.invalid` for a sum that doesn't fit its column's type, and for a query with `GROUP BY`.
    public func aggregate(_ aggregates: IndexAggregate..., in context: Context) throws -> [Value] {
        try self.aggregate(aggregates, in: context)
    }

    public func aggregate(_ aggregates: [IndexAggregate], in context: Context) throws -> [Value] {
        try context.session.run { try OpenTable(self, $0).aggregate(aggregates) }
    }

    /// Returns aggregates of each group of rows with the same values in some columns. As in SQL, order, limit and
    /// offset apply to the groups, and the order may use only these columns. Without an order the groups are sorted by
    /// their keys, nil first.
    public func groups(
        by columns: [String], _ aggregates: [IndexAggregate], in context: Context
    ) throws -> [IndexGroup] {
        try context.session.run { try OpenTable(self, $0).groups(by: columns, aggregates) }
    }

    /// Groups the rows by one column.
    public func grouped<Key>(by column: IndexColumn<Key>) -> SecondaryGroups<Entity, Key> {
        SecondaryGroups(query: self, column: column)
    }

    private func value<Result: ColumnValue>(_ aggregate: IndexAggregate, in context: Context) throws -> Result? {
        try typed(try self.aggregate([aggregate], in: context)[0])
    }

    /// Returns the number of rows with a value in a column.
    public func count<Property>(of column: IndexColumn<Property>, in context: Context) throws -> Int {
        try value(.countOf(column.name), in: context) ?? 0
    }

    /// Returns the number of different values of a column.
    public func countDistinct<Property>(_ column: IndexColumn<Property>, in context: Context) throws -> Int {
        try value(.countDistinct(column.name), in: context) ?? 0
    }

    /// Returns the sum of a column, 0 without values. Throws `.invalid` if it doesn't fit the type.
    public func sum<Property: SummableNumber>(_ column: IndexColumn<Property>, in context: Context) throws -> Property {
        guard let sum: Property = try value(.sum(column.name), in: context) else {
            throw HornbeamError(.invalid, "the sum of column “\(column.name)” doesn't fit \(Property.self)")
        }
        return sum
    }

    /// Returns the mean: a `Decimal` for decimals, otherwise a `Double`. Returns nil if there are no values.
    public func average<Property: SummableNumber>(
        _ column: IndexColumn<Property>, in context: Context
    ) throws -> Property.Average? where Property.Average: ColumnValue {
        try value(.average(column.name), in: context)
    }

    /// Returns the least value, or nil if there are no values.
    public func min<Property>(_ column: IndexColumn<Property>, in context: Context) throws -> Property? {
        try value(.min(column.name), in: context)
    }

    /// Returns the greatest value, or nil if there are no values.
    public func max<Property>(_ column: IndexColumn<Property>, in context: Context) throws -> Property? {
        try value(.max(column.name), in: context)
    }

    /// Returns the texts one after the other, in the order of the query.
    public func joined(
        _ column: IndexColumn<String>, separator: String = ",", in context: Context
    ) throws -> String { try value(.joined(column.name, separator: separator), in: context) ?? "" }
}

/// Returns a result as its Swift type, or nil for `.null`.
private func typed<Result: ColumnValue>(_ value: Value) throws(HornbeamError) -> Result? {
    if value == .null { return nil }
    guard let result = value.converted(to: Result.columnType).flatMap({ Result(columnValue: $0) }) else {
        throw HornbeamError(.invalid, "\(value.text.shown()) doesn't fit \(Result.self): use a wider type")
    }
    return result
}

/// The groups of a query by one column.
public struct SecondaryGroups<Entity: EntityModelProtocol, Key: IndexKey>: Sendable {
    let query: SecondaryQuery<Entity>
    let column: IndexColumn<Key>

    private func values<Result: ColumnValue>(
        _ aggregate: IndexAggregate, in context: Context
    ) throws -> [(key: Key?, value: Result?)] {
        try query.groups(by: [column.name], [aggregate], in: context).map { group in
            (key: try typed(group.keys[0]), value: try typed(group.values[0]))
        }
    }

    public func count(in context: Context) throws -> [(key: Key?, count: Int)] {
        try values(.count, in: context).map { ($0.key, $0.value ?? 0) }
    }

    public func sum<Property: SummableNumber>(
        _ column: IndexColumn<Property>, in context: Context
    ) throws -> [(key: Key?, value: Property?)] { try values(.sum(column.name), in: context) }

    public func average<Property: SummableNumber>(
        _ column: IndexColumn<Property>, in context: Context
    ) throws -> [(key: Key?, value: Property.Average?)] where Property.Average: ColumnValue {
        try values(.average(column.name), in: context)
    }

    public func min<Property>(
        _ column: IndexColumn<Property>, in context: Context
    ) throws -> [(key: Key?, value: Property?)] { try values(.min(column.name), in: context) }

    public func max<Property>(
        _ column: IndexColumn<Property>, in context: Context
    ) throws -> [(key: Key?, value: Property?)] { try values(.max(column.name), in: context) }

    public func joined(
        _ column: IndexColumn<String>, separator: String = ",", in context: Context
    ) throws -> [(key: Key?, value: String?)] {
        try values(.joined(column.name, separator: separator), in: context)
    }
}

extension OpenTable {
    func aggregate(_ aggregates: [IndexAggregate]) throws -> [Value] {
        guard wanted.groups.isEmpty else {
            throw HornbeamError(
                .invalid,
                "a grouped query of index “\(table.index)” has a value for each group: use groups(…)")
        }
        if aggregates == [.count] { return [.int(Int64(try count()))] }
        var states = try aggregates.map { (aggregate) throws(HornbeamError) in try IndexAccumulator(aggregate, table) }
        var query = query
        let distinct = try query.isWhole ? distinctColumn(aggregates) : nil
        if let distinct, let end = extreme(of: aggregates, distinct) { query = end }
        need(states, [], &query)
        if distinct != nil { query.needs?.wantsTextOfOne = true }
        try store.forEach(query) { row, equal in
            for place in states.indices { try states[place].add(row, times: equal.count) }
        }
        return try states.map { (state) throws(HornbeamError) in try state.result() }
    }

    /// Sets the columns that are needed, and removes an order that changes nothing.
    private func need(_ states: [IndexAccumulator], _ columns: [Int], _ query: inout EntityQuery) {
        let needs = states.reduce(RowNeeds(columns: Set(columns))) { $0.union($1.needs) }
        query.needs = needs
        if needs.isOrderFree, query.isWhole { query.sort = [] }
    }

    /// Returns the column whose distinct values are enough for all aggregates, if there is one.
    private func distinctColumn(_ aggregates: [IndexAggregate]) throws(HornbeamError) -> Int? {
        let names = Set(aggregates.map { $0.isOfDistinct ? $0.column : nil })
        guard names.count == 1, let name = names.first ?? nil else { return nil }
        return try table.column(name)
    }

    /// Returns the query for the single row at an end of a column's order, if that row gives all aggregates.
    private func extreme(of aggregates: [IndexAggregate], _ column: Int) -> EntityQuery? {
        let isGreatest: Bool
        switch (aggregates.count, aggregates.first) {
        case (1, .min): isGreatest = false
        case (1, .max): isGreatest = true
        default: return nil
        }
        return EntityQuery(
            type: query.type, filter: query.filter.and(.not(.isNull(column: column))),
            sort: [.column(column, descending: isGreatest)], limit: 1)
    }

    func groups(by names: [String], _ aggregates: [IndexAggregate]) throws -> [IndexGroup] {
        let columns = try names.map { (name) throws(HornbeamError) in try table.column(name) }
        let states = try aggregates.map { (aggregate) throws(HornbeamError) in try IndexAccumulator(aggregate, table) }
        var query = query
        query.limit = nil
        query.offset = 0
        query.sort = []
        // Texts are joined in the order of the groups' rows, which is the order of their ids.
        need(states, columns, &query)
        if aggregates.allSatisfy({ $0 == .count }) { query.needs?.wantsTextOfOne = true }
        typealias Group = (key: [UInt8], keys: [Value], states: [IndexAccumulator])
        var groups: [Group] = []
        var places: [[UInt8]: Int] = [:]
        try store.forEach(query) { row, equal in
            let key = try key(of: row, columns)
            // In an index the rows of a group nearly always come together.
            let group = groups.last?.key == key ? groups.count - 1 : places[key] ?? groups.count
            if group == groups.count {
                places[key] = group
                groups.append((key, try columns.map { try row.value($0) }, states))
            }
            for place in states.indices { try groups[group].states[place].add(row, times: equal.count) }
        }
        let found = try groups.map { group in
            (key: try sortKey(group.keys, columns), keys: group.keys, states: group.states)
        }
        let sorted = found.sorted(byKey: { $1.bytes.append(contentsOf: $0.key) })
        return try sorted.dropFirst(self.query.offset).prefix(self.query.limit ?? .max).map { group in
            IndexGroup(
                keys: group.keys, values: try group.states.map { (state) throws(HornbeamError) in try state.result() })
        }
    }

    /// The key of a row's group by some columns.
    func key(of row: RowReader, _ columns: [Int]) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 32)
        for column in columns {
            try KeyCoding.appendComponent(of: row, column: column, descending: false, to: &key)
        }
        return key.bytes
    }

    /// The position of a group: by the query's order, then by its key.
    private func sortKey(_ values: [Value], _ columns: [Int]) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 32)
        for term in query.sort {
            guard case .column(let column) = term.key, let place = columns.firstIndex(of: column) else {
                throw HornbeamError(
                    .invalid,
                    "groups of index “\(table.index)” can be sorted only by the columns that they are grouped by")
            }
            try KeyCoding.appendComponent(
                values[place], as: table.columns[column].type, descending: term.descending, to: &key)
        }
        for (place, column) in columns.enumerated() {
            try KeyCoding.appendComponent(values[place], as: table.columns[column].type, descending: false, to: &key)
        }
        return key.bytes
    }
}
